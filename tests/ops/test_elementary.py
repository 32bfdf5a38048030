"""Errors of elementary functions in units in the last place, against numbers of 64 bits; arguments of every size."""

import math

import numpy
import pytest

import mindtorch_v2 as torch

_WIDE = torch._C._cpu_isa() == "v4"  # without AVX-512 other formulas are taken
# name, NumPy's name, lowest and highest argument, allowed error of float32 and of float64 with AVX-512, and without
_CASES = [
    ("acos", "arccos", -1, 1, (0.85, 0.85), (1, 4)),
    ("asin", "arcsin", -1, 1, (0.75, 0.85), (1, 4)),
    ("atan", "arctan", -60, 60, (0.75, 4), (1.1, 4)),
    ("cos", "cos", -2000, 2000, (0.7, 0.65), (1.1, 4)),
    ("exp", "exp", -86, 88, (0.6, 0.75), (1, 4)),
    ("log", "log", 0, 1000, (0.6, 0.6), (1, 4)),
    ("log10", "log10", 0, 1000, (0.6, 0.6), (1, 4)),
    ("log2", "log2", 0, 1000, (0.6, 0.6), (1, 4)),
    ("sin", "sin", -2000, 2000, (0.7, 0.65), (1.1, 4)),
    ("sinh", "sinh", -86, 86, (0.6, 1.25), (1, 4)),
    ("tan", "tan", -2000, 2000, (0.55, 4), (0.55, 4)),
    ("tanh", "tanh", -12, 12, (0.8, 0.7), (1.1, 4)),
]


def _arguments(low, high, dtype):
    """Evenly and, towards zero, evenly in their logarithm."""
    rng = numpy.random.default_rng(0)
    x = rng.uniform(low, high, 120_000)
    x[::2] *= 10.0 ** rng.uniform(-12, 0, x[::2].size)
    return x.astype(dtype)


def _units(got, exact):
    rounded = exact.astype(got.dtype)
    unit = numpy.spacing(numpy.maximum(numpy.abs(rounded), numpy.finfo(got.dtype).tiny))
    return (numpy.abs(got.astype(exact.dtype) - exact) / unit.astype(exact.dtype)).max()


@pytest.mark.skipif(numpy.finfo(numpy.longdouble).nmant < 60, reason="NumPy has no wider numbers than double here")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("name", "reference", "low", "high", "wide", "portable"), _CASES)
def test_error(name, reference, low, high, wide, portable, dtype):
    x = _arguments(low, high, dtype)
    exact = getattr(numpy, reference)(x.astype(numpy.longdouble))
    got = getattr(torch, name)(torch.from_numpy(x)).numpy()
    assert _units(got, exact) <= (wide if _WIDE else portable)[dtype == "float64"]


@pytest.mark.parametrize(("name", "low", "high", "bound"), [("erfc", -4, 9.2, 0.9), ("lgamma", 0, 80, 0.75)])
def test_error_of_special_functions(name, low, high, bound):
    x = _arguments(low, high, "float32")
    exact = numpy.array([getattr(math, name)(float(v)) for v in x])
    got = getattr(torch, name)(torch.from_numpy(x)).numpy()
    assert _units(got, exact) <= (bound if _WIDE else 2.5)


def test_lgamma_of_negative_numbers():
    x = -numpy.random.default_rng(0).uniform(0, 20, 20_000).astype(numpy.float32)
    exact = numpy.array([math.lgamma(float(v)) for v in x if v != math.floor(v)])
    got = torch.lgamma(torch.from_numpy(x[x != numpy.floor(x)])).numpy()
    assert numpy.abs(got - exact).max() <= (4e-6 if _WIDE else 8e-6)
    assert torch.lgamma(torch.tensor([0.0, -0.0, -1.0, -7.0, -1e10, -math.inf])).tolist() == [math.inf] * 6


def test_erfinv_inverts_erf():
    x = numpy.random.default_rng(0).uniform(-0.9999, 0.9999, 50_000).astype(numpy.float32)
    back = numpy.array([math.erf(float(v)) for v in torch.erfinv(torch.from_numpy(x)).numpy()])
    assert numpy.abs(back / x - 1).max() <= 1.2e-7
    assert torch.erfinv(torch.tensor([1.0, -1.0])).tolist() == [math.inf, -math.inf]


@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_angles_of_any_size(name, dtype):
    rng = numpy.random.default_rng(0)
    x = (rng.uniform(-1, 1, 4000) * 10.0 ** rng.uniform(0, 37, 4000)).astype(dtype)
    exact = numpy.array([getattr(math, name)(float(v)) for v in x])
    got = getattr(torch, name)(torch.from_numpy(x)).numpy()
    assert _units(got, exact) <= 4.5


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", [case[0] for case in _CASES])
def test_extreme_arguments(name, dtype):
    info = numpy.finfo(dtype)
    x = numpy.array([0, math.inf, math.nan, info.tiny, info.tiny / 4, info.max, 1], dtype)
    x = numpy.concatenate([x, -x])
    reference = next(case[1] for case in _CASES if case[0] == name)
    with numpy.errstate(all="ignore"):
        exact = getattr(numpy, reference)(x.astype(numpy.longdouble)).astype(dtype)
    got = getattr(torch, name)(torch.from_numpy(x)).numpy()
    assert numpy.array_equal(numpy.isnan(got), numpy.isnan(exact))
    numpy.testing.assert_allclose(got, exact, rtol=4 * info.eps)
    zeros = (exact == 0) & (x == 0)
    assert numpy.array_equal(numpy.signbit(got[zeros]), numpy.signbit(exact[zeros]))


@pytest.mark.parametrize("name", ["exp", "log", "tanh", "sin", "erfc", "lgamma"])
def test_rows_of_any_length(name):
    """A run's last elements, and elements that lie apart, are computed as the others are."""
    function, x = getattr(torch, name), torch.linspace(0.1, 5, 67)
    whole = function(x)
    for n in range(1, 68):
        assert torch.equal(function(x[:n]), whole[:n])
    assert torch.equal(function(x[::3]), whole[::3])
    assert torch.equal(getattr(x.clone(), name + "_")(), whole)
