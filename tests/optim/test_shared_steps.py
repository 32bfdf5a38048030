"""Steps that optimizers share: how a step fills its lists, and which settings the functional form gets."""

import importlib
import inspect

import pytest
from recording import answer

import mindtorch_v2 as torch
from mindtorch_v2.optim._algorithm import Algorithm
from mindtorch_v2.utils._python_dispatch import TorchDispatchMode

NAMES = ["ASGD", "Adadelta", "Adagrad", "Adam", "Adamax", "NAdam", "RAdam", "RMSprop", "Rprop"]


@pytest.mark.parametrize("name", NAMES)
def test_lists_stand_in_the_order_of_pytorchs_init_group(name):
    """Subclasses that write their own `step` call `_init_group` with lists in this order."""

    def lists(torch):
        return list(inspect.signature(getattr(torch.optim, name)._init_group).parameters)[4:]

    assert list(getattr(torch.optim, name)._state.values()) == answer(lists)


@pytest.mark.parametrize("name", NAMES)
def test_init_group_fills_lists(name):
    p, unused = torch.ones(2, requires_grad=True), torch.ones(3, requires_grad=True)
    p.grad = torch.ones(2)
    optimizer = getattr(torch.optim, name)([p, unused])
    lists = [[] for _ in range(2 + len(optimizer._state))]
    optimizer._init_group(optimizer.param_groups[0], *lists)
    assert [len(each) for each in lists[:2]] == [1, 1]
    for key, column in zip(optimizer._state, lists[2:], strict=True):
        assert column == ([] if key in optimizer._optional else [optimizer.state[p][key]])


def test_all_that_have_lists_are_listed():
    found = {
        kind.__name__
        for kind in vars(torch.optim).values()
        if isinstance(kind, type) and issubclass(kind, Algorithm) and "_function" in vars(kind)
    }
    assert found == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_the_function_gets_the_groups_settings(name, monkeypatch):
    kind = getattr(torch.optim, name)
    seen = []
    monkeypatch.setattr(kind, "_function", staticmethod(lambda *lists, **named: seen.append(named)))
    p = torch.ones(2, requires_grad=True)
    p.grad = torch.ones(2)
    optimizer = kind([{"params": [p], "lr": 0.5}, {"params": [torch.ones(1, requires_grad=True)]}])
    optimizer.step()
    function = getattr(importlib.import_module(f"mindtorch_v2.optim.{name.lower()}"), name.lower())
    assert [list(each) for each in seen] == [[*kind._state.values(), *kind._settings]] * 2
    assert seen[0].keys() == set(list(inspect.signature(function).parameters)[2:])
    if "lr" in seen[0]:
        assert (seen[0]["lr"], seen[1]["lr"]) == (0.5, optimizer.defaults["lr"])
    else:  # Rprop's step begins with it
        assert optimizer.state[p]["step_size"].tolist() == [0.5, 0.5]


class _Named(TorchDispatchMode):
    """The operators that run, by name."""

    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.names.append(func.name())
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad"])
def test_a_plain_step_is_one_pass_over_all_parameters(name):
    ps = [torch.ones(2, 2, requires_grad=True) for _ in range(3)]
    optimizer = getattr(torch.optim, name)(ps, lr=0.1)
    for p in ps:
        p.grad = torch.ones(2, 2)
    with _Named() as seen:
        optimizer.step()
    assert seen.names.count(f"aten::_fused_{name.lower()}_") == 1
    assert seen.names[-1] == f"aten::_fused_{name.lower()}_"
    with _Named() as seen:
        getattr(torch.optim, name)(ps, lr=0.1, foreach=False).step()
    assert not [each for each in seen.names if "_fused_" in each]


def test_complex_parameters_are_seen_as_pairs():
    from mindtorch_v2.optim.optimizer import _view_as_real

    params = [torch.ones(2, dtype=torch.complex64), torch.ones(3)]
    grads, sums = [each.clone() for each in params], [each.clone() for each in params]
    _view_as_real(params, grads, sums)
    for column in (params, grads, sums):
        assert [tuple(each.shape) for each in column] == [(2, 2), (3,)]
