"""Element-wise functions: accuracy over their whole range, special values, dtypes that they turn integers into."""

import math

import numpy
import pytest
from agreement import agree

import mindtorch_v2 as torch

_SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 100.0, -100.0, 1e-30, 1e30, float("inf"), float("-inf"), float("nan")]
_EVERYWHERE = [
    "abs",
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "ceil",
    "cos",
    "cosh",
    "digamma",
    "erf",
    "erfc",
    "erfinv",
    "exp",
    "exp2",
    "expm1",
    "floor",
    "frac",
    "i0",
    "lgamma",
    "log",
    "log10",
    "log1p",
    "log2",
    "logit",
    "neg",
    "reciprocal",
    "round",
    "rsqrt",
    "sgn",
    "sigmoid",
    "sign",
    "sin",
    "sinc",
    "sinh",
    "sqrt",
    "square",
    "tan",
    "tanh",
    "trunc",
]
# name, lowest, highest, allowed error in units in the last place of float32; others are in test_elementary.py
_RANGES = [
    ("cosh", -80, 80, 1),
    ("erf", -5, 5, 1.5),
    ("expm1", -10, 80, 1),
    ("log1p", -0.999, 1000, 1.25),
    ("sqrt", 0, 1e6, 0.5),
]


@pytest.mark.parametrize(("name", "low", "high", "bound"), _RANGES)
def test_error_in_units_in_the_last_place(name, low, high, bound):
    rng = numpy.random.default_rng(0)
    x = rng.uniform(low, high, 200_000).astype(numpy.float32)
    x[::3] *= numpy.float32(10.0) ** rng.uniform(-8, 0, x[::3].size).astype(numpy.float32)
    wide = x.astype(numpy.float64)
    exact = numpy.array([math.erf(v) for v in wide]) if name == "erf" else getattr(numpy, name)(wide)
    got = getattr(torch, name)(torch.from_numpy(x)).numpy().astype(numpy.float64)
    unit = numpy.spacing(numpy.abs(exact).astype(numpy.float32)).astype(numpy.float64)
    finite = numpy.isfinite(exact)
    assert (numpy.abs(got - exact)[finite] / unit[finite]).max() <= bound + 0.01


@pytest.mark.parametrize("name", _EVERYWHERE)
def test_special_values(name):
    def program(torch):
        function = getattr(torch, name)
        return [function(torch.tensor(_SPECIAL)), function(torch.tensor(_SPECIAL, dtype=torch.float64))]

    agree(program, factor=4)


@pytest.mark.parametrize(
    "name",
    ["ceil", "cos", "exp", "floor", "round", "sigmoid", "sqrt", "square", "trunc", "tanh", "neg", "abs", "sign", "erf"],
)
def test_integers(name):
    def program(torch):
        return [
            getattr(torch, name)(torch.tensor([0, 1, 4])),
            getattr(torch, name)(torch.tensor([0, 1, 4], dtype=torch.uint8)),
        ]

    agree(program)


@pytest.mark.parametrize(
    "name",
    [
        "acos",
        "asin",
        "atan",
        "cos",
        "cosh",
        "exp",
        "log",
        "sin",
        "sinh",
        "sqrt",
        "tan",
        "tanh",
        "sigmoid",
        "expm1",
        "log1p",
        "log2",
        "log10",
        "rsqrt",
        "acosh",
        "asinh",
        "atanh",
    ],
)
def test_complex(name):
    def program(torch):
        z = torch.tensor([0.3 + 0.4j, -0.5 + 2j, 1.5 - 0.7j], dtype=torch.complex128, requires_grad=True)
        y = getattr(torch, name)(z)
        return [y, torch.autograd.grad(y, z, torch.tensor([1 + 1j, 2 - 1j, 0.5j], dtype=torch.complex128))]

    agree(program)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", ["exp", "log", "tanh", "erf", "sin", "sqrt", "round", "sigmoid", "rsqrt"])
def test_reduced_precision_rounds_once(dtype, name):
    def program(torch):
        x = (torch.arange(3000).to(torch.float32) / 500 - 2.5).to(getattr(torch, dtype))
        return getattr(torch, name)(x)

    agree(program)


def test_rounding():
    def program(torch):
        x = torch.tensor([0.5, 1.5, 2.5, -0.5, -1.5, 1234.5678, -0.045])
        return [
            torch.round(x),
            torch.round(x, decimals=2),
            torch.round(x, decimals=-2),
            x.ceil(),
            x.floor(),
            x.trunc(),
            x.frac(),
        ]

    agree(program)


