"""Special functions: error functions, gamma functions, Bessel functions, normal distribution."""

import math

from ..table import S, T, aten, conj, not_derived, op, pointwise

_SQRT_PI = math.sqrt(math.pi)
_PROBABILITY = {"low": 0.1, "high": 0.9}
_POSITIVE = {"low": 0.5, "high": 3}


def _sinc_grad(grad, self):
    x = self * math.pi
    slope = (x * x.cos() - x.sin()) / (x * self)
    return grad * conj(slope.masked_fill(self == 0, 0))


def _i1_grad(grad, self, result):
    small = self.abs() <= 1e-7
    x = aten.where(small, 1e-7, self)
    return grad * aten.where(small, 0.5, aten.i0(x) - result / x)


def _i1e_grad(grad, self, result):
    small = self.abs() <= 1e-7
    x = aten.where(small, 1e-7, self)
    return grad * aten.where(small, 0.5, aten.special_i0e(x) - result * (x.sgn() + x.reciprocal()))


def _xlogy_self(grad, self, other):
    return aten.masked_fill(aten.xlogy(grad, other), (self == 0) & (other <= 0), 0)


def _xlog1py_self(grad, self, other):
    return aten.masked_fill(grad * aten.log1p(other), (self == 0) & (other <= -1), 0)


def _igamma_other(grad, self, other):
    return grad * ((self - 1) * other.log() - other - aten.lgamma(self)).exp()


op(
    "digamma(Tensor self) -> Tensor",
    "Logarithmic derivative of the gamma function.",
    bind="function method inplace out",
    tags="pointwise",
    cheap=False,
    meta=pointwise("self", to="float"),
    grad={"self": lambda grad, self: grad * aten.polygamma(1, self)},
    samples=[S(T(3, 4, **_POSITIVE))],
)

op(
    "erf(Tensor self) -> Tensor",
    "Error function.",
    bind="function method inplace out",
    tags="core pointwise",
    keeps_zero=True,
    meta=pointwise("self", to="float"),
    grad={"self": lambda grad, self: 2 / _SQRT_PI * (-self * self).exp() * grad},
    samples=[S(3, 4)],
)

op(
    "erfc(Tensor self) -> Tensor",
    "`1 - erf(self)`, accurate in the tail.",
    bind="function method inplace out",
    tags="pointwise",
    meta=pointwise("self", to="float"),
    grad={"self": lambda grad, self: -2 / _SQRT_PI * (-self * self).exp() * grad},
    samples=[S(3, 4)],
)

op(
    "erfinv(Tensor self) -> Tensor",
    "Inverse of the error function.",
    bind="function method inplace out",
    tags="pointwise",
    cheap=False,
    keeps_zero=True,
    meta=pointwise("self", to="float"),
    grad={"self": lambda grad, result: _SQRT_PI / 2 * (result * result).exp() * grad},
    samples=[S(T(3, 4, low=-0.9, high=0.9))],
)

op(
    "i0(Tensor self) -> Tensor",
    "Modified Bessel function of the first kind, order 0.",
    bind="function method inplace out",
    tags="pointwise",
    cheap=False,
    meta=pointwise("self", to="float"),
    grad={"self": lambda grad, self: grad * aten.special_i1(self)},
    samples=[S(3, 4)],
)

op(
    "igamma(Tensor self, Tensor other) -> Tensor",
    "Regularised lower incomplete gamma function.",
    bind="function method inplace out",
    tags="pointwise",
    cheap=False,
    meta=pointwise("self", "other", to="float"),
    grad={"self": not_derived("igamma: input"), "other": _igamma_other},
    samples=[S(T(3, 4, grad=False, **_POSITIVE), T(4, **_POSITIVE))],
)

op(
    "igammac(Tensor self, Tensor other) -> Tensor",
    "Regularised upper incomplete gamma function.",
    bind="function method inplace out",
    tags="pointwise",
    cheap=False,
    meta=pointwise("self", "other", to="float"),
    grad={"self": not_derived("igammac: input"), "other": lambda grad, self, other: -_igamma_other(grad, self, other)},
    samples=[S(T(3, 4, grad=False, **_POSITIVE), T(4, **_POSITIVE))],
)

op(
    "lgamma(Tensor self) -> Tensor",
    "Logarithm of the size of the gamma function.",
    bind="function method inplace out",
    tags="pointwise",
    cheap=False,
    meta=pointwise("self", to="float"),
    grad={"self": lambda grad, self: grad * aten.digamma(self)},
    samples=[S(T(3, 4, **_POSITIVE))],
)

