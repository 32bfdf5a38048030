"""Activations of quantized tensors, into a range that the caller gives."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2._behaviours.quantized.activation import between
from mindtorch_v2._behaviours.quantized.table import floats, of_floats
from mindtorch_v2._core.quantizer import PerTensor
from mindtorch_v2.nn import functional

from .table import operator, per_tensor

_TO = "float output_scale, int output_zero_point"


def _into(x: Any, made: Any, output_scale: float, output_zero_point: int) -> Any:
    return of_floats(made, PerTensor(output_scale, output_zero_point), x.dtype)


@operator(f"sigmoid(Tensor qx, {_TO}) -> Tensor")
def _sigmoid(qx: Any, output_scale: float, output_zero_point: int) -> Any:
    return _into(qx, torch.sigmoid(floats(qx)), output_scale, output_zero_point)


@operator(f"hardswish(Tensor input, {_TO}) -> Tensor")
def _hardswish(input: Any, output_scale: float, output_zero_point: int) -> Any:
    x = floats(input)
    return _into(input, x * torch.clamp(x + 3.0, 0.0, 6.0) / 6.0, output_scale, output_zero_point)


@operator(f"elu(Tensor self, {_TO}, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor")
def _elu(
    self: Any, output_scale: float, output_zero_point: int, alpha: Any = 1, scale: Any = 1, input_scale: Any = 1
) -> Any:
    x = floats(self)
    below = torch.expm1(x * float(input_scale)) * (float(alpha) * float(scale))
    # Row-major whatever the input is, as PyTorch's.
    return _into(self, torch.where(x < 0, below, x * float(scale)), output_scale, output_zero_point).contiguous()


@operator(f"celu(Tensor self, {_TO}, Scalar alpha=1) -> Tensor")
def _celu(self: Any, output_scale: float, output_zero_point: int, alpha: Any = 1) -> Any:
    if float(alpha) == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    return _elu(self, output_scale, output_zero_point, alpha, 1.0, 1.0 / float(alpha))


@operator(f"leaky_relu(Tensor qx, Scalar negative_slope, bool inplace, {_TO}) -> Tensor")
def _leaky_relu(qx: Any, negative_slope: Any, inplace: bool, output_scale: float, output_zero_point: int) -> Any:
    if inplace:
        return torch.nn.functional.leaky_relu_(qx, negative_slope)
    return _into(qx, functional.leaky_relu(floats(qx), float(negative_slope)), output_scale, output_zero_point)


@operator("relu6(Tensor qx, bool inplace=False) -> Tensor")
def _relu6(qx: Any, inplace: bool = False) -> Any:
    made = between(qx, 0.0, 6.0)
    return qx.copy_(made) if inplace else made


@operator("clamp(Tensor qx, Scalar? min=None, Scalar? max=None) -> Tensor qy")
def _clamp(qx: Any, min: Any = None, max: Any = None) -> Any:
    return torch.clamp(qx, min, max)


@operator("threshold(Tensor qx, Scalar threshold, Scalar value) -> Tensor qy")
def _threshold(qx: Any, threshold: Any, value: Any) -> Any:
    return torch.threshold(qx, threshold, value)


@operator(f"softmax(Tensor qx, int dim, {_TO}) -> Tensor")
def _softmax(qx: Any, dim: int, output_scale: float, output_zero_point: int) -> Any:
    per_tensor(qx, "softmax")
    made = torch.softmax(qx.dequantize(), dim)
    return torch.quantize_per_tensor(made, output_scale, output_zero_point, qx.dtype)


@operator(f"prelu(Tensor qx, Tensor weight, {_TO}) -> Tensor")
def _prelu(qx: Any, weight: Any, output_scale: float, output_zero_point: int) -> Any:
    per_tensor(weight, "prelu")
    return _into(qx, functional.prelu(floats(qx), floats(weight)), output_scale, output_zero_point)


@operator(f"dropout(Tensor self, {_TO}, Scalar p=0.5, bool training=False) -> Tensor")
def _dropout(self: Any, output_scale: float, output_zero_point: int, p: Any = 0.5, training: bool = False) -> Any:
    made = functional.dropout(self.dequantize(), float(p), training)
    return torch.quantize_per_tensor(made, output_scale, output_zero_point, self.dtype)
