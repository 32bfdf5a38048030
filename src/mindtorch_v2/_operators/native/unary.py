"""Element-wise functions: exponentials, logarithms, trigonometry, rounding, and their two-argument kin."""

import math

from ..table import S, T, aten, conj, like, op, pointwise

_POSITIVE = {"low": 0.5, "high": 3}
_INSIDE = {"low": -0.9, "high": 0.9}


def _zeros(grad):
    return aten.zeros_like(grad)


op(
    "acos(Tensor self) -> Tensor",
    "Inverse cosine.",
    bind="function method inplace out",
    tags="core pointwise",
    meta=pointwise("self", to="float"),
    grad={"self": lambda grad, self: grad * -conj((1 - self * self).rsqrt())},
    samples=[S(T(3, 4, **_INSIDE))],
    dtypes="floating complex",
    alias="arccos",
)

op(
    "acosh(Tensor self) -> Tensor",
    "Inverse hyperbolic cosine.",
    bind="function method inplace out",
    tags="core pointwise",
    meta=pointwise("self", to="float"),
    # As two roots: for a complex number the root of the product may lie on the other branch.
    grad={"self": lambda grad, self: grad * conj((self - 1).rsqrt() * (self + 1).rsqrt())},
    samples=[S(T(3, 4, low=1.1, high=3))],
    dtypes="floating complex",
    alias="arccosh",
)

op(
    "asin(Tensor self) -> Tensor",
    "Inverse sine.",
    bind="function method inplace out",
    tags="core pointwise",
    keeps_zero=True,
    meta=pointwise("self", to="float"),
    grad={"self": lambda grad, self: grad * conj((1 - self * self).rsqrt())},
    samples=[S(T(3, 4, **_INSIDE))],
    dtypes="floating complex",
    alias="arcsin",
)

op(
    "asinh(Tensor self) -> Tensor",
    "Inverse hyperbolic sine.",
    bind="function method inplace out",
    tags="core pointwise",
    keeps_zero=True,
    meta=pointwise("self", to="float"),
    grad={"self": lambda grad, self: grad * conj((self.pow(2) + 1).rsqrt())},
    samples=[S(3, 4)],
    dtypes="floating complex",
    alias="arcsinh",
)

op(
    "atan(Tensor self) -> Tensor",
    "Inverse tangent.",
    bind="function method inplace out",
    tags="core pointwise",
    keeps_zero=True,
    meta=pointwise("self", to="float"),
    grad={"self": lambda grad, self: grad / conj(self * self + 1)},
    samples=[S(3, 4)],
    dtypes="floating complex",
    alias="arctan",
)

op(
    "atan2(Tensor self, Tensor other) -> Tensor",
    "Angle of the point (`other`, `self`).",
    bind="function method inplace out",
    tags="core pointwise",
    out_tags="core pointwise",
    meta=pointwise("self", "other", to="float"),
    grad={
        "self": lambda grad, self, other: (
            grad * (other / (self * self + other * other)).masked_fill((self == 0) & (other == 0), 0)
        ),
        "other": lambda grad, self, other: (
            grad * (-self / (self * self + other * other)).masked_fill((self == 0) & (other == 0), 0)
        ),
    },
    samples=[S(T(3, 4), T(4))],
    dtypes="real",
    alias="arctan2",
)

op(
    "atanh(Tensor self) -> Tensor",
    "Inverse hyperbolic tangent.",
    bind="function method inplace out",
    tags="core pointwise",
    keeps_zero=True,
    meta=pointwise("self", to="float"),
    grad={"self": lambda grad, self: grad / conj(1 - self.pow(2))},
    samples=[S(T(3, 4, **_INSIDE))],
    dtypes="floating complex",
    alias="arctanh",
)

op(
    "ceil(Tensor self) -> Tensor",
    "The smallest integer not below.",
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
    "cos(Tensor self) -> Tensor",
    "Cosine of radians.",
    bind="function method inplace out",
    tags="core pointwise",
    meta=pointwise("self", to="float"),
    grad={"self": lambda grad, self: grad * -conj(self.sin())},
    samples=[S(3, 4)],
    dtypes="floating complex",
)

op(
    "cosh(Tensor self) -> Tensor",
    "Hyperbolic cosine.",
    bind="function method inplace out",
    tags="core pointwise",
    meta=pointwise("self", to="float"),
    grad={"self": lambda grad, self: grad * conj(self.sinh())},
    samples=[S(3, 4)],
    dtypes="floating complex",
)

op(
    "exp(Tensor self) -> Tensor",
    "e to the power `self`.",
    bind="function method inplace out",
    tags="core pointwise",
    meta=pointwise("self", to="float"),
    grad={"self": lambda grad, result: grad * conj(result)},
    samples=[S(3, 4)],
    dtypes="floating complex",
)

op(
    "exp2(Tensor self) -> Tensor",
    "2 to the power `self`.",
    bind="function method inplace out",
    tags="pointwise",
    meta=pointwise("self", to="float"),
    grad={"self": lambda grad, result: grad * conj(result) * math.log(2)},
    samples=[S(3, 4)],
    dtypes="floating complex",
)

op(
    "expm1(Tensor self) -> Tensor",
    "`exp(self) - 1`, accurate near 0.",
    bind="function method inplace out",
    tags="core pointwise",
    keeps_zero=True,
    meta=pointwise("self", to="float"),
    grad={"self": lambda grad, result: grad * (conj(result) + 1)},
    samples=[S(3, 4)],
    dtypes="floating complex",
)

