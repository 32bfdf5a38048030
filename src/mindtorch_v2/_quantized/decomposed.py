"""`torch.ops.quantized_decomposed`: quantizing as exported graphs write it, on tensors of plain whole numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2.library import Library

__all__ = [
    "choose_qparams",
    "choose_qparams_per_token",
    "choose_qparams_per_token_asymmetric",
    "choose_qparams_symmetric",
    "convert_element_type",
    "dequantize_per_channel",
    "dequantize_per_channel_group",
    "dequantize_per_tensor",
    "dequantize_per_tensor_tensor",
    "dequantize_per_token",
    "fake_quant_per_channel",
    "quantize_per_channel",
    "quantize_per_channel_group",
    "quantize_per_tensor",
    "quantize_per_tensor_tensor",
    "quantize_per_token",
    "quantized_decomposed_lib",
]

quantized_decomposed_lib = Library("quantized_decomposed", "FRAGMENT")

_RANGE = "int quant_min, int quant_max"
_TENSORS = "Tensor input, Tensor scale, Tensor zero_point"
_BOUNDS = {
    torch.uint8: (0, 255),
    torch.int8: (-128, 127),
    torch.uint16: (0, 65535),
    torch.int16: (-(2**15), 2**15 - 1),
    torch.int32: (-(2**31), 2**31 - 1),
}


def _operator(*schemas: str) -> Callable[[Callable], Callable]:
    def register(fn: Callable) -> Callable:
        for schema in schemas:
            quantized_decomposed_lib.define(schema)
            quantized_decomposed_lib.impl(schema.partition("(")[0], fn, "CompositeExplicitAutograd")
        return fn

    return register


def _check_bounds(low: int, high: int, dtype: Any) -> None:
    if dtype not in _BOUNDS:
        raise ValueError(f"Unsupported dtype: {dtype}")
    least, most = _BOUNDS[dtype]
    if low < least:
        raise AssertionError(f"quant_min out of bound for dtype, quant_min_lower_bound: {least} quant_min: {low}")
    if high > most:
        raise AssertionError(f"quant_max out of bound for dtype, quant_max_upper_bound: {most} quant_max: {high}")


def _single(x: Any) -> Any:
    return x.to(torch.float32) if x.dtype in (torch.float16, torch.bfloat16) else x


@_operator(f"quantize_per_tensor(Tensor input, float scale, int zero_point, {_RANGE}, ScalarType dtype) -> Tensor")
def quantize_per_tensor(input: Any, scale: float, zero_point: int, quant_min: int, quant_max: int, dtype: Any) -> Any:
    """round(input / scale) + zero_point, between two bounds."""
    input = _single(input)
    if input.dtype != torch.float32:
        raise AssertionError(f"Expecting input to have dtype torch.float32, but got dtype: {input.dtype}")
    _check_bounds(quant_min, quant_max, dtype)
    return torch.clamp(torch.round(input * (1.0 / scale)) + zero_point, quant_min, quant_max).to(dtype)


@_operator(
    f"quantize_per_tensor.tensor({_TENSORS}, {_RANGE}, ScalarType dtype) -> Tensor",
    f"quantize_per_tensor.tensor2({_TENSORS}, Tensor quant_min, Tensor quant_max, ScalarType dtype) -> Tensor",
)
def quantize_per_tensor_tensor(
    input: Any, scale: Any, zero_point: Any, quant_min: Any, quant_max: Any, dtype: Any
) -> Any:
    """The same by tensors of one element."""
    _check_one(scale, zero_point)
    return quantize_per_tensor(input, scale.item(), zero_point.item(), int(quant_min), int(quant_max), dtype)


def _check_one(scale: Any, zero_point: Any) -> None:
    for name, each in (("zero_point", zero_point), ("scale", scale)):
        if each.numel() != 1:
            raise AssertionError(f"Expecting {name} tensor to be one element, but received : {each.numel()}")


_OUT = "ScalarType dtype, *, ScalarType? out_dtype=None"


@_operator(f"dequantize_per_tensor(Tensor input, float scale, int zero_point, {_RANGE}, {_OUT}) -> Tensor")
def dequantize_per_tensor(
    input: Any,
    scale: float,
    zero_point: int,
    quant_min: int,
    quant_max: int,
    dtype: Any,
    out_dtype: Any = None,
) -> Any:
    """(input - zero_point) * scale, in float32."""
    if input.dtype != dtype:
        raise AssertionError(f"Expecting input to have dtype: {dtype}, but got {input.dtype}")
    if dtype not in _BOUNDS:
        raise ValueError(f"Unsupported dtype in dequantize_per_tensor: {dtype}")
    return (input.to(out_dtype or torch.float32) - zero_point) * scale


@_operator(
    f"dequantize_per_tensor.tensor({_TENSORS}, {_RANGE}, {_OUT}) -> Tensor",
    f"dequantize_per_tensor.tensor2({_TENSORS}, Tensor quant_min, Tensor quant_max, {_OUT}) -> Tensor",
)
def dequantize_per_tensor_tensor(
    input: Any,
    scale: Any,
    zero_point: Any,
    quant_min: Any,
    quant_max: Any,
    dtype: Any,
    out_dtype: Any = None,
) -> Any:
    """The same by tensors of one element."""
    _check_one(scale, zero_point)
    bounds = int(quant_min), int(quant_max)
    return dequantize_per_tensor(input, scale.item(), zero_point.item(), *bounds, dtype, out_dtype=out_dtype)


# ---- choosing ----


@_operator(
    "choose_qparams.tensor(Tensor input, int quant_min, int quant_max, float eps, ScalarType dtype) -> (Tensor, Tensor)"
)
def choose_qparams(input: Any, quant_min: int, quant_max: int, eps: float, dtype: Any) -> tuple[Any, Any]:
    """The scale and the zero point of a tensor's range, with zero in it."""
    _check_choice(input, quant_min, quant_max, dtype)
    least, greatest = (each.reshape(1) for each in torch.aminmax(input))
    low, high = least.clamp_max(0.0), greatest.clamp_min(0.0)
    scale = torch.clamp_min((high - low) / float(quant_max - quant_min), eps)
    zero_point = quant_min - torch.round(low / scale).to(torch.int)
    return scale.to(torch.float64), zero_point.clamp(quant_min, quant_max).to(torch.int64)


