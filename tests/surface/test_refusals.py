"""Calls that PyTorch 2.13 refuses, with its words; and gradients of several gradients at once."""

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.autograd import functional as AF
from mindtorch_v2.nn import functional as F

_ONES = torch.ones(2)
_INTEGERS = torch.ones(2, dtype=torch.int64)
_LENGTH = "v is a tuple of invalid length: should be 2 but got 1."
_FLOATING = "only Tensors of floating point dtype can require gradients"


def _qr(mode: str, which: int):
    return lambda: torch.linalg.qr(torch.rand(3, 2, requires_grad=True), mode=mode)[which].sum().backward()


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: AF.vjp(lambda x, y: (x, y), (_ONES, _ONES), (_ONES,)), RuntimeError, _LENGTH),
        (lambda: AF.jvp(lambda x, y: x + y, (_ONES, _ONES), (_ONES,)), RuntimeError, _LENGTH),
        (lambda: AF.hvp(lambda x, y: (x * y).sum(), (_ONES, _ONES), (_ONES,)), RuntimeError, _LENGTH),
        (
            _qr("complete", 0),
            RuntimeError,
            "The QR decomposition is not differentiable when mode='complete' and nrows > ncols.",
        ),
        (
            _qr("r", 1),
            RuntimeError,
            "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use "
            "linalg.qr(A, mode='reduced') if you are going to differentiate through linalg.qr.",
        ),
        (lambda: torch.func.grad(lambda v: v.sum())(_INTEGERS), RuntimeError, _FLOATING),
        (lambda: torch.func.vjp(lambda v: v, _INTEGERS), RuntimeError, _FLOATING),
        (lambda: torch.func.jacrev(lambda v: v * 2)(_INTEGERS), RuntimeError, _FLOATING),
        (lambda: torch.linalg.matrix_norm(torch.eye(2), 0), RuntimeError, "linalg.matrix_norm: Order 0 not supported."),
        (lambda: torch.linalg.cond(torch.eye(2), 0), RuntimeError, "linalg.cond got an invalid norm type: 0"),
        (
            lambda: F.huber_loss(torch.ones(3), torch.zeros(3), weight=_ONES),
            ValueError,
            "Weights and input must have the same size.",
        ),
        (
            lambda: torch.histogramdd(torch.rand(2, 2), bins=[2, 2], range=[0.0, 1.0]),
            RuntimeError,
            "torch.histogramdd: for a 2-dimensional histogram range should have 4 elements, but got 2",
        ),
    ],
)
def test_refused(call, error, text) -> None:
    with pytest.raises(error) as refused:
        call()
    assert str(refused.value) == text


def test_edges_of_a_histogram_that_are_given() -> None:
    points = torch.tensor([[0.0, 1.0], [2.0, 3.0]])
    counts, (first, second) = torch.histogramdd(points, bins=[2, 2], range=[0.0, 1.0, 0.0, 3.0])
    assert counts.tolist() == [[1, 0], [0, 0]]
    assert (first.tolist(), second.tolist()) == ([0, 0.5, 1], [0, 1.5, 3])


_TARGET = torch.tensor([1, 0, 2])


@pytest.mark.parametrize(
    ("function", "sizes"),
    [
        (lambda x, w, b: F.group_norm(x, 2, w, b), [(2, 4, 5), (4,), (4,)]),
        (lambda x, w, b: F.group_norm(x, 2, w, b), [(2, 4), (4,), (4,)]),
        (lambda x, w, b: F.layer_norm(x, (4,), w, b), [(2, 3, 4), (4,), (4,)]),
        (lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True), [(3, 4, 2), (4,), (4,)]),
        (lambda x: F.cross_entropy(x, _TARGET, reduction="none"), [(3, 4)]),
        (lambda x: F.cross_entropy(x, _TARGET, torch.tensor([1.0, 2.0, 3.0, 4.0]).double()), [(3, 4)]),
        (lambda x: F.cross_entropy(x, _TARGET, reduction="sum", label_smoothing=0.2), [(3, 4)]),
        (lambda x: F.nll_loss(x, _TARGET, reduction="none"), [(3, 4)]),
    ],
)
def test_gradients_of_several_gradients_at_once(function, sizes) -> None:
    torch.manual_seed(0)
    given = [torch.randn(each, dtype=torch.float64, requires_grad=True) for each in sizes]
    result = function(*given)
    seeds = torch.randn(3, *result.shape, dtype=torch.float64)
    at_once = torch.autograd.grad(result, given, seeds, is_grads_batched=True, retain_graph=True)
    one_by_one = [torch.autograd.grad(result, given, seed, retain_graph=True) for seed in seeds]
    for place, whole in enumerate(at_once):
        assert torch.allclose(whole, torch.stack([each[place] for each in one_by_one]))


@pytest.mark.parametrize("count", [1, 2])
def test_backward_that_is_differentiated_once(count) -> None:
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *inputs):
            return sum(inputs) * 2

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx, grad):
            return grad * 2 if count == 1 else (grad * 2, grad * 3)

    inputs = [torch.ones(2, requires_grad=True) for _ in range(count)]
    grads = torch.autograd.grad((Twice.apply(*inputs) ** 2).sum(), inputs, create_graph=True)
    assert [each.tolist() for each in grads] == ([[8, 8]] if count == 1 else [[16, 16], [24, 24]])
    with pytest.raises(RuntimeError, match="trying to differentiate twice a function that was marked"):
        grads[-1].sum().backward()
