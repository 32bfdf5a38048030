"""Activation functions and their gradients."""

import math

from ..table import S, T, aten, conj, like, op, pointwise, rule


def _zeros(grad):
    return aten.zeros_like(grad)


def _elu_second(grad, grad_output, alpha, scale, input_scale, is_result, self_or_result):
    if is_result:
        slope = aten.where(self_or_result < 0, input_scale, 0.0)
    else:
        curve = (self_or_result * input_scale).exp() * (input_scale * input_scale * alpha * scale)
        slope = aten.where(self_or_result < 0, curve, 0.0)
    return grad * grad_output * slope


def _gelu_second(grad, grad_output, self, approximate):
    if approximate == "none":
        density = (self * self * -0.5).exp() * (1 / math.sqrt(2 * math.pi))
        return grad * grad_output * density * (2 - self * self)
    k, cubic = math.sqrt(2 / math.pi), 0.044715
    t = (k * (self + cubic * self.pow(3))).tanh()
    slope = k * (1 + 3 * cubic * self * self)
    bend = 6 * k * cubic * self
    side = 1 - t * t
    return grad * grad_output * side * (slope + 0.5 * self * bend - self * t * slope * slope)


def _hardswish_second(grad, grad_output, self):
    return aten.where((self > -3) & (self < 3), grad * grad_output / 3, 0.0)


def _glu_backward_grad_output(grad, self, dim):
    (value, gate), (to_value, to_gate) = self.chunk(2, dim), grad.chunk(2, dim)
    s = gate.sigmoid()
    return s * (to_value + to_gate * value * (1 - s))


def _glu_second(grad, grad_output, self, dim):
    (value, gate), (to_value, to_gate) = self.chunk(2, dim), grad.chunk(2, dim)
    s = gate.sigmoid()
    slope = grad_output * s * (1 - s)
    return aten.cat([to_gate * slope, slope * (to_value + to_gate * value * (1 - 2 * s))], dim)


def _log_sigmoid_second(grad, grad_output, self):
    s = self.sigmoid()
    return grad * grad_output * (s - 1) * s


def _mish_second(grad, grad_output, self):
    s = self.sigmoid()
    t = aten.softplus(self).tanh()
    side = 1 - t * t
    return grad * grad_output * side * s * (2 + self * (1 - s) - 2 * self * t * s)


def _prelu_grad_output(grads, self, weight):
    to_self, to_weight = grads
    parts = []
    if to_self is not None:
        parts.append(aten.where(self > 0, to_self, weight * to_self))
    if to_weight is not None:
        parts.append(aten.where(self > 0, 0, to_weight * self))
    return sum(parts[1:], parts[0])


def _prelu_self(grads, grad_output, self):
    return None if grads[1] is None else aten.where(self > 0, 0, grads[1] * grad_output)


def _prelu_weight(grads, grad_output, self):
    return None if grads[0] is None else aten.where(self > 0, 0, grads[0] * grad_output)


def _silu_second(grad, grad_output, self):
    s = self.sigmoid()
    return grad * grad_output * s * (1 - s) * (2 + self * (1 - 2 * s))


def _softplus_second(grad, grad_output, self, beta, threshold):
    z = self * beta
    s = z.sigmoid()
    return aten.where(z > threshold, 0.0, grad * grad_output * s * (1 - s) * beta)


op(
    "_prelu_kernel(Tensor self, Tensor weight) -> Tensor",
    "`self` where positive, `weight * self` elsewhere.",
    bind="function",
    elementwise=True,
    meta=pointwise("self", "weight"),
    grad={("self", "weight"): lambda grad, self, weight: aten._prelu_kernel_backward(grad, self, weight)},
    samples=[S(T(3, 4), T(1, 4))],
    node="PreluKernelBackward0",
)

