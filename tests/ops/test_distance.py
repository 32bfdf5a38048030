"""Distances between rows and similarities: orders, batches, gradients at zero distance, errors."""

import numpy
import pytest
from agreement import agree, agree_on_error

import mindtorch_v2


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


# Fewer and more rows than a register holds, and rows longer than what is summed at once.
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("sizes", [(3, 5, 40), (19, 70, 5), (2, 16, 600), (5, 37, 257), (4, 130, 1)])
@pytest.mark.parametrize("p", [1, 2])
def test_cdist_and_its_slopes_from_the_definition(p, sizes, dtype):
    rows, others, n = sizes
    generator = numpy.random.default_rng(n)
    a, b = generator.standard_normal((2, rows, n)), generator.standard_normal((2, others, n))
    grad = generator.standard_normal((2, rows, others))
    difference = a[:, :, None, :] - b[:, None, :, :]
    expected = (numpy.abs(difference) ** p).sum(-1) ** (1 / p)
    slope = numpy.sign(difference) if p == 1 else difference / expected[..., None]
    x, y = (mindtorch_v2.tensor(v, dtype=getattr(mindtorch_v2, dtype), requires_grad=True) for v in (a, b))
    found = mindtorch_v2.cdist(x, y, p)
    found.backward(mindtorch_v2.tensor(grad, dtype=found.dtype))
    tolerance = 2e-5 if dtype == "float32" else 1e-12
    numpy.testing.assert_allclose(found.detach().numpy(), expected, tolerance)
    slope = slope * grad[..., None]
    for ours, theirs in ((x.grad, slope.sum(2)), (y.grad, -slope.sum(1))):
        numpy.testing.assert_allclose(ours.numpy(), theirs, tolerance, tolerance * numpy.abs(theirs).max())


@pytest.mark.parametrize("p", [1.0, 2.0])
@pytest.mark.parametrize("others", [3, 40])
def test_nan_reaches_the_slope_of_a_distance_without_weight(p, others):
    def program(torch):
        a = torch.ones(3, 4)
        a[1, 1] = float("nan")
        y = torch.cdist(a.requires_grad_(), torch.zeros(others, 4), p, compute_mode="donot_use_mm_for_euclid_dist")
        weight = torch.ones_like(y)
        weight[1] = 0
        return [y, *torch.autograd.grad(y, a, weight)]

    agree(program)


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