op(
    "logit(Tensor self, float? eps=None) -> Tensor",
    "`log(self / (1 - self))`, `self` moved into [eps, 1 - eps] first.",
    bind="function method inplace out",
    tags="pointwise",
    meta=pointwise("self", to="float"),
    grad={"self": lambda grad, self, eps: aten.logit_backward(grad, self, eps)},
    samples=[S(T(3, 4, **_PROBABILITY)), S(T(3, 4, **_PROBABILITY), eps=0.2)],
)

op(
    "logit_backward(Tensor grad_output, Tensor self, float? eps=None) -> Tensor",
    "The gradient of `logit`.",
    bind="out",
    out_overload="grad_input grad_input",
    tags="pointwise",
    meta=pointwise("grad_output", "self"),
    grad={
        "grad_output": lambda grad, self, eps: aten.logit_backward(grad, self, eps),
        "self": lambda grad, grad_output, self, eps: (
            aten.logit_backward(grad * grad_output, self, eps) * (2 * self - 1) / (self * (1 - self))
        ),
    },
    samples=[S(T(3, 4), T(3, 4, **_PROBABILITY))],
)

op(
    "polygamma(int n, Tensor self) -> Tensor",
    "The `n`-th derivative of digamma.",
    bind="function out",
    tags="pointwise",
    cheap=False,
    meta=pointwise("self", to="float"),
    grad={"self": lambda grad, n, self: grad * aten.polygamma(n + 1, self)},
    samples=[S(1, T(3, 4, **_POSITIVE)), S(3, T(3, 4, **_POSITIVE))],
    dtypes="float",
)

op(
    "sinc(Tensor self) -> Tensor",
    "`sin(pi self) / (pi self)`, 1 at 0.",
    bind="function method inplace out",
    tags="pointwise",
    meta=pointwise("self", to="float"),
    grad={"self": _sinc_grad},
    samples=[S(3, 4)],
)

op(
    "special_entr(Tensor self) -> Tensor",
    "`-self * log(self)`.",
    bind="special out",
    tags="pointwise",
    meta=pointwise("self", to="float"),
    grad={"self": lambda grad, self: grad * (-(self.log() + 1)).masked_fill(self < 0, -math.inf)},
    samples=[S(T(3, 4, **_POSITIVE))],
)

op(
    "special_erfcx(Tensor self) -> Tensor",
    "`exp(self**2) * erfc(self)`.",
    bind="special out",
    tags="pointwise",
    cheap=False,
    meta=pointwise("self", to="float"),
    grad={"self": lambda grad, self, result: (2 * self * result - 2 / _SQRT_PI) * grad},
    samples=[S(3, 4)],
    dtypes="float",
)

op(
    "special_i0e(Tensor self) -> Tensor",
    "`exp(-|self|) * i0(self)`.",
    bind="special out",
    tags="pointwise",
    cheap=False,
    meta=pointwise("self", to="float"),
    grad={"self": lambda grad, self, result: grad * (aten.special_i1e(self) - self.sgn() * result)},
    samples=[S(3, 4)],
)

op(
    "special_i1(Tensor self) -> Tensor",
    "Modified Bessel function of the first kind, order 1.",
    bind="special out",
    tags="pointwise",
    cheap=False,
    meta=pointwise("self", to="float"),
    grad={"self": _i1_grad},
    samples=[S(3, 4)],
    dtypes="float",
)

op(
    "special_i1e(Tensor self) -> Tensor",
    "`exp(-|self|) * i1(self)`.",
    bind="special out",
    tags="pointwise",
    cheap=False,
    meta=pointwise("self", to="float"),
    grad={"self": _i1e_grad},
    samples=[S(3, 4)],
    dtypes="float",
)

op(
    "special_log_ndtr(Tensor self) -> Tensor",
    "Logarithm of the normal distribution function.",
    bind="special out",
    tags="pointwise",
    cheap=False,
    meta=pointwise("self", to="float"),
    grad={"self": lambda grad, self: grad / aten.special_erfcx(self * -math.sqrt(0.5)) * math.sqrt(2 / math.pi)},
    samples=[S(3, 4)],
    dtypes="float",
)

op(
    "special_ndtr(Tensor self) -> Tensor",
    "Normal distribution function.",
    bind="special out",
    elementwise=True,
    meta=pointwise("self", to="float"),
    grad={"self": lambda grad, self: grad * (self * self * -0.5).exp() / math.sqrt(2 * math.pi)},
    samples=[S(3, 4)],
)

