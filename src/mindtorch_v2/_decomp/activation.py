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
