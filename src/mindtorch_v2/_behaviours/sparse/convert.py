"""Between dense and sparse layouts, and the elements of one tensor at the coordinates of another."""

from __future__ import annotations

from typing import Any

from ... import _C
from ..._operators.composite.sparse import LAYOUT_NAMES
from ..._operators.table import aten
from .creation import empty
from .parts import (
    BLOCKED,
    BOOL,
    COMPRESSED,
    INT64,
    bare,
    batch_dim,
    blocksize_of,
    coalesced,
    compressed,
    coo,
    dense_dim,
    find,
    numbered,
    parts,
    starts_of,
)
from .table import COO, CSR, DENSE, kernel

_BOTH = (COO, CSR)


def coordinates(x: Any) -> list[Any]:
    """The coordinates of the values of a compressed tensor, of all elements of its blocks: an index for each dimension but dense ones."""
    p, batch = parts(x), batch_dim(x)
    lines = p.compressed.shape[-1] - 1
    line = aten.repeat_interleave(p.compressed.diff(dim=-1).reshape(-1).to(INT64))  # counted through the batch
    pair = (line % lines if lines else line, p.plain.reshape(-1).to(INT64))
    rows, columns = pair if COMPRESSED[x.layout] == 0 else pair[::-1]
    before, rest = [], line // lines if lines else line
    for size in reversed(x.shape[:batch]):
        before.append(rest % size)
        rest = rest // size
    found = [*reversed(before), rows, columns]
    if x.layout not in BLOCKED:
        return found
    high, wide = blocksize_of(x)  # type: ignore[misc]  # (it has blocks)
    down, across = (aten.arange(n, dtype=INT64, device=rows.device) for n in (high, wide))
    found[-2] = (rows * high).reshape(-1, 1, 1) + down.reshape(-1, 1)
    found[-1] = (columns * wide).reshape(-1, 1, 1) + across
    sizes = (rows.shape[0], high, wide)
    return [each.reshape(-1, *[1] * (3 - each.dim()), *each.shape[1:]).expand(sizes).reshape(-1) for each in found]


def elements(x: Any) -> Any:
    """The values of a compressed tensor in the order of its coordinates, (elements, *dense sizes)."""
    many, count = dense_dim(x), parts(x).plain.numel()
    for size in blocksize_of(x) or ():
        count *= size
    return parts(x).values.reshape(count, *(x.shape[-many:] if many else ()))


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
    out = aten.zeros(self.shape, dtype=self.dtype, device=self.device)
    if self.is_meta:
        return out
    return aten.index_put_(out, coordinates(self), elements(self), self.dtype != BOOL)


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
    if layout in BLOCKED:
        _check_blocks(self, layout, blocksize, dense_dim or 0)
    elif blocksize is not None:
        raise RuntimeError(
            f"dense_to_sparse: conversion from Strided to {LAYOUT_NAMES[layout or _C.sparse_coo]} with blocksize argument given "
            "is not supported"
        )
    if layout in (None, _C.sparse_coo):
        return _dense_to_coo(self, _dense_dims(self, dense_dim))
    return compress_dense(bare(self), layout, blocksize, dense_dim or 0)


def compress_dense(x: Any, layout: Any, blocksize: Any, dense: int, dtype: Any = INT64) -> Any:
    """A dense tensor in a compressed layout: of each matrix of a batch the elements, or blocks, that are not zero."""
    batch = x.dim() - dense - 2
    if batch < 0:
        name = LAYOUT_NAMES[layout]
        raise RuntimeError(
            f"dense_to_sparse_{name[6:].lower()}: expected a tensor of at least two dimensions beside {dense} dense ones, but got "
            f"{x.dim()}"
        )
    if 0 in x.shape[:batch]:
        raise RuntimeError(
            f"to_sparse_{LAYOUT_NAMES[layout][6:].lower()}: Expected product of batch dimensions to be non-zero, got sizes {tuple(x.shape)}"
        )
    size, which = tuple(x.shape), COMPRESSED[layout]
    cells = x
    if layout in BLOCKED:
        high, wide = blocksize
        rows, columns = size[batch] // high, size[batch + 1] // wide
        cells = x.reshape(*size[:batch], rows, high, columns, wide, *size[batch + 2 :]).transpose(batch + 1, batch + 2)
    cells = cells.transpose(batch, batch + 1) if which else cells
    filled = cells != 0
    while filled.dim() > batch + 2:
        filled = filled.any(-1)
    counts = filled.sum(-1)  # (*batch, lines)
    numbers = counts.sum(-1).reshape(-1)
    if numbers.shape[0] and bool((numbers != numbers[0]).any()):
        raise RuntimeError(
            f"Expect the same number of specified elements per batch, but got {numbers.tolist()} for the layout {layout}"
        )
    places = list(aten.nonzero(filled).unbind(1))
    nnz = places[0].shape[0] // max(numbers.shape[0], 1)
    values = aten.index(cells, places)
    starts = aten.cat([counts.new_zeros((*size[:batch], 1)), counts.cumsum(-1)], -1).to(dtype)
    plain = places[-1].contiguous().reshape(*size[:batch], nnz).to(dtype)
    return compressed(starts, plain, values.reshape(*size[:batch], nnz, *values.shape[1:]), size, layout)


def _check_blocks(x: Any, layout: Any, blocksize: Any, dense: int = 0) -> None:
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
    rows, columns = x.size(-2 - dense), x.size(-1 - dense)
    if rows % blocksize[0] or columns % blocksize[1]:
        raise RuntimeError(
            f"{name}: tensor sparse size ({rows},{columns}) must be divisible by given blocksize "
            f"({blocksize[0]},{blocksize[1]})"
        )


