"""Quantized tensors made: from numbers of floating point, from whole numbers, or uninitialised."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ... import _C
from ..._core.dtype import DTYPES
from ..._core.quantizer import PerChannel, PerTensor
from ..._core.warn_once import warn_once
from ..table import aten, class_name, composite, rows_of
from .quantized import along, check_channels

if TYPE_CHECKING:
    from ..._tensor import Tensor

_FACTORY = "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"
_FLOAT, _DOUBLE = DTYPES["float32"], DTYPES["float64"]
PLAIN = {
    DTYPES["qint8"]: (DTYPES["int8"], -128, 127),
    DTYPES["quint8"]: (DTYPES["uint8"], 0, 255),
    DTYPES["qint32"]: (DTYPES["int32"], -(1 << 31), (1 << 31) - 1),
    DTYPES["quint4x2"]: (DTYPES["uint8"], 0, 15),
    DTYPES["quint2x4"]: (DTYPES["uint8"], 0, 3),
}
"""Of each quantized dtype the dtype of its whole numbers, the least and the greatest of them."""
OF_PLAIN = {DTYPES["int8"]: DTYPES["qint8"], DTYPES["uint8"]: DTYPES["quint8"], DTYPES["int32"]: DTYPES["qint32"]}
TO_A_BYTE = {DTYPES["quint4x2"]: 2, DTYPES["quint2x4"]: 4}
_WANTED = "Creation of quantized tensor requires quantized dtype like torch.quint8"


def _warn() -> None:
    warn_once(
        "torch.quantize_per_tensor, torch.quantize_per_channel and other quantized tensor creation functions that "
        "produce tensors with dtype torch.quint8, torch.qint8, and torch.qint32 are deprecated and will be removed "
        "in a future PyTorch release. Please see https://github.com/pytorch/pytorch/issues/184982 for more information."
    )


def _packed(whole: Any, each: int) -> Any:
    """Whole numbers of few bits, `each` to a byte, the first in the lowest bits."""
    flat = whole.reshape(-1)
    if flat.numel() % each:
        flat = aten.cat([flat, flat.new_zeros(each - flat.numel() % each)])
    shifts = aten.arange(0, 8, 8 // each, dtype=DTYPES["uint8"])
    parts = aten.bitwise_left_shift(flat.reshape(-1, each), shifts)
    return parts.sum(1, dtype=DTYPES["int64"]).to(DTYPES["uint8"])


def rounded(x: Any, quantizer: Any, dtype: Any) -> Any:
    """The whole numbers of the elements of `x`, float32."""
    plain, low, high = PLAIN[dtype]
    if isinstance(quantizer, PerTensor) and dtype in (DTYPES["qint8"], DTYPES["quint8"]) and x.device.type == "cpu":
        return rows_of("mindtorch")["quantized_numbers"].handle(x, quantizer.scale, quantizer.zero_point, plain)
    if isinstance(quantizer, PerTensor):
        moved = x * (1.0 / _single(quantizer.scale)) + float(quantizer.zero_point)
    else:
        moved = x * (1.0 / along(x, quantizer.scales, quantizer.axis).to(_FLOAT)) + along(
            x, quantizer.zero_points, quantizer.axis
        ).to(_FLOAT)
    return aten.nan_to_num(aten.round(moved).to(_DOUBLE), float(high)).clamp(low, high).to(plain)


def _single(number: float) -> float:
    return float(aten.scalar_tensor(number, dtype=_FLOAT))


def quantized(x: Any, quantizer: Any, dtype: Any) -> Any:
    """`x` quantized, without a check."""
    whole = rounded(x.detach(), quantizer, dtype)
    if dtype in TO_A_BYTE:
        return _C._make_quantized(_packed(whole, TO_A_BYTE[dtype]), dtype, quantizer, tuple(x.shape))
    return _C._make_quantized(whole, dtype, quantizer)


def check_zero_points(points: list[int], dtype: Any, kind: str) -> None:
    """RuntimeError for a zero point outside of the range of `dtype`."""
    _, low, high = PLAIN[dtype]
    for point in points:
        if not low <= point <= high:
            side = "below lower" if point < low else "above upper"
            raise RuntimeError(f"quantize_tensor_per_{kind}_affine zero_point {point} is {side} bound.")


def _checked(x: Any, quantizer: Any, dtype: Any) -> Any:
    _warn()
    if dtype not in PLAIN:
        raise RuntimeError(f"ScalarType {class_name(dtype)} is not supported in new_qtensor.")
    if x.dtype != _FLOAT:
        raise RuntimeError(f"Quantize only works on Float Tensor, got {class_name(x.dtype)}")
    if isinstance(quantizer, PerTensor):
        check_zero_points([quantizer.zero_point], dtype, "tensor")
    elif not quantizer.floating:
        if dtype in TO_A_BYTE:
            raise NotImplementedError(
                f"\"quantize_tensor_per_channel_affine\" not implemented for '{_NAMES.get(dtype, dtype)}'"
            )
        check_zero_points(quantizer.zero_points.tolist(), dtype, "channel")
    return quantized(x, quantizer, dtype)


_NAMES = {DTYPES["quint4x2"]: "QUInt4x2", DTYPES["quint2x4"]: "QUInt2x4"}


@composite(
    "quantize_per_tensor(Tensor self, float scale, int zero_point, ScalarType dtype) -> Tensor",
    "round(self / scale + zero_point), kept in the range of a quantized dtype (`qint8`, `quint8`, `qint32`, `quint4x2`).",
    bind="function generated_out",
    explicit=True,
    samples=None,
)
def quantize_per_tensor(self: Tensor, scale: float, zero_point: int, dtype: Any) -> Tensor:
    return _checked(self, PerTensor(scale, zero_point), dtype)


@composite(
    "quantize_per_tensor.tensor_qparams(Tensor self, Tensor scale, Tensor zero_point, ScalarType dtype) -> Tensor",
    "The same with a scale and a zero point from tensors of one element.",
    bind="function generated_out",
    explicit=True,
    samples=None,
)
def quantize_by_tensors(self: Tensor, scale: Tensor, zero_point: Tensor, dtype: Any) -> Tensor:
    return _checked(self, PerTensor(scale.item(), zero_point.item()), dtype)


@composite(
    "quantize_per_tensor.tensors(Tensor[] tensors, Tensor scales, Tensor zero_points, ScalarType dtype) -> Tensor[]",
    "The same for each tensor, with a scale and a zero point of its own.",
    bind="function generated_out",
    explicit=True,
    samples=None,
)
def quantize_each(tensors: list[Tensor], scales: Tensor, zero_points: Tensor, dtype: Any) -> list[Tensor]:
    pairs = zip(tensors, scales.tolist(), zero_points.tolist())
    return [_checked(each, PerTensor(scale, zero_point), dtype) for each, scale, zero_point in pairs]


@composite(
    "quantize_per_tensor_dynamic(Tensor self, ScalarType dtype, bool reduce_range) -> Tensor",
    "`quantize_per_tensor` by the least and the greatest number of `self`; one bit is left free with `reduce_range`.",
    bind="function generated_out",
    explicit=True,
    samples=None,
)
def quantize_per_tensor_dynamic(self: Tensor, dtype: Any, reduce_range: bool) -> Tensor:
    if dtype not in (DTYPES["quint8"], DTYPES["qint8"], DTYPES["float16"]):
        names = {DTYPES["qint32"]: "QInt32"}
        raise RuntimeError(f"dtype {names.get(dtype) or class_name(dtype)}not supported")
    if dtype == DTYPES["float16"]:
        return self.to(dtype)
    _, low, high = PLAIN[dtype]
    if reduce_range:
        low, high = (low >> 1) if low else 0, high >> 1
    least, greatest = (float(x) for x in aten.aminmax(self)) if self.numel() else (0.0, 0.0)
    scale, zero_point = choose(least, greatest, low, high)
    return _checked(self, PerTensor(scale, zero_point), dtype)


@composite(
    "quantize_per_channel(Tensor self, Tensor scales, Tensor zero_points, int axis, ScalarType dtype) -> Tensor",
    "`quantize_per_tensor` with a scale and a zero point for each index of `axis`; floating zero points are added first.",
    bind="function generated_out",
    explicit=True,
    samples=None,
)
def quantize_per_channel(self: Tensor, scales: Tensor, zero_points: Tensor, axis: int, dtype: Any) -> Tensor:
    quantizer = _per_channel(scales, zero_points, axis)
    check_channels(self, quantizer, "quantization")
    return _checked(self, quantizer, dtype)


def _per_channel(scales: Any, zero_points: Any, axis: int) -> PerChannel:
    if scales.dim() != 1 or zero_points.dim() != 1:
        name = "scale" if scales.dim() != 1 else "zero_points"
        raise RuntimeError(f"{name} tensor must have dimension 1")
    if scales.numel() != zero_points.numel():
        raise RuntimeError("number of elements in scales and zero_points must match")
    if zero_points.is_floating_point():
        return PerChannel(scales.detach().to(_FLOAT), zero_points.detach().to(_FLOAT), axis)
    return PerChannel(scales.detach().to(_DOUBLE), zero_points.to(DTYPES["int64"]), axis)


# ---- from whole numbers ----


def _of_whole(whole: Any, quantizer: Any) -> Any:
    if whole.dtype not in OF_PLAIN:
        raise RuntimeError(_WANTED)
    _warn()
    return _C._make_quantized(aten.clone(whole), OF_PLAIN[whole.dtype], quantizer)


@composite(
    "_make_per_tensor_quantized_tensor(Tensor self, float scale, int zero_point) -> Tensor",
    "The quantized tensor of the whole numbers of `self` (int8, uint8 or int32).",
    bind="function",
    explicit=True,
    samples=None,
)
def make_per_tensor(self: Tensor, scale: float, zero_point: int) -> Tensor:
    return _of_whole(self, PerTensor(scale, zero_point))


@composite(
    "_make_per_channel_quantized_tensor(Tensor self, Tensor scale, Tensor zero_point, int axis) -> Tensor",
    "The quantized tensor of the whole numbers of `self` (int8, uint8 or int32), with a scale and a zero point for each index of `axis`.",
    bind="function",
    explicit=True,
    samples=None,
)
def make_per_channel(self: Tensor, scale: Tensor, zero_point: Tensor, axis: int) -> Tensor:
    return _of_whole(self, _per_channel(scale, zero_point, axis))


# ---- uninitialised ----


def empty_quantized_of(size: Any, quantizer: Any, dtype: Any, device: Any = None, memory_format: Any = None) -> Any:
    """A tensor of a quantizer whose whole numbers are whatever was in memory."""
    if dtype not in PLAIN:
        raise RuntimeError(_WANTED)
    if dtype in TO_A_BYTE:
        count, each = math.prod(size), TO_A_BYTE[dtype]
        whole = aten.empty([-(-count // each)], dtype=DTYPES["uint8"], device=device)
        return _C._make_quantized(whole, dtype, quantizer, tuple(size))
    whole = aten.empty(size, dtype=PLAIN[dtype][0], device=device, memory_format=memory_format)
    return _C._make_quantized(whole, dtype, quantizer)


@composite(
    f"_empty_affine_quantized(SymInt[] size, *, {_FACTORY}, float scale=1, int zero_point=0, "
    "MemoryFormat? memory_format=0) -> Tensor",
    "A tensor of a quantized dtype with one scale and one zero point, whose whole numbers are whatever was in memory.",
    bind="function",
    explicit=True,
    unfilled=True,
    samples=None,
)
def empty_affine(
    size: Any,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: Any = None,
    scale: float = 1.0,
    zero_point: int = 0,
    memory_format: Any = _C.contiguous_format,
) -> Tensor:
    return empty_quantized_of(size, PerTensor(scale, zero_point), dtype, device, memory_format)


@composite(
    "_empty_per_channel_affine_quantized(SymInt[] size, *, Tensor scales, Tensor zero_points, int axis, "
    f"{_FACTORY}, MemoryFormat? memory_format=0) -> Tensor",
    "The same with a scale and a zero point for each index of the dimension `axis`.",
    bind="function",
    explicit=True,
    unfilled=True,
    samples=None,
)
def empty_per_channel(
    size: Any,
    scales: Tensor,
    zero_points: Tensor,
    axis: int,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: Any = None,
    memory_format: Any = _C.contiguous_format,
) -> Tensor:
    return empty_quantized_of(size, _per_channel(scales, zero_points, axis), dtype, device, memory_format)


@composite(
    f"empty_quantized(int[] size, Tensor qtensor, *, {_FACTORY}, MemoryFormat? memory_format=None) -> Tensor",
    "A tensor of other sizes, quantized as `qtensor` is, whose whole numbers are whatever was in memory.",
    bind="function",
    explicit=True,
    unfilled=True,
    samples=None,
)
def empty_quantized(
    size: Any,
    qtensor: Tensor,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: Any = None,
    memory_format: Any = None,
) -> Tensor:
    return empty_quantized_of(size, _C._quantizer(qtensor), dtype or qtensor.dtype, device, memory_format)


# ---- scales and zero points ----

_LEAST_SCALE = 6.1e-5


def choose(least: float, greatest: float, low: int, high: int, powers: bool = False) -> tuple[float, int]:
    """The scale and the zero point with which numbers from `least` to `greatest`, and zero, become `low` to `high`.

    As PyTorch's x86 back ends choose them: zero is exact, and a scale is not below 6.1e-5.
    """
    least, greatest = min(_single(least), 0.0), max(_single(greatest), 0.0)
    scale = (greatest - least) / (high - low)
    if _single(scale) == 0.0 or math.isinf(1.0 / _single(scale)):
        scale = 0.1
    smallest = _single(_LEAST_SCALE)
    if scale < smallest:
        times = smallest / scale
        scale = smallest
        if least == 0.0:
            greatest = smallest * (high - low)
        elif greatest == 0.0:
            least = -smallest * (high - low)
        else:
            least, greatest = least * times, greatest * times
    from_low, from_high = low - least / scale, high - greatest / scale
    error_low, error_high = abs(low) + abs(least / scale), abs(high) + abs(greatest / scale)
    first = from_low if error_low < error_high else from_high
    zero_point = low if first < low else high if first > high else round(first)
    return scale, zero_point


@composite(
    "_choose_qparams_per_tensor(Tensor self, bool reduce_range=False) -> (float, int)",
    "The scale and the zero point by which the numbers of `self`, and zero, become 0 to 255; to 127 with `reduce_range`.",
    bind="function",
    explicit=True,
    samples=None,
)
def choose_qparams_per_tensor(self: Tensor, reduce_range: bool = False) -> tuple[float, int]:
    least, greatest = (float(x) for x in aten.aminmax(self)) if self.numel() else (0.0, 0.0)
    return choose(least, greatest, 0, 127 if reduce_range else 255)
