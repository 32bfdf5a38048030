"""Between dense and sparse layouts, and the elements of one tensor at the coordinates of another."""

from __future__ import annotations

from typing import Any

from ... import _C
from ..._operators.composite.sparse import LAYOUT_NAMES
from ..._operators.table import aten
from .parts import (
    BLOCKED,
    BOOL,
    COMPRESSED,
    INT64,
    bare,
    blocksize_of,
    coalesced,
    compressed,
    coo,
    find,
    numbered,
    parts,
    spread,
    starts_of,
)
from .table import COO, CSR, DENSE, kernel

_BOTH = (COO, CSR)


def coordinates(x: Any) -> tuple[Any, Any]:
    """The rows and columns of the values of a compressed matrix, of all elements of its blocks."""
    p = parts(x)
    pair = (spread(p.compressed), p.plain)
    rows, columns = pair if COMPRESSED[x.layout] == 0 else pair[::-1]
    if x.layout not in BLOCKED:
        return rows, columns
    high, wide = p.values.shape[1:]
    down, across = (aten.arange(n, dtype=INT64, device=rows.device) for n in (high, wide))
    rows = (rows * high).reshape(-1, 1, 1) + down.reshape(-1, 1)
    columns = (columns * wide).reshape(-1, 1, 1) + across
    return tuple(each.expand(p.values.shape).reshape(-1) for each in (rows, columns))


@kernel("_to_dense", COO)
def _coo_to_dense(self, dtype=None, masked_grad=None):
    if dtype is not None:
        raise RuntimeError("dtype argument is not supported by sparse_to_dense")
    if self.dtype == BOOL:
        self = coalesced(self)
    p = parts(self)
    if p.indices.shape[0] == 0:
        return p.values.sum(0, dtype=self.dtype)
    out = aten.zeros(self.shape, dtype=self.dtype, device=self.device)
    return aten.index_put_(out, list(p.indices.unbind(0)), p.values, not p.coalesced)


@kernel("_to_dense", CSR)
def _compressed_to_dense(self, dtype=None, masked_grad=None):
    if dtype is not None:
        raise RuntimeError("dtype argument is not supported by sparse_csr_to_dense")
    rows, columns = coordinates(self)
    out = aten.zeros(self.shape, dtype=self.dtype, device=self.device)
    return aten.index_put_(out, [rows, columns], parts(self).values.reshape(-1), self.dtype != BOOL)


@kernel("_to_sparse.sparse_dim", DENSE)
def _dense_to_coo(self, sparse_dim):
    self, dims = bare(self), self.dim()
    if dims and sparse_dim <= 0:
        raise RuntimeError("dense_to_sparse: sparse_dim argument must be in >0 when self.dim()>0")
    if not 0 <= sparse_dim <= dims:
        raise RuntimeError(
            f"dense_to_sparse: sparse_dim argument must be in [0,{dims}] range, but {sparse_dim} is given"
        )
    if dims == 0:
        kept = self.reshape(1)[self.reshape(1) != 0]
        return coo(kept.new_zeros((0, kept.shape[0]), dtype=INT64), kept, (), True)
    filled = self != 0
    for _ in range(dims - sparse_dim):
        filled = filled.any(-1)
    indices = aten.nonzero(filled).t().contiguous()
    return coo(indices, aten.index(self, list(indices.unbind(0))), self.shape, True)


def _dense_dims(self: Any, dense_dim: int | None) -> int:
    return self.dim() - (dense_dim or 0)


@kernel("_to_sparse", DENSE)
def _dense_to_sparse(self, *, layout=None, blocksize=None, dense_dim=None):
    if layout in BLOCKED and (self.dim() > 2 or dense_dim):
        raise NotImplementedError(
            f"batches of tensors of the layout {layout}, and dense dimensions of them, are not implemented"
        )
    if layout in BLOCKED:
        _check_blocks(self, layout, blocksize)
    elif blocksize is not None:
        raise RuntimeError(
            f"dense_to_sparse: conversion from Strided to {LAYOUT_NAMES[layout or _C.sparse_coo]} with blocksize argument given "
            "is not supported"
        )
    made = _dense_to_coo(self, _dense_dims(self, dense_dim))
    return made if layout in (None, _C.sparse_coo) else to_compressed(made, layout, blocksize)


