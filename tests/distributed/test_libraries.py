"""transformers' Trainer and accelerate in two processes, against what they give on PyTorch."""

import importlib.util
import json

import pytest
import ranks

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not all(map(importlib.util.find_spec, ("transformers", "accelerate"))),
        reason="needs transformers and accelerate",
    ),
]


def test_trainer_and_accelerate_train_as_on_pytorch(request):
    path = ranks.SNAPSHOTS / "trainer.json"
    live = request.config.getoption("--live")
    expected = ranks.launch("trainer.py", "torch.distributed.run") if live else json.loads(path.read_text())
    found = ranks.launch("trainer.py", "mindtorch_v2.distributed.run")
    assert found.keys() == expected.keys()
    for name, (losses, processes) in expected.items():
        assert found[name][1] == processes == 2
        assert found[name][0] == pytest.approx(losses, rel=1e-3), name
