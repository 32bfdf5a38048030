"""Operators that make a tensor a view of itself, in forward mode: the tangent is viewed likewise."""

import pytest

import mindtorch_v2 as torch

forward_ad = torch.autograd.forward_ad

VIEWS = {
    "squeeze": lambda x: x.squeeze_(),
    "squeeze.dim": lambda x: x.squeeze_(1),
    "unsqueeze": lambda x: x.unsqueeze_(0),
    "transpose": lambda x: x.transpose_(0, 2),
    "swapaxes": lambda x: x.swapaxes_(0, 1),
    "as_strided": lambda x: x.as_strided_((2, 3), (3, 1)),
    "t": lambda x: x.squeeze_(1).t_(),
}


@pytest.mark.parametrize("name", VIEWS)
def test_shapes_and_values(name):
    x, t = torch.randn(2, 1, 3), torch.randn(2, 1, 3)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x.clone(), t.clone())
        VIEWS[name](dual)
        primal, tangent = forward_ad.unpack_dual(dual)
        assert torch.equal(tangent, VIEWS[name](t.clone()))
        assert torch.equal(primal, VIEWS[name](x.clone()))


def test_writes_reach_the_tangents_of_views():
    x, t = torch.randn(2, 3), torch.randn(2, 3)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x.clone(), t.clone())
        row = dual[0]
        dual.t_()
        dual.mul_(2)
        assert torch.equal(forward_ad.unpack_dual(row).tangent, 2 * t[0])


def _written(x, y):
    x = x.clone()
    view = x.t()[0]
    x.copy_(y)
    return view, x


def test_older_views_see_the_tangents_of_their_base():
    """A view from before its base was written with a tangent shows its part of it, in whatever order that lies in memory."""
    x, y, t = torch.randn(2, 3), torch.randn(3, 2).t(), torch.randn(3, 2).t()
    values, moved = torch.func.jvp(lambda y: _written(x, y), (y,), (t,))
    assert torch.equal(values[0], y[:, 0]) and torch.equal(values[1], y)
    assert torch.equal(moved[0], t[:, 0]) and torch.equal(moved[1], t)


def test_older_views_under_vmap():
    x, y, t = torch.randn(2, 5, 3), torch.randn(2, 3, 5), torch.randn(2, 3, 5)
    push = torch.func.vmap(lambda x, y, t: torch.func.jvp(lambda y: _written(x, y), (y,), (t,)), (1, 2, 2))
    _, moved = push(x, y, t)
    assert torch.equal(moved[0], t.movedim(2, 0)[:, :, 0])
    assert torch.equal(moved[1], t.movedim(2, 0))