def _check_blocks(x: Any, layout: Any, blocksize: Any) -> None:
    """That a matrix can be cut into blocks of this size."""
    what = "dense_to_sparse" if x.layout == _C.strided else "to_sparse"
    if blocksize is None:
        raise RuntimeError(
            f"{what}: conversion from {LAYOUT_NAMES[x.layout]} to {LAYOUT_NAMES[layout]} without blocksize argument given is "
            "not supported"
        )
    name = f"{what}_{LAYOUT_NAMES[layout][6:].lower()}"
    if len(blocksize) != 2:
        raise RuntimeError(f"{name}: blocksize needs to be a tuple of size 2, but got {len(blocksize)}")
    if min(blocksize) <= 0:
        raise RuntimeError(f"{name}: blocksize needs to be positive, but got {list(blocksize)}")
    rows, columns = x.size(-2), x.size(-1)
    if rows % blocksize[0] or columns % blocksize[1]:
        raise RuntimeError(
            f"{name}: tensor sparse size ({rows},{columns}) must be divisible by given blocksize "
            f"({blocksize[0]},{blocksize[1]})"
        )


def to_compressed(x: Any, layout: Any, blocksize: Any = None) -> Any:
    """A coordinate matrix compressed by rows or columns, in blocks of this size where the layout has blocks."""
    p = parts(x)
    if p.indices.shape[0] != 2:
        name = LAYOUT_NAMES[layout]
        raise RuntimeError(
            f"coo_to_sparse_{name[6:].lower()}: conversion from Sparse to {name} for input tensors with sparse_dim()!=2 is not supported"
        )
    if p.values.dim() != 1:
        raise NotImplementedError(f"tensors of the layout {layout} with dense dimensions are not implemented")
    if layout in BLOCKED:
        return _in_blocks(x, layout, *blocksize)
    if COMPRESSED[layout] == 1:
        flipped = coalesced(coo(p.indices.flip(0), p.values, (x.shape[1], x.shape[0])))
    else:
        flipped = coalesced(x)
    q = parts(flipped)
    return compressed(starts_of(q.indices[0], flipped.shape[0]), q.indices[1].clone(), q.values, x.shape, layout)