@_operator(
    "choose_qparams_symmetric.tensor(Tensor input, int quant_min, int quant_max, float eps, ScalarType dtype) -> "
    "(Tensor, Tensor)"
)
def choose_qparams_symmetric(input: Any, quant_min: int, quant_max: int, eps: float, dtype: Any) -> tuple[Any, Any]:
    """The scale of a tensor's range around zero."""
    _check_choice(input, quant_min, quant_max, dtype)
    least, greatest = (each.reshape(1) for each in torch.aminmax(input))
    most = torch.maximum(-least.clamp_max(0.0), greatest.clamp_min(0.0))
    scale = torch.clamp_min(most / (float(quant_max - quant_min) / 2), eps)
    middle = (quant_max + quant_min + 1) // 2 if dtype == torch.uint8 else 0
    return scale.to(torch.float64), torch.full_like(scale, middle, dtype=torch.int64)


def _check_choice(input: Any, low: int, high: int, dtype: Any) -> None:
    if input.dtype not in (torch.float32, torch.float16, torch.bfloat16):
        raise AssertionError(f"Expecting input to have dtype torch.float32/16/b16, but got dtype: {input.dtype}")
    if dtype not in _BOUNDS:
        raise AssertionError(f"Expecting target dtype to be one of {list(_BOUNDS)}, but got: {dtype}")
    if low >= high:
        raise AssertionError(f"Expecting quant_min to be less than quant_max but received min: {low} max: {high}")


# ---- per channel ----


def _along(x: Any, values: Any, axis: int) -> Any:
    sizes = [1] * x.dim()
    sizes[axis] = -1
    return values.reshape(sizes)


@_operator(
    f"quantize_per_channel(Tensor input, Tensor scales, Tensor zero_points, int axis, {_RANGE}, ScalarType dtype) -> Tensor"
)
def quantize_per_channel(
    input: Any, scales: Any, zero_points: Any, axis: int, quant_min: int, quant_max: int, dtype: Any
) -> Any:
    """`quantize_per_tensor` with a scale for each index of a dimension."""
    input = _single(input)
    if input.dtype != torch.float32:
        raise AssertionError(f"Expecting input to have dtype torch.float32, but got dtype: {input.dtype}")
    if axis >= input.dim():
        raise AssertionError(f"Expecting axis to be < {input.dim()}")
    _check_bounds(quant_min, quant_max, dtype)
    shifted = torch.round(input * (1.0 / _along(input, scales, axis))) + _along(input, zero_points, axis)
    return torch.clamp(shifted, quant_min, quant_max).to(dtype)


@_operator(
    f"dequantize_per_channel(Tensor input, Tensor scales, Tensor? zero_points, int axis, {_RANGE}, {_OUT}) -> Tensor"
)
def dequantize_per_channel(
    input: Any,
    scales: Any,
    zero_points: Any,
    axis: int,
    quant_min: int,
    quant_max: int,
    dtype: Any,
    out_dtype: Any = None,
) -> Any:
    """`dequantize_per_tensor` with a scale for each index of a dimension."""
    if input.dtype != dtype:
        raise AssertionError(f"Expecting input to have dtype {dtype}, but got dtype: {input.dtype}")
    if axis >= input.dim():
        raise AssertionError(f"Expecting axis to be < {input.dim()}")
    _check_bounds(quant_min, quant_max, dtype)
    moved = input if zero_points is None else input - _along(input, zero_points, axis)
    return (moved * _along(input, scales, axis)).to(out_dtype or torch.float32)


@_operator(f"fake_quant_per_channel(Tensor input, Tensor scales, Tensor zero_points, int axis, {_RANGE}) -> Tensor")
def fake_quant_per_channel(input: Any, scales: Any, zero_points: Any, axis: int, quant_min: int, quant_max: int) -> Any:
    """There and back at once."""
    return torch.fake_quantize_per_channel_affine(
        _single(input), scales, zero_points.to(torch.int32), axis, quant_min, quant_max
    )


