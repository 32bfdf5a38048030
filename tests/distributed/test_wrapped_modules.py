"""Policies that wrap submodules, layers that are computed again, and a gradient scaler of several ranks, as PyTorch's."""

import pytest
import ranks

import mindtorch_v2 as torch
from mindtorch_v2.distributed.algorithms._checkpoint.checkpoint_wrapper import ActivationWrapper, checkpoint_wrapper
from mindtorch_v2.distributed.fsdp.wrap import _recursive_wrap, always_wrap_policy


def test_two_ranks_wrap_and_train_as_pytorch_does(expected):
    found = ranks.results("wrapped.py", 2)
    for theirs, ours in zip(expected("wrapped", "wrapped.py|2"), found, strict=True):
        assert ours["policies"] == theirs["policies"]
        assert ours["scales"] == theirs["scales"]
        for variant in ("plain", "policy", "classes", "reentrant", "offloaded"):
            for run in (ours[variant], ours["sharded"][variant]):
                assert run["runs"] == theirs[variant]["runs"], variant
                assert run["losses"] == pytest.approx(theirs[variant]["losses"], rel=1e-5), variant
                assert run["weights"] == pytest.approx(theirs[variant]["weights"], rel=1e-4, abs=1e-5), variant


def test_a_wrapper_is_the_module_but_for_its_forward():
    inner = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())
    made = checkpoint_wrapper(inner)
    assert made[1] is inner[1]
    assert made.append(torch.nn.Identity()) is inner
    assert list(made.state_dict()) == ["0.weight", "0.bias"]
    with pytest.raises(AttributeError, match="nothing_of_this_name"):
        made.nothing_of_this_name
    with pytest.raises(ValueError, match="Subclasses should implement"):
        ActivationWrapper(inner)(torch.ones(2))


def test_what_is_wrapped_already_is_not_wrapped_again():
    net = torch.nn.Sequential(checkpoint_wrapper(torch.nn.Linear(2, 2)))
    with pytest.raises(AssertionError, match="Child module 0 is already wrapped"):
        _recursive_wrap(net, always_wrap_policy, type(net[0]), set(), set())