def to_compressed(x: Any, layout: Any, blocksize: Any = None) -> Any:
    """A coordinate matrix compressed by rows or columns, in blocks of this size where the layout has blocks."""
    p = parts(x)
    if x.is_meta:
        return empty(x.shape, x.dtype, layout, "meta", blocksize=blocksize, dense_dim=x.dense_dim())
    if p.indices.shape[0] != 2:
        name = LAYOUT_NAMES[layout]
        raise RuntimeError(
            f"coo_to_sparse_{name[6:].lower()}: conversion from Sparse to {name} for input tensors with sparse_dim()!=2 is not supported"
        )
    if layout in BLOCKED:
        return _in_blocks(x, layout, *blocksize)
    if COMPRESSED[layout] == 1:
        flipped = coalesced(coo(p.indices.flip(0), p.values, (x.shape[1], x.shape[0], *x.shape[2:])))
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
    values = p.values.new_zeros((numbers.shape[0], high, wide, *x.shape[2:]))
    values.index_put_([place, rows % high, columns % wide], p.values, x.dtype != BOOL)
    outer, inner = numbers // counts[1 - which], numbers % counts[1 - which]
    return compressed(starts_of(outer, counts[which]), inner, values, x.shape, layout)


def to_coo(x: Any) -> Any:
    """A compressed tensor as coordinates; all elements of blocks, zeros too."""
    if x.is_meta:
        return empty(x.shape, x.dtype, _C.sparse_coo, "meta", batch_dim(x) + 2)
    return coo(aten.stack(coordinates(x)), elements(x), x.shape, x.layout == _C.sparse_csr)


def like(made: Any, x: Any) -> Any:
    """A coordinate tensor in the layout of ``x``, and in blocks of its size."""
    if x.layout == _C.sparse_coo:
        return made
    dtype = parts(x).plain.dtype
    if batch_dim(x):
        return compress_dense(aten._to_dense(made), x.layout, blocksize_of(x), dense_dim(x), dtype)
    return with_indices_of(to_compressed(made, x.layout, blocksize_of(x)), dtype)


def with_indices_of(x: Any, dtype: Any) -> Any:
    """A compressed tensor whose indices are of this dtype."""
    p = parts(x)
    return (
        x
        if p.plain.dtype == dtype
        else compressed(p.compressed.to(dtype), p.plain.to(dtype), p.values, x.shape, x.layout)
    )


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
        _check_blocks(self, layout, blocksize, self.dense_dim())
    elif self.layout in BLOCKED:
        raise RuntimeError(
            f"sparse_compressed_to_sparse_{name[6:].lower()}: expected SparseCsr or SparseCsc layout but got "
            f"{LAYOUT_NAMES[self.layout]}"
        )
    if layout == self.layout:
        return self
    if self.layout == _C.sparse_coo:
        return to_compressed(self, layout, blocksize)
    if batch_dim(self) and layout in BLOCKED and self.layout not in BLOCKED:
        raise RuntimeError(
            f"to_sparse_{name[6:].lower()}: conversion from {LAYOUT_NAMES[self.layout]} to {name} for batched inputs is not supported"
        )
    dtype = parts(self).plain.dtype
    if batch_dim(self):
        return compress_dense(aten._to_dense(self), layout, blocksize, self.dense_dim(), dtype)
    return with_indices_of(to_compressed(to_coo(self), layout, blocksize), dtype)


def _on_meta(self, layout, blocksize=None, dense_dim=None):
    if layout in BLOCKED:
        _check_blocks(self, layout, blocksize, dense_dim or 0)
    dims = _dense_dims(self, dense_dim)
    return empty(self.shape, self.dtype, layout, "meta", dims, blocksize, dense_dim or 0)


@kernel("_to_sparse.sparse_dim", "Meta")
def _dense_meta_to_coo(self, sparse_dim):
    return empty(self.shape, self.dtype, _C.sparse_coo, "meta", sparse_dim)


@kernel("_to_sparse", "Meta")
def _dense_meta_to_sparse(self, *, layout=None, blocksize=None, dense_dim=None):
    return _on_meta(self, layout or _C.sparse_coo, blocksize, dense_dim)


@kernel("_to_sparse.sparse_dim", CSR)
def _compressed_to_coo(self, sparse_dim):
    if sparse_dim != batch_dim(self) + 2:
        raise RuntimeError("sparse dim 1 is not supported by sparse_csr_to_dense")
    return to_coo(self)


for _short, _layout in (("csr", _C.sparse_csr), ("csc", _C.sparse_csc)):
    kernel(f"_to_sparse_{_short}", *_BOTH)(
        lambda self, dense_dim=None, _layout=_layout: _sparse_to_sparse(self, layout=_layout)
    )
    kernel(f"_to_sparse_{_short}", DENSE)(
        lambda self, dense_dim=None, _layout=_layout: _dense_to_sparse(self, layout=_layout, dense_dim=dense_dim)
    )
    kernel(f"_to_sparse_{_short}", "Meta")(
        lambda self, dense_dim=None, _layout=_layout: _on_meta(self, _layout, dense_dim=dense_dim)
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
    kernel(f"_to_sparse_{_short}", "Meta")(
        lambda self, blocksize, dense_dim=None, _layout=_layout: _on_meta(self, _layout, blocksize, dense_dim)
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
    taken = _elements(self, aten.stack(coordinates(mask))).reshape(p.values.shape)
    return compressed(p.compressed, p.plain, taken, mask.shape, mask.layout)


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