op(
    "_prelu_kernel_backward(Tensor grad_output, Tensor self, Tensor weight) -> (Tensor, Tensor)",
    "The gradients of `_prelu_kernel`, not reduced to the weight's size.",
    meta=rule("prelu_kernel_backward"),
    grad={"grad_output": _prelu_grad_output, "self": _prelu_self, "weight": _prelu_weight},
    samples=[S(T(3, 4), T(3, 4), T(3, 4))],
)

op(
    "elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor",
    "`scale * self` where positive, `scale * alpha * (exp(input_scale * self) - 1)` elsewhere.",
    bind="nn inplace out",
    out_dtype="found",
    functional="elu(input, alpha=1.0, inplace=False) elu_",
    tags="core pointwise",
    out_tags="",
    meta=like("self"),
    grad={
        "self": lambda grad, self, alpha, scale, input_scale: aten.elu_backward(
            grad, alpha, scale, input_scale, False, self
        )
    },
    samples=[S(3, 4), S(T(3, 4), alpha=0.5, scale=2, input_scale=0.7)],
)

op(
    "elu_backward(Tensor grad_output, Scalar alpha, Scalar scale, Scalar input_scale, bool is_result, Tensor self_or_result) -> Tensor",
    "The gradient of `elu`.",
    bind="out",
    out_overload="grad_input grad_input",
    elementwise=True,
    meta=pointwise("grad_output", "self_or_result"),
    grad={
        "grad_output": lambda grad, alpha, scale, input_scale, is_result, self_or_result: aten.elu_backward(
            grad, alpha, scale, input_scale, is_result, self_or_result
        ),
        "self_or_result": _elu_second,
    },
    samples=[S(T(3, 4), 0.7, 1.2, 0.9, False, T(3, 4)), S(T(3, 4), 0.7, 1.2, 0.9, True, T(3, 4, low=-0.5, high=2))],
)

op(
    "gelu(Tensor self, *, str approximate='none') -> Tensor",
    'Gaussian error linear unit; `approximate="tanh"` for the tanh formula.',
    bind="nn inplace out",
    out_dtype="found",
    functional="gelu",
    tags="core pointwise",
    inplace_tags="",
    out_tags="",
    meta=like("self"),
    grad={"self": lambda grad, self, approximate: aten.gelu_backward(grad, self, approximate=approximate)},
    samples=[S(3, 4), S(T(3, 4), approximate="tanh")],
)

op(
    "gelu_backward(Tensor grad_output, Tensor self, *, str approximate='none') -> Tensor",
    "The gradient of `gelu`.",
    bind="out",
    out_tags="",
    out_overload="grad_input grad_input",
    tags="pointwise",
    meta=pointwise("grad_output", "self"),
    grad={
        "grad_output": lambda grad, self, approximate: aten.gelu_backward(grad, self, approximate=approximate),
        "self": _gelu_second,
    },
    samples=[S(T(3, 4), T(3, 4)), S(T(3, 4), T(3, 4), approximate="tanh")],
)

op(
    "glu(Tensor self, int dim=-1) -> Tensor",
    "The first half along `dim` times the sigmoid of the second.",
    bind="nn out",
    batching="dims",
    meta=rule("glu", "self", "dim"),
    grad={"self": lambda grad, self, dim: aten.glu_backward(grad, self, dim)},
    samples=[S(4, 6), S(T(4, 6), 0), S(T(2, 4, 3), 1)],
)

op(
    "glu_backward(Tensor grad_output, Tensor self, int dim) -> Tensor",
    "The gradient of `glu`.",
    bind="out",
    out_dtype="Found dtype {result} but expected {out}",
    out_overload="grad_input grad_input",
    batching="dims",
    meta=like("self"),
    grad={"grad_output": _glu_backward_grad_output, "self": _glu_second},
    samples=[S(T(4, 3), T(4, 6), -1), S(T(2, 2, 3), T(2, 4, 3), 1)],
)

