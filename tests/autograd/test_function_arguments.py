"""Keyword arguments of `Function.apply`: each is an input that backward gives a gradient for. Compared with PyTorch 2.13."""

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.autograd import Function, forward_ad


class Product(Function):
    @staticmethod
    def forward(ctx, x, k, n=1):
        ctx.save_for_backward(x, k)
        ctx.n = n
        return x * k * n

    @staticmethod
    def backward(ctx, grad):
        x, k = ctx.saved_tensors
        return (grad * k * ctx.n, grad * x * ctx.n, None)[: len(ctx.needs_input_grad)]


class NewProduct(Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x, k, n=1):
        return x * k * n

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, k, ctx.n = inputs
        ctx.save_for_backward(x, k)
        ctx.save_for_forward(x, k)

    @staticmethod
    def backward(ctx, grad):
        x, k = ctx.saved_tensors
        return grad * k * ctx.n, grad * x * ctx.n, None

    @staticmethod
    def jvp(ctx, x_tangent, k_tangent, _):
        x, k = ctx.saved_tensors
        return ((0 if x_tangent is None else x_tangent * k) + (0 if k_tangent is None else k_tangent * x)) * ctx.n


def _leaves():
    return torch.ones(2, requires_grad=True), torch.full((2,), 3.0, requires_grad=True)


@pytest.mark.parametrize("function", [Product, NewProduct])
@pytest.mark.parametrize(
    ("call", "factor"),
    [
        (lambda f, x, w: f(x, k=w), 1.0),
        (lambda f, x, w: f(k=w, x=x), 1.0),
        (lambda f, x, w: f(x, n=2, k=w), 2.0),
        (lambda f, x, w: f(x, w, n=2), 2.0),
    ],
)
def test_gradients_of_keyword_arguments(function, call, factor):
    x, w = _leaves()
    call(function.apply, x, w).sum().backward()
    assert (x.grad.tolist(), w.grad.tolist()) == ([3.0 * factor] * 2, [factor] * 2)


def test_needs_input_grad_counts_them():
    seen = []

    class Watching(Product):
        @staticmethod
        def backward(ctx, grad):
            seen.append(ctx.needs_input_grad)
            return Product.backward(ctx, grad)

    x, w = _leaves()
    Watching.apply(x, k=w.detach()).sum().backward()
    Watching.apply(x.detach(), k=w, n=3).sum().backward()
    assert seen == [(True, False), (False, True, False)]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda f, x, w: f(x, z=w), r"forward\(\) got an unexpected keyword argument 'z'"),
        (lambda f, x, w: f(x, x=w), r"forward\(\) got multiple values for argument 'x'"),
        (lambda f, x, w: f(x, n=2), r"forward\(\) missing required argument: 'k' \(position 1\)"),
        (lambda f, x, w: f(k=w), r"forward\(\) missing required argument: 'x' \(position 0\)"),
        (lambda f, x, w: f(x), r"missing 1 required positional argument: 'k'"),
    ],
)
def test_arguments_that_do_not_fit(call, message):
    with pytest.raises(TypeError, match=message):
        call(Product.apply, *_leaves())


def test_forward_takes_nothing_by_keyword_only():
    class Only(Function):
        @staticmethod
        def forward(ctx, x, *, k):
            return x * k

    with pytest.raises(TypeError, match="unexpected keyword argument 'k'"):
        Only.apply(torch.ones(2), k=torch.ones(2))


def test_keyword_arguments_under_transforms():
    apply = NewProduct.apply
    rows = torch.vmap(lambda x, k: apply(x, k=k))(torch.ones(3, 2), torch.full((3, 2), 2.0))
    assert rows.tolist() == [[2.0, 2.0]] * 3
    assert torch.func.grad(lambda k: apply(torch.ones(2), k=k).sum())(torch.ones(2)).tolist() == [1.0, 1.0]
    value, tangent = torch.func.jvp(lambda k: apply(torch.ones(2), k=k), (torch.ones(2),), (torch.full((2,), 4.0),))
    assert (value.tolist(), tangent.tolist()) == ([1.0, 1.0], [4.0, 4.0])
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(torch.ones(2), torch.full((2,), 3.0))
        assert forward_ad.unpack_dual(apply(torch.full((2,), 5.0), k=dual)).tangent.tolist() == [15.0, 15.0]
    x, w = _leaves()
    torch.compile(lambda x, w: apply(x, k=w), backend="eager")(x, w).sum().backward()
    assert (x.grad.tolist(), w.grad.tolist()) == ([3.0, 3.0], [1.0, 1.0])
