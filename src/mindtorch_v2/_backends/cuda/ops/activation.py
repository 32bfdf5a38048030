"""Activations and their gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..pointwise import Pointwise, pointwise
from ..table import kernel

if TYPE_CHECKING:
    from ...._tensor import Tensor

_KAPPA = "T(0.044715)"
_BETA = "T(0.79788456080286535588)"  # sqrt(2 / pi)
_ROOT = "T(0.70710678118654752440)"  # sqrt(1 / 2)


def _gelu(words: dict) -> str:
    if words.get("approximate") == "tanh":
        return f"T(0.5) * self * (T(1) + tanh({_BETA} * (self + {_KAPPA} * self * self * self)))"
    return f"self * T(0.5) * (T(1) + erf(self * {_ROOT}))"


def _gelu_backward(words: dict) -> str:
    if words.get("approximate") == "tanh":
        return (
            f"const T t = tanh({_BETA} * (self + {_KAPPA} * self * self * self)); const T left = T(0.5) * (T(1) + t); "
            f"const T right = T(0.5) * self * (T(1) - t * t) * {_BETA} * (T(1) + T(3) * {_KAPPA} * self * self); "
            "r0 = grad_output * (left + right);"
        )
    return (
        f"const T cdf = T(0.5) * (T(1) + erf(self * {_ROOT})); const T pdf = exp(T(-0.5) * self * self) * T(0.39894228040143267794); "
        "r0 = grad_output * (cdf + self * pdf);"
    )


pointwise("_prelu_kernel", "self > T(0) ? self : weight * self")
pointwise(
    "_prelu_kernel_backward",
    "r0 = self > T(0) ? grad_output : weight * grad_output; r1 = self > T(0) ? T(0) : self * grad_output;",
)
pointwise("elu", "self > T(0) ? self * scale : expm1(self * input_scale) * alpha * scale")
pointwise(
    "elu_backward",
    lambda words: (
        "self_or_result <= T(0) ? grad_output * input_scale * (self_or_result + alpha * scale) : grad_output * scale"
        if words["is_result"]
        else "self_or_result <= T(0) ? grad_output * input_scale * alpha * scale * exp(self_or_result * input_scale) : "
        "grad_output * scale"
    ),
)
pointwise("gelu", _gelu)
pointwise("gelu_backward", _gelu_backward)
pointwise("hardshrink", "self >= -lambd && self <= lambd ? T(0) : self")
pointwise("hardshrink_backward", "self >= -lambd && self <= lambd ? T(0) : grad_out")
pointwise("hardsigmoid", "smaller(larger(self + T(3), T(0)), T(6)) / T(6)")
pointwise("hardsigmoid_backward", "self > T(-3) && self < T(3) ? grad_output / T(6) : T(0)")
pointwise("hardswish", "self * smaller(larger(self + T(3), T(0)), T(6)) / T(6)")
pointwise(
    "hardswish_backward",
    "self <= T(-3) ? T(0) : self < T(3) ? grad_output * (self / T(3) + T(0.5)) : grad_output",
)
pointwise("hardtanh", "is_nan(self) ? self : self < min_val ? min_val : self > max_val ? max_val : self")
pointwise("hardtanh_backward", "self <= min_val || self >= max_val ? T(0) : grad_output")
pointwise("leaky_relu", "self > T(0) ? self : self * negative_slope")
pointwise("leaky_relu_backward", "self > T(0) ? grad_output : grad_output * negative_slope")
pointwise(
    "log_sigmoid_backward",
    "const T z = exp(-fabs(self)); const bool low = self < T(0); "
    "r0 = grad_output * ((low ? T(1) : T(0)) - (low ? T(1) : T(-1)) * (z / (T(1) + z)));",
)
pointwise("log_sigmoid_forward", "const T z = exp(-fabs(self)); r0 = smaller(self, T(0)) - log1p(z); r1 = z;")
pointwise("mish", "self * tanh(log1p(exp(self)))")
pointwise(
    "mish_backward",
    "const T s = sigmoid(self); const T t = tanh(log1p(exp(self))); r0 = grad_output * (t + self * s * (T(1) - t * t));",
)
pointwise("relu", "self <= T(0) ? T(0) : self")
pointwise("sigmoid_backward", "grad_output * conj((T(1) - output) * output)")
pointwise("silu", "self / (T(1) + exp(-self))")
pointwise("silu_backward", "const T s = sigmoid(self); r0 = grad_output * s * (T(1) + self * (T(1) - s));")
pointwise("softplus", "softplus_of(self, beta, threshold)")
pointwise(
    "softplus_backward",
    "const T z = exp(self * beta); r0 = self * beta > threshold ? grad_output : grad_output * z / (z + T(1));",
)
pointwise("softshrink", "is_nan(self) ? self : self > lambd ? self - lambd : self < -lambd ? self + lambd : T(0)")
pointwise("softshrink_backward", "self >= -lambd && self <= lambd ? T(0) : grad_output")
pointwise("tanh_backward", "grad_output * conj(T(1) - output * output)")
pointwise("threshold", "self <= threshold ? value : self")
pointwise("threshold_backward", "self <= threshold ? T(0) : grad_output")

_GLU = Pointwise("glu", 1, ["value", "gate"], "value * sigmoid(gate)")
_GLU_BACKWARD = Pointwise(
    "glu_backward",
    2,
    ["grad", "value", "gate"],
    "const T s = sigmoid(gate); r0 = grad * s; r1 = grad * value * s * (T(1) - s);",
)


def _halves(self: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    n = self.shape[dim] // 2
    return self.narrow(dim, 0, n), self.narrow(dim, n, n)


@kernel("glu")
def glu(self: Tensor, dim: int, out: Tensor) -> None:
    _GLU.launcher.run((out,), _halves(self, dim))


@kernel("glu_backward")
def glu_backward(grad_output: Tensor, self: Tensor, dim: int, out: Tensor) -> None:
    _GLU_BACKWARD.launcher.run(_halves(out, dim), (grad_output, *_halves(self, dim)))
