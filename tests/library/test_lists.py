"""Operators that take or give lists of tensors, differentiated more than once. Values are those of PyTorch 2.13."""

import itertools

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import Tensor

_numbers = itertools.count()


def _op(function):
    return torch.library.custom_op(f"test_lists::f{next(_numbers)}", function, mutates_args=())


def _sum_of(xs: list[Tensor], factor: float) -> Tensor:
    return sum(x.sum() for x in xs) * factor


def test_backward_twice_through_a_list():
    total = _op(_sum_of)

    def setup_context(ctx, inputs, output):
        ctx.factor, ctx.shapes = inputs[1], [x.shape for x in inputs[0]]

    total.register_autograd(
        lambda ctx, grad: ([grad * ctx.factor * torch.ones(s) for s in ctx.shapes], None), setup_context=setup_context
    )
    a, b = torch.ones(2, requires_grad=True), torch.ones(3, requires_grad=True)
    y = total([a, b], 2.0)
    y.backward(retain_graph=True)
    y.backward(retain_graph=True)
    assert (a.grad.tolist(), b.grad.tolist()) == ([4.0, 4.0], [4.0, 4.0, 4.0])
    assert torch.autograd.grad(y, a)[0].tolist() == [2.0, 2.0]


def test_needs_input_grad_is_said_each_time():
    def product(xs: list[Tensor], y: Tensor) -> Tensor:
        return sum(x.sum() for x in xs) * y.sum()

    seen = []

    def backward(ctx, grad):
        seen.append(ctx.needs_input_grad)
        return [grad, grad], grad

    op = _op(product)
    op.register_autograd(backward)
    a, b = torch.ones((), requires_grad=True), torch.ones(())
    y = op([a, b], torch.ones(()))
    for _ in range(3):
        y.backward(retain_graph=True)
    assert seen == [([True, False], False)] * 3
    assert a.grad.item() == 3.0


def test_a_backward_that_fails_can_be_tried_again():
    failing = [True]

    def backward(ctx, grad):
        if failing:
            failing.pop()
            raise ValueError("the first time")
        return [grad, grad], None

    op = _op(_sum_of)
    op.register_autograd(backward)
    a, b = torch.ones((), requires_grad=True), torch.ones((), requires_grad=True)
    y = op([a, b], 1.0)
    with pytest.raises(ValueError, match="the first time"):
        y.backward(retain_graph=True)
    y.backward()
    assert a.grad.item() == 1.0


def test_a_second_derivative_through_a_list():
    def squares(xs: list[Tensor]) -> Tensor:
        return sum((x * x).sum() for x in xs)

    op = _op(squares)
    op.register_autograd(
        lambda ctx, grad: [2 * grad * x for x in ctx.saved_tensors],
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs[0]),
    )
    a, b = torch.ones(2, requires_grad=True), torch.ones(3, requires_grad=True)
    first, _ = torch.autograd.grad(op([a, b]), [a, b], create_graph=True)
    assert torch.autograd.grad(first.sum(), a)[0].tolist() == [2.0, 2.0]


def test_backward_twice_through_a_list_of_results():
    def parts(x: Tensor) -> list[Tensor]:
        return [x * 1, x * 2]

    op = _op(parts)
    op.register_autograd(lambda ctx, grads: grads[0] + 2 * grads[1])
    a = torch.ones(2, requires_grad=True)
    first, second = op(a)
    y = (first * second).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert a.grad.tolist() == [8.0, 8.0]


def test_a_kernel_gives_nothing_where_the_schema_names_nothing():
    namespace = f"test_lists_{next(_numbers)}"
    library = torch.library.Library(namespace, "DEF")
    library.define("f(Tensor x, bool gives) -> ()")
    library.impl("f", lambda x, gives: x + 1 if gives else None, "CPU")
    operator = getattr(torch.ops, namespace).f
    assert operator(torch.ones(1), False) is None
    with pytest.raises(RuntimeError, match="to return None but it returned something else instead"):
        operator(torch.ones(1), True)


def test_lists_among_other_results_have_gradients():
    def split(x: Tensor, n: int) -> tuple[list[Tensor], int, Tensor]:
        return [x[:n].clone(), x[n:].clone()], n, x.sum()

    op = _op(split)
    op.register_autograd(lambda ctx, parts, _, total: (torch.cat(parts) + total, None))
    x = torch.arange(3.0, requires_grad=True)
    (first, rest), n, total = op(x, 1)
    assert (n, rest.tolist(), total.item()) == (1, [1.0, 2.0], 3.0)
    (first.sum() * 2 + rest.sum() * 3 + total * 10).backward()
    assert x.grad.tolist() == [12.0, 13.0, 13.0]
