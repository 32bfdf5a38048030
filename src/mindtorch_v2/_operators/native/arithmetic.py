"""Arithmetic: sums, products, quotients and their remainders, powers."""

import cmath
import math

from ..table import S, T, aten, conj, like, not_recorded, op, pointwise, rule


def _scaled(grad, factor):
    return grad if factor == 1 else grad * factor.conjugate()


def _zeros(grad):
    return aten.zeros_like(grad)


def _sgn_grad(grad, self, result):
    if not self.is_complex():
        return aten.zeros_like(grad)
    size = self.abs()
    along = aten.real(grad * result.conj()) * result
    return aten.masked_fill((grad - along) / size, size == 0, 0)


def _div_other(grad, self, other):
    return -grad * conj((self / other) / other)


def _mode_self(grad, other, rounding_mode):
    return grad / conj(other) if rounding_mode is None else aten.zeros_like(grad)


def _mode_other(grad, self, other, rounding_mode):
    return _div_other(grad, self, other) if rounding_mode is None else aten.zeros_like(grad)


def _pow_base(grad, self, exponent):
    if exponent == 0:
        return aten.zeros_like(grad)
    return grad * conj(exponent * self.pow(exponent - 1))


def _pow_base_tensor(grad, self, exponent):
    slope = grad * conj(exponent * self.pow(exponent - 1))
    return aten.where(exponent == 0, 0, slope)


def _pow_exponent(grad, self, exponent, result):
    # 0 ** e is 0 for every e > 0, and 1 at 0: flat, where the logarithm would give 0 * -inf.
    flat = self == 0 if exponent.is_complex() else (self == 0) & (exponent >= 0)
    # To a complex power a negative number is one on the complex plane, and its logarithm too.
    base = self.to(exponent.dtype) if exponent.is_complex() and not self.is_complex() else self
    return aten.where(flat, 0, grad * conj(result * base.log()))


def _pow_exponent_of_number(grad, self, exponent, result):
    if self == 0:
        steep = grad * conj(result * -math.inf)
        return steep if exponent.is_complex() else aten.where(exponent >= 0, 0, steep)
    if isinstance(self, complex) or exponent.is_complex():
        return grad * conj(result * cmath.log(self))
    return grad * conj(result * (math.log(self) if self > 0 else math.nan))


op(
    "abs(Tensor self) -> Tensor",
    "Absolute value; of a complex number its modulus.",
    bind="function method inplace out",
    tags="core pointwise",
    inplace_tags="",
    keeps_zero=True,
    meta=rule("pointwise_real", "self"),
    grad={"self": lambda grad, self: grad * self.sgn()},
    samples=[S(3, 4)],
    dtypes="all",
    alias="absolute",
)

op(
    "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
    "`self + alpha * other`.",
    bind="function method inplace out",
    tags="core pointwise",
    takes_numbers=True,
    meta=pointwise("self", "other"),
    grad={"self": lambda grad: grad, "other": lambda grad, alpha: _scaled(grad, alpha)},
    samples=[S(T(3, 4), T(3, 4)), S(T(3, 1), T(4), alpha=2)],
    dtypes="all",
    old_order="self alpha other",
)
op(
    "add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
    "`self + alpha * other`.",
    bind="function method inplace out",
    tags="core pointwise",
    out_tags="generated",
    takes_numbers=True,
    unlisted=True,
    seen_as="Tensor",
    meta=pointwise("self", "other"),
    grad={"self": lambda grad: grad},
    samples=[S(T(3, 4), 2)],
    dtypes="all",
    node="AddBackward0",
)

op(
    "addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor",
    "`self + value * tensor1 / tensor2`.",
    bind="function method inplace out",
    tags="pointwise",
    meta=pointwise("self", "tensor1", "tensor2"),
    grad={
        "self": lambda grad: grad,
        "tensor1": lambda grad, tensor2, value: grad * conj(value / tensor2),
        "tensor2": lambda grad, tensor1, tensor2, value: -grad * conj(value * tensor1 / (tensor2 * tensor2)),
    },
    samples=[S(T(3, 4), T(3, 4), T(4, low=1, high=2), value=0.5)],
    dtypes="floating complex",
    old_order="self value tensor1 tensor2",
)

op(
    "addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor",
    "`self + value * tensor1 * tensor2`.",
    bind="function method inplace out",
    tags="pointwise",
    meta=pointwise("self", "tensor1", "tensor2"),
    grad={
        "self": lambda grad: grad,
        "tensor1": lambda grad, tensor2, value: grad * conj(tensor2 * value),
        "tensor2": lambda grad, tensor1, value: grad * conj(tensor1 * value),
    },
    samples=[S(T(3, 4), T(3, 4), T(4), value=0.5)],
    dtypes="floating complex",
    old_order="self value tensor1 tensor2",
)

