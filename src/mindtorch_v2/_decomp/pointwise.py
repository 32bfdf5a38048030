"""Element-wise operators in terms of simpler ones."""

from __future__ import annotations

import math
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2._decomp._precision import in_float32
from mindtorch_v2._decomp._registry import register_decomposition
from mindtorch_v2._operators.native.comparison import COMPOSED
from mindtorch_v2.types import Number

aten = torch.ops.aten

__all__: list[str] = []


@register_decomposition(aten.square.default)
def square(self: torch.Tensor) -> torch.Tensor:
    return self * self


@register_decomposition([aten.rsub.Tensor, aten.rsub.Scalar])
def rsub(self: torch.Tensor, other: torch.Tensor | Number, alpha: Number = 1) -> torch.Tensor:
    return torch.sub(other, self, alpha=alpha) if isinstance(other, torch.Tensor) else torch.add(-self * alpha, other)


@register_decomposition([aten.copysign.Tensor, aten.copysign.Scalar])
def copysign(self: torch.Tensor, other: torch.Tensor | Number) -> torch.Tensor:
    other = other if isinstance(other, torch.Tensor) else torch.full((), other, dtype=self.dtype, device=self.device)
    size = torch.abs(self)
    return torch.where(torch.signbit(other), -size, size)


@register_decomposition(aten.fmax.default)
def fmax(self: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    larger = torch.where(torch.isnan(other) | (self > other), self, other)
    return torch.where(torch.isnan(self), other, larger)


@register_decomposition(aten.fmin.default)
def fmin(self: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    smaller = torch.where(torch.isnan(other) | (self < other), self, other)
    return torch.where(torch.isnan(self), other, smaller)


@register_decomposition(aten.floor_divide.Scalar)
def floor_divide(self: torch.Tensor, other: Number) -> torch.Tensor:
    return torch.div(self, other, rounding_mode="floor")


@register_decomposition(aten.nan_to_num.default)
def nan_to_num(
    self: torch.Tensor, nan: float | None = None, posinf: float | None = None, neginf: float | None = None
) -> torch.Tensor:
    if not self.dtype.is_floating_point:
        return self.clone()
    info = torch.finfo(self.dtype)
    made = torch.where(torch.isnan(self), 0.0 if nan is None else nan, self)
    made = torch.where(self == float("inf"), info.max if posinf is None else posinf, made)
    return torch.where(self == float("-inf"), info.min if neginf is None else neginf, made)


@register_decomposition(aten.sgn.default)
def sgn(self: torch.Tensor) -> torch.Tensor:
    if not self.is_complex():
        return torch.sign(self)
    size = torch.abs(self)
    return torch.where(size == 0, 0, self / size)


@register_decomposition([aten.lerp.Scalar, aten.lerp.Tensor])
@in_float32
def lerp(self: torch.Tensor, end: torch.Tensor, weight: torch.Tensor | Number) -> torch.Tensor:
    near = self + weight * (end - self)
    far = end - (end - self) * (1 - weight)
    small = torch.abs(weight) < 0.5 if isinstance(weight, torch.Tensor) else abs(weight) < 0.5
    return torch.where(small, near, far) if isinstance(small, torch.Tensor) else near if small else far


@register_decomposition(aten.addcmul.default)
@in_float32
def addcmul(self: torch.Tensor, tensor1: torch.Tensor, tensor2: torch.Tensor, *, value: Number = 1) -> torch.Tensor:
    product = tensor1 * tensor2
    return self + (product if value == 1 else product * value)


@register_decomposition(aten.addcdiv.default)
@in_float32
def addcdiv(self: torch.Tensor, tensor1: torch.Tensor, tensor2: torch.Tensor, *, value: Number = 1) -> torch.Tensor:
    quotient = tensor1 / tensor2
    return self + (quotient if value == 1 else quotient * value)


@register_decomposition(aten.masked_fill.Scalar)
def masked_fill(self: torch.Tensor, mask: torch.Tensor, value: Number) -> torch.Tensor:
    return torch.where(mask, torch.full((), value, dtype=self.dtype, device=self.device), self)


@register_decomposition(aten.hypot.default)
def hypot(self: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    a, b = torch.abs(self), torch.abs(other)
    large, small = torch.maximum(a, b), torch.minimum(a, b)
    share = torch.where(large == 0, 0.0, small / large)
    found = large * torch.sqrt(1 + share * share)
    return torch.where(torch.isinf(a) | torch.isinf(b), float("inf"), found)


@register_decomposition([aten.clamp_max.default, aten.clamp_max.Tensor])
def clamp_max(self: torch.Tensor, max: torch.Tensor | Number) -> torch.Tensor:
    return torch.clamp(self, max=max)


@register_decomposition([aten.clamp_min.default, aten.clamp_min.Tensor])
def clamp_min(self: torch.Tensor, min: torch.Tensor | Number) -> torch.Tensor:
    return torch.clamp(self, min=min)


@register_decomposition(aten.frac.default)
def frac(self: torch.Tensor) -> torch.Tensor:
    return self - torch.trunc(self)


@register_decomposition(aten.floor_divide.default)
def floor_divide_by_tensor(self: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    return torch.div(self, other, rounding_mode="floor")


@register_decomposition(aten.heaviside.default)
def heaviside(self: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    step = torch.where((self < 0) | torch.isnan(self), 0, 1).to(self.dtype)
    return torch.where(self == 0, values, step)


@register_decomposition(aten.isposinf.default)
def isposinf(self: torch.Tensor) -> torch.Tensor:
    return self == float("inf") if self.dtype.is_floating_point else torch.zeros_like(self, dtype=torch.bool)


@register_decomposition(aten.isneginf.default)
def isneginf(self: torch.Tensor) -> torch.Tensor:
    return self == float("-inf") if self.dtype.is_floating_point else torch.zeros_like(self, dtype=torch.bool)


@register_decomposition(aten.isfinite.default)
def isfinite(self: torch.Tensor) -> torch.Tensor:
    if not (self.dtype.is_floating_point or self.is_complex()):
        return torch.ones_like(self, dtype=torch.bool)
    return (self == self) & (torch.abs(self) != float("inf"))


@register_decomposition(aten.logaddexp.default)
@in_float32
def logaddexp(self: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    return _logaddexp(self, other, torch.exp, torch.log1p)


@register_decomposition(aten.logaddexp2.default)
@in_float32
def logaddexp2(self: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    return _logaddexp(self, other, torch.exp2, lambda x: torch.log1p(x) / math.log(2))


def _logaddexp(self: torch.Tensor, other: torch.Tensor, exp: Any, log1p: Any) -> torch.Tensor:
    larger, smaller = torch.maximum(self, other), torch.minimum(self, other)
    # Infinities of one sign have no difference.
    same = torch.isinf(self) & (self == other)
    return torch.where(same, self, larger + log1p(exp(smaller - larger)))


@register_decomposition(aten.sinc.default)
@in_float32
def sinc(self: torch.Tensor) -> torch.Tensor:
    angle = self * math.pi
    return torch.where(angle == 0, 1, torch.sin(angle) / angle)


@register_decomposition(aten.special_entr.default)
@in_float32
def special_entr(self: torch.Tensor) -> torch.Tensor:
    inside = torch.where(self > 0, -self * torch.log(self), torch.where(self == 0, 0.0, float("-inf")))
    return torch.where(torch.isnan(self), self, inside)


@register_decomposition(aten.special_ndtr.default)
@in_float32
def special_ndtr(self: torch.Tensor) -> torch.Tensor:
    scaled = self * math.sqrt(0.5)
    tail = 0.5 * torch.erfc(torch.abs(scaled))
    return torch.where(scaled < -1, tail, torch.where(scaled > 1, 1 - tail, 0.5 + 0.5 * torch.erf(scaled)))


@register_decomposition(aten.special_log_ndtr.default)
@in_float32
def special_log_ndtr(self: torch.Tensor) -> torch.Tensor:
    scaled = self * math.sqrt(0.5)
    below = torch.log(torch.special.erfcx(-scaled) / 2) - scaled * scaled
    return torch.where(self < 1, below, torch.log1p(-torch.erfc(scaled) / 2))


def _by_logarithm(self: torch.Tensor | Number, other: torch.Tensor | Number, log: Any) -> torch.Tensor:
    """`self * log(other)`, 0 where `self` is 0, NaN where `other` is."""
    model = self if isinstance(self, torch.Tensor) else other
    assert isinstance(model, torch.Tensor)
    kind = torch.result_type(self, other)
    kind = kind if kind.is_floating_point or kind.is_complex else torch.get_default_dtype()
    x, y = (
        each.to(kind) if isinstance(each, torch.Tensor) else torch.full((), each, dtype=kind, device=model.device)
        for each in (self, other)
    )
    return torch.where(torch.isnan(y), y, torch.where(x == 0, torch.zeros_like(x), x * log(y)))


@register_decomposition([aten.xlogy.Tensor, aten.xlogy.Scalar_Other, aten.xlogy.Scalar_Self])
@in_float32
def xlogy(self: torch.Tensor | Number, other: torch.Tensor | Number) -> torch.Tensor:
    return _by_logarithm(self, other, torch.log)


@register_decomposition(
    [aten.special_xlog1py.default, aten.special_xlog1py.other_scalar, aten.special_xlog1py.self_scalar]
)
@in_float32
def special_xlog1py(self: torch.Tensor | Number, other: torch.Tensor | Number) -> torch.Tensor:
    return _by_logarithm(self, other, torch.log1p)


@register_decomposition(aten.masked_fill.Tensor)
def masked_fill_by_tensor(self: torch.Tensor, mask: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    return torch.where(mask, value.to(self.dtype), self)


@register_decomposition([aten.where.ScalarSelf, aten.where.ScalarOther, aten.where.Scalar])
def where(condition: torch.Tensor, self: torch.Tensor | Number, other: torch.Tensor | Number) -> torch.Tensor:
    kind = torch.result_type(self, other)
    one, another = (
        each if isinstance(each, torch.Tensor) else torch.full((), each, dtype=kind, device=condition.device)
        for each in (self, other)
    )
    return aten.where.self(condition, one, another)


@register_decomposition(aten.isclose.default)
def isclose(
    self: torch.Tensor, other: torch.Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> torch.Tensor:
    result: torch.Tensor = COMPOSED["isclose"](self, other, rtol, atol, equal_nan)
    return result


@register_decomposition(aten.type_as.default)
def type_as(self: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    return aten._to_copy.default(self, dtype=other.dtype, device=other.device)


@register_decomposition(aten.logit.default)
@in_float32
def logit(self: torch.Tensor, eps: float | None = None) -> torch.Tensor:
    share = self if eps is None else torch.clamp(self, eps, 1 - eps)
    return torch.log(share / (1 - share))


@register_decomposition(aten.logit_backward.default)
@in_float32
def logit_backward(grad_output: torch.Tensor, self: torch.Tensor, eps: float | None = None) -> torch.Tensor:
    low, high = (0.0, 1.0) if eps is None else (eps, 1 - eps)
    outside = float("nan") if eps is None else 0.0
    return torch.where((self >= low) & (self <= high), grad_output / (self * (1 - self)), outside)
