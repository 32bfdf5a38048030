"""Distances between rows and similarities: orders, batches, gradients at zero distance, errors."""

import pytest
from agreement import agree, agree_on_error


def _wave(torch, *shape, shift=0.0):
    n = 1
    for size in shape:
        n *= size
    return torch.sin(torch.arange(n, dtype=torch.float64) * 1.7 + shift).reshape(shape)


@pytest.mark.parametrize("p", [0.0, 0.5, 1.0, 2.0, 3.0, float("inf")])
@pytest.mark.parametrize("batch", [(), (2,)])
def test_cdist(batch, p):
    def program(torch):
        a, b = _wave(torch, *batch, 4, 5).requires_grad_(), _wave(torch, *batch, 6, 5, shift=1.0).requires_grad_()
        y = torch.cdist(a, b, p, compute_mode="donot_use_mm_for_euclid_dist")
        return [y, *torch.autograd.grad(y, [a, b], _wave(torch, *y.shape, shift=0.3))]

    agree(program, factor=100)


@pytest.mark.parametrize("p", [0.0, 1.0, 2.0, 3.0, float("inf")])
def test_pdist(p):
    def program(torch):
        a = _wave(torch, 5, 4).requires_grad_()
        y = torch.pdist(a, p)
        return [y, *torch.autograd.grad(y, a, _wave(torch, *y.shape, shift=0.3))]

    agree(program, factor=100)


def test_zero_distance_has_zero_gradient():
    def program(torch):
        a = torch.ones(3, 2, requires_grad=True)
        y = torch.cdist(a, torch.ones(2, 2))
        return [y, *torch.autograd.grad(y.sum(), a)]

    agree(program)


def test_similarities():
    def program(torch):
        a, b = _wave(torch, 4, 5).requires_grad_(), _wave(torch, 4, 5, shift=1.0).requires_grad_()
        y = [
            torch.cosine_similarity(a, b),
            torch.cosine_similarity(a, b[:1], 1),
            torch.pairwise_distance(a, b, 2.0, 1e-6, True),
        ]
        return [*y, *torch.autograd.grad(sum(item.sum() for item in y), [a, b])]

    agree(program, factor=100)


@pytest.mark.parametrize(
    "call",
    [
        lambda torch: torch.cdist(torch.ones(2, 3), torch.ones(2, 4)),
        lambda torch: torch.cdist(torch.ones(3), torch.ones(2, 4)),
        lambda torch: torch.pdist(torch.ones(3)),
    ],
)
def test_errors(call):
    agree_on_error(call)
