"""Activations and their gradients in terms of simpler operators."""

from __future__ import annotations

import math

import mindtorch_v2 as torch
from mindtorch_v2._decomp._precision import in_float32
from mindtorch_v2._decomp._registry import register_decomposition
from mindtorch_v2.types import Number

aten = torch.ops.aten

__all__: list[str] = []

_BETA, _KAPPA = math.sqrt(2 / math.pi), 0.044715  # of gelu by tanh


@register_decomposition(aten.threshold.default)
def threshold(self: torch.Tensor, threshold: Number, value: Number) -> torch.Tensor:
    return torch.where(self <= threshold, value, self)


@register_decomposition(aten.threshold_backward.default)
def threshold_backward(grad_output: torch.Tensor, self: torch.Tensor, threshold: Number) -> torch.Tensor:
    return torch.where(self <= threshold, 0, grad_output)


@register_decomposition(aten.hardshrink.default)
def hardshrink(self: torch.Tensor, lambd: Number = 0.5) -> torch.Tensor:
    return torch.where((self >= -lambd) & (self <= lambd), 0, self)


@register_decomposition(aten.softshrink.default)
def softshrink(self: torch.Tensor, lambd: Number = 0.5) -> torch.Tensor:
    return torch.where(self > lambd, self - lambd, torch.where(self < -lambd, self + lambd, self * 0))