op(
    "div.Tensor(Tensor self, Tensor other) -> Tensor",
    "True division; integers give the default floating dtype.",
    bind="function method inplace out",
    tags="core pointwise",
    takes_numbers=True,
    meta=pointwise("self", "other", to="float"),
    grad={"self": lambda grad, other: grad / conj(other), "other": _div_other},
    samples=[S(T(3, 4), T(4, low=1, high=2))],
    dtypes="all",
    alias="divide true_divide",
)
op(
    "div.Scalar(Tensor self, Scalar other) -> Tensor",
    "True division; integers give the default floating dtype.",
    bind="function method inplace out",
    tags="core pointwise",
    out_tags="generated",
    takes_numbers=True,
    unlisted=True,
    seen_as="Tensor",
    meta=pointwise("self", "other", to="float"),
    grad={"self": lambda grad, other: grad / other.conjugate()},
    samples=[S(T(3, 4), 2)],
    dtypes="all",
    alias="divide true_divide",
    node="DivBackward0",
)
op(
    "div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor",
    'Division rounded as `rounding_mode` says: None, "trunc" (toward zero) or "floor".',
    bind="function method inplace out",
    out_overload="out_mode",
    tags="core pointwise",
    takes_numbers=True,
    meta=rule("div_mode", "self", "other", "rounding_mode"),
    grad={"self": _mode_self, "other": _mode_other},
    samples=[S(T(3, 4), T(4, low=1, high=2), rounding_mode=m) for m in (None, "trunc", "floor")],
    dtypes="real",
    alias="divide",
    node="DivBackward2",
)
op(
    "div.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode) -> Tensor",
    'Division rounded as `rounding_mode` says: None, "trunc" (toward zero) or "floor".',
    bind="function method inplace out",
    tags="core pointwise",
    out_tags="generated",
    takes_numbers=True,
    seen_as="Tensor_mode",
    meta=rule("div_mode", "self", "other", "rounding_mode"),
    grad={"self": lambda grad, other, rounding_mode: grad / other if rounding_mode is None else aten.zeros_like(grad)},
    samples=[S(T(3, 4), 2, rounding_mode=m) for m in (None, "trunc", "floor")],
    dtypes="real",
    alias="divide",
    node="DivBackward2",
)

op(
    "floor_divide(Tensor self, Tensor other) -> Tensor",
    "Quotient rounded toward minus infinity, as Python's `//`.",
    bind="function method inplace out",
    inplace_overload="Tensor",
    elementwise=True,
    takes_numbers=True,
    meta=pointwise("self", "other"),
    grad={("self", "other"): not_recorded("floor_divide")},
    node="NotImplemented",
    samples=[S(T(3, 4, grad=False), T(4, low=1, high=2, grad=False))],
    dtypes="real",
)
op(
    "floor_divide.Scalar(Tensor self, Scalar other) -> Tensor",
    "Quotient rounded toward minus infinity, as Python's `//`.",
    bind="function method inplace out",
    out_tags="generated",
    elementwise=True,
    takes_numbers=True,
    seen_as="default Tensor",
    meta=pointwise("self", "other"),
    grad={"self": not_recorded("floor_divide")},
    node="NotImplemented",
    samples=[S(T(3, 4, grad=False), 2)],
    dtypes="real",
)

op(
    "fmod.Tensor(Tensor self, Tensor other) -> Tensor",
    "Remainder with the sign of `self`, as C's fmod.",
    bind="function method inplace out",
    out_overload="Tensor_out",
    tags="core pointwise",
    meta=pointwise("self", "other"),
    grad={
        "self": lambda grad: grad,
        "other": lambda grad, self, other: -grad * self.div(other, rounding_mode="trunc"),
    },
    samples=[S(T(3, 4), T(4, low=1, high=2))],
    dtypes="real",
    node="FmodBackward1",
)
op(
    "fmod.Scalar(Tensor self, Scalar other) -> Tensor",
    "Remainder with the sign of `self`, as C's fmod.",
    bind="function method inplace out",
    tags="core pointwise",
    meta=pointwise("self", "other"),
    grad={"self": lambda grad: grad},
    samples=[S(T(3, 4), 2)],
    dtypes="real",
)