def test_two_argument_functions():
    def program(torch):
        a = torch.tensor(_SPECIAL, dtype=torch.float64).reshape(-1, 1)
        b = torch.tensor(_SPECIAL, dtype=torch.float64)
        names = [
            "atan2",
            "hypot",
            "logaddexp",
            "logaddexp2",
            "xlogy",
            "fmax",
            "fmin",
            "maximum",
            "minimum",
            "copysign",
            "nextafter",
        ]
        return [getattr(torch, name)(a, b) for name in names]

    agree(program)


@pytest.mark.parametrize(
    "name",
    [
        "entr",
        "erfcx",
        "i0e",
        "i1",
        "i1e",
        "log_ndtr",
        "ndtr",
        "ndtri",
        "digamma",
        "gammaln",
        "erfinv",
        "expit",
        "psi",
        "sinc",
    ],
)
def test_special_namespace(name):
    def program(torch):
        x = torch.linspace(-12, 12, 97, dtype=torch.float64)
        p = torch.linspace(1e-10, 1 - 1e-10, 101, dtype=torch.float64)
        function = getattr(torch.special, name)
        return [function(x), function(p)]

    agree(program)


def test_special_functions_of_two_arguments():
    def program(torch):
        a = torch.tensor([0.3, 1.0, 2.5, 10.0, 40.0], dtype=torch.float64).reshape(-1, 1)
        x = torch.tensor([0.0, 0.2, 1.0, 3.0, 11.0, 60.0], dtype=torch.float64)
        return [
            torch.igamma(a, x),
            torch.igammac(a, x),
            torch.special.zeta(a + 1, x + 0.5),
            torch.special.xlog1py(a, x),
            torch.polygamma(2, x + 0.5),
            torch.mvlgamma(a + 5, 3),
        ]

    agree(program)


def test_nan_to_num():
    def program(torch):
        a = torch.tensor([1.0, float("nan"), float("inf"), float("-inf")])
        return [torch.nan_to_num(a.to(d)) for d in (torch.float32, torch.float64, torch.float16, torch.bfloat16)] + [
            torch.nan_to_num(a, nan=2.0, posinf=3.0),
            torch.nan_to_num(torch.tensor([1, 2])),
        ]

    agree(program)


def test_clamp():
    def program(torch):
        a = torch.tensor([-2.0, 0.0, 0.5, 2.0, float("nan")], requires_grad=True)
        low, high = torch.tensor(0.0, requires_grad=True), torch.tensor([1.0, 1.0, 0.25, -1.0, 1.0], requires_grad=True)
        y = a.clamp(low, high)
        grads = torch.autograd.grad(y.sum(), (a, low, high))
        z = a.clamp(0, 0.5)
        edge = torch.autograd.grad(z.sum(), a)
        i = torch.tensor([-3, 0, 3])
        return [
            y,
            grads,
            z,
            edge,
            i.clamp(-1, 1),
            i.clamp(min=0.5),
            i.clamp_max(2),
            i.clip(0),
            a.clamp(min=float("nan")),
        ]

    agree(program)


def test_ties_share_the_gradient():
    def program(torch):
        a = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
        b = torch.tensor([1.0, 3.0, 2.0], requires_grad=True)
        return [
            torch.autograd.grad(getattr(torch, n)(a, b).sum(), (a, b)) for n in ("maximum", "minimum", "fmax", "fmin")
        ]

    agree(program)


def test_where_and_masked_fill():
    def program(torch):
        a = torch.arange(12.0).reshape(3, 4)
        mask = a % 3 == 0
        return [
            torch.where(mask, a, -a),
            torch.where(mask, a, 1),
            torch.where(mask, 1, 2),
            torch.where(mask, 1.5, a.to(torch.int64)),
            torch.where(mask[:, :1], a, a.double()),
            a.masked_fill(mask, 9),
            a.masked_fill(mask[0], float("-inf")),
            a.t().masked_fill(mask.t(), torch.tensor(2)),
            a.clone().masked_fill_(mask, 3),
            torch.zeros(4).masked_fill(mask, 1),
        ]

    agree(program)


def test_polygamma_as_a_method():
    def program(torch):
        x = torch.tensor([0.5, 1.0, 2.5], requires_grad=True)
        y = x.polygamma(2)
        y.sum().backward()
        return [y, x.grad, x.detach().polygamma(n=1), x.detach().clone().polygamma_(1)]

    agree(program, factor=4.0)


def test_spmm_of_dense_matrices():
    def program(torch):
        return [torch.spmm(torch.arange(6.0).reshape(2, 3), torch.arange(3.0).reshape(3, 1))]

    agree(program)
