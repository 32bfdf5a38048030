"""Draws whose distribution differs by element, by their moments; and how they move with their parameters, beside the CPU's."""

from typing import Any

import pytest

import mindtorch_v2 as torch

_N = 20000


def _filled(*values: float) -> list[Any]:
    return [torch.full((_N,), v, device="cuda", dtype=torch.float64) for v in values]


def _assert_moments(drawn: Any, mean: float, variance: float) -> None:
    """Five standard deviations of what is estimated; the fourth moment is taken from the numbers."""
    drawn = drawn.cpu()
    assert abs(float(drawn.mean()) - mean) <= 5 * (variance / _N) ** 0.5 + 1e-12
    fourth = float(((drawn - mean) ** 4).mean())
    assert abs(float(((drawn - mean) ** 2).mean()) - variance) <= 5 * (max(fourth - variance**2, 0) / _N) ** 0.5 + 1e-12


@pytest.mark.parametrize("rate", [0.0, 0.5, 3.0, 9.9, 10.5, 200.0])
def test_poisson(rate: float) -> None:
    torch.manual_seed(1)
    drawn = torch.poisson(*_filled(rate))
    _assert_moments(drawn, rate, rate)
    assert torch.equal(drawn, drawn.round())


@pytest.mark.parametrize(("count", "p"), [(5, 0.3), (20, 0.7), (100, 0.4), (1000, 0.9), (7, 0.0), (7, 1.0), (0, 0.5)])
def test_binomial(count: int, p: float) -> None:
    torch.manual_seed(2)
    drawn = torch.binomial(*_filled(count, p))
    _assert_moments(drawn, count * p, count * p * (1 - p))
    assert int(drawn.min()) >= 0
    assert int(drawn.max()) <= count


@pytest.mark.parametrize("alpha", [0.3, 1.0, 4.5, 30.0])
def test_gamma(alpha: float) -> None:
    torch.manual_seed(3)
    _assert_moments(torch._standard_gamma(*_filled(alpha)), alpha, alpha)


def test_dirichlet() -> None:
    torch.manual_seed(4)
    alpha = torch.tensor([1.0, 2.0, 3.0], device="cuda", dtype=torch.float64)
    drawn = torch._sample_dirichlet(alpha.expand(_N, 3))
    assert torch.allclose(drawn.sum(-1).cpu(), torch.ones(_N, dtype=torch.float64))
    for place, a in enumerate((1.0, 2.0, 3.0)):
        _assert_moments(drawn[:, place], a / 6, a * (6 - a) / (36 * 7))


def test_points_stay_inside() -> None:
    for dtype, digits in ((torch.float32, 24), (torch.float64, 53)):
        drawn = torch._sample_dirichlet(torch.tensor([1e-30, 1e10], device="cuda", dtype=dtype)).tolist()
        assert drawn == [torch.finfo(dtype).tiny, 1 - 2.0**-digits]
        assert (
            torch._standard_gamma(torch.zeros(3, device="cuda", dtype=dtype)).tolist() == [torch.finfo(dtype).tiny] * 3
        )
    for draw in (torch.poisson, torch._standard_gamma):
        assert draw(torch.zeros(0, 3, device="cuda")).shape == (0, 3)


def test_seeds() -> None:
    for draw in (lambda: torch.poisson(*_filled(3.0)), lambda: torch._standard_gamma(*_filled(0.5))):
        torch.manual_seed(5)
        first, second = draw(), draw()
        torch.manual_seed(5)
        assert torch.equal(draw(), first)
        assert not torch.equal(first, second)
        own = torch.Generator("cuda").manual_seed(5)
        assert torch.equal(
            torch.poisson(*_filled(3.0), generator=own), torch.poisson(*_filled(3.0), generator=own.manual_seed(5))
        )


def test_seeds_of_all_bits() -> None:
    drawn = []
    for seed in (5, 5 + (1 << 62), 5 - (1 << 63)):
        torch.manual_seed(seed)
        drawn.append(torch.poisson(*_filled(3.0)))
    assert not torch.equal(drawn[0], drawn[1])
    assert not torch.equal(drawn[0], drawn[2])


def test_numbers_that_are_none() -> None:
    nan = torch.tensor([float("nan"), -1.0], device="cuda")
    assert torch.isnan(torch.poisson(nan)).all()
    assert torch.isnan(torch.binomial(nan[:1], torch.tensor([0.5], device="cuda"))).all()


def test_slopes() -> None:
    draw = torch.Generator().manual_seed(6)
    a, b, y = (torch.rand(300, dtype=torch.float64, generator=draw) for _ in range(3))
    alpha, sample = a * 20 + 0.05, b * 60
    for function, args in (
        (torch._standard_gamma_grad, (alpha, sample)),
        (torch._dirichlet_grad, (y, alpha, alpha + 1 + b)),
    ):
        ours, theirs = function(*(t.cuda() for t in args)), function(*args)
        torch.testing.assert_close(ours.cpu(), theirs, rtol=1e-9, atol=1e-9)


def test_integers_below_a_tensor() -> None:
    like, generator = torch.zeros(1000, device="cuda"), torch.Generator("cuda")
    top = torch.tensor(7, device="cuda")
    torch.manual_seed(7)
    expected = torch.randint_like(like, 7)
    torch.manual_seed(7)
    assert torch.equal(torch.randint_like(like, top), expected)
    assert torch.equal(torch.randint_like(like, top, generator=generator.manual_seed(7)), expected)
    assert torch.equal(torch.randint_like(like, 7, generator=generator.manual_seed(7)), expected)
    drawn = torch.randint_like(like, 3, 9, generator=generator.manual_seed(7))
    assert (int(drawn.min()), int(drawn.max())) == (3, 8)
