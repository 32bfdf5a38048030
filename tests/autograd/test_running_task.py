"""Backward asked about itself while it runs: which node, which follow, which not, and whether the graph is kept."""

from __future__ import annotations

from typing import Any

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import _C


def _asked(ask: Any, run: Any) -> Any:
    """The answer of `ask()` in a hook on the sine of twice a leaf, in the backward that `run(sine, double, leaf)` starts."""
    leaf = torch.ones(3, requires_grad=True)
    double = leaf * 2
    sine = double.sin()
    answers = []
    sine.register_hook(lambda _: answers.append(ask(sine, double, leaf)))
    run(sine.sum(), double, leaf)
    (answer,) = answers
    return answer


def _whole(out: Any, double: Any, leaf: Any) -> None:
    out.backward()


def test_the_order_of_execution() -> None:
    def names(*_: Any) -> list[str]:
        return [node.name() for node in torch._C._current_graph_task_execution_order()]

    with torch.autograd.set_multithreading_enabled(False):
        order = _asked(names, _whole)
        assert order == ["SumBackward0", "SinBackward0", "MulBackward0", "torch::autograd::AccumulateGrad"]
        up_to = _asked(names, lambda out, double, leaf: torch.autograd.grad(out, double))
        assert up_to == ["SumBackward0", "SinBackward0", "MulBackward0"]
    with pytest.raises(RuntimeError, match="multithreading disabled"):
        _asked(names, _whole)
    with pytest.raises(RuntimeError, match="should only be called during the backward pass"):
        names()


def test_the_node_that_runs() -> None:
    node = _C._current_autograd_node
    assert node() is None
    assert _asked(lambda sine, *_: node() is sine.grad_fn, _whole)


def test_whether_the_graph_is_kept() -> None:
    kept = torch._C._autograd._get_current_graph_task_keep_graph
    assert kept()
    assert not _asked(lambda *_: kept(), _whole)
    assert _asked(lambda *_: kept(), lambda out, *_: out.backward(retain_graph=True))


def test_whether_a_node_will_run() -> None:
    will = _C._will_engine_execute_node

    def both(sine: Any, double: Any, leaf: Any) -> tuple[bool, bool]:
        return will(double.grad_fn), will(sine.grad_fn)

    assert _asked(both, lambda out, double, leaf: torch.autograd.grad(out, leaf)) == (True, True)

    def of_leaf(sine: Any, double: Any, leaf: Any) -> bool:
        return will(double.grad_fn.next_functions[0][0])

    assert _asked(of_leaf, _whole)
    assert not _asked(of_leaf, lambda out, double, leaf: out.backward(inputs=[double]))
    with pytest.raises(RuntimeError, match="we are currently running autograd.grad()"):
        _asked(of_leaf, lambda out, double, leaf: torch.autograd.grad(out, leaf))
    with pytest.raises(RuntimeError, match="expects an grad_fn, but got Tensor"):
        will(torch.ones(1))
    with pytest.raises(RuntimeError, match="should only be called during the backward pass"):
        will(torch.ones(1, requires_grad=True).sum().grad_fn)


def test_a_hook_registered_by_an_unpack_hook_is_not_shown_the_gradients() -> None:
    shown = []

    def unpack(tensor: Any) -> Any:
        _C._current_autograd_node().register_hook(lambda inputs, outputs: shown.append(outputs))
        return tensor

    x = torch.ones(3, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda tensor: tensor, unpack):
        y = x.sin()
    y.sum().backward()
    assert shown == [(None,)]
