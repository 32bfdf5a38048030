"""Copies of quantized tensors, into them and out of them; filling and resizing them."""

from __future__ import annotations

from typing import Any

from ... import _C
from ..._core.dtype import DTYPES
from ..._core.quantizer import PerTensor
from ..._operators.composite.quantize import PLAIN, empty_quantized_of, rounded
from ..._operators.table import ROWS, aten
from .table import KEY, kernel, with_whole

_WANTED = "Creation of quantized tensor requires quantized dtype like torch.quint8"
_SAME = "Expected self.scalar_type() == src.scalar_type() to be true, but got false.  (Could this error message be improved?  If so, please report an enhancement request to PyTorch.)"


def _sizes(x: Any) -> tuple | None:
    """The sizes that the bytes of a tensor with several numbers to one do not tell."""
    return tuple(x.shape) if x.dtype in (DTYPES["quint4x2"], DTYPES["quint2x4"]) else None


def copied(x: Any, whole: Any, quantizer: Any = None) -> Any:
    """The quantized tensor of a copy of the whole numbers of `x`."""
    return _C._make_quantized(whole, x.dtype, quantizer or _C._quantizer(x), _sizes(x))


@kernel("clone")
def _clone(self: Any, memory_format: Any = None) -> Any:
    whole = _C._whole(self)
    if _sizes(self) is not None:
        memory_format = None
    return copied(self, aten.clone(whole, memory_format=memory_format))


@kernel("contiguous")
def _contiguous(self: Any, memory_format: Any = _C.contiguous_format) -> Any:
    if self.is_contiguous(memory_format=memory_format):
        return self
    return aten.clone(self, memory_format=memory_format)


@kernel("_to_copy")
def _to_copy(
    self: Any,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: Any = None,
    non_blocking: bool = False,
    memory_format: Any = None,
) -> Any:
    if dtype is not None and dtype not in PLAIN:
        raise RuntimeError(_WANTED)
    if dtype is not None and dtype != self.dtype:
        raise RuntimeError(_SAME)
    whole = aten._to_copy(_C._whole(self), device=device, memory_format=memory_format)
    return copied(self, whole)


@kernel("copy_")
def _copy_inplace(self: Any, src: Any, non_blocking: bool = False) -> Any:
    quantizer = _C._quantizer(self)
    if quantizer is None:
        raise RuntimeError(
            "Copying from quantized Tensor to non-quantized Tensor is not allowed, please use dequantize to get a float "
            "Tensor from a quantized Tensor"
        )
    if not src.is_quantized:
        if src.dtype != DTYPES["float32"]:
            raise RuntimeError("Quantized copy only works with kFloat as source Tensor")
        _C._whole(self).copy_(rounded(src.detach().expand(self.shape), quantizer, self.dtype))
        return self
    if quantizer.scheme is not _C._quantizer(src).scheme:
        raise RuntimeError("Quantized Copy only works with same qscheme")
    if self.dtype != src.dtype:
        raise RuntimeError(_SAME)
    _C._whole(self).copy_(_C._whole(src))
    return _C._set_quantizer(self, _C._quantizer(src))


@kernel("fill_.Scalar", "fill_.Tensor")
def _fill(self: Any, value: Any) -> Any:
    single = aten.full([], float(value), dtype=DTYPES["float32"])
    quantizer = _C._quantizer(self)
    if not isinstance(quantizer, PerTensor):
        single = single.expand(self.shape)
    _C._whole(self).copy_(rounded(single, quantizer, self.dtype))
    return self


@kernel("empty_like")
def _empty_like(
    self: Any,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: Any = None,
    memory_format: Any = None,
) -> Any:
    if dtype is not None and dtype != self.dtype:
        raise RuntimeError(
            "It is currently not supported to specify a dtype that doesn't match the input tensor's dtype via empty_like. "
            f" Specified: {dtype} Input tensor's dtype: {self.dtype}"
        )
    if _sizes(self) is not None:
        return empty_quantized_of(self.shape, _C._quantizer(self), self.dtype)
    return with_whole(self, aten.empty_like(_C._whole(self), device=device, memory_format=memory_format))


@kernel("ones_like")
def _ones_like(self: Any, **factory: Any) -> Any:
    return aten.empty_like(self, **factory).fill_(1.0)


@kernel("new_empty")
def _new_empty(self: Any, size: Any, dtype: Any = None, layout: Any = None, device: Any = None, pin_memory: Any = None):
    return empty_quantized_of(size, _C._quantizer(self), dtype or self.dtype, device)


@kernel("_local_scalar_dense")
def _number(self: Any) -> Any:
    return aten._local_scalar_dense(aten.dequantize(self))


def _resizes(row: str) -> None:
    """The whole numbers' memory grows; the tensor shows it."""
    handle = ROWS[row].handle

    def resize(self: Any, size: Any, memory_format: Any = None) -> Any:
        whole = _C._whole(self)
        handle(whole, list(size), memory_format=memory_format)
        return aten.as_strided_(self, whole.shape, whole.stride(), whole.storage_offset())

    handle.impl(KEY, resize)


_resizes("resize_")
