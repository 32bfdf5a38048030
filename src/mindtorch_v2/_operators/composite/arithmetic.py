"""Arithmetic that is made of other operators."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ... import _C
from ..._core.dtype import DTYPES
from ..table import S, T, aten, class_name, composite, fill

if TYPE_CHECKING:
    from ..._tensor import Tensor
    from ...types import Number


@composite(
    "deg2rad(Tensor self) -> Tensor",
    "Degrees to radians.",
    bind="function method inplace out",
    tags="pointwise",
    samples=[S(3, 4)],
    node="Deg2RadBackward0",
)
def deg2rad(self: Tensor) -> Tensor:
    return self * (math.pi / 180)


def _float_power_dtype(base, exponent):
    """complex128 if either is complex, float64 else: both, as PyTorch takes them, computed so."""
    complex_one = any(
        x.is_complex() if isinstance(x, _C.TensorBase) else isinstance(x, complex) for x in (base, exponent)
    )
    return DTYPES["complex128" if complex_one else "float64"]


def _check_float_power(written, which, base, exponent) -> None:
    """RuntimeError unless the tensor to write to is of the dtype that the power has."""
    dtype = _float_power_dtype(base, exponent)
    if written.dtype != dtype:
        raise RuntimeError(
            f"the {which} has dtype {class_name(written.dtype)} but the operation's result requires dtype "
            f"{class_name(dtype)}"
        )


_DOUBLE = T(3, 4, dtype="float64", low=0.5, high=2)

for _overload, _exponent, _sample in (("Tensor", "Tensor", T(4, dtype="float64")), ("Scalar", "Scalar", 1.5)):

    @composite(
        f"float_power_.{_overload}(Tensor(a!) self, {_exponent} exponent) -> Tensor(a!)",
        "`float_power` in place, of a tensor in double precision.",
        bind="method",
        tags="pointwise",
        samples=[S(_DOUBLE, _sample)],
        dtypes="",
    )
    def float_power_(self: Tensor, exponent: Tensor | Number) -> Tensor:
        _check_float_power(self, "base given to float_power_", self, exponent)
        return aten.pow_(self, exponent)


for _overload, _self, _exponent in (
    ("Tensor_Tensor_out", "Tensor", "Tensor"),
    ("Scalar_out", "Scalar", "Tensor"),
    ("Tensor_Scalar_out", "Tensor", "Scalar"),
):

    @composite(
        f"float_power.{_overload}({_self} self, {_exponent} exponent, *, Tensor(a!) out) -> Tensor(a!)",
        "`float_power` into a tensor in double precision.",
        bind="function",
        tags="pointwise",
    )
    def float_power_out(self: Tensor | Number, exponent: Tensor | Number, *, out: Tensor) -> Tensor:
        _check_float_power(out, "output given to float_power", self, exponent)
        return fill(out, aten.float_power(self, exponent))


@composite(
    "float_power.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor",
    "`self ** exponent` in double precision.",
    bind="function method",
    tags="pointwise",
    samples=[S(T(3, 4, low=0.5, high=2), T(4))],
)
def float_power(self: Tensor, exponent: Tensor) -> Tensor:
    dtype = _float_power_dtype(self, exponent)
    return aten.pow(self.to(dtype), exponent.to(dtype))


@composite(
    "float_power.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor",
    "`self ** exponent` in double precision.",
    bind="function method",
    tags="pointwise",
    samples=[S(T(3, 4, low=0.5, high=2), 1.5)],
)
def float_power_number(self: Tensor, exponent: Number) -> Tensor:
    return aten.pow(self.to(_float_power_dtype(self, exponent)), exponent)


@composite(
    "float_power.Scalar(Scalar self, Tensor exponent) -> Tensor",
    "`self ** exponent` in double precision.",
    bind="function",
    tags="pointwise",
    samples=[S(1.5, T(3, 4))],
)
def float_power_of_number(self: Number, exponent: Tensor) -> Tensor:
    return aten.pow(self, exponent.to(_float_power_dtype(self, exponent)))


@composite(
    "ldexp.Tensor(Tensor self, Tensor other) -> Tensor",
    "`self * 2**other`.",
    bind="function method out",
    tags="pointwise",
    samples=[S(T(3, 4), T(4))],
    node="LdexpBackward0",
)
def ldexp(self: Tensor, other: Tensor) -> Tensor:
    return aten.mul(self, aten.pow(2.0, other))


@composite(
    "ldexp_(Tensor(a!) self, Tensor other) -> Tensor(a!)",
    "`ldexp` in place.",
    bind="function method",
    tags="pointwise",
    node="LdexpBackward0",
)
def ldexp_(self: Tensor, other: Tensor) -> Tensor:
    return aten.mul_(self, aten.pow(2.0, other))


@composite(
    "positive(Tensor(a) self) -> Tensor(a)",
    "The tensor itself.",
    bind="function method",
    tags="pointwise",
    samples=[S(3, 4)],
    gives_back=True,
)
def positive(self: Tensor) -> Tensor:
    if self.dtype == DTYPES["bool"]:
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return self


@composite(
    "rad2deg(Tensor self) -> Tensor",
    "Radians to degrees.",
    bind="function method inplace out",
    tags="pointwise",
    samples=[S(3, 4)],
    node="Rad2DegBackward0",
)
def rad2deg(self: Tensor) -> Tensor:
    return self * (180 / math.pi)


def _bit_fields(x) -> tuple:
    """Integers of the same bits, the width of the fraction and the exponent of 1."""
    return (
        (aten.view(x, DTYPES["int64"]), 52, 1022) if x.element_size() == 8 else (aten.view(x, DTYPES["int32"]), 23, 126)
    )


@composite(
    "frexp.Tensor(Tensor self) -> (Tensor mantissa, Tensor exponent)",
    "A number of magnitude in [0.5, 1), and the power of two by which it is multiplied.",
    bind="function method out",
    out_overload="Tensor_out",
    out_dtype="exact",
    batching="stack",
    tags="pointwise",
    explicit=True,
    grad={"self": lambda grad, result1: grad / aten.exp2(result1.to(grad.dtype))},
    nondiff=(1,),
    samples=[S(3, 4)],
)
def frexp(self: Tensor) -> tuple:
    if not self.is_floating_point():
        raise RuntimeError("torch.frexp() only supports floating-point dtypes")
    x = self if self.element_size() > 2 else self.to(DTYPES["float32"])
    plain = x.isfinite().logical_and(x != 0)
    # Subnormal numbers have no exponent of their own until they are scaled up.
    wide = aten.where(plain, x * 2.0**60, 1.0)
    large = x.abs() >= 1
    wide = aten.where(plain.logical_and(large), x, wide)
    bits, fraction, one = _bit_fields(wide.contiguous())
    mask = ((1 << (11 if fraction == 52 else 8)) - 1) << fraction
    exponent = ((bits & mask) >> fraction) - one
    half = aten.view((bits & ~mask) | (one << fraction), x.dtype)
    exponent = aten.where(large, exponent, exponent - 60)
    mantissa = aten.where(plain, half, x).to(self.dtype)
    return mantissa, aten.where(plain, exponent, 0).to(DTYPES["int32"])