def _in_blocks(x: Any, layout: Any, high: int, wide: int) -> Any:
    p = parts(x)
    rows, columns = p.indices.unbind(0)
    blocks = (rows // high, columns // wide)
    counts = (x.shape[0] // high, x.shape[1] // wide)
    which = COMPRESSED[layout]
    numbers, place = aten._unique2(blocks[which] * counts[1 - which] + blocks[1 - which], True, True)[:2]
    values = p.values.new_zeros((numbers.shape[0], high, wide))
    values.index_put_([place, rows % high, columns % wide], p.values, x.dtype != BOOL)
    outer, inner = numbers // counts[1 - which], numbers % counts[1 - which]
    return compressed(starts_of(outer, counts[which]), inner, values, x.shape, layout)


def to_coo(x: Any) -> Any:
    """A compressed matrix as coordinates; all elements of blocks, zeros too."""
    return coo(aten.stack(coordinates(x)), parts(x).values.reshape(-1), x.shape, x.layout == _C.sparse_csr)


def like(made: Any, x: Any) -> Any:
    """A coordinate tensor in the layout of ``x``, and in blocks of its size."""
    return made if x.layout == _C.sparse_coo else to_compressed(made, x.layout, blocksize_of(x))


@kernel("_to_sparse", *_BOTH)
def _sparse_to_sparse(self, *, layout=None, blocksize=None, dense_dim=None):
    if layout in (None, _C.sparse_coo):
        return self if self.layout == _C.sparse_coo else to_coo(self)
    name = LAYOUT_NAMES[layout]
    if layout in BLOCKED:
        size = blocksize_of(self)
        if size is not None and tuple(blocksize or size) != size:
            raise RuntimeError(
                f"to_sparse_{name[6:].lower()}: conversion from {LAYOUT_NAMES[self.layout]} to {name} with blocksize changed "
                f"from {list(size)} to {list(blocksize)} is not supported"
            )
        blocksize = blocksize or size
        _check_blocks(self, layout, blocksize)
    elif self.layout in BLOCKED:
        raise RuntimeError(
            f"sparse_compressed_to_sparse_{name[6:].lower()}: expected SparseCsr or SparseCsc layout but got "
            f"{LAYOUT_NAMES[self.layout]}"
        )
    if layout == self.layout:
        return self
    return to_compressed(self if self.layout == _C.sparse_coo else to_coo(self), layout, blocksize)


@kernel("_to_sparse.sparse_dim", CSR)
def _compressed_to_coo(self, sparse_dim):
    if sparse_dim != 2:
        raise RuntimeError("sparse dim 1 is not supported by sparse_csr_to_dense")
    return to_coo(self)


for _short, _layout in (("csr", _C.sparse_csr), ("csc", _C.sparse_csc)):
    kernel(f"_to_sparse_{_short}", *_BOTH)(
        lambda self, dense_dim=None, _layout=_layout: _sparse_to_sparse(self, layout=_layout)
    )
    kernel(f"_to_sparse_{_short}", DENSE)(
        lambda self, dense_dim=None, _layout=_layout: _dense_to_sparse(self, layout=_layout, dense_dim=dense_dim)
    )


for _short, _layout in (("bsr", _C.sparse_bsr), ("bsc", _C.sparse_bsc)):
    kernel(f"_to_sparse_{_short}", *_BOTH)(
        lambda self, blocksize, dense_dim=None, _layout=_layout: _sparse_to_sparse(
            self, layout=_layout, blocksize=blocksize
        )
    )
    kernel(f"_to_sparse_{_short}", DENSE)(
        lambda self, blocksize, dense_dim=None, _layout=_layout: _dense_to_sparse(
            self, layout=_layout, blocksize=blocksize, dense_dim=dense_dim
        )
    )


@kernel("sparse_mask", *_BOTH)
def _sparse_mask(self, mask):
    if self.shape != mask.shape:
        raise RuntimeError(
            f"sparse_mask(): operands have incompatible sizes; self has size {list(self.shape)} but mask has size {list(mask.shape)}"
        )
    if mask.layout == _C.strided:
        raise NotImplementedError("sparse_mask(): the mask must be a sparse tensor")
    p = parts(mask)
    if mask.layout == _C.sparse_coo:
        return coo(p.indices, _elements(self, p.indices), mask.shape, p.coalesced)
    elements = _elements(self, aten.stack(coordinates(mask))).reshape(p.values.shape)
    return compressed(p.compressed, p.plain, elements, mask.shape, mask.layout)


def _elements(x: Any, indices: Any) -> Any:
    """The elements of a dense or sparse tensor at some coordinates."""
    if x.layout == _C.strided:
        x = bare(x)
        return aten.index(x, list(indices.unbind(0))) if indices.shape[0] else x.unsqueeze(0)
    p = parts(coalesced(x if x.layout == _C.sparse_coo else to_coo(x)))
    count = indices.shape[0]
    if p.indices.shape[0] != count:
        raise RuntimeError("sparse_mask(): operands have different numbers of sparse dimensions")
    at, found = find(numbered(p.indices, x.shape[:count]), numbered(indices, x.shape[:count]))
    taken = (
        p.values.index_select(0, at) if p.values.shape[0] else p.values.new_zeros((at.shape[0], *p.values.shape[1:]))
    )
    return taken.masked_fill(~found.reshape(-1, *[1] * (taken.dim() - 1)), 0)