# ---- per token, and by groups ----


@_operator("choose_qparams_per_token(Tensor input, ScalarType dtype) -> (Tensor, Tensor)")
def choose_qparams_per_token(input: Any, dtype: Any) -> tuple[Any, Any]:
    """A scale for each row by its greatest absolute number."""
    most = input.abs().amax(dim=-1, keepdim=True)
    if most.dtype == torch.float16:
        most = most.float()
    if dtype != torch.int8:
        raise Exception(f"unsupported dtype in choose_qparams_per_token: {dtype}")
    scales = most.clamp(min=1e-5).div(127)
    return scales, torch.zeros_like(scales)


@_operator(
    "_choose_qparams_per_token_asymmetric_impl(Tensor input, ScalarType dtype) -> (Tensor, Tensor)",
    "choose_qparams_per_token_asymmetric(Tensor input, ScalarType dtype) -> (Tensor, Tensor)",
)
def choose_qparams_per_token_asymmetric(input: Any, dtype: Any) -> tuple[Any, Any]:
    """A scale and a zero point for each row by its least and greatest number."""
    low, high = -128, 127
    least, greatest = torch.aminmax(input, dim=-1, keepdim=True)
    least, greatest = least.clamp_max(0.0), greatest.clamp_min(0.0)
    scale = ((greatest - least) / float(high - low)).clamp(min=torch.finfo(torch.float32).eps)
    from_low, from_high = least / scale, greatest / scale
    error = (low + from_low) + (high + from_high)
    zero_point = torch.where(error > 0, low - from_low, high - from_high)
    return scale.to(torch.float64), torch.clamp(zero_point, low, high).round().to(torch.int64)


def _check_tokens(input: Any, scales: Any, zero_points: Any) -> None:
    tokens = input.numel() // input.shape[-1]
    for each in (scales, zero_points):
        if each.numel() != tokens:
            raise AssertionError(f"num_tokens: {tokens} scales: {tuple(each.shape)}")


@_operator(f"quantize_per_token(Tensor input, Tensor scales, Tensor zero_points, {_RANGE}, ScalarType dtype) -> Tensor")
def quantize_per_token(input: Any, scales: Any, zero_points: Any, quant_min: int, quant_max: int, dtype: Any) -> Any:
    """Each row by a scale of its own."""
    _check_bounds(quant_min, quant_max, dtype)
    _check_tokens(input, scales, zero_points)
    return input.mul(1.0 / scales).add(zero_points).round().clamp(quant_min, quant_max).to(dtype)


@_operator(
    f"dequantize_per_token(Tensor input, Tensor scales, Tensor zero_points, {_RANGE}, ScalarType dtype, "
    "ScalarType output_dtype) -> Tensor"
)
def dequantize_per_token(
    input: Any,
    scales: Any,
    zero_points: Any,
    quant_min: int,
    quant_max: int,
    dtype: Any,
    output_dtype: Any = torch.float32,
) -> Any:
    """Rows of floating numbers again."""
    return ((input - zero_points) * scales).to(output_dtype)


@_operator(
    f"quantize_per_channel_group(Tensor input, Tensor scales, Tensor zero_points, {_RANGE}, ScalarType dtype, "
    "int group_size) -> Tensor"
)
def quantize_per_channel_group(
    input: Any,
    scales: Any,
    zero_points: Any,
    quant_min: int,
    quant_max: int,
    dtype: Any,
    group_size: int = 128,
) -> Any:
    """Each group of a row by a scale of its own."""
    size = input.shape[-1] if group_size <= 1 and scales.shape[-1] == 1 else group_size
    groups = input.reshape(-1, size)
    made = groups.div(scales.reshape(-1, 1)).add(zero_points.reshape(-1, 1)).round()
    return made.clamp(quant_min, quant_max).to(dtype).reshape(input.shape)


@_operator(
    f"dequantize_per_channel_group(Tensor input, Tensor scales, Tensor? zero_points, {_RANGE}, ScalarType dtype, "
    "int group_size, ScalarType output_dtype) -> Tensor"
)
def dequantize_per_channel_group(
    input: Any,
    scales: Any,
    zero_points: Any,
    quant_min: int,
    quant_max: int,
    dtype: Any,
    group_size: int = 128,
    output_dtype: Any = torch.float32,
) -> Any:
    """Groups of floating numbers again."""
    size = input.shape[-1] if group_size <= 1 and scales.shape[-1] == 1 else group_size
    groups = input.reshape(-1, size).to(output_dtype)
    points = 0 if zero_points is None else zero_points.reshape(-1, 1).to(output_dtype)
    return ((groups - points) * scales.reshape(-1, 1)).reshape(input.shape).to(output_dtype)


@_operator("convert_element_type.no_fuse(Tensor input, ScalarType dtype) -> Tensor")
def convert_element_type(input: Any, dtype: Any) -> Any:
    """The elements in another dtype."""
    return input.to(dtype)