op(
    "special_ndtri(Tensor self) -> Tensor",
    "Inverse of the normal distribution function.",
    bind="special out",
    tags="pointwise",
    cheap=False,
    meta=pointwise("self", to="float"),
    grad={"self": lambda grad, result: grad * math.sqrt(2 * math.pi) * (result * result / 2).exp()},
    samples=[S(T(3, 4, **_PROBABILITY))],
    dtypes="float",
)

op(
    "special_xlog1py(Tensor self, Tensor other) -> Tensor",
    "`self * log1p(other)`, 0 where `self` is 0.",
    bind="special out",
    tags="pointwise",
    meta=pointwise("self", "other", to="float"),
    grad={"self": _xlog1py_self, "other": lambda grad, self, other: grad * self / (other + 1)},
    samples=[S(T(3, 4), T(4, **_POSITIVE))],
)
op(
    "special_xlog1py.self_scalar(Scalar self, Tensor other) -> Tensor",
    "`self * log1p(other)`, 0 where `self` is 0.",
    bind="special out",
    tags="pointwise",
    meta=pointwise("self", "other", to="float"),
    grad={"other": lambda grad, self, other: grad * self / (other + 1)},
    samples=[S(1.5, T(4, **_POSITIVE))],
)
op(
    "special_xlog1py.other_scalar(Tensor self, Scalar other) -> Tensor",
    "`self * log1p(other)`, 0 where `self` is 0.",
    bind="special out",
    tags="pointwise",
    meta=pointwise("self", "other", to="float"),
    grad={"self": lambda grad, self, other: grad * math.log1p(other)},
    samples=[S(T(3, 4), 1.5)],
)

op(
    "special_zeta(Tensor self, Tensor other) -> Tensor",
    "Hurwitz zeta function.",
    bind="special out",
    tags="pointwise",
    cheap=False,
    meta=pointwise("self", "other", to="float"),
    grad={
        "self": not_derived("zeta"),
        "other": lambda grad, self, other: grad * -self * aten.special_zeta(self + 1, other),
    },
    samples=[S(T(3, 4, low=1.5, high=3, grad=False), T(4, **_POSITIVE))],
    dtypes="float",
)
op(
    "special_zeta.self_scalar(Scalar self, Tensor other) -> Tensor",
    "Hurwitz zeta function.",
    bind="special out",
    tags="pointwise",
    cheap=False,
    meta=pointwise("self", "other", to="float"),
    grad={"other": lambda grad, self, other: grad * -self * aten.special_zeta(self + 1, other)},
    samples=[S(2.5, T(4, **_POSITIVE))],
    dtypes="float",
)
op(
    "special_zeta.other_scalar(Tensor self, Scalar other) -> Tensor",
    "Hurwitz zeta function.",
    bind="special out",
    tags="pointwise",
    cheap=False,
    meta=pointwise("self", "other", to="float"),
    grad={"self": not_derived("zeta")},
    samples=[S(T(3, 4, low=1.5, high=3, grad=False), 1.5)],
    dtypes="float",
)

op(
    "xlogy.Tensor(Tensor self, Tensor other) -> Tensor",
    "`self * log(other)`, 0 where `self` is 0.",
    bind="function method inplace out",
    out_overload="OutTensor",
    tags="pointwise",
    meta=pointwise("self", "other", to="float"),
    grad={"self": _xlogy_self, "other": lambda grad, self, other: grad * self / other},
    samples=[S(T(3, 4), T(4, **_POSITIVE))],
)
op(
    "xlogy.Scalar_Self(Scalar self, Tensor other) -> Tensor",
    "`self * log(other)`, 0 where `self` is 0.",
    bind="function out",
    out_overload="OutScalar_Self",
    tags="pointwise",
    meta=pointwise("self", "other", to="float"),
    grad={"other": lambda grad, self, other: grad * self / other},
    samples=[S(1.5, T(4, **_POSITIVE))],
)
op(
    "xlogy.Scalar_Other(Tensor self, Scalar other) -> Tensor",
    "`self * log(other)`, 0 where `self` is 0.",
    bind="function method inplace out",
    out_overload="OutScalar_Other",
    tags="pointwise",
    inplace_tags="",
    meta=pointwise("self", "other", to="float"),
    grad={"self": lambda grad, self, other: grad * (math.log(other) if other > 0 else -math.inf)},
    samples=[S(T(3, 4), 1.5)],
)
