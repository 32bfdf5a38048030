"""Views that were made while nothing was recorded: they require grad as their base does. Values are those of PyTorch 2.13."""

import pytest

import mindtorch_v2 as torch


def _views(x):
    with torch.no_grad():
        return [x.view(-1), x[0], x.t(), x.unbind(0)[0], x.split(1)[0], x.expand(2, 2, 3), x.view(-1)[1:]]


def test_they_require_grad_as_their_base_does():
    x = torch.ones(2, 3, requires_grad=True)
    views = _views(x)
    assert [v.requires_grad for v in views] == [True] * len(views)
    assert all(v.is_leaf and v.grad_fn is None for v in views)
    x.requires_grad_(False)
    assert not any(v.requires_grad for v in views)
    x.requires_grad_()
    assert all(v.requires_grad for v in views)


def test_those_of_a_result_too():
    (view, *_) = _views(torch.ones(2, 3, requires_grad=True) * 2)
    assert view.requires_grad and view.grad_fn is None


def test_what_is_no_differentiable_view_does_not():
    x = torch.ones(4, requires_grad=True)
    with torch.no_grad():
        others = [x.detach(), x.data[1:], x.view(torch.int32), x * 1]
    assert [t.requires_grad for t in others] == [False] * 4


def test_no_gradient_goes_through_them():
    x = torch.ones(2, 3, requires_grad=True)
    (view, *_) = _views(x)
    y = (view * 2).sum()
    assert y.requires_grad
    assert torch.autograd.grad(y, x, allow_unused=True, retain_graph=True) == (None,)
    with pytest.raises(RuntimeError, match="appears to not have been used in the graph"):
        torch.autograd.grad(y, view)
    view.requires_grad_()
    assert torch.autograd.grad((view * 2).sum(), view)[0].tolist() == [2.0] * 6


def test_their_memory_is_not_shown():
    (view, *_) = _views(torch.ones(2, 3, requires_grad=True))
    with pytest.raises(RuntimeError, match="Can't call numpy"):
        view.numpy()


def test_a_backward_sees_that_a_transposed_argument_required_grad():
    seen = []

    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 1

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            seen.append((x.t().requires_grad, torch.is_grad_enabled()))
            return grad

    Product.apply(torch.ones(2, 3, requires_grad=True)).sum().backward()
    assert seen == [(True, False)]
