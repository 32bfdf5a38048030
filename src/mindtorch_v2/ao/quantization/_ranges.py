"""Ranges of quantized numbers, and scales and zero points from the least and greatest number seen."""

from __future__ import annotations

import warnings
from typing import Any

import mindtorch_v2 as torch

__all__ = [
    "calculate_qmin_qmax",
    "check_min_max_valid",
    "determine_qparams",
    "is_per_channel",
    "is_per_tensor",
    "validate_qmin_qmax",
]

_RANGES = {
    torch.qint8: (-128, 127),
    torch.int8: (-128, 127),
    torch.quint8: (0, 255),
    torch.uint8: (0, 255),
    torch.qint32: (-(1 << 31), (1 << 31) - 1),
    torch.int32: (-(1 << 31), (1 << 31) - 1),
    torch.uint16: (0, (1 << 16) - 1),
    torch.int16: (-(1 << 15), (1 << 15) - 1),
}
_REDUCED = {torch.qint8: (-64, 63), torch.int8: (-64, 63), torch.quint8: (0, 127), torch.uint8: (0, 127)}
_FOUR_BITS = (0, 15)  # of every other dtype
_SYMMETRIC = (torch.per_tensor_symmetric, torch.per_channel_symmetric)
_UNSIGNED = (torch.quint8, torch.uint8)


def is_per_tensor(qscheme: Any) -> bool:
    """Whether a scheme has one scale for a whole tensor.

    >>> torch.ao.quantization.utils.is_per_tensor(torch.per_tensor_symmetric)
    True
    """
    return qscheme in (torch.per_tensor_affine, torch.per_tensor_symmetric)


def is_per_channel(qscheme: Any) -> bool:
    """Whether a scheme has a scale for each channel.

    >>> torch.ao.quantization.utils.is_per_channel(torch.per_tensor_symmetric)
    False
    """
    return qscheme in (torch.per_channel_affine, torch.per_channel_affine_float_qparams, torch.per_channel_symmetric)


def validate_qmin_qmax(quant_min: int, quant_max: int) -> None:
    """AssertionError where a range lacks 0 or is empty.

    >>> torch.ao.quantization.utils.validate_qmin_qmax(0, 127)
    """
    if not quant_min <= 0 <= quant_max:
        raise AssertionError("Used-specified quantization range must include 0.")
    if quant_min >= quant_max:
        raise AssertionError("qmin must be strictly less than qmax for user-specified quantization range.")


def calculate_qmin_qmax(
    quant_min: int | None,
    quant_max: int | None,
    has_customized_qrange: bool,
    dtype: torch.dtype,
    reduce_range: bool,
) -> tuple[int, int]:
    """The range of a dtype, without its highest bit if `reduce_range`; or the given one, if it fits the dtype.

    >>> torch.ao.quantization.utils.calculate_qmin_qmax(None, None, False, torch.quint8, reduce_range=True)
    (0, 127)
    """
    if not has_customized_qrange:
        if reduce_range and dtype in _REDUCED:
            return _REDUCED[dtype]
        return _RANGES.get(dtype, _FOUR_BITS)
    wide = dtype in (torch.qint32, torch.int32)
    most = 1 << (32 if wide else 8)
    low = 0 if quant_min is None or quant_max is None else quant_min
    high = most - 1 if quant_min is None or quant_max is None else quant_max
    if (wide or dtype in (torch.qint8, torch.int8)) and not 0 < high - low + 1 <= most:
        raise AssertionError(f"quantization range should be positive and not exceed the maximum bit range (={most}).")
    assert quant_min is not None
    assert quant_max is not None
    return (quant_min // 2, quant_max // 2) if reduce_range else (quant_min, quant_max)


def check_min_max_valid(min_val: torch.Tensor, max_val: torch.Tensor) -> bool:
    """Whether anything was seen (a warning where not); AssertionError where the least is above the greatest.

    >>> torch.ao.quantization.utils.check_min_max_valid(torch.tensor(0.0), torch.tensor(1.0))
    True
    """
    unseen = min_val.numel() == 0 or max_val.numel() == 0
    if not unseen and (min_val.dim() == 0 or max_val.dim() == 0):
        unseen = bool(min_val == float("inf")) and bool(max_val == float("-inf"))
    if unseen:
        warnings.warn("must run observer before calling calculate_qparams. Returning default values.", stacklevel=2)
        return False
    if bool(torch.any(min_val > max_val)):
        raise AssertionError(f"min {min_val} should be less than max {max_val}")
    return True


def scale_and_zero_point(
    least: torch.Tensor,
    most: torch.Tensor,
    quant_min: int,
    quant_max: int,
    dtype: torch.dtype,
    eps: torch.Tensor,
    qscheme: Any,
    middle: int,
) -> tuple[torch.Tensor, torch.Tensor]:
    """The scale and the zero point that map [`least`, `most`] and 0 into the range. Symmetric schemes of unsigned dtypes have `middle` for a zero point."""
    if not check_min_max_valid(least, most):
        device = least.device.type
        return torch.tensor([1.0], device=device), torch.tensor([0], device=device)
    below, above = torch.min(least, torch.zeros_like(least)), torch.max(most, torch.zeros_like(most))
    steps = float(quant_max - quant_min)
    zero_point = torch.zeros(below.size(), dtype=torch.int64, device=below.device)
    if qscheme in _SYMMETRIC:
        scale = torch.max(torch.max(-below, above) / (steps / 2), eps)
        zero_point = torch.full_like(zero_point, middle)
    elif qscheme == torch.per_channel_affine_float_qparams:  # zero need not be among the numbers then
        scale = (most - least) / steps
        scale = torch.where(scale > eps, scale, torch.ones_like(scale))
        zero_point = -1 * least / scale
    else:
        scale = torch.max((above - below) / steps, eps)
        zero_point = quant_min - torch.round(below / scale).to(torch.int)
        zero_point = torch.clamp(zero_point, quant_min, quant_max)
    return _of_one_dimension(scale), _of_one_dimension(zero_point)


def _of_one_dimension(value: torch.Tensor) -> torch.Tensor:
    return value.reshape(1) if value.dim() == 0 else value


def middle_of(dtype: torch.dtype, quant_min: int, quant_max: int, customized: bool) -> int:
    """The zero point of symmetric schemes."""
    if dtype in _UNSIGNED:
        return (quant_min + quant_max) // 2 if customized else 128
    return 0


def determine_qparams(
    min_val: torch.Tensor,
    max_val: torch.Tensor,
    quant_min: int,
    quant_max: int,
    dtype: torch.dtype,
    eps: torch.Tensor,
    has_customized_qrange: bool,
    qscheme: Any = torch.per_tensor_affine,
) -> tuple[torch.Tensor, torch.Tensor]:
    """The scale (float64) and the zero point (int64) that map a range of numbers into a range of quantized ones.

    >>> least, most, eps = torch.tensor(0.0), torch.tensor(25.5), torch.tensor([1e-5])
    >>> scale, zero_point = torch.ao.quantization.utils.determine_qparams(least, most, 0, 255, torch.quint8, eps, False)
    >>> scale.dtype, zero_point
    (torch.float64, tensor([0]))
    """
    if not check_min_max_valid(min_val, max_val):
        device = min_val.device.type
        return torch.tensor([1.0], device=device), torch.tensor([0], device=device)
    middle = middle_of(dtype, quant_min, quant_max, has_customized_qrange)
    scale, zero_point = scale_and_zero_point(
        min_val, max_val, quant_min, quant_max, dtype, eps.to(min_val.device), qscheme, middle
    )
    return scale.to(torch.double), zero_point.to(torch.int64)
