"""Copies of sparse tensors: of another dtype, on another device, into another one."""

from __future__ import annotations

from ... import _C
from ..._operators.table import aten
from .creation import arrangement, empty
from .parts import compressed, coo, parts
from .table import COO, CSR, become, kernel

_BOTH = (COO, CSR)


@kernel("clone", *_BOTH)
def _clone(self, *, memory_format=None):
    if memory_format not in (None, _C.preserve_format):
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
    p = parts(self)
    values = aten._to_copy(p.values, dtype=dtype, device=device, non_blocking=non_blocking)
    if self.layout == _C.sparse_coo:
        return coo(aten._to_copy(p.indices, device=device, non_blocking=non_blocking), values, self.shape, p.coalesced)
    starts, plain = (aten._to_copy(x, device=device, non_blocking=non_blocking) for x in (p.compressed, p.plain))
    return compressed(starts, plain, values, self.shape, self.layout)


@kernel("copy_", *_BOTH)
def _copy(self, src, non_blocking=False):
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
