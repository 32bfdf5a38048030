"""TORCH_DISTRIBUTED_DEBUG: what an error of unused parameters says on each level."""

import pytest

import mindtorch_v2 as torch

dist = torch.distributed


@pytest.fixture
def alone(monkeypatch):
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    yield monkeypatch
    dist.destroy_process_group()
    dist.set_debug_level(dist.DebugLevel.OFF)


def message():
    class Half(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.used, self.unused = torch.nn.Linear(2, 1), torch.nn.Linear(2, 1)

        def forward(self, x):
            return self.used(x)

    model = torch.nn.parallel.DistributedDataParallel(Half())
    model(torch.ones(2)).sum().backward()
    with pytest.raises(RuntimeError) as raised:
        model(torch.ones(2))
    return str(raised.value)


@pytest.mark.parametrize("level", ["OFF", "INFO", "DETAIL"])
def test_unused_parameters_are_named(alone, level):
    alone.setenv("TORCH_DISTRIBUTED_DEBUG", level)
    dist.set_debug_level_from_env()
    assert dist.get_debug_level() is dist.DebugLevel[level]
    said = message()
    assert "did not receive grad for rank 0: 2 3" in said
    named = "Parameters which did not receive grad for rank 0: unused.weight, unused.bias"
    assert (named in said) == (level != "OFF")
    assert ("set the environment variable TORCH_DISTRIBUTED_DEBUG" in said) == (level == "OFF")


def test_what_is_no_level(monkeypatch):
    monkeypatch.setenv("TORCH_DISTRIBUTED_DEBUG", "loud")
    with pytest.raises(ValueError, match="must be OFF, INFO, or DETAIL, but is 'loud'"):
        dist.set_debug_level_from_env()
