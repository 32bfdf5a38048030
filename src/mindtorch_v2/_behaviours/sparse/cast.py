"""Copies of sparse tensors: of another dtype, on another device, into another one."""

from __future__ import annotations

from typing import Any

from ... import _C
from ..._operators.composite.sparse import LAYOUT_NAMES
from ..._operators.table import aten
from .creation import arrangement, empty, on_meta
from .parts import COMPRESSED, blocksize_of, compressed, coo, parts
from .table import COO, CSR, become, kernel

_BOTH = (COO, CSR)


@kernel("clone", *_BOTH)
def _clone(self, *, memory_format=None):
    if memory_format not in (None, _C.preserve_format) and self.layout == _C.sparse_coo:
        raise RuntimeError("unsupported memory format option Contiguous")
    p = parts(self)
    if self.layout == _C.sparse_coo:
        return coo(p.indices.clone(), p.values.clone(), self.shape, p.coalesced)
    return compressed(p.compressed.clone(), p.plain.clone(), p.values.clone(), self.shape, self.layout)


@kernel("_to_copy", *_BOTH)
def _to_copy(self, *, dtype=None, layout=None, device=None, pin_memory=None, non_blocking=False, memory_format=None):
    if layout not in (None, self.layout):
        raise RuntimeError(
            "to(options) doesn't support converting to a different layout, but got self.layout being "
            f"{self.layout} and options.layout set as {layout}"
        )
    if device is not None and _C.device(device).type == "meta":
        return on_meta(self if dtype is None else _to_copy(self, dtype=dtype))
    p = parts(self)
    values = aten._to_copy(p.values, dtype=dtype, device=device, non_blocking=non_blocking)
    if self.layout == _C.sparse_coo:
        return coo(aten._to_copy(p.indices, device=device, non_blocking=non_blocking), values, self.shape, p.coalesced)
    starts, plain = (aten._to_copy(x, device=device, non_blocking=non_blocking) for x in (p.compressed, p.plain))
    return compressed(starts, plain, values, self.shape, self.layout)


def _check_copy(self: Any, src: Any) -> None:
    """That a tensor goes into a compressed one."""
    if self.layout != src.layout:
        raise RuntimeError(
            "torch.copy_: copy of sparse compressed tensors having different layouts is not supported. self layout is "
            f"{LAYOUT_NAMES[self.layout]} and src layout is {LAYOUT_NAMES.get(src.layout, src.layout)}"
        )
    for d, (size, given) in enumerate(zip(self.shape, src.shape, strict=False)):
        if size != given:
            raise RuntimeError(
                f"torch.copy_: expected shapes of self and src to match along dimension {d} for {LAYOUT_NAMES[self.layout]} "
                f"layout but the corresponding dimensions of self and src are {size} and {given}, respectively."
            )
    if self._nnz() != src._nnz():
        raise RuntimeError(
            "torch.copy_: only sparse compressed tensors with the same number of specified elements are supported."
        )
    if blocksize_of(self) != blocksize_of(src):
        raise RuntimeError(
            "torch.copy_: copy of sparse compressed tensors having different block sizes is not supported. self and src block "
            f"sizes are {list(blocksize_of(self) or ())} and {list(blocksize_of(src) or ())}, respectively."
        )


@kernel("copy_", *_BOTH)
def _copy(self, src, non_blocking=False):
    if self.layout in COMPRESSED:
        _check_copy(self, src)
    if self.layout != src.layout:
        raise RuntimeError(
            f"copy_() between dense and sparse Tensors is not implemented! Found self type = {self.type()} and src type = {src.type()}"
        )
    if self.shape != src.shape:
        raise RuntimeError(f"copy_(): expected sizes to be equal, but got {list(self.shape)} and {list(src.shape)}")
    return become(self, _to_copy(src, dtype=self.dtype, device=self.device, non_blocking=non_blocking))


@kernel("zero_", *_BOTH)
def _zero(self):
    return become(self, empty(self.shape, self.dtype, self.layout, self.device, **arrangement(self, self.layout)))