op(
    "lerp.Tensor(Tensor self, Tensor end, Tensor weight) -> Tensor",
    "`self + weight * (end - self)`.",
    bind="function method inplace out",
    out_dtype="found",
    out_overload="Tensor_out",
    tags="pointwise",
    meta=pointwise("self", "end", "weight"),
    grad={
        "self": lambda grad, weight: grad * conj(1 - weight),
        "end": lambda grad, weight: grad * conj(weight),
        "weight": lambda grad, self, end: grad * conj(end - self),
    },
    samples=[S(T(3, 4), T(3, 4), T(4, low=0, high=1))],
    dtypes="floating complex",
    node="LerpBackward1",
)
op(
    "lerp.Scalar(Tensor self, Tensor end, Scalar weight) -> Tensor",
    "`self + weight * (end - self)`.",
    bind="function method inplace out",
    tags="pointwise",
    meta=pointwise("self", "end"),
    grad={
        "self": lambda grad, weight: grad * (1 - weight.conjugate()),
        "end": lambda grad, weight: grad * weight.conjugate(),
    },
    samples=[S(T(3, 4), T(3, 4), 0.3), S(T(3, 4), T(3, 4), 0.9)],
    dtypes="floating complex",
)

op(
    "mul.Tensor(Tensor self, Tensor other) -> Tensor",
    "Product.",
    bind="function method inplace out",
    tags="core pointwise",
    takes_numbers=True,
    meta=pointwise("self", "other"),
    grad={"self": lambda grad, other: grad * conj(other), "other": lambda grad, self: grad * conj(self)},
    samples=[S(T(3, 4), T(3, 4)), S(T(3, 1), T(4))],
    dtypes="all",
    alias="multiply",
)
op(
    "mul.Scalar(Tensor self, Scalar other) -> Tensor",
    "Product.",
    bind="function method inplace out",
    tags="core pointwise",
    out_tags="generated",
    takes_numbers=True,
    unlisted=True,
    seen_as="Tensor",
    meta=pointwise("self", "other"),
    grad={"self": lambda grad, other: grad * other.conjugate()},
    samples=[S(T(3, 4), 2)],
    dtypes="all",
    alias="multiply",
    node="MulBackward0",
)

op(
    "neg(Tensor self) -> Tensor",
    "Negative.",
    bind="function method inplace out",
    out_dtype="found",
    tags="core pointwise",
    linear="self",
    meta=like("self"),
    grad={"self": lambda grad: -grad},
    samples=[S(3, 4)],
    dtypes="real complex",
    alias="negative",
)

op(
    "pow.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor",
    "`self` to the power `exponent`.",
    bind="function method inplace out",
    inplace_overload="Tensor",
    tags="core pointwise",
    meta=pointwise("self", "exponent"),
    grad={"self": _pow_base_tensor, "exponent": _pow_exponent},
    samples=[S(T(3, 4, low=0.5, high=2), T(4))],
    dtypes="floating complex",
    node="PowBackward1",
)
op(
    "pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor",
    "`self` to the power `exponent`.",
    bind="function method inplace out",
    inplace_overload="Scalar",
    tags="core pointwise",
    meta=pointwise("self", "exponent"),
    grad={"self": _pow_base},
    samples=[S(T(3, 4), 2), S(T(3, 4), 3), S(T(3, 4, low=0.5, high=2), -1.5), S(T(3, 4), 0)],
    dtypes="floating complex",
    node="PowBackward0",
)
op(
    "pow.Scalar(Scalar self, Tensor exponent) -> Tensor",
    "A number to the power of each element of `exponent`.",
    bind="function out",
    tags="core pointwise",
    meta=pointwise("self", "exponent"),
    grad={"exponent": _pow_exponent_of_number},
    samples=[S(2.5, T(3, 4))],
    dtypes="floating complex",
    node="PowBackward2",
)

op(
    "reciprocal(Tensor self) -> Tensor",
    "`1 / self`.",
    bind="function method inplace out",
    tags="core pointwise",
    meta=pointwise("self", to="float"),
    grad={"self": lambda grad, result: -grad * conj(result * result)},
    samples=[S(T(3, 4, low=0.5, high=2))],
    dtypes="floating complex",
)