op(
    "hardshrink(Tensor self, Scalar lambd=0.5) -> Tensor",
    "0 within [-lambd, lambd], `self` elsewhere.",
    bind="function method out",
    out_dtype="found",
    functional="hardshrink",
    tags="pointwise",
    out_tags="",
    meta=like("self"),
    grad={"self": lambda grad, self, lambd: aten.hardshrink_backward(grad, self, lambd)},
    samples=[S(3, 4), S(T(3, 4), 0.1)],
)

op(
    "hardshrink_backward(Tensor grad_out, Tensor self, Scalar lambd) -> Tensor",
    "The gradient of `hardshrink`.",
    bind="out",
    out_overload="grad_input grad_input",
    elementwise=True,
    meta=pointwise("grad_out", "self"),
    grad={
        "grad_out": lambda grad, self, lambd: aten.hardshrink_backward(grad, self, lambd),
        "self": _zeros,
    },
    samples=[S(T(3, 4), T(3, 4), 0.5)],
)

op(
    "hardsigmoid(Tensor self) -> Tensor",
    "`relu6(self + 3) / 6`.",
    bind="nn inplace out",
    out_dtype="found",
    functional="hardsigmoid(input, inplace=False)",
    tags="pointwise",
    out_tags="",
    meta=like("self"),
    grad={"self": lambda grad, self: aten.hardsigmoid_backward(grad, self)},
    samples=[S(3, 4)],
)

op(
    "hardsigmoid_backward(Tensor grad_output, Tensor self) -> Tensor",
    "The gradient of `hardsigmoid`.",
    bind="out",
    out_overload="grad_input grad_input",
    elementwise=True,
    meta=pointwise("grad_output", "self"),
    grad={"grad_output": lambda grad, self: aten.hardsigmoid_backward(grad, self), "self": _zeros},
    samples=[S(T(3, 4, grad=False), T(3, 4, grad=False))],
)

op(
    "hardswish(Tensor self) -> Tensor",
    "`self * relu6(self + 3) / 6`.",
    bind="nn inplace out",
    out_dtype="found",
    functional="hardswish(input, inplace=False)",
    elementwise=True,
    meta=like("self"),
    grad={"self": lambda grad, self: aten.hardswish_backward(grad, self)},
    samples=[S(3, 4)],
)

op(
    "hardswish_backward(Tensor grad_output, Tensor self) -> Tensor",
    "The gradient of `hardswish`.",
    bind="generated_out",
    elementwise=True,
    meta=pointwise("grad_output", "self"),
    grad={"grad_output": lambda grad, self: aten.hardswish_backward(grad, self), "self": _hardswish_second},
    samples=[S(T(3, 4), T(3, 4))],
)

op(
    "hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor",
    "`self` moved into [min_val, max_val].",
    bind="nn inplace out",
    out_dtype="found",
    functional="hardtanh_",
    tags="core pointwise",
    out_tags="",
    meta=like("self"),
    grad={"self": lambda grad, self, min_val, max_val: aten.hardtanh_backward(grad, self, min_val, max_val)},
    samples=[S(3, 4), S(T(3, 4), -0.5, 0.7)],
)

op(
    "hardtanh_backward(Tensor grad_output, Tensor self, Scalar min_val, Scalar max_val) -> Tensor",
    "The gradient of `hardtanh`.",
    bind="out",
    out_overload="grad_input grad_input",
    elementwise=True,
    meta=pointwise("grad_output", "self"),
    grad={
        "grad_output": lambda grad, self, min_val, max_val: aten.hardtanh_backward(grad, self, min_val, max_val),
        "self": _zeros,
    },
    samples=[S(T(3, 4), T(3, 4), -0.5, 0.7)],
)

op(
    "leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor",
    "`self` where positive, `negative_slope * self` elsewhere.",
    bind="nn inplace out",
    out_dtype="found",
    functional="leaky_relu(input, negative_slope=0.01, inplace=False) leaky_relu_",
    tags="core pointwise",
    out_tags="",
    meta=like("self"),
    grad={"self": lambda grad, self, negative_slope: aten.leaky_relu_backward(grad, self, negative_slope, False)},
    samples=[S(3, 4), S(T(3, 4), 0.2)],
)

