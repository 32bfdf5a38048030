"""Distances between rows on the emulated GPU against the CPU's: every order, batches that broadcast, equal and no rows."""

from typing import Any

import pytest

import mindtorch_v2 as torch
import mindtorch_v2.nn.functional as F


def _both(function: Any, *given: torch.Tensor) -> None:
    """The function's value and gradients are the CPU's."""
    here = [t.detach().clone().requires_grad_() for t in given]
    there = [t.detach().cuda().requires_grad_() for t in given]
    theirs, ours = function(*here), function(*there)
    torch.testing.assert_close(ours.detach().cpu(), theirs.detach(), rtol=1e-9, atol=1e-9)
    weight = torch.randn(theirs.shape, dtype=torch.float64)
    wanted = torch.autograd.grad(theirs, here, weight)
    for mine, expected in zip(torch.autograd.grad(ours, there, weight.cuda()), wanted, strict=True):
        torch.testing.assert_close(mine.cpu(), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("p", [0.0, 0.5, 1.0, 2.0, 3.0, float("inf")])
def test_orders(p: float) -> None:
    torch.manual_seed(0)
    x, y = torch.randn(2, 1, 5, 3, dtype=torch.float64), torch.randn(4, 6, 3, dtype=torch.float64)
    y[0, 0] = x[0, 0, 0]  # a distance of nothing
    y[1, 1, 2] = x[0, 0, 1, 2]
    _both(lambda a, b: torch.cdist(a, b, p, "donot_use_mm_for_euclid_dist"), x, y)
    _both(lambda a: F.pdist(a, p), torch.cat([x[0, 0], x[0, 0, :2]]))


def test_no_rows_and_no_numbers() -> None:
    none = torch.randn(0, 3, dtype=torch.float64)
    some = torch.randn(4, 3, dtype=torch.float64)
    _both(torch.cdist, none, some)
    _both(torch.cdist, some, none)
    _both(torch.cdist, some[:, :0], some[:, :0])
    _both(F.pdist, some[:1])
