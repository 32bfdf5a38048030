"""Element-wise operators in terms of simpler ones."""

from __future__ import annotations

import mindtorch_v2 as torch
from mindtorch_v2._decomp._precision import in_float32
from mindtorch_v2._decomp._registry import register_decomposition
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