op(
    "leaky_relu_backward(Tensor grad_output, Tensor self, Scalar negative_slope, bool self_is_result) -> Tensor",
    "The gradient of `leaky_relu`.",
    bind="out",
    out_overload="grad_input grad_input",
    elementwise=True,
    meta=pointwise("grad_output", "self"),
    grad={
        "grad_output": lambda grad, self, negative_slope: aten.leaky_relu_backward(grad, self, negative_slope, False),
        "self": _zeros,
    },
    samples=[S(T(3, 4), T(3, 4), 0.2, False)],
)

op(
    "log_sigmoid_backward(Tensor grad_output, Tensor self, Tensor buffer) -> Tensor",
    "The gradient of `log_sigmoid`; `buffer` is `exp(-|self|)`.",
    bind="out",
    out_overload="grad_input grad_input",
    elementwise=True,
    meta=pointwise("grad_output", "self"),
    grad={
        "grad_output": lambda grad, self, buffer: aten.log_sigmoid_backward(grad, self, buffer),
        "self": _log_sigmoid_second,
    },
    samples=[S(T(3, 4, grad=False), T(3, 4, grad=False), T(3, 4, low=0.1, high=0.9, grad=False))],
)

op(
    "log_sigmoid_forward(Tensor self) -> (Tensor output, Tensor buffer)",
    "`log(sigmoid(self))`, and `exp(-|self|)` for the gradient.",
    elementwise=True,
    meta=like("self", "self"),
    grad={"self": lambda grad, self, result1: aten.log_sigmoid_backward(grad, self, result1)},
    nondiff=(1,),
    node="LogSigmoidBackward0",
    samples=[S(3, 4)],
)

op(
    "mish(Tensor self) -> Tensor",
    "`self * tanh(softplus(self))`.",
    bind="nn inplace out",
    out_dtype="found",
    functional="mish(input, inplace=False)",
    tags="pointwise",
    inplace_tags="",
    out_tags="",
    meta=like("self"),
    grad={"self": lambda grad, self: aten.mish_backward(grad, self)},
    samples=[S(3, 4)],
)

op(
    "mish_backward(Tensor grad_output, Tensor self) -> Tensor",
    "The gradient of `mish`.",
    elementwise=True,
    meta=pointwise("grad_output", "self"),
    grad={"grad_output": lambda grad, self: aten.mish_backward(grad, self), "self": _mish_second},
    samples=[S(T(3, 4, grad=False), T(3, 4, grad=False))],
)

op(
    "relu(Tensor self) -> Tensor",
    "`self` where positive, 0 elsewhere.",
    bind="function method inplace out",
    out_dtype="exact",
    functional="relu(input, inplace=False) relu_",
    tags="core pointwise",
    out_tags="generated",
    keeps_zero=True,
    meta=like("self"),
    grad={"self": lambda grad, result: aten.threshold_backward(grad, result, 0)},
    samples=[S(3, 4)],
    dtypes="real",
)

op(
    "sigmoid_backward(Tensor grad_output, Tensor output) -> Tensor",
    "The gradient of `sigmoid` from its result.",
    bind="out",
    out_overload="grad_input grad_input",
    tags="pointwise",
    meta=pointwise("grad_output", "output"),
    grad={
        "grad_output": lambda grad, output: aten.sigmoid_backward(grad, conj(output)),
        "output": lambda grad, grad_output, output: conj(grad) * grad_output * (1 - 2 * conj(output)),
    },
    samples=[S(T(3, 4), T(3, 4, low=0.1, high=0.9))],
    dtypes="floating complex",
)

op(
    "silu(Tensor self) -> Tensor",
    "`self * sigmoid(self)`.",
    bind="nn inplace out",
    out_dtype="found",
    functional="silu(input, inplace=False)",
    tags="pointwise",
    meta=like("self"),
    grad={"self": lambda grad, self: aten.silu_backward(grad, self)},
    samples=[S(3, 4)],
)

