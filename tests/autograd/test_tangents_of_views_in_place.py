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