@register_decomposition(aten.log_sigmoid_forward.default)
@in_float32
def log_sigmoid_forward(self: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    smallest = torch.minimum(self, torch.zeros((), dtype=self.dtype, device=self.device))
    buffer = torch.exp(-torch.abs(self))  # what the gradient reads on the CPU
    return smallest - torch.log1p(buffer), buffer


@register_decomposition(aten.leaky_relu.default)
def leaky_relu(self: torch.Tensor, negative_slope: Number = 0.01) -> torch.Tensor:
    return torch.where(self > 0, self, self * negative_slope)


@register_decomposition(aten.leaky_relu_backward.default)
def leaky_relu_backward(
    grad_output: torch.Tensor, self: torch.Tensor, negative_slope: Number, self_is_result: bool
) -> torch.Tensor:
    return torch.where(self > 0, grad_output, grad_output * negative_slope)


@register_decomposition(aten.sigmoid_backward.default)
@in_float32
def sigmoid_backward(grad_output: torch.Tensor, output: torch.Tensor) -> torch.Tensor:
    return grad_output * (output * (1 - output))


@register_decomposition(aten.tanh_backward.default)
@in_float32
def tanh_backward(grad_output: torch.Tensor, output: torch.Tensor) -> torch.Tensor:
    return grad_output * (1 - output * output)


@register_decomposition(aten.silu_backward.default)
@in_float32
def silu_backward(grad_output: torch.Tensor, self: torch.Tensor) -> torch.Tensor:
    share = torch.sigmoid(self)
    return grad_output * share * (1 + self * (1 - share))


@register_decomposition(aten.gelu.default)
@in_float32
def gelu(self: torch.Tensor, *, approximate: str = "none") -> torch.Tensor:
    if approximate == "tanh":
        inner = _BETA * (self + _KAPPA * self * self * self)
        return 0.5 * self * (1 + torch.tanh(inner))
    return self * 0.5 * (1 + torch.erf(self * math.sqrt(0.5)))


@register_decomposition(aten.gelu_backward.default)
@in_float32
def gelu_backward(grad_output: torch.Tensor, self: torch.Tensor, *, approximate: str = "none") -> torch.Tensor:
    if approximate == "tanh":
        square = self * self
        slope = torch.tanh(_BETA * (self + _KAPPA * square * self))
        outer = 0.5 * (1 + slope)
        return grad_output * (outer + 0.5 * self * (1 - slope * slope) * _BETA * (1 + 3 * _KAPPA * square))
    share = 0.5 * (1 + torch.erf(self * math.sqrt(0.5)))
    density = torch.exp(self * self * -0.5) / math.sqrt(2 * math.pi)
    return grad_output * (share + self * density)


@register_decomposition(aten._softmax_backward_data.default)
@in_float32
def softmax_backward_data(
    grad_output: torch.Tensor, output: torch.Tensor, dim: int, input_dtype: torch.dtype
) -> torch.Tensor:
    weighted = grad_output * output
    made = weighted - output * weighted.sum(dim, keepdim=True)
    return made.to(input_dtype)


@register_decomposition(aten._log_softmax_backward_data.default)
@in_float32
def log_softmax_backward_data(
    grad_output: torch.Tensor, output: torch.Tensor, dim: int, input_dtype: torch.dtype
) -> torch.Tensor:
    made = grad_output - torch.exp(output) * grad_output.sum(dim, keepdim=True)
    return made.to(input_dtype)


@register_decomposition(aten.log_sigmoid_backward.default)
@in_float32
def log_sigmoid_backward(grad_output: torch.Tensor, self: torch.Tensor, buffer: torch.Tensor) -> torch.Tensor:
    decay = buffer if buffer.numel() else torch.exp(-torch.abs(self))  # only the CPU keeps it
    share = decay / (1 + decay)
    return grad_output * torch.where(self < 0, 1 - share, share)


@register_decomposition(aten.elu_backward.default)
@in_float32
def elu_backward(
    grad_output: torch.Tensor,
    alpha: Number,
    scale: Number,
    input_scale: Number,
    is_result: bool,
    self_or_result: torch.Tensor,
) -> torch.Tensor:
    if is_result:
        below = grad_output * input_scale * (self_or_result + alpha * scale)
    else:
        below = grad_output * (alpha * scale * input_scale) * torch.exp(self_or_result * input_scale)
    return torch.where(self_or_result <= 0, below, grad_output * scale)


@register_decomposition(aten.glu.default)
@in_float32
def glu(self: torch.Tensor, dim: int = -1) -> torch.Tensor:
    value, gate = _halves(self, dim)
    return value * torch.sigmoid(gate)


@register_decomposition(aten.glu_backward.default)
@in_float32
def glu_backward(grad_output: torch.Tensor, self: torch.Tensor, dim: int) -> torch.Tensor:
    value, gate = _halves(self, dim)
    share = torch.sigmoid(gate)
    of_value = share * grad_output
    return torch.cat([of_value, (1 - share) * value * of_value], dim)


def _halves(self: torch.Tensor, dim: int) -> tuple[torch.Tensor, torch.Tensor]:
    half = self.shape[dim] // 2
    return torch.narrow(self, dim, 0, half), torch.narrow(self, dim, half, half)


@register_decomposition(aten.hardsigmoid.default)
@in_float32
def hardsigmoid(self: torch.Tensor) -> torch.Tensor:
    return torch.clamp(torch.clamp(self + 3, min=0), max=6) / 6


@register_decomposition(aten.hardsigmoid_backward.default)
@in_float32
def hardsigmoid_backward(grad_output: torch.Tensor, self: torch.Tensor) -> torch.Tensor:
    return torch.where((self > -3) & (self < 3), grad_output * (1 / 6), 0.0)


@register_decomposition(aten.hardswish.default)
@in_float32
def hardswish(self: torch.Tensor) -> torch.Tensor:
    return self * torch.clamp(torch.clamp(self + 3, min=0), max=6) / 6


@register_decomposition(aten.hardswish_backward.default)
@in_float32
def hardswish_backward(grad_output: torch.Tensor, self: torch.Tensor) -> torch.Tensor:
    inside = torch.where(self < 3, grad_output * (self / 3 + 0.5), grad_output)
    return torch.where(self <= -3, 0.0, inside)


@register_decomposition(aten.hardtanh_backward.default)
def hardtanh_backward(grad_output: torch.Tensor, self: torch.Tensor, min_val: Number, max_val: Number) -> torch.Tensor:
    return torch.where((self <= min_val) | (self >= max_val), 0.0, grad_output)


@register_decomposition(aten.softplus.default)
@in_float32
def softplus(self: torch.Tensor, beta: Number = 1, threshold: Number = 20) -> torch.Tensor:
    scaled = self * beta
    return torch.where(scaled > threshold, self, torch.log1p(torch.exp(scaled)) / beta)


@register_decomposition(aten.softplus_backward.default)
@in_float32
def softplus_backward(grad_output: torch.Tensor, self: torch.Tensor, beta: Number, threshold: Number) -> torch.Tensor:
    grown = torch.exp(self * beta)
    return torch.where(self * beta > threshold, grad_output, grad_output * grown / (grown + 1))


@register_decomposition(aten.mish.default)
@in_float32
def mish(self: torch.Tensor) -> torch.Tensor:
    return self * torch.tanh(_softplus(self))


@register_decomposition(aten.mish_backward.default)
@in_float32
def mish_backward(grad_output: torch.Tensor, self: torch.Tensor) -> torch.Tensor:
    bend = torch.tanh(_softplus(self))
    return grad_output * (bend + self * torch.sigmoid(self) * (1 - bend * bend))


def _softplus(self: torch.Tensor) -> torch.Tensor:
    return torch.clamp(self, min=0) + torch.log1p(torch.exp(-torch.abs(self)))


@register_decomposition(aten._prelu_kernel.default)
def prelu_kernel(self: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return torch.where(self > 0, self, weight * self)


@register_decomposition(aten._prelu_kernel_backward.default)
def prelu_kernel_backward(
    grad_output: torch.Tensor, self: torch.Tensor, weight: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    of_self = torch.where(self > 0, grad_output, weight * grad_output)
    return of_self, torch.where(self > 0, 0.0, self * grad_output)


@register_decomposition(aten.native_dropout_backward.default)
@in_float32
def native_dropout_backward(grad_output: torch.Tensor, mask: torch.Tensor, scale: float) -> torch.Tensor:
    return grad_output * (mask.to(grad_output.dtype) * scale)