op(
    "silu_backward(Tensor grad_output, Tensor self) -> Tensor",
    "The gradient of `silu`.",
    bind="out",
    out_overload="grad_input grad_input",
    tags="pointwise",
    meta=pointwise("grad_output", "self"),
    grad={"grad_output": lambda grad, self: aten.silu_backward(grad, self), "self": _silu_second},
    samples=[S(T(3, 4), T(3, 4))],
)

op(
    "softplus(Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor",
    "Smooth ReLU, linear above `threshold`.",
    bind="nn out",
    out_dtype="found",
    functional="softplus",
    tags="pointwise",
    out_tags="",
    meta=like("self"),
    grad={"self": lambda grad, self, beta, threshold: aten.softplus_backward(grad, self, beta, threshold)},
    samples=[S(3, 4), S(T(5), beta=3, threshold=0.2)],
)

op(
    "softplus_backward(Tensor grad_output, Tensor self, Scalar beta, Scalar threshold) -> Tensor",
    "The gradient of `softplus`.",
    bind="out",
    out_overload="grad_input grad_input",
    elementwise=True,
    meta=pointwise("grad_output", "self"),
    grad={
        "grad_output": lambda grad, self, beta, threshold: aten.softplus_backward(grad, self, beta, threshold),
        "self": _softplus_second,
    },
    samples=[S(T(3, 4), T(3, 4), 2, 0.5)],
)

op(
    "softshrink(Tensor self, Scalar lambd=0.5) -> Tensor",
    "`self` moved toward 0 by `lambd`.",
    bind="nn out",
    out_dtype="found",
    functional="softshrink",
    tags="pointwise",
    out_tags="",
    meta=like("self"),
    grad={"self": lambda grad, self, lambd: aten.softshrink_backward(grad, self, lambd)},
    samples=[S(3, 4), S(T(3, 4), 0.1)],
)

op(
    "softshrink_backward(Tensor grad_output, Tensor self, Scalar lambd) -> Tensor",
    "The gradient of `softshrink`.",
    bind="out",
    out_overload="grad_input grad_input",
    elementwise=True,
    meta=pointwise("grad_output", "self"),
    grad={
        "grad_output": lambda grad, self, lambd: aten.softshrink_backward(grad, self, lambd),
        "self": _zeros,
    },
    samples=[S(T(3, 4), T(3, 4), 0.5)],
)

op(
    "tanh_backward(Tensor grad_output, Tensor output) -> Tensor",
    "The gradient of `tanh` from its result.",
    bind="out",
    out_overload="grad_input grad_input",
    tags="pointwise",
    meta=pointwise("grad_output", "output"),
    grad={
        "grad_output": lambda grad, output: aten.tanh_backward(grad, conj(output)),
        "output": lambda grad, grad_output, output: conj(grad) * grad_output * (-2 * conj(output)),
    },
    samples=[S(T(3, 4), T(3, 4, low=-0.9, high=0.9))],
    dtypes="floating complex",
)

op(
    "threshold(Tensor self, Scalar threshold, Scalar value) -> Tensor",
    "`self` where above `threshold`, `value` elsewhere.",
    bind="function inplace out",
    functional="threshold_",
    tags="pointwise",
    inplace_tags="",
    out_tags="",
    meta=like("self"),
    grad={"self": lambda grad, self, threshold: aten.threshold_backward(grad, self, threshold)},
    samples=[S(T(3, 4), 0.1, 2)],
    dtypes="real",
)

op(
    "threshold_backward(Tensor grad_output, Tensor self, Scalar threshold) -> Tensor",
    "The gradient of `threshold` and `relu`.",
    bind="out",
    out_tags="",
    out_overload="grad_input grad_input",
    tags="pointwise",
    meta=pointwise("grad_output", "self"),
    grad={
        "grad_output": lambda grad, self, threshold: aten.threshold_backward(grad, self, threshold),
        "self": _zeros,
    },
    samples=[S(T(3, 4), T(3, 4), 0.1)],
)
