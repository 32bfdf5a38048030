"""Several sparse tensors made one."""

from __future__ import annotations

from ... import _C
from ..._core.dimensions import wrap_dim
from ..._operators.table import aten
from .parts import coo, parts
from .table import COO, kernel


@kernel("cat", COO)
def _cat(tensors, dim=0):
    for i, t in enumerate(tensors):
        if t.layout != _C.sparse_coo:
            raise RuntimeError(f"Concatenating sparse tensors, but a dense tensor was found at position {i}.")
    first = tensors[0]
    dim, count = wrap_dim(dim, first.dim()), parts(first).indices.shape[0]
    dtype = first.dtype
    for i, t in enumerate(tensors):
        if t.dim() != first.dim() or any(t.shape[d] != first.shape[d] for d in range(t.dim()) if d != dim):
            raise RuntimeError(
                f"All tensors must have the same shape: {list(first.shape)} (except in the concatenating dimension), but found shape: {list(t.shape)} at position: {i}"
            )
        if parts(t).indices.shape[0] != count:
            raise RuntimeError(
                f"All tensors must have the same sparse_dim and dense_dim: {count}, {first.dim() - count}, but tensor at position {i} has {parts(t).indices.shape[0]}, {parts(t).values.dim() - 1}"
            )
        dtype = _C.promote_types(dtype, t.dtype)
    size = list(first.shape)
    size[dim] = sum(t.shape[dim] for t in tensors)
    indices, values, before = [], [], 0
    for t in tensors:
        p = parts(t)
        part = p.values.to(dtype)
        if dim < count:
            shift = p.indices.new_zeros((count, 1))
            shift[dim] = before
            indices.append(p.indices + shift)
        else:
            # Each tensor's values stand in its own stretch of the dense dimension, with zeros before and behind.
            at = dim - count + 1
            shape = list(part.shape)
            shape[at] = size[dim]
            wide = part.new_zeros(shape)
            wide.narrow(at, before, t.shape[dim]).copy_(part)
            part = wide
            indices.append(p.indices)
        values.append(part)
        before += t.shape[dim]
    return coo(aten.cat(indices, 1), aten.cat(values), size)


@kernel("stack", COO)
def _stack(tensors, dim=0):
    return aten.cat([aten.unsqueeze(t, dim) for t in tensors], dim)
