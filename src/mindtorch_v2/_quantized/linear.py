"""Linear layers of quantized tensors, and of floating ones that are quantized when they come."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2 import _C
from mindtorch_v2._core.quantizer import PerTensor
from mindtorch_v2._operators.composite.quantize import choose
from mindtorch_v2._quantized.packed import LinearParams, LinearParamsFp16
from mindtorch_v2.nn import functional

from .table import operator, per_tensor

_PACKED = "__torch__.torch.classes.quantized.LinearPackedParamsBase"
_LAYER = f"Tensor X, {_PACKED} W_prepack"
_TO = "float Y_scale_i, int Y_zero_point_i"


@operator(f"linear_prepack(Tensor W, Tensor? B=None) -> {_PACKED} W_prepack")
@operator(f"linear_prepack(Tensor W, Tensor? B=None) -> {_PACKED} W_prepack", of="_quantized")
def _prepack(W: Any, B: Any = None) -> Any:
    return LinearParams(W, B)


@operator(f"linear_prepack_fp16(Tensor W, Tensor? B=None) -> {_PACKED} W_prepack")
@operator(f"linear_prepack_fp16(Tensor W, Tensor? B=None) -> {_PACKED} W_prepack", of="_quantized")
def _prepack_fp16(W: Any, B: Any = None) -> Any:
    return LinearParamsFp16(W, B)


@operator(
    f"linear_unpack({_PACKED} W_prepack) -> (Tensor W_origin, Tensor? B_origin)",
    f"linear_unpack_fp16({_PACKED} W_prepack) -> (Tensor W_origin, Tensor? B_origin)",
)
def _unpack(W_prepack: Any) -> Any:
    return W_prepack.unpack()


def static(x: Any, packed: LinearParams, scale: float, zero_point: int, relu: bool) -> Any:
    """The layer of a tensor of quint8, into quint8."""
    name = "linear_relu" if relu else "linear"
    quantizer, form = per_tensor(x, name), packed.form
    if x.dtype != torch.quint8:
        raise RuntimeError(f"Expected input data type {torch.quint8} but got {x.dtype}")
    if x.dim() == 0:
        raise RuntimeError("The dimension for input activation should not be 0")
    if x.shape[-1] != form.whole.shape[1]:
        raise RuntimeError("The number of rows in the packB should be equal to K: " + str(form.whole.shape[1]))
    whole = torch.ops.mindtorch.quantized_linear(
        _C._whole(x),
        quantizer.scale,
        quantizer.zero_point,
        form.whole,
        form.sums,
        form.scales,
        form.zeros,
        packed.bias,
        scale,
        zero_point,
        relu,
    )
    return _C._make_quantized(whole, torch.quint8, PerTensor(scale, zero_point))


@operator(f"linear({_LAYER}, {_TO}) -> Tensor Y")
@operator(f"linear({_LAYER}, {_TO}) -> Tensor Y", of="_quantized")
def _linear(X: Any, W_prepack: Any, Y_scale_i: float, Y_zero_point_i: int) -> Any:
    return static(X, W_prepack, Y_scale_i, Y_zero_point_i, False)


@operator(f"linear_relu({_LAYER}, {_TO}) -> Tensor Y")
def _linear_relu(X: Any, W_prepack: Any, Y_scale_i: float, Y_zero_point_i: int) -> Any:
    return static(X, W_prepack, Y_scale_i, Y_zero_point_i, True)


def _floats(x: Any, packed: LinearParams) -> Any:
    """The product of what the whole numbers stand for, in float32."""
    weight, bias = packed.unpack()
    return functional.linear(x.dequantize(), weight.dequantize(), bias)


@operator(f"linear_leaky_relu({_LAYER}, {_TO}, float negative_slope) -> Tensor Y")
def _linear_leaky_relu(X: Any, W_prepack: Any, Y_scale_i: float, Y_zero_point_i: int, negative_slope: float) -> Any:
    made = functional.leaky_relu(_floats(X, W_prepack), negative_slope)
    return torch.quantize_per_tensor(made, Y_scale_i, Y_zero_point_i, X.dtype)


@operator(f"linear_tanh({_LAYER}, {_TO}) -> Tensor Y")
def _linear_tanh(X: Any, W_prepack: Any, Y_scale_i: float, Y_zero_point_i: int) -> Any:
    return torch.quantize_per_tensor(torch.tanh(_floats(X, W_prepack)), Y_scale_i, Y_zero_point_i, X.dtype)


# ---- inputs that are quantized when they come ----


def dynamic(x: Any, packed: LinearParams, reduce_range: bool = False) -> Any:
    """The layer of a tensor of float32, which becomes uint8 by its least and greatest number."""
    if x.dtype != torch.float32:
        raise RuntimeError("quantized::linear_dynamic expects an input of float32")
    form = packed.form
    if x.dim() == 0 or x.shape[-1] != form.whole.shape[1]:
        raise RuntimeError(f"The number of rows in the packB should be equal to K: {form.whole.shape[1]}")
    x = x.detach()
    if reduce_range and not form.has_zeros:
        return torch.ops.mindtorch.dynamic_linear(x, form.whole, form.scales, packed.bias, 127)
    least, greatest = (float(each) for each in torch.aminmax(x)) if x.numel() else (0.0, 0.0)
    scale, zero_point = choose(least, greatest, 0, 127 if reduce_range else 255)
    whole = torch.ops.mindtorch.quantized_numbers(x.contiguous(), scale, zero_point, torch.uint8)
    exact = torch.ops.mindtorch.quantized_sums(
        whole.clamp_max(127) if reduce_range else whole, zero_point, form.whole, form.sums, form.zeros
    )
    single = torch.tensor(scale, dtype=torch.float32)
    made = exact.float() * (single * form.scales)
    return made if packed.bias is None else made + packed.bias


@operator(f"linear_dynamic({_LAYER}, bool reduce_range=False) -> Tensor Y")
@operator(f"linear_dynamic({_LAYER}, bool reduce_range=False) -> Tensor Y", of="_quantized")
def _linear_dynamic(X: Any, W_prepack: Any, reduce_range: bool = False) -> Any:
    return dynamic(X, W_prepack, reduce_range)


@operator(f"linear_relu_dynamic({_LAYER}, bool reduce_range=False) -> Tensor Y")
def _linear_relu_dynamic(X: Any, W_prepack: Any, reduce_range: bool = False) -> Any:
    return torch.relu_(dynamic(X, W_prepack, reduce_range))


@operator(f"linear_dynamic_fp16({_LAYER}) -> Tensor Y")
def _linear_dynamic_fp16(X: Any, W_prepack: Any) -> Any:
    return functional.linear(X.detach(), W_prepack.weight, W_prepack.bias)


@operator(f"linear_relu_dynamic_fp16({_LAYER}) -> Tensor Y")
def _linear_relu_dynamic_fp16(X: Any, W_prepack: Any) -> Any:
    return torch.relu_(functional.linear(X.detach(), W_prepack.weight, W_prepack.bias))


@operator("linear_dynamic_fp16_unpacked_weight(Tensor X, Tensor weight, Tensor? bias) -> Tensor Y")
def _linear_dynamic_fp16_unpacked(X: Any, weight: Any, bias: Any) -> Any:
    packed = LinearParamsFp16(weight, bias)
    return functional.linear(X.detach(), packed.weight, packed.bias)


def _quantized_input(x: Any, scale: float, zero_point: int, packed: LinearParams) -> Any:
    return _floats(torch.quantize_per_tensor(x, scale, zero_point, torch.quint8), packed)


_BETWEEN = f"Tensor X, float X_scale, int X_zero_point, {_PACKED} W_prepack"


@operator(f"linear_with_input_q_dq_qweight_dq_output_fp32({_BETWEEN}) -> Tensor Y")
def _linear_between(X: Any, X_scale: float, X_zero_point: int, W_prepack: Any) -> Any:
    return _quantized_input(X, X_scale, X_zero_point, W_prepack)


@operator(f"linear_with_input_q_dq_qweight_dq_relu_output_fp32({_BETWEEN}) -> Tensor Y")
def _linear_relu_between(X: Any, X_scale: float, X_zero_point: int, W_prepack: Any) -> Any:
    return torch.relu_(_quantized_input(X, X_scale, X_zero_point, W_prepack))
