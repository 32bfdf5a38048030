"""Sparse tensors without values, and others like a given one."""

from __future__ import annotations

from typing import Any

from ... import _C
from ..._operators.composite.sparse import LAYOUT_NAMES
from ..._operators.table import aten
from .parts import BLOCKED, COMPRESSED, INT64, blocksize_of, compressed, coo, parts, with_values
from .parts import dense_dim as dense_dim_of
from .table import COO, CSR, kernel

_BOTH = (COO, CSR)


def empty(
    size: Any,
    dtype: Any,
    layout: Any,
    device: Any = None,
    sparse_dim: int | None = None,
    blocksize: Any = None,
    dense_dim: int = 0,
) -> Any:
    """A sparse tensor without values; ``sparse_dim`` of a coordinate tensor, all dimensions unless given."""
    size = tuple(size)
    if layout == _C.sparse_coo:
        count = len(size) if sparse_dim is None else sparse_dim
        values = aten.zeros((0, *size[count:]), dtype=dtype, device=device)
        return coo(values.new_zeros((count, 0), dtype=INT64), values, size, True)
    block: tuple[int, ...] = ()
    if layout in BLOCKED:
        if blocksize is None:
            raise RuntimeError(
                f"zeros_sparse_compressed expected sparse compressed (non-block) tensor layout but got {LAYOUT_NAMES[layout]}"
            )
        block = tuple(blocksize)
    which, before = COMPRESSED[layout], len(size) - dense_dim - 2
    if before < 0:
        raise RuntimeError(
            "torch.empty: Only batched sparse compressed (non-block) tensors are supported, but got size "
            + str([*size])
        )
    batch, lines = size[:before], size[before + which] // (block or (1, 1))[which]
    starts = aten.zeros((*batch, lines + 1), dtype=INT64, device=device)
    values = starts.new_zeros((*batch, 0, *block, *size[before + 2 :]), dtype=dtype)
    return compressed(starts, starts.new_zeros((*batch, 0)), values, size, layout)


def on_meta(x: Any) -> Any:
    """A tensor on the meta device that looks like ``x``: of no values, since it has no data that say how many there are."""
    p = parts(x)
    if x.layout == _C.sparse_coo:
        indices = aten.empty((p.indices.shape[0], 0), dtype=INT64, device="meta")
        return coo(indices, indices.new_empty((0, *p.values.shape[1:]), dtype=x.dtype), x.shape, True)
    starts = aten.empty_like(p.compressed, device="meta")
    batch = tuple(starts.shape[:-1])
    values = starts.new_empty((*batch, 0, *p.values.shape[len(batch) + 1 :]), dtype=x.dtype)
    return compressed(starts, starts.new_empty((*batch, 0)), values, x.shape, x.layout)


def arrangement(self: Any, layout: Any) -> dict[str, Any]:
    """Options of `empty` that a tensor hands on: its number of sparse dimensions, the size of its blocks."""
    if self.layout == _C.sparse_coo:
        return {"sparse_dim": parts(self).indices.shape[0]} if layout == _C.sparse_coo else {}
    if self.layout not in COMPRESSED:
        return {}
    if layout == _C.sparse_coo:
        return {"sparse_dim": self.dim() - dense_dim_of(self)}
    return {"blocksize": blocksize_of(self), "dense_dim": dense_dim_of(self)}


@kernel("empty_like", *_BOTH)
def _empty_like(self, *, dtype=None, layout=None, device=None, pin_memory=None, memory_format=None):
    if self.layout in COMPRESSED and layout in COMPRESSED and layout != self.layout:
        raise RuntimeError(
            f"empty_like with different sparse layout is not supported (self is {LAYOUT_NAMES[self.layout]} and you requested "
            f"{LAYOUT_NAMES[layout]})"
        )
    return _zeros_like(self, dtype=dtype, layout=layout, device=device)


@kernel("zeros_like", *_BOTH)
def _zeros_like(self, *, dtype=None, layout=None, device=None, pin_memory=None, memory_format=None):
    dtype = self.dtype if dtype is None else dtype
    device = self.device if device is None else device
    if layout == _C.strided:
        return aten.zeros(self.shape, dtype=dtype, device=device)
    layout = layout or self.layout
    return empty(self.shape, dtype, layout, device, **arrangement(self, layout))


@kernel("ones_like", CSR)
def _ones_like(self, *, dtype=None, layout=None, device=None, pin_memory=None, memory_format=None):
    if layout not in (None, self.layout):
        raise NotImplementedError(
            f"ones_like() of a tensor of the layout {self.layout} in another one is not implemented"
        )
    made = with_values(self, aten.ones_like(parts(self).values, dtype=dtype))
    return made if device is None else aten._to_copy(made, device=device)


@kernel("new_zeros", *_BOTH)
@kernel("new_empty", *_BOTH)
def _new_zeros(self, size, *, dtype=None, layout=None, device=None, pin_memory=None):
    dtype = self.dtype if dtype is None else dtype
    device = self.device if device is None else device
    if layout == _C.strided:
        return aten.zeros(size, dtype=dtype, device=device)
    return empty(size, dtype, layout or self.layout, device)


@kernel("zeros", *_BOTH)
@kernel("empty.memory_format", *_BOTH)
def _zeros(size, *, dtype=None, layout=None, device=None, pin_memory=None, memory_format=None):
    return empty(size, _C.get_default_dtype() if dtype is None else dtype, layout, device)