op(
    "floor(Tensor self) -> Tensor",
    "The largest integer not above.",
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
    "frac(Tensor self) -> Tensor",
    "The part after the point, with the sign of `self`.",
    bind="function method inplace out",
    out_dtype="found",
    tags="pointwise",
    keeps_zero=True,
    meta=like("self"),
    grad={"self": lambda grad: grad},
    samples=[S(3, 4)],
)

op(
    "hypot(Tensor self, Tensor other) -> Tensor",
    "`sqrt(self**2 + other**2)` without overflow.",
    bind="function method inplace out",
    tags="pointwise",
    meta=pointwise("self", "other"),
    grad={
        "self": lambda grad, self, result: grad * (self / result),
        "other": lambda grad, other, result: grad * (other / result),
    },
    samples=[S(T(3, 4), T(4))],
)

op(
    "log(Tensor self) -> Tensor",
    "Natural logarithm.",
    bind="function method inplace out",
    tags="core pointwise",
    meta=pointwise("self", to="float"),
    grad={"self": lambda grad, self: grad.div(conj(self))},
    samples=[S(T(3, 4, **_POSITIVE))],
    dtypes="floating complex",
)

op(
    "log10(Tensor self) -> Tensor",
    "Logarithm to base 10.",
    bind="function method inplace out",
    tags="core pointwise",
    meta=pointwise("self", to="float"),
    grad={"self": lambda grad, self: grad / (conj(self) * math.log(10))},
    samples=[S(T(3, 4, **_POSITIVE))],
    dtypes="floating complex",
)

op(
    "log1p(Tensor self) -> Tensor",
    "`log(1 + self)`, accurate near 0.",
    bind="function method inplace out",
    tags="core pointwise",
    keeps_zero=True,
    meta=pointwise("self", to="float"),
    grad={"self": lambda grad, self: grad / conj(self + 1)},
    samples=[S(T(3, 4, **_POSITIVE))],
    dtypes="floating complex",
)

op(
    "log2(Tensor self) -> Tensor",
    "Logarithm to base 2.",
    bind="function method inplace out",
    tags="core pointwise",
    meta=pointwise("self", to="float"),
    grad={"self": lambda grad, self: grad / (conj(self) * math.log(2))},
    samples=[S(T(3, 4, **_POSITIVE))],
    dtypes="floating complex",
)

op(
    "logaddexp(Tensor self, Tensor other) -> Tensor",
    "`log(exp(self) + exp(other))` without overflow.",
    bind="function method out",
    tags="pointwise",
    meta=pointwise("self", "other"),
    grad={
        "self": lambda grad, self, result: grad * conj((self - result).exp()),
        "other": lambda grad, other, result: grad * conj((other - result).exp()),
    },
    samples=[S(T(3, 4), T(4))],
)

op(
    "logaddexp2(Tensor self, Tensor other) -> Tensor",
    "`log2(2**self + 2**other)` without overflow.",
    bind="function method out",
    tags="pointwise",
    meta=pointwise("self", "other"),
    grad={
        "self": lambda grad, self, result: grad * (self - result).exp2(),
        "other": lambda grad, other, result: grad * (other - result).exp2(),
    },
    samples=[S(T(3, 4), T(4))],
)

op(
    "round(Tensor self) -> Tensor",
    "Nearest integer, halves to even.",
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
    "round.decimals(Tensor self, *, int decimals) -> Tensor",
    "Rounded to `decimals` decimal places, halves to even.",
    bind="function method inplace out",
    out_dtype="found",
    tags="pointwise",
    meta=like("self"),
    grad={"self": _zeros},
    samples=[S(T(3, 4), decimals=2), S(T(3, 4), decimals=-1)],
)

op(
    "sigmoid(Tensor self) -> Tensor",
    "`1 / (1 + exp(-self))`.",
    bind="function method inplace out",
    tags="core pointwise",
    meta=pointwise("self", to="float"),
    grad={"self": lambda grad, result: aten.sigmoid_backward(grad, result)},
    samples=[S(3, 4)],
    dtypes="floating complex",
)

op(
    "sin(Tensor self) -> Tensor",
    "Sine of radians.",
    bind="function method inplace out",
    tags="core pointwise",
    keeps_zero=True,
    meta=pointwise("self", to="float"),
    grad={"self": lambda grad, self: grad * conj(self.cos())},
    samples=[S(3, 4)],
    dtypes="floating complex",
)

op(
    "sinh(Tensor self) -> Tensor",
    "Hyperbolic sine.",
    bind="function method inplace out",
    tags="core pointwise",
    keeps_zero=True,
    meta=pointwise("self", to="float"),
    grad={"self": lambda grad, self: grad * conj(self.cosh())},
    samples=[S(3, 4)],
    dtypes="floating complex",
)

op(
    "tan(Tensor self) -> Tensor",
    "Tangent of radians.",
    bind="function method inplace out",
    tags="core pointwise",
    keeps_zero=True,
    meta=pointwise("self", to="float"),
    grad={"self": lambda grad, result: grad * conj(1 + result.pow(2))},
    samples=[S(3, 4)],
    dtypes="floating complex",
)

op(
    "tanh(Tensor self) -> Tensor",
    "Hyperbolic tangent.",
    bind="function method inplace out",
    tags="core pointwise",
    keeps_zero=True,
    meta=pointwise("self", to="float"),
    grad={"self": lambda grad, result: aten.tanh_backward(grad, result)},
    samples=[S(3, 4)],
    dtypes="floating complex",
)

op(
    "trunc(Tensor self) -> Tensor",
    "The integer part.",
    bind="function method inplace out",
    out_dtype="found",
    tags="core pointwise",
    keeps_zero=True,
    meta=like("self"),
    grad={"self": _zeros},
    samples=[S(3, 4)],
    dtypes="real",
    alias="fix",
)
