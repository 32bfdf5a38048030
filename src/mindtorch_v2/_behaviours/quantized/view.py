"""Views of tensors that have a scale for each index of a dimension."""

from __future__ import annotations

from typing import Any

from ... import _C
from ..._core.dimensions import wrap_dim
from ..._core.quantizer import PerChannel, PerTensor
from ..._operators.table import ROWS, aten
from .table import KEY, kernel, with_whole

_STRIDES = "Setting strides is possible only on uniformly quantized tensor"


def _with_strides(row: str) -> None:
    handle = ROWS[row].handle

    def view(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(_C._quantizer(self), PerTensor):
            raise RuntimeError(_STRIDES)
        return with_whole(self, handle(_C._whole(self), *args, **kwargs))

    handle.impl(KEY, view)


for _row in ("as_strided", "expand", "permute", "t", "transpose.int", "unfold", "diagonal"):
    _with_strides(_row)


def _part(quantizer: Any, dim: int, start: int, end: int, step: int = 1) -> Any:
    """The quantizer of the indices from `start` to `end` of a dimension."""
    if not isinstance(quantizer, PerChannel) or quantizer.axis != dim:
        return quantizer
    scales, points = quantizer.scales[start:end:step], quantizer.zero_points[start:end:step]
    if scales.numel() == 1 and not quantizer.floating:
        return PerTensor(scales.item(), points.item())
    return PerChannel(scales, points, quantizer.axis)


@kernel("select.int")
def _select(self: Any, dim: int, index: int) -> Any:
    whole = aten.select(_C._whole(self), dim, index)
    dim, quantizer = wrap_dim(dim, self.dim()), _C._quantizer(self)
    at = index % self.shape[dim]
    quantizer = _part(quantizer, dim, at, at + 1)
    if isinstance(quantizer, PerChannel):
        axis = quantizer.axis - (dim < quantizer.axis)
        quantizer = PerChannel(quantizer.scales, quantizer.zero_points, axis)
    return with_whole(self, whole, quantizer)


@kernel("slice.Tensor")
def _slice(self: Any, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Any:
    whole = aten.slice(_C._whole(self), dim, start, end, step)
    dim, quantizer = wrap_dim(dim, self.dim()), _C._quantizer(self)
    first, last, _ = slice(start, end, step).indices(self.shape[dim])
    return with_whole(self, whole, _part(quantizer, dim, first, last, step))


@kernel("narrow")
def _narrow(self: Any, dim: int, start: int, length: int) -> Any:
    whole = aten.narrow(_C._whole(self), dim, start, length)
    dim, start = wrap_dim(dim, self.dim()), start + self.shape[dim] if start < 0 else start
    return with_whole(self, whole, _part(_C._quantizer(self), dim, start, start + length))


@kernel("unbind.int")
def _unbind(self: Any, dim: int = 0) -> list:
    return [_select(self, dim, i) for i in range(self.shape[wrap_dim(dim, self.dim())])]


@kernel("split.Tensor")
def _split(self: Any, split_size: int, dim: int = 0) -> list:
    length = self.shape[dim]
    starts = range(0, length, split_size) if length else (0,)
    return [_narrow(self, dim, start, min(split_size, length - start)) for start in starts]


@kernel("split_with_sizes")
def _split_with_sizes(self: Any, split_sizes: list[int], dim: int = 0) -> list:
    starts = [sum(split_sizes[:i]) for i in range(len(split_sizes))]
    return [_narrow(self, dim, start, length) for start, length in zip(starts, split_sizes)]


@kernel("unsqueeze")
def _unsqueeze(self: Any, dim: int) -> Any:
    quantizer, dim = _C._quantizer(self), wrap_dim(dim, self.dim() + 1)
    if isinstance(quantizer, PerChannel) and dim <= quantizer.axis:
        quantizer = PerChannel(quantizer.scales, quantizer.zero_points, quantizer.axis + 1)
    return with_whole(self, aten.unsqueeze(_C._whole(self), dim), quantizer)


def _squeezed(row: str) -> None:
    handle = ROWS[row].handle

    def squeeze(self: Any, *args: Any) -> Any:
        quantizer, whole = _C._quantizer(self), handle(_C._whole(self), *args)
        if isinstance(quantizer, PerChannel) and whole.dim() != self.dim():
            dims = range(self.dim()) if not args else args[0] if isinstance(args[0], (list, tuple)) else (args[0],)
            gone = {wrap_dim(d, self.dim()) for d in dims if self.shape[d] == 1}
            axis = quantizer.axis - sum(d < quantizer.axis for d in gone)
            if quantizer.axis in gone:
                raise RuntimeError("Squeeze is only possible on non-axis dimension for Per-Channel Quantized Tensors.")
            quantizer = PerChannel(quantizer.scales, quantizer.zero_points, axis)
        return with_whole(self, whole, quantizer)

    handle.impl(KEY, squeeze)


for _row in ("squeeze", "squeeze.dim", "squeeze.dims"):
    _squeezed(_row)