op(
    "remainder.Tensor(Tensor self, Tensor other) -> Tensor",
    "Remainder with the sign of `other`, as Python's `%`.",
    bind="function method inplace out",
    out_overload="Tensor_out",
    tags="core pointwise",
    meta=pointwise("self", "other"),
    grad={
        "self": lambda grad: grad,
        "other": lambda grad, self, other: -grad * self.div(other, rounding_mode="floor"),
    },
    samples=[S(T(3, 4), T(4, low=1, high=2))],
    dtypes="real",
    node="RemainderBackward1",
)
op(
    "remainder.Scalar(Tensor self, Scalar other) -> Tensor",
    "Remainder with the sign of `other`, as Python's `%`.",
    bind="function method inplace out",
    tags="core pointwise",
    meta=pointwise("self", "other"),
    grad={"self": lambda grad: grad},
    samples=[S(T(3, 4), 2)],
    dtypes="real",
)
op(
    "remainder.Scalar_Tensor(Scalar self, Tensor other) -> Tensor",
    "Remainder with the sign of `other`, as Python's `%`.",
    bind="function out",
    out_dtype="exact",
    tags="pointwise",
    out_tags="generated",
    meta=pointwise("self", "other"),
    grad={
        "other": lambda grad, self, other: -grad * aten.div(aten.full_like(other, self), other, rounding_mode="floor")
    },
    samples=[S(2, T(3, 4, low=1, high=2))],
    dtypes="real",
)

op(
    "rsqrt(Tensor self) -> Tensor",
    "`1 / sqrt(self)`.",
    bind="function method inplace out",
    tags="core pointwise",
    meta=pointwise("self", to="float"),
    grad={"self": lambda grad, result: grad * conj(result.pow(3)) * -0.5},
    samples=[S(T(3, 4, low=0.5, high=2))],
    dtypes="floating complex",
)

op(
    "rsub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
    "`other - alpha * self`.",
    bind="function out",
    out_dtype="exact",
    out_overload="Tensor_out",
    out_tags="generated",
    elementwise=True,
    meta=pointwise("self", "other"),
    grad={"self": lambda grad, alpha: -_scaled(grad, alpha), "other": lambda grad: grad},
    samples=[S(T(3, 4), T(4), alpha=2)],
    dtypes="real complex",
)
op(
    "rsub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
    "`other - alpha * self`.",
    bind="function out",
    out_dtype="exact",
    tags="pointwise",
    out_tags="generated",
    meta=pointwise("self", "other"),
    grad={"self": lambda grad, alpha: -_scaled(grad, alpha)},
    samples=[S(T(3, 4), 2)],
    dtypes="real complex",
    node="RsubBackward1",
)

op(
    "sgn(Tensor self) -> Tensor",
    "Sign; of a complex number `self / |self|`.",
    bind="function method inplace out",
    out_dtype="found",
    tags="pointwise",
    keeps_zero=True,
    meta=like("self"),
    grad={"self": _sgn_grad},
    samples=[S(3, 4)],
    dtypes="all",
)

op(
    "sign(Tensor self) -> Tensor",
    "-1, 0 or 1.",
    bind="function method inplace out",
    out_dtype="found",
    tags="core pointwise",
    keeps_zero=True,
    meta=like("self"),
    grad={"self": _zeros},
    samples=[S(3, 4)],
    dtypes="real",
)

op(
    "sqrt(Tensor self) -> Tensor",
    "Square root.",
    bind="function method inplace out",
    tags="core pointwise",
    keeps_zero=True,
    meta=pointwise("self", to="float"),
    grad={"self": lambda grad, result: grad / (2 * conj(result))},
    samples=[S(T(3, 4, low=0.5, high=2))],
    dtypes="floating complex",
)

op(
    "square(Tensor self) -> Tensor",
    "`self * self`.",
    bind="function method inplace out",
    tags="pointwise",
    keeps_zero=True,
    meta=rule("pointwise_square", "self"),
    grad={"self": lambda grad, self: grad * conj(2 * self)},
    samples=[S(3, 4)],
    dtypes="real complex",
    node="PowBackward0",
)

op(
    "sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
    "`self - alpha * other`.",
    bind="function method inplace out",
    tags="core pointwise",
    takes_numbers=True,
    meta=pointwise("self", "other"),
    grad={"self": lambda grad: grad, "other": lambda grad, alpha: -_scaled(grad, alpha)},
    samples=[S(T(3, 4), T(3, 4)), S(T(3, 1), T(4), alpha=2)],
    dtypes="real complex",
    alias="subtract",
    old_order="self alpha other",
)
op(
    "sub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
    "`self - alpha * other`.",
    bind="function method inplace out",
    tags="core pointwise",
    out_tags="generated",
    takes_numbers=True,
    unlisted=True,
    seen_as="Tensor",
    meta=pointwise("self", "other"),
    grad={"self": lambda grad: grad},
    samples=[S(T(3, 4), 2)],
    dtypes="real complex",
    alias="subtract",
    node="SubBackward0",
)
