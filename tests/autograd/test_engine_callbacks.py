"""Functions that hooks leave for the end of the run backward, in the order and with the gradient mode that PyTorch has."""

from typing import Any

import pytest

import mindtorch_v2 as torch

ENGINE = torch.autograd.Variable._execution_engine


def _with_hook(hook: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    y.register_hook(hook)
    return x, y.sum()


def test_they_are_called_when_gradients_are_in_place_and_may_leave_more() -> None:
    log: list[Any] = []

    def hook(grad: Any) -> None:
        ENGINE.queue_callback(lambda: log.append((x.grad is not None, torch.is_grad_enabled())))
        ENGINE.queue_callback(lambda: ENGINE.queue_callback(lambda: log.append("more")))
        assert log == []

    x, loss = _with_hook(hook)
    loss.backward()
    assert log == [(True, False), "more"] and torch.is_grad_enabled()
    x, loss = _with_hook(hook)
    log.clear()
    torch.autograd.grad(loss, x, create_graph=True)
    assert log == [(False, True), "more"]


def test_each_run_has_its_own() -> None:
    log = []

    def inner(grad: Any) -> None:
        ENGINE.queue_callback(lambda: log.append("inner"))

    def outer(grad: Any) -> None:
        ENGINE.queue_callback(lambda: log.append("outer"))
        with torch.enable_grad():
            _with_hook(inner)[1].backward()
        log.append("inner is over")

    _with_hook(outer)[1].backward()
    assert log == ["inner", "inner is over", "outer"]


def test_a_run_that_fails_calls_none() -> None:
    log = []

    def hook(grad: Any) -> None:
        ENGINE.queue_callback(lambda: log.append("late"))
        raise ValueError("in a hook")

    with pytest.raises(ValueError, match="in a hook"):
        _with_hook(hook)[1].backward()
    _with_hook(lambda grad: None)[1].backward()
    assert log == []


def test_their_errors_are_those_of_the_run() -> None:
    def callback() -> None:
        raise KeyError("in a callback")

    with pytest.raises(KeyError, match="in a callback"):
        _with_hook(lambda grad: ENGINE.queue_callback(callback))[1].backward()
    assert torch.is_grad_enabled()


def test_outside_of_a_run_there_is_nothing_to_wait_for() -> None:
    with pytest.raises(RuntimeError, match=r"^Final callbacks can only be installed during backward pass\.$"):
        ENGINE.queue_callback(lambda: None)
    assert ENGINE.is_checkpoint_valid()


def test_nodes_that_gradients_go_to() -> None:
    node_of: Any = torch.autograd.graph._get_grad_fn_or_grad_acc
    x = torch.ones(2, requires_grad=True)
    y: Any = x * 2
    assert node_of(y) is y.grad_fn and node_of(torch.autograd.graph.get_gradient_edge(y)) is y.grad_fn
    assert node_of(x) is y.grad_fn.next_functions[0][0] and node_of(x).variable is x
    with pytest.raises(RuntimeError, match="does not require gradients"):
        node_of(y.detach())
    used = []
    y.register_hook(lambda grad: used.append(torch._C._will_engine_execute_node(node_of(x))))
    y.sum().backward()
    assert used == [True]
