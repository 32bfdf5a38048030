"""Seeded training with dropout takes PyTorch's course: same initial weights, same losses, fifty steps long.

The expected numbers are PyTorch's own, committed by `tools/make_training_snapshots.py`.
"""

import importlib.util
import json
from pathlib import Path

import pytest
from programs import run

_HERE = Path(__file__).parent
_SNAPSHOTS = _HERE.parent / "snapshots" / "training"

pytestmark = [pytest.mark.slow, pytest.mark.no_torch]


@pytest.mark.parametrize("name", ["attention_layers", "residual_network", "bert_classifier", "trainer"])
def test_seeded_training_follows_pytorch(name: str) -> None:
    if name in ("bert_classifier", "trainer") and importlib.util.find_spec("transformers") is None:
        pytest.skip("needs transformers")
    result = run(_HERE / "programs" / f"{name}.py")
    assert result.returncode == 0, result.stderr
    ours = json.loads(result.stdout.splitlines()[-1])
    theirs = json.loads((_SNAPSHOTS / f"{name}.json").read_text())
    assert ours["start"] == pytest.approx(theirs["start"], rel=1e-6, abs=1e-5)
    assert len(ours["losses"]) == 50
    assert ours["losses"] == pytest.approx(theirs["losses"], rel=1e-4)
    if "evaluated" in theirs:
        assert ours["evaluated"] == pytest.approx(theirs["evaluated"], rel=1e-4)
