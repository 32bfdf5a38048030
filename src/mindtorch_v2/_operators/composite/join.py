"""Joining by rows, columns and depth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..table import S, T, aten, composite

if TYPE_CHECKING:
    from ..._tensor import Tensor


def _at_least(x, n):
    """At least `n` (1, 2 or 3) dimensions, new ones where NumPy puts them."""
    if x.dim() == 0:
        return x.reshape([1] * n)
    if n >= 2 and x.dim() == 1:
        x = x.unsqueeze(0)
    return x.unsqueeze(-1) if n == 3 and x.dim() == 2 else x


def _given(tensors, name):
    if not tensors:
        raise RuntimeError(f"{name} expects a non-empty TensorList")
    return tensors


@composite(
    "atleast_1d(Tensor self) -> Tensor",
    "0-dim tensors as one-dimensional ones.",
    tags="maybe_aliasing_or_mutating",
    samples=[S(3)],
)
def atleast_1d(self: Tensor) -> Tensor:
    return _at_least(self, 1)


@composite(
    "atleast_1d.Sequence(Tensor[] tensors) -> Tensor[]", "0-dim tensors as one-dimensional ones.", gives_back=True
)
def atleast_1d_sequence(tensors: Sequence[Tensor]) -> list:
    return [_at_least(t, 1) for t in tensors]


@composite(
    "atleast_2d(Tensor self) -> Tensor", "At least two dimensions.", tags="maybe_aliasing_or_mutating", samples=[S(3)]
)
def atleast_2d(self: Tensor) -> Tensor:
    return _at_least(self, 2)


@composite("atleast_2d.Sequence(Tensor[] tensors) -> Tensor[]", "At least two dimensions.", gives_back=True)
def atleast_2d_sequence(tensors: Sequence[Tensor]) -> list:
    return [_at_least(t, 2) for t in tensors]


@composite(
    "atleast_3d(Tensor self) -> Tensor", "At least three dimensions.", tags="maybe_aliasing_or_mutating", samples=[S(3)]
)
def atleast_3d(self: Tensor) -> Tensor:
    return _at_least(self, 3)


@composite("atleast_3d.Sequence(Tensor[] tensors) -> Tensor[]", "At least three dimensions.", gives_back=True)
def atleast_3d_sequence(tensors: Sequence[Tensor]) -> list:
    return [_at_least(t, 3) for t in tensors]


@composite(
    "block_diag(Tensor[] tensors) -> Tensor",
    "Matrices on the diagonal of one matrix, zeros elsewhere.",
    bind="generated_out",
    samples=[S([T(2, 3), T(3)])],
    node="BlockDiagBackward0",
)
def block_diag(tensors: Sequence[Tensor]) -> Tensor:
    blocks = []
    for i, t in enumerate(tensors):
        if t.dim() > 2:
            raise RuntimeError(
                f"torch.block_diag: Input tensors must have 2 or fewer dimensions. Input {i} has {t.dim()} dimensions"
            )
        blocks.append(_at_least(t, 2))
    if not blocks:
        return aten.empty([1, 0])
    width = sum(b.shape[1] for b in blocks)
    rows, start = [], 0
    for b in blocks:
        height, own = b.shape
        rows.append(aten.cat([b.new_zeros([height, start]), b, b.new_zeros([height, width - start - own])], 1))
        start += own
    return aten.cat(rows, 0)


@composite(
    "broadcast_tensors(Tensor[] tensors) -> Tensor[]",
    "All expanded to their common sizes.",
    samples=[S([T(3, 1), T(4)])],
)
def broadcast_tensors(tensors: Sequence[Tensor]) -> list:
    sizes: list[int] = []
    for t in tensors:
        own = list(t.shape)
        n = max(len(sizes), len(own))
        sizes, own = [1] * (n - len(sizes)) + sizes, [1] * (n - len(own)) + own
        for d, (a, b) in reversed(list(enumerate(zip(sizes, own, strict=True)))):
            if a != b and 1 not in (a, b):
                raise RuntimeError(
                    f"The size of tensor a ({a}) must match the size of tensor b ({b}) at non-singleton dimension {d}"
                )
            sizes[d] = b if a == 1 else a
    return [t if list(t.shape) == sizes else t.expand(sizes) for t in tensors]


@composite(
    "cartesian_prod(Tensor[] tensors) -> Tensor",
    "Every choice of one element of each tensor, one row each.",
    tags="maybe_aliasing_or_mutating",
    samples=[S([T(2), T(3)])],
)
def cartesian_prod(tensors: Sequence[Tensor]) -> Tensor:
    for t in tensors:
        if t.dim() != 1:
            raise RuntimeError(f"Expect a 1D vector, but got shape {list(t.shape)}")
    if len(tensors) == 1:
        return tensors[0]
    grids = aten.meshgrid(tensors, indexing="ij")
    return aten.stack([g.flatten() for g in grids], 1)


@composite(
    "column_stack(Tensor[] tensors) -> Tensor",
    "Tensors as columns, side by side.",
    bind="function out",
    samples=[S([T(3), T(3, 2)])],
)
def column_stack(tensors: Sequence[Tensor]) -> Tensor:
    parts = [t.reshape(t.numel(), 1) if t.dim() <= 1 else t for t in _given(tensors, "column_stack")]
    return aten.cat(parts, 1)


@composite(
    "dstack(Tensor[] tensors) -> Tensor",
    "Joined along the third dimension.",
    bind="function out",
    samples=[S([T(3, 4), T(3, 4)])],
)
def dstack(tensors: Sequence[Tensor]) -> Tensor:
    return aten.cat([_at_least(t, 3) for t in _given(tensors, "dstack")], 2)


@composite(
    "hstack(Tensor[] tensors) -> Tensor",
    "Joined along the second dimension (the first of one-dimensional ones).",
    bind="function out",
    samples=[S([T(3), T(2)]), S([T(3, 4), T(3, 1)])],
)
def hstack(tensors: Sequence[Tensor]) -> Tensor:
    parts = [_at_least(t, 1) for t in _given(tensors, "hstack")]
    return aten.cat(parts, 0 if parts[0].dim() == 1 else 1)


def _grids(tensors, indexing):
    if not tensors:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    for t in tensors:
        if t.dim() > 1:
            raise RuntimeError(f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {t}")
    if any(t.dtype != tensors[0].dtype for t in tensors):
        raise RuntimeError("meshgrid expects all tensors to have the same dtype")
    if any(t.device != tensors[0].device for t in tensors):
        raise RuntimeError("meshgrid expects all tensors to have the same device")
    if indexing not in ("ij", "xy"):
        raise RuntimeError(f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    tensors = list(tensors)
    swap = indexing == "xy" and len(tensors) >= 2
    if swap:
        tensors[0], tensors[1] = tensors[1], tensors[0]
    sizes = [t.numel() for t in tensors]
    grids = [t.reshape([-1 if d == k else 1 for d in range(len(sizes))]).expand(sizes) for k, t in enumerate(tensors)]
    if swap:
        grids[0], grids[1] = grids[1], grids[0]
    return grids


@composite("meshgrid(Tensor[] tensors) -> Tensor[]", "Coordinates of a grid, rows first.", samples=[S([T(2), T(3)])])
def meshgrid(tensors: Sequence[Tensor]) -> Sequence[Tensor]:
    return _grids(tensors, "ij")


@composite(
    "meshgrid.indexing(Tensor[] tensors, *, str indexing) -> Tensor[]",
    "Coordinates of a grid, rows first ('ij') or columns first ('xy').",
    samples=[S([T(2), T(3)], indexing="xy")],
)
def meshgrid_indexing(tensors: Sequence[Tensor], *, indexing: str) -> Sequence[Tensor]:
    return _grids(tensors, indexing)


@composite(
    "vstack(Tensor[] tensors) -> Tensor",
    "Joined along the first dimension.",
    bind="function out",
    alias="row_stack",
    samples=[S([T(3), T(3)]), S([T(2, 4), T(3, 4)])],
)
def vstack(tensors: Sequence[Tensor]) -> Tensor:
    return aten.cat([_at_least(t, 2) for t in _given(tensors, "vstack")], 0)


@composite(
    "_chunk_cat(Tensor[] tensors, int dim, int num_chunks) -> Tensor",
    "Each tensor padded with zeros along `dim` to a multiple of `num_chunks`, cut into so many flat chunks, and these joined:"
    " row i of the result holds chunk i of every tensor.",
    bind="function out",
)
def _chunk_cat(tensors, dim, num_chunks):
    if not tensors:
        raise RuntimeError("_chunk_cat expects a non-empty input tensor list")
    if num_chunks < 1:
        raise RuntimeError(f"_chunk_cat expects positive num_chunks, got {num_chunks}")
    if any(each.numel() == 0 for each in tensors):
        raise RuntimeError("_chunk_cat expects non-empty tensor")
    if dim < 0 and any(each.dim() != tensors[0].dim() for each in tensors):
        raise RuntimeError("_chunk_cat expects non-negative dim when input tensors have different ndims")
    dim = dim + tensors[0].dim() if dim < 0 else dim
    if any(dim >= each.dim() for each in tensors):
        raise RuntimeError("_chunk_cat expects dim < ndim for all input tensors")
    if any(each.shape[:dim] != tensors[0].shape[:dim] for each in tensors):
        raise RuntimeError("_chunk_cat expects same sizes of 0,...,dim-1 dimensions for all tensors")
    rows = []
    for each in tensors:
        missing = -each.size(dim) % num_chunks
        padded = aten.constant_pad_nd(each, [0, 0] * (each.dim() - dim - 1) + [0, missing]) if missing else each
        rows.append(padded.reshape(*padded.shape[:dim], num_chunks, -1))
    return aten.cat(rows, dim + 1)
