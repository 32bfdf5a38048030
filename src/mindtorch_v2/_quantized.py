"""Quantised tensors as PyTorch's first, deprecated form of them: made from floating numbers, looked at, and brought back.

They hold whole numbers, and scales and zero points for all of them or for each index of one dimension. Nothing else is computed
with them: `torch.ao` quantises in floating point, and NPUs have operators of their own on whole numbers.
"""

from __future__ import annotations

import warnings
from typing import Any, Self

import mindtorch_v2 as torch
from mindtorch_v2._operators.table.writing import class_name

__all__ = ["QuantizedTensor", "quantize_per_channel", "quantize_per_tensor"]

_RANGES = {
    torch.qint8: (torch.int8, -128, 127),
    torch.quint8: (torch.uint8, 0, 255),
    torch.qint32: (torch.int32, -(1 << 31), (1 << 31) - 1),
}


class QuantizedTensor(torch.Tensor):
    """A tensor of a quantised dtype. Operators other than `detach`, `clone` and those below raise NotImplementedError."""

    _whole: torch.Tensor
    _scales: torch.Tensor
    _zero_points: torch.Tensor
    _axis: int | None

    @staticmethod
    def __new__(
        cls: type[Self],
        whole: torch.Tensor,
        scales: torch.Tensor,
        zero_points: torch.Tensor,
        axis: int | None,
        dtype: torch.dtype,
    ) -> Self:
        made: Any = torch.Tensor._make_wrapper_subclass(  # type: ignore[attr-defined]  # (of the core)
            cls, whole.shape, strides=whole.stride(), dtype=dtype, device=whole.device
        )
        made._whole, made._scales, made._zero_points, made._axis = whole, scales, zero_points, axis
        return made

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        """Copies and aliases; NotImplementedError, with the operator, for what would compute."""
        if func in (torch.ops.aten.detach.default, torch.ops.aten.alias.default):
            return args[0]._with(args[0]._whole)
        if func is torch.ops.aten.clone.default:
            return args[0]._with(args[0]._whole.clone())
        raise NotImplementedError(
            f"{func}: quantised tensors are only looked at; dequantize() gives numbers to compute with"
        )

    def _with(self, whole: torch.Tensor) -> QuantizedTensor:
        return QuantizedTensor(whole, self._scales, self._zero_points, self._axis, self.dtype)

    def __repr__(self, *, tensor_contents: str | None = None) -> str:  # type: ignore[override]  # (as the class's own)
        return f"QuantizedTensor(size={tuple(self.shape)}, dtype={self.dtype}, quantization_scheme={self.qscheme()})"

    @property
    def is_quantized(self) -> bool:
        """True."""
        return True

    def int_repr(self) -> torch.Tensor:
        """A copy of the whole numbers."""
        return self._whole.clone()

    def dequantize(self) -> torch.Tensor:
        """(whole numbers - zero points) * scales, in float32."""
        scales, zero_points = (
            _along(self._whole, self._scales, self._axis),
            _along(self._whole, self._zero_points, self._axis),
        )
        if self._zero_points.is_floating_point():
            return ((self._whole.double() - zero_points) * scales).float()
        return (self._whole.double() - zero_points).float() * scales.float()

    def qscheme(self) -> Any:
        """How scales are given: for all, or for each index, whose zero points may be floating numbers."""
        if self._axis is None:
            return torch.per_tensor_affine
        return (
            torch.per_channel_affine_float_qparams
            if self._zero_points.is_floating_point()
            else torch.per_channel_affine
        )

    def q_scale(self) -> float:
        """The scale; RuntimeError where each index has its own."""
        self._of_scheme("q_scale", per_channel=False)
        return float(self._scales)

    def q_zero_point(self) -> int:
        """The zero point; RuntimeError where each index has its own."""
        self._of_scheme("q_zero_point", per_channel=False)
        return int(self._zero_points)

    def q_per_channel_scales(self) -> torch.Tensor:
        """The scales of the indices; RuntimeError where there is one for all."""
        self._of_scheme("q_per_channel_scales", per_channel=True)
        return self._scales

    def q_per_channel_zero_points(self) -> torch.Tensor:
        """The zero points of the indices; RuntimeError where there is one for all."""
        self._of_scheme("q_per_channel_zero_points", per_channel=True)
        return self._zero_points

    def q_per_channel_axis(self) -> int:
        """The dimension whose indices have scales; RuntimeError where there is one for all."""
        self._of_scheme("q_per_channel_axis", per_channel=True)
        assert self._axis is not None
        return self._axis

    def _of_scheme(self, name: str, *, per_channel: bool) -> None:
        if (self._axis is not None) != per_channel:
            raise RuntimeError(f"{name}(): the tensor is quantised by {self.qscheme()}")


