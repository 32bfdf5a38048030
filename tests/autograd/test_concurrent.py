"""Backward while others change what it works on: other threads, and user code that runs within it."""

import threading

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.utils._python_dispatch import TorchDispatchMode

SIZE = 300_000  # large enough for the kernels to let go of the GIL


def on_threads(count, work):
    threads = [threading.Thread(target=work) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_no_gradient_is_lost():
    for create_graph in (False, True):
        for _ in range(15):
            x = torch.ones(SIZE, requires_grad=True)

            def work(x=x, create_graph=create_graph):
                (x * 2).sum().backward(create_graph=create_graph)

            on_threads(4, work)
            assert x.grad.min().item() == x.grad.max().item() == 8
            x.grad = None


def test_a_gradient_may_be_taken_away_by_another_thread():
    x = torch.ones(SIZE, requires_grad=True)
    done = False

    def clear():
        while not done:
            x.grad = None

    clearing = threading.Thread(target=clear)
    clearing.start()
    try:
        on_threads(2, lambda: [(x * 2).sum().backward() for _ in range(20)])
    finally:
        done = True
        clearing.join()


class Forgets(TorchDispatchMode):
    """Take the gradient of a tensor away before each operation."""

    def __init__(self, tensor):
        self.tensor = tensor
        super().__init__()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.tensor.grad = None
        return func(*args, **(kwargs or {}))


def test_a_gradient_may_be_taken_away_by_a_mode():
    for create_graph in (False, True):
        x = torch.ones(2, requires_grad=True)
        x.grad = torch.ones(2)
        h = x * 2
        h.retain_grad()
        h.grad = torch.ones(2)
        with Forgets(x):
            (h * h).sum().backward(create_graph=create_graph)
        x.grad = h.grad = None
        h = x * 2
        h.retain_grad()
        h.grad = torch.ones(2)
        with Forgets(h):
            (h * h).sum().backward(create_graph=create_graph)
        assert x.grad.tolist() == [8, 8]
        x.grad = h.grad = None


def test_an_edge_holds_while_an_error_passes():
    x = torch.ones(2, requires_grad=True)
    y = x.exp()
    y.register_hook(lambda g: 1 / 0)
    before = torch.is_grad_enabled()
    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            y.sum().backward(retain_graph=True)
    assert torch.is_grad_enabled() == before and not torch._C._in_backward()


def test_anomaly_mode_looks_at_complex_gradients():
    x = torch.ones(2, dtype=torch.complex64, requires_grad=True)
    with pytest.warns(UserWarning), torch.autograd.detect_anomaly():
        y = x * complex("nan")
        with pytest.raises(RuntimeError, match="Function 'AbsBackward0' returned nan values in its 0th output."):
            y.abs().sum().backward()
