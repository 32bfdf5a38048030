"""The gamma family on the emulated GPU against the CPU's: poles, infinities, both sides of where series change."""

import pytest

import mindtorch_v2 as torch

_INF, _NAN = float("inf"), float("nan")


def _same(ours: torch.Tensor, theirs: torch.Tensor) -> None:
    torch.testing.assert_close(ours.cpu(), theirs, rtol=1e-10, atol=0, equal_nan=True)


def test_zeta_and_incomplete_gamma() -> None:
    s = torch.tensor([0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 12.5, 80.0, _INF, _NAN], dtype=torch.float64)[:, None]
    q = torch.tensor([-2.0, -1.5, 0.0, 0.25, 1.0, 4.0, 9.5, 30.0, 200.0, _INF, _NAN], dtype=torch.float64)
    for function in (torch.special.zeta, torch.igamma, torch.igammac):
        _same(function(s.cuda(), q.cuda()), function(s, q))
    _same(torch.special.zeta(2.5, q.cuda()), torch.special.zeta(2.5, q))
    _same(torch.special.zeta(s.cuda(), 1.5), torch.special.zeta(s, 1.5))


@pytest.mark.parametrize("n", [0, 1, 2, 3, 8])
def test_polygamma(n: int) -> None:
    x = torch.tensor([-2.25, -0.75, 0.25, 0.5, 1.0, 9.5, 10.0, 300.0], dtype=torch.float64)
    _same(torch.polygamma(n, x.cuda()), torch.polygamma(n, x))
    with pytest.raises(RuntimeError, match="negative n"):
        torch.polygamma(-1, x.cuda())


@pytest.mark.parametrize(
    "name", ["modified_bessel_k0", "modified_bessel_k1", "scaled_modified_bessel_k0", "scaled_modified_bessel_k1"]
)
def test_modified_bessel(name: str) -> None:
    x = torch.tensor([1e-9, 1e-3, 0.5, 2.5, 29.9, 30.1, 103.0, 400.0, 0.0, -1.0, _INF, _NAN], dtype=torch.float64)
    function = getattr(torch.special, name)
    _same(function(x.cuda()), function(x))


def test_airy() -> None:
    whole = torch.arange(-12.0, 12.0, 0.5, dtype=torch.float64)
    x = torch.cat(
        [whole, whole + 0.01, torch.tensor([-60.0, 60.0, 103.0, 104.0, 1e-9, _INF, -_INF, _NAN], dtype=torch.float64)]
    )
    torch.testing.assert_close(
        torch.special.airy_ai(x.cuda()).cpu(), torch.special.airy_ai(x), rtol=1e-9, atol=1e-15, equal_nan=True
    )
