"""Functions that exchange dimensions, by the names that each gives them."""

import pytest
from agreement import same

CALLS = {
    "transpose": lambda torch, x: torch.transpose(x, dim0=0, dim1=-1),
    "swapdims": lambda torch, x: torch.swapdims(x, dim0=0, dim1=-1),
    "swapaxes": lambda torch, x: torch.swapaxes(x, axis0=0, axis1=-1),
    "swapaxes as a method": lambda torch, x: x.swapaxes(axis0=0, axis1=-1),
    "swapaxes by place": lambda torch, x: x.swapaxes(0, -1),
    "swapaxes_": lambda torch, x: x.clone().swapaxes_(axis0=0, axis1=-1),
    "moveaxis": lambda torch, x: torch.moveaxis(x, source=0, destination=-1),
}


@pytest.mark.parametrize("call", CALLS)
def test_by_name(call):
    same(lambda torch: CALLS[call](torch, torch.arange(6.0).view(1, 2, 3)), strides=True)


def test_gradient():
    def program(torch):
        x = torch.arange(6.0).view(2, 3).requires_grad_()
        y = torch.swapaxes(x, 0, 1)
        (gradient,) = torch.autograd.grad(y, x, torch.arange(6.0).view(3, 2))
        return [y._is_view(), gradient]

    same(program)