def _along(like: torch.Tensor, values: torch.Tensor, axis: int | None) -> torch.Tensor:
    """Values of the indices of a dimension, in sizes that go with a tensor's."""
    if axis is None:
        return values
    sizes = [1] * like.dim()
    sizes[axis] = values.numel()
    return values.reshape(sizes)


def _quantized(
    name: str, input: torch.Tensor, scales: Any, zero_points: Any, axis: int | None, dtype: torch.dtype
) -> QuantizedTensor:
    warnings.warn(
        f"torch.{name} makes tensors of quantised dtypes, which PyTorch deprecates and will remove", stacklevel=3
    )
    if dtype not in _RANGES:
        raise RuntimeError(f"ScalarType {class_name(dtype)} is not supported in new_qtensor.")
    if input.dtype != torch.float32:
        raise RuntimeError(f"Quantize only works on Float Tensor, got {class_name(input.dtype)}")
    plain, low, high = _RANGES[dtype]
    kind = "channel" if axis is not None else "tensor"
    if not zero_points.is_floating_point():
        for number in zero_points.reshape(-1).tolist():
            if not low <= number <= high:
                side = "below lower" if number < low else "above upper"
                raise RuntimeError(f"quantize_tensor_per_{kind}_affine zero_point {number} is {side} bound.")
    factor, shift = 1.0 / _along(input, scales, axis).float(), _along(input, zero_points, axis).float()
    if axis is None and dtype != torch.qint32:  # there PyTorch's kernel rounds product and sum at once
        moved = (input.detach().double() * factor.double() + shift.double()).float()
    else:
        moved = input.detach() * factor + shift
    whole = moved.round().double()
    return QuantizedTensor(whole.clamp(low, high).to(plain), scales, zero_points, axis, dtype)


def quantize_per_tensor(input: torch.Tensor, scale: Any, zero_point: Any, dtype: torch.dtype) -> QuantizedTensor:
    """round(input / scale) + zero_point, kept within the range of a quantised dtype (`qint8`, `quint8`, `qint32`).

    Args:
        input: float32.
        scale, zero_point: a number and a whole number, or tensors of one element.

    >>> x = torch.tensor([-1.0, 0.3, 1.0])
    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     q = torch.quantize_per_tensor(x, scale=0.5, zero_point=10, dtype=torch.quint8)
    >>> q.int_repr(), q.dequantize()
    (tensor([ 8, 11, 12], dtype=torch.uint8), tensor([-1.0000,  0.5000,  1.0000]))
    """
    scales = torch.as_tensor(scale, dtype=torch.float64, device=input.device).reshape(())
    zero_points = torch.as_tensor(zero_point, dtype=torch.int64, device=input.device).reshape(())
    return _quantized("quantize_per_tensor", input, scales, zero_points, None, dtype)


def quantize_per_channel(
    input: torch.Tensor, scales: torch.Tensor, zero_points: torch.Tensor, axis: int, dtype: torch.dtype
) -> QuantizedTensor:
    """`quantize_per_tensor` with a scale and a zero point for each index of the dimension `axis`.

    Zero points that are floating numbers are added before rounding.

    >>> x = torch.tensor([[1.0, 2.0], [1.0, 2.0]])
    >>> scales, zero_points = torch.tensor([1.0, 0.5]), torch.tensor([0, 10])
    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     q = torch.quantize_per_channel(x, scales, zero_points, axis=0, dtype=torch.quint8)
    >>> q.int_repr()
    tensor([[ 1,  2],
            [12, 14]], dtype=torch.uint8)
    """
    if scales.dim() != 1 or zero_points.dim() != 1:
        raise RuntimeError(
            "scale tensor must have dimension 1" if scales.dim() != 1 else "zero_points tensor must have dimension 1"
        )
    if scales.numel() != zero_points.numel():
        raise RuntimeError("number of elements in scales and zero_points must match")
    floating = zero_points.is_floating_point()
    if not 0 <= axis < input.dim():
        of = "float qparams" if floating else "affine"
        raise RuntimeError(
            f"Channel axis out of range in per channel {of} quantization. Got: {axis}Expected: [0, {input.dim()})"
        )
    if scales.numel() != input.shape[axis]:
        raise RuntimeError(
            f"quantize_per_channel(): {scales.numel()} scales for dimension {axis} of size {input.shape[axis]}"
        )
    kept = (scales.float(), zero_points.float()) if floating else (scales.double(), zero_points.to(torch.int64))
    return _quantized("quantize_per_channel", input, *kept, axis, dtype)
