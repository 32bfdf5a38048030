"""Numbers beyond the range of a dtype: where they become infinities, where they are refused; and numbers at the edges of
powers, steps and ranges. Values and messages are those of PyTorch 2.13."""

import math
import warnings

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.nn import functional

nan, inf = math.nan, math.inf


def put(x, index, number):
    x[index] = number
    return x


def _names():
    return {
        "torch": torch,
        "F": functional,
        "nan": nan,
        "inf": inf,
        "put": put,
        "half": lambda *sizes: torch.zeros(sizes, dtype=torch.float16),
        "brain": lambda *sizes: torch.zeros(sizes, dtype=torch.bfloat16),
        "byte": lambda *sizes: torch.zeros(sizes, dtype=torch.uint8),
        "first": torch.tensor([0]),
        "mask": torch.tensor([True, False, True]),
    }


VALUES = [
    ("put(half(3), 0, 1e9)", "float16", [inf, 0.0, 0.0]),
    ("put(half(3), mask, -1e9)", "float16", [-inf, 0.0, -inf]),
    ("put(half(3), slice(2), 1e9)", "float16", [inf, inf, 0.0]),
    ("put(half(3), [0, 1], 1e9)", "float16", [inf, inf, 0.0]),
    ("put(half(3), ..., 1e9)", "float16", [inf, inf, inf]),
    ("put(brain(3), 0, -1e300)", "bfloat16", [-inf, 0.0, 0.0]),
    ("half(1).fill_(1e9)", "float16", [inf]),
    ("torch.full((1,), 1e9, dtype=torch.float16)", "float16", [inf]),
    ("torch.scalar_tensor(1e9, dtype=torch.float16)", "float16", inf),
    ("torch.where(mask, half(3), 1e9)", "float16", [0.0, inf, 0.0]),
    ("half(3).masked_fill(mask, torch.tensor(1.0))", "float16", [1.0, 0.0, 1.0]),
    ("byte(3).clamp(min=-1)", "uint8", [255, 255, 255]),
    ("F.threshold(half(3), 1e9, 1)", "float16", [1.0, 1.0, 1.0]),
    ("torch.xlogy(half(2) + 1, 1e9)", "float16", [inf, inf]),
    ("torch.full((1,), -1, dtype=torch.uint8)", "uint8", [255]),
    ("byte(2).masked_fill(mask[:2], -1)", "uint8", [255, 0]),
    (
        "torch.tensor([0j, complex(nan, 0), complex(inf, 0), 2j]) ** 0",
        "complex64",
        [(1 + 0j), (1 + 0j), (1 + 0j), (1 + 0j)],
    ),
    ("torch.tensor([0j, 1j]) ** 0j", "complex64", [(1 + 0j), (1 + 0j)]),
    ("torch.tensor([0j, 1j]).pow_(0)", "complex64", [(1 + 0j), (1 + 0j)]),
    ("torch.tensor([0.0, 2.0]) ** 0j", "complex64", [(1 + 0j), (1 + 0j)]),
    ("torch.tensor([1j, complex(inf, 0)]) ** 1", "complex64", [1j, (inf + 0j)]),
    ("torch.tensor([1j, 2 + 1j]) ** (2 + 0j)", "complex64", [(-1 + 0j), (3 + 4j)]),
    ("1 ** torch.tensor([complex(nan, 0), complex(inf, 0)])", "complex64", [(1 + 0j), (1 + 0j)]),
    ("torch.heaviside(torch.tensor([nan, 0.0, -1.0, inf]), torch.tensor(5.0))", "float32", [0.0, 5.0, 0.0, 1.0]),
    ("torch.heaviside(half(1) * nan, half(1))", "float16", [0.0]),
    (
        "torch.linspace(-3.3, 7.1, 33, dtype=torch.bfloat16)[[1, 11, 15, 18, 30]]",
        "bfloat16",
        [-2.96875, 0.265625, 1.578125, 2.5625, 6.4375],
    ),
    (
        "torch.linspace(-3.3, 7.1, 33, dtype=torch.float16)[[1, 11, 15, 18, 30]]",
        "float16",
        [-2.9765625, 0.27734375, 1.578125, 2.546875, 6.453125],
    ),
    (
        "torch.arange(0, 10, 0.3, dtype=torch.bfloat16)[17:23]",
        "bfloat16",
        [5.125, 5.40625, 5.71875, 6.0, 6.3125, 6.625],
    ),
    (
        "torch.arange(1, 300, 1.1, dtype=torch.float16)[17:23]",
        "float16",
        [19.6875, 20.796875, 21.890625, 23.0, 24.09375, 25.1875],
    ),
    ("torch.range(5, -2, -0.7, dtype=torch.bfloat16)[5:9]", "bfloat16", [1.5, 0.80078125, 0.10009765625, -0.6015625]),
    (
        "torch.logspace(0, 50, 7)[1:5]",
        "float32",
        [215443472.0, 4.641588766153114e16, 9.999999562023526e24, 2.1544347110598598e33],
    ),
]
REFUSED = [
    ("half(3).fill_(1e9)", RuntimeError, "value cannot be converted to type c10::Half without overflow"),
    (
        "torch.full((3,), 1e9, dtype=torch.float16)",
        RuntimeError,
        "value cannot be converted to type c10::Half without overflow",
    ),
    ("half(3).scatter(0, first, 1e9)", RuntimeError, "value cannot be converted to type c10::Half without overflow"),
    (
        "half(3).scatter_(0, first, 1e9, reduce='add')",
        RuntimeError,
        "value cannot be converted to type c10::Half without overflow",
    ),
    ("half(3).index_fill(0, first, 1e9)", RuntimeError, "value cannot be converted to type c10::Half without overflow"),
    (
        "half(3).index_fill_(0, first, torch.tensor(1e9))",
        RuntimeError,
        "value cannot be converted to type c10::Half without overflow",
    ),
    (
        "half(3).masked_fill(mask, torch.tensor(1e9))",
        RuntimeError,
        "value cannot be converted to type c10::Half without overflow",
    ),
    ("F.pad(half(3), (1, 1), value=1e9)", RuntimeError, "value cannot be converted to type c10::Half without overflow"),
    ("F.pad(byte(3), (1, 1), value=-1)", RuntimeError, "value cannot be converted to type uint8_t without overflow"),
    ("half(3).clamp(max=1e9)", RuntimeError, "value cannot be converted to type c10::Half without overflow"),
    ("half(3).clamp_min(1e9)", RuntimeError, "value cannot be converted to type c10::Half without overflow"),
    ("half(3).clamp_max(-1e9)", RuntimeError, "value cannot be converted to type c10::Half without overflow"),
    ("F.hardtanh(half(3), -1e9, 1e9)", RuntimeError, "value cannot be converted to type c10::Half without overflow"),
    ("F.threshold(half(3), 0, 1e9)", RuntimeError, "value cannot be converted to type c10::Half without overflow"),
    (
        "torch.add(half(3), half(3), alpha=1e9)",
        RuntimeError,
        "value cannot be converted to type c10::Half without overflow",
    ),
    ("half(3) ** 1e9", RuntimeError, "value cannot be converted to type c10::Half without overflow"),
    ("F.hardshrink(half(3), 1e9)", RuntimeError, "value cannot be converted to type c10::Half without overflow"),
    (
        "half(3).index_add(0, first, half(1), alpha=1e9)",
        RuntimeError,
        "value cannot be converted to type c10::Half without overflow",
    ),
    (
        "torch.linspace(0, 1e9, 3, dtype=torch.float16)",
        RuntimeError,
        "value cannot be converted to type c10::Half without overflow",
    ),
    ("half(3).uniform_(0, 1e9)", RuntimeError, "to is out of bounds for c10::Half"),
    ("byte(3).scatter(0, first, 300)", RuntimeError, "value cannot be converted to type uint8_t without overflow"),
    ("byte(3).index_fill(0, first, 300)", RuntimeError, "value cannot be converted to type uint8_t without overflow"),
    ("byte(3).clamp(min=300)", RuntimeError, "value cannot be converted to type uint8_t without overflow"),
    ("byte(3) ** 300", RuntimeError, "value cannot be converted to type uint8_t without overflow"),
    ("torch.where(mask, byte(3), 300)", RuntimeError, "value cannot be converted to type uint8_t without overflow"),
    (
        "torch.addcmul(byte(3), byte(3), byte(3), value=300)",
        RuntimeError,
        "value cannot be converted to type uint8_t without overflow",
    ),
    (
        "torch.addmm(byte(2, 2), byte(2, 2), byte(2, 2), alpha=300)",
        RuntimeError,
        "value cannot be converted to type uint8_t without overflow",
    ),
    (
        "torch.linspace(0, 300, 3, dtype=torch.uint8)",
        RuntimeError,
        "value cannot be converted to type uint8_t without overflow",
    ),
    (
        "torch.zeros(3).addcdiv(torch.ones(3), torch.ones(3), value=1e300)",
        RuntimeError,
        "value cannot be converted to type float without overflow",
    ),
    (
        "torch.zeros(2, dtype=torch.complex64).fill_(1e300)",
        RuntimeError,
        "value cannot be converted to type c10::complex<float> without overflow",
    ),
    (
        "put(torch.zeros(2, dtype=torch.complex64), 0, 1e300j)",
        RuntimeError,
        "value cannot be converted to type c10::complex<float> without overflow",
    ),
    (
        "torch.zeros(3).index_fill(0, first, 1j)",
        RuntimeError,
        "index_fill_(): Converting complex Scalar to non-complex type is not supported",
    ),
    (
        "torch.linspace(0, 1j, 3, dtype=torch.float32)",
        RuntimeError,
        "torch.linspace(): inferred dtype c10::complex<float> can't be safely cast to passed dtype Float",
    ),
    (
        "torch.randperm(257, dtype=torch.uint8)",
        RuntimeError,
        "value cannot be converted to type uint8_t without overflow",
    ),
    (
        "torch.randperm(129, dtype=torch.int8)",
        RuntimeError,
        "value cannot be converted to type int8_t without overflow",
    ),
    ("torch.randperm(2050, dtype=torch.float16)", RuntimeError, "n cannot be greater than 2049 for Half type."),
    ("torch.randperm(2**24 + 2, dtype=torch.float32)", RuntimeError, "n cannot be greater than 2^24+1 for Float type."),
    (
        "torch.randperm(300, out=torch.empty(0, dtype=torch.uint8))",
        RuntimeError,
        "value cannot be converted to type uint8_t without overflow",
    ),
    ("torch.tensor([1 + 0j], dtype=torch.int64)", TypeError, "'complex' object cannot be interpreted as an integer"),
]


@pytest.mark.parametrize("call, dtype, expected", VALUES, ids=[row[0] for row in VALUES])
def test_values(call, dtype, expected):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = eval(call, _names())
    assert str(result.dtype) == f"torch.{dtype}"
    assert result.tolist() == expected


@pytest.mark.parametrize("call, kind, message", REFUSED, ids=[row[0] for row in REFUSED])
def test_refused(call, kind, message):
    with pytest.raises(kind) as caught:
        eval(call, _names())
    assert type(caught.value) is kind
    assert str(caught.value) == message


@pytest.mark.parametrize(
    "default, expected", [("float16", "complex64"), ("bfloat16", "complex64"), ("float64", "complex128")]
)
def test_full_of_complex_numbers_under_a_default_dtype(default, expected):
    before = torch.get_default_dtype()
    torch.set_default_dtype(getattr(torch, default))
    try:
        result = torch.full((2,), 1j)
    finally:
        torch.set_default_dtype(before)
    assert result.dtype is getattr(torch, expected)
    assert result.tolist() == [1j, 1j]
