"""Functions of quantized tensors, with PyTorch's names and arguments."""

from __future__ import annotations

import warnings
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2.nn import functional

__all__ = [
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "avg_pool2d",
    "avg_pool3d",
    "celu",
    "clamp",
    "conv1d",
    "conv2d",
    "conv3d",
    "elu",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "interpolate",
    "leaky_relu",
    "linear",
    "max_pool1d",
    "max_pool2d",
    "threshold",
    "upsample",
    "upsample_bilinear",
    "upsample_nearest",
]

_NO = "Input to 'quantized.{}' must be quantized!"


def _check(input: Any, name: str) -> None:
    if not input.is_quantized:
        raise ValueError(_NO.format(name))


def avg_pool2d(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: Any = None,
) -> Any:
    """Means of windows of a quantized image.

    >>> q = torch.quantize_per_tensor(torch.ones(1, 1, 4, 4), 0.5, 0, torch.quint8)
    >>> torch.ao.nn.quantized.functional.avg_pool2d(q, 2).shape
    torch.Size([1, 1, 2, 2])
    """
    _check(input, "avg_pool2d")
    return functional.avg_pool2d(input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


def avg_pool3d(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: Any = None,
) -> Any:
    """Means of windows of a quantized volume.

    >>> q = torch.quantize_per_tensor(torch.ones(1, 1, 2, 2, 2), 0.5, 0, torch.quint8)
    >>> torch.ao.nn.quantized.functional.avg_pool3d(q, 2).shape
    torch.Size([1, 1, 1, 1, 1])
    """
    _check(input, "avg_pool3d")
    return functional.avg_pool3d(input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


def adaptive_avg_pool2d(input: Any, output_size: Any) -> Any:
    """Means of parts of a quantized image, as many as `output_size`.

    >>> q = torch.quantize_per_tensor(torch.ones(1, 1, 4, 4), 0.5, 0, torch.quint8)
    >>> torch.ao.nn.quantized.functional.adaptive_avg_pool2d(q, 1).shape
    torch.Size([1, 1, 1, 1])
    """
    if not input.is_quantized:
        raise ValueError("Input to 'quantized.functional.adaptive_avg_pool2d' must be quantized!")
    return functional.adaptive_avg_pool2d(input, output_size)


def adaptive_avg_pool3d(input: Any, output_size: Any) -> Any:
    """Means of parts of a quantized volume, as many as `output_size`.

    >>> q = torch.quantize_per_tensor(torch.ones(1, 1, 2, 2, 2), 0.5, 0, torch.quint8)
    >>> torch.ao.nn.quantized.functional.adaptive_avg_pool3d(q, 1).shape
    torch.Size([1, 1, 1, 1, 1])
    """
    if not input.is_quantized:
        raise ValueError("Input to 'quantized.functional.adaptive_avg_pool3d' must be quantized!")
    return functional.adaptive_avg_pool3d(input, output_size)


def _conv(
    dims: int,
    input: Any,
    weight: Any,
    bias: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
    padding_mode: str,
    scale: float,
    zero_point: int,
    dtype: torch.dtype,
) -> Any:
    if padding_mode != "zeros":
        raise NotImplementedError("Only zero-padding is supported!")
    if input.dtype != torch.quint8:
        raise NotImplementedError("Only torch.quint8 is supported for activation tensor!")
    if weight.dtype != torch.qint8:
        raise NotImplementedError("Only torch.qint8 is supported for weight tensor!")
    if input.ndim != dims + 2:
        raise ValueError(f"Input shape must be `(N, C, {'L' if dims == 1 else ', '.join('DHW'[-dims:])})`!")
    geometry = [[each] * dims if isinstance(each, int) else list(each) for each in (stride, padding, dilation)]
    packed = getattr(torch.ops.quantized, f"conv{dims}d_prepack")(weight, bias, *geometry, groups)
    return getattr(torch.ops.quantized, f"conv{dims}d")(input, packed, scale, zero_point)


def conv1d(
    input: Any,
    weight: Any,
    bias: Any,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    padding_mode: str = "zeros",
    scale: float = 1.0,
    zero_point: int = 0,
    dtype: torch.dtype = torch.quint8,
) -> Any:
    """A convolution of one dimension of a quantized tensor (quint8) with a quantized weight (qint8).

    >>> q = torch.quantize_per_tensor(torch.ones(1, 1, 4), 0.5, 0, torch.quint8)
    >>> w = torch.quantize_per_tensor(torch.ones(1, 1, 2), 0.5, 0, torch.qint8)
    >>> torch.ao.nn.quantized.functional.conv1d(q, w, None).dequantize()
    tensor([[[2., 2., 2.]]])
    """
    return _conv(1, input, weight, bias, stride, padding, dilation, groups, padding_mode, scale, zero_point, dtype)


def conv2d(
    input: Any,
    weight: Any,
    bias: Any,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    padding_mode: str = "zeros",
    scale: float = 1.0,
    zero_point: int = 0,
    dtype: torch.dtype = torch.quint8,
) -> Any:
    """A convolution of two dimensions of a quantized tensor (quint8) with a quantized weight (qint8).

    >>> q = torch.quantize_per_tensor(torch.ones(1, 1, 2, 2), 0.5, 0, torch.quint8)
    >>> w = torch.quantize_per_tensor(torch.ones(1, 1, 2, 2), 0.5, 0, torch.qint8)
    >>> torch.ao.nn.quantized.functional.conv2d(q, w, None).dequantize()
    tensor([[[[4.]]]])
    """
    return _conv(2, input, weight, bias, stride, padding, dilation, groups, padding_mode, scale, zero_point, dtype)


def conv3d(
    input: Any,
    weight: Any,
    bias: Any,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    padding_mode: str = "zeros",
    scale: float = 1.0,
    zero_point: int = 0,
    dtype: torch.dtype = torch.quint8,
) -> Any:
    """A convolution of three dimensions of a quantized tensor (quint8) with a quantized weight (qint8).

    >>> q = torch.quantize_per_tensor(torch.ones(1, 1, 2, 2, 2), 0.5, 0, torch.quint8)
    >>> w = torch.quantize_per_tensor(torch.ones(1, 1, 2, 2, 2), 0.5, 0, torch.qint8)
    >>> torch.ao.nn.quantized.functional.conv3d(q, w, None).dequantize()
    tensor([[[[[8.]]]]])
    """
    return _conv(3, input, weight, bias, stride, padding, dilation, groups, padding_mode, scale, zero_point, dtype)


def interpolate(
    input: Any, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: Any = None
) -> Any:
    """A quantized image of another size, by `nearest` or `bilinear`.

    >>> q = torch.quantize_per_tensor(torch.ones(1, 1, 2, 2), 0.5, 0, torch.quint8)
    >>> torch.ao.nn.quantized.functional.interpolate(q, scale_factor=2).shape
    torch.Size([1, 1, 4, 4])
    """
    _check(input, "interpolate")
    return functional.interpolate(input, size, scale_factor, mode, align_corners)


def linear(input: Any, weight: Any, bias: Any = None, scale: Any = None, zero_point: Any = None) -> Any:
    """The product of a quantized tensor (quint8) with the transpose of a quantized weight (qint8).

    The range of results is the input's if none is given.

    >>> q = torch.quantize_per_tensor(torch.ones(1, 3), 0.5, 0, torch.quint8)
    >>> w = torch.quantize_per_tensor(torch.ones(2, 3), 0.5, 0, torch.qint8)
    >>> torch.ao.nn.quantized.functional.linear(q, w).dequantize()
    tensor([[3., 3.]])
    """
    scale = input.q_scale() if scale is None else scale
    zero_point = input.q_zero_point() if zero_point is None else zero_point
    packed = torch.ops.quantized.linear_prepack(weight, bias)
    return torch.ops.quantized.linear(input, packed, scale, zero_point)


def max_pool1d(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The greatest elements of windows of a quantized sequence.

    >>> q = torch.quantize_per_tensor(torch.ones(1, 1, 4), 0.5, 0, torch.quint8)
    >>> torch.ao.nn.quantized.functional.max_pool1d(q, 2).shape
    torch.Size([1, 1, 2])
    """
    return _max_pool(1, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def max_pool2d(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The greatest elements of windows of a quantized image.

    >>> q = torch.quantize_per_tensor(torch.ones(1, 1, 4, 4), 0.5, 0, torch.quint8)
    >>> torch.ao.nn.quantized.functional.max_pool2d(q, 2).shape
    torch.Size([1, 1, 2, 2])
    """
    return _max_pool(2, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def _max_pool(
    dims: int,
    input: Any,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    ceil_mode: bool,
    return_indices: bool,
) -> Any:
    if return_indices:
        raise NotImplementedError("return_indices is not yet implemented!")
    stride = [] if stride is None else stride
    pool = getattr(functional, f"max_pool{dims}d")
    return pool(input, kernel_size, stride, padding, dilation, ceil_mode=ceil_mode, return_indices=False)


def celu(input: Any, scale: float, zero_point: int, alpha: float = 1.0) -> Any:
    """`celu` into a range of `scale` and `zero_point`.

    >>> q = torch.quantize_per_tensor(torch.tensor([1.0]), 0.5, 0, torch.quint8)
    >>> torch.ao.nn.quantized.functional.celu(q, 0.5, 0).dequantize()
    tensor([1.])
    """
    _check(input, "celu")
    return torch.ops.quantized.celu(input, scale, zero_point, alpha)


def leaky_relu(
    input: Any,
    negative_slope: float = 0.01,
    inplace: bool = False,
    scale: float | None = None,
    zero_point: int | None = None,
) -> Any:
    """`leaky_relu`, into a range of its own if one is given.

    >>> q = torch.quantize_per_tensor(torch.tensor([-2.0]), 0.5, 8, torch.quint8)
    >>> torch.ao.nn.quantized.functional.leaky_relu(q, 0.5).dequantize()
    tensor([-1.])
    """
    if scale is not None and zero_point is not None:
        if inplace:
            raise AssertionError("Cannot rescale with `inplace`")
        return torch.ops.quantized.leaky_relu(input, negative_slope, False, scale, zero_point)
    return functional.leaky_relu(input, negative_slope, inplace)


def hardtanh(input: Any, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Any:
    """The elements, not below `min_val` nor above `max_val`.

    >>> q = torch.quantize_per_tensor(torch.tensor([-2.0, 2.0]), 0.5, 8, torch.quint8)
    >>> torch.ao.nn.quantized.functional.hardtanh(q).dequantize()
    tensor([-1.,  1.])
    """
    _check(input, "hardtanh")
    return functional.hardtanh(input, min_val, max_val, inplace)


def hardswish(input: Any, scale: float, zero_point: int) -> Any:
    """`hardswish` into a range of `scale` and `zero_point`.

    >>> q = torch.quantize_per_tensor(torch.tensor([4.0]), 0.5, 8, torch.quint8)
    >>> torch.ao.nn.quantized.functional.hardswish(q, 0.5, 0).dequantize()
    tensor([4.])
    """
    _check(input, "hardswish")
    return torch.ops.quantized.hardswish(input, scale, zero_point)


def threshold(input: Any, threshold: float, value: float) -> Any:
    """`value` for elements that are not above a threshold.

    >>> q = torch.quantize_per_tensor(torch.tensor([1.0, 3.0]), 0.5, 0, torch.quint8)
    >>> torch.ao.nn.quantized.functional.threshold(q, 2.0, 0.5).dequantize()
    tensor([0.5000, 3.0000])
    """
    if not input.is_quantized:
        raise ValueError(_NO.format("threshold"))
    if threshold is None:
        raise ValueError("Input to 'threshold' must be specified!")
    if value is None:
        raise ValueError("Input to 'value' must be specified!")
    return torch.ops.quantized.threshold(input, threshold, value)


def elu(input: Any, scale: float, zero_point: int, alpha: float = 1.0) -> Any:
    """`elu` into a range of `scale` and `zero_point`.

    >>> q = torch.quantize_per_tensor(torch.tensor([1.0]), 0.5, 0, torch.quint8)
    >>> torch.ao.nn.quantized.functional.elu(q, 0.5, 0).dequantize()
    tensor([1.])
    """
    _check(input, "elu")
    return torch.ops.quantized.elu(input, scale, zero_point, alpha)


def hardsigmoid(input: Any, inplace: bool = False) -> Any:
    """`hardsigmoid` into the range from 0 to 1.

    >>> q = torch.quantize_per_tensor(torch.tensor([0.0]), 0.5, 0, torch.quint8)
    >>> torch.ao.nn.quantized.functional.hardsigmoid(q).dequantize()
    tensor([0.5000])
    """
    _check(input, "hardsigmoid")
    return input.copy_(functional.hardsigmoid(input)) if inplace else functional.hardsigmoid(input)


def clamp(input: Any, min_: float, max_: float) -> Any:
    """The elements, not below `min_` nor above `max_`.

    >>> q = torch.quantize_per_tensor(torch.tensor([0.0, 3.0]), 0.5, 0, torch.quint8)
    >>> torch.ao.nn.quantized.functional.clamp(q, 1.0, 2.0).dequantize()
    tensor([1., 2.])
    """
    _check(input, "clamp")
    return torch.clamp(input, min_, max_)


def upsample(
    input: Any, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: Any = None
) -> Any:
    """`interpolate` by its old name.

    >>> q = torch.quantize_per_tensor(torch.ones(1, 1, 2, 2), 0.5, 0, torch.quint8)
    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     torch.ao.nn.quantized.functional.upsample(q, scale_factor=2).shape
    torch.Size([1, 1, 4, 4])
    """
    warnings.warn(
        "nn.quantized.functional.upsample is deprecated. Use nn.quantized.functional.interpolate instead.",
        stacklevel=2,
    )
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_bilinear(input: Any, size: Any = None, scale_factor: Any = None) -> Any:
    """`interpolate` by `bilinear` with the corners aligned.

    >>> q = torch.quantize_per_tensor(torch.ones(1, 1, 2, 2), 0.5, 0, torch.quint8)
    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     torch.ao.nn.quantized.functional.upsample_bilinear(q, scale_factor=2).shape
    torch.Size([1, 1, 4, 4])
    """
    warnings.warn(
        "nn.quantized.functional.upsample_bilinear is deprecated. Use nn.quantized.functional.interpolate instead.",
        stacklevel=2,
    )
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)


def upsample_nearest(input: Any, size: Any = None, scale_factor: Any = None) -> Any:
    """`interpolate` by `nearest`.

    >>> q = torch.quantize_per_tensor(torch.ones(1, 1, 2, 2), 0.5, 0, torch.quint8)
    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     torch.ao.nn.quantized.functional.upsample_nearest(q, scale_factor=2).shape
    torch.Size([1, 1, 4, 4])
    """
    warnings.warn(
        "nn.quantized.functional.upsample_nearest is deprecated. Use nn.quantized.functional.interpolate instead.",
        stacklevel=2,
    )
    return interpolate(input, size, scale_factor, mode="nearest")
