"""Hooks of a module's call have dictionaries once they are asked for, and behave as if these had been there always."""

import collections
import copy
import pickle

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import nn

NAMES = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")


@pytest.mark.parametrize("name", NAMES)
def test_a_module_has_its_own(name):
    first, second = nn.Linear(2, 2), nn.Linear(2, 2)
    assert name not in first.__dict__
    hooks = getattr(first, name)
    assert type(hooks) is collections.OrderedDict and getattr(first, name) is hooks is first.__dict__[name]
    assert getattr(second, name) is not hooks
    assert not hasattr(nn.Module, name)
    assert hasattr(nn.Module.__new__(nn.Linear), name) is False  # before Module.__init__()


@pytest.mark.parametrize("put", [setattr, lambda module, name, hooks: module.__dict__.update({name: hooks})])
def test_dictionaries_that_a_program_puts_there_are_used(put):
    module = nn.Identity()
    put(module, "_forward_hooks", collections.OrderedDict({1: lambda module, args, out: out + 1}))
    put(module, "_forward_pre_hooks", collections.OrderedDict({2: lambda module, args: (args[0] * 3,)}))
    assert module(torch.ones(1)).item() == 4
    del module._forward_hooks
    assert module(torch.ones(1)).item() == 3


def test_a_wrapper_that_forwards_attributes_has_its_own():
    class Wrapper(nn.Module):
        def __init__(self, inner):
            super().__init__()
            self.__dict__["inner"] = inner

        def __getattr__(self, name):
            return getattr(self.__dict__["inner"], name)

        def forward(self, x):
            return self.inner(x)

    inner = nn.Identity()
    Wrapper(inner).register_forward_hook(lambda module, args, out: out + 1)
    assert not inner._forward_hooks


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_a_duplicate_has_others(duplicate):
    module = nn.Linear(2, 2)
    other = duplicate(module)
    assert set(NAMES) <= set(module.__getstate__())
    other.register_forward_hook(lambda module, args, out: out + 1)
    assert not module._forward_hooks


def test_a_shallow_copy_has_the_same():
    module = nn.Identity()
    other = copy.copy(module)
    module.register_forward_hook(lambda module, args, out: out + 1)
    assert other(torch.ones(1)).item() == 2


def test_a_compiled_module_sees_a_first_hook():
    module = nn.Sequential(nn.Identity(), nn.Identity())
    compiled = torch.compile(module, backend="eager")
    x = torch.ones(1)
    assert compiled(x).item() == 1
    handle = module[1].register_forward_hook(lambda module, args, out: out + 1)
    assert compiled(x).item() == 2
    handle.remove()
    assert compiled(x).item() == 1
    module[0].__dict__["_forward_pre_hooks"] = collections.OrderedDict({0: lambda module, args: (args[0] * 5,)})
    assert compiled(x).item() == 5


def test_a_graph_is_made_of_a_module_with_a_hook():
    module = nn.Sequential(nn.Identity(), nn.Identity())
    module[0].register_forward_hook(lambda module, args, out: out + 1)
    compiled = torch.compile(lambda x: module(x), backend="eager", fullgraph=True)
    assert compiled(torch.ones(1)).item() == 2
    handle = nn.modules.module.register_module_forward_hook(lambda module, args, out: out * 2)
    try:
        assert compiled(torch.ones(1)).item() == module(torch.ones(1)).item() == 12
    finally:
        handle.remove()
    assert compiled(torch.ones(1)).item() == 2
    assert "_forward_pre_hooks" not in module[1].__dict__
