"""Parts of a sparse tensor: asked for, made a tensor of, put in order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ... import _C
from ..._operators.composite.sparse import LAYOUT_NAMES
from ..._operators.table import aten
from .creation import on_meta
from .parts import (
    BOOL,
    COMPRESSED,
    INT32,
    INT64,
    bare,
    check_compressed,
    check_coo,
    compressed,
    coo,
    dense_dim,
    numbered,
    parts,
)
from .table import COO, CSR, DENSE, kernel

if TYPE_CHECKING:
    from ..._tensor import Tensor


_BOTH = (COO, CSR)


def _alias(x: Any) -> Any:
    """A tensor of its own over the same memory: what becomes of it as a tensor does not concern the part."""
    return x._shallow_alias()


@kernel("_sparse_coo_tensor_with_dims_and_tensors", DENSE, "Meta", COO)
def _with_tensors(sparse_dim, dense_dim, size, indices, values, **options):
    size = tuple(size)
    check_coo(indices, values, size)
    return coo(_alias(bare(indices.to(INT64))), _alias(bare(values)), size, bool(options.get("is_coalesced")))


@kernel("_sparse_compressed_tensor_unsafe", DENSE, "Meta", CSR)
def _compressed_unsafe(compressed_indices, plain_indices, values, size, *, layout=None, **options):
    check_compressed(compressed_indices, plain_indices, values, layout, tuple(size))
    indices = (compressed_indices, plain_indices)
    if any(each.dtype != INT32 for each in indices):
        indices = tuple(each.to(INT64) for each in indices)
    starts, plain, values = (_alias(bare(each)) for each in (*indices, values))
    return compressed(starts, plain, values, size, layout)


@kernel("_indices", COO)
def _indices(self):
    return _alias(parts(self).indices)


@kernel("_values", COO)
def _values(self):
    return _alias(parts(self).values)


def _of_coalesced(self: Any, name: str) -> Any:
    if not parts(self).coalesced:
        raise RuntimeError(f"Cannot get {name} on an uncoalesced tensor, please call .coalesce() first")
    return _alias(getattr(parts(self), name))


@kernel("indices", COO)
def _indices_of_coalesced(self):
    return _of_coalesced(self, "indices")


@kernel("values", COO)
def _values_of_coalesced(self):
    return _of_coalesced(self, "values")


@kernel("values", CSR)
def _values_of_compressed(self):
    return _alias(parts(self).values)


def _compressed_part(name: str, which: int, part: str) -> None:
    kind = "column" if which else "row"

    @kernel(name, CSR)
    def get(self: Tensor) -> Tensor:
        if COMPRESSED[self.layout] != which:
            raise RuntimeError(
                f"{name} expected sparse {kind} compressed tensor layout but got {LAYOUT_NAMES[self.layout]}"
            )
        return _alias(getattr(parts(self), part))

    @kernel(name, COO)
    def refuse(self: Tensor) -> Tensor:
        raise RuntimeError(f"{name} expected sparse {kind} compressed tensor layout but got Sparse")


_compressed_part("crow_indices", 0, "compressed")
_compressed_part("col_indices", 0, "plain")
_compressed_part("ccol_indices", 1, "compressed")
_compressed_part("row_indices", 1, "plain")


@kernel("_nnz", *_BOTH)
def _nnz(self):
    p = parts(self)
    return p.values.shape[0] if self.layout == _C.sparse_coo else p.plain.shape[-1]


@kernel("sparse_dim", COO)
@kernel("_dimI", COO)
def _sparse_dim(self):
    return parts(self).indices.shape[0]


@kernel("dense_dim", COO)
@kernel("_dimV", COO)
def _dense_dim(self):
    return parts(self).values.dim() - 1


@kernel("sparse_dim", CSR)
def _compressed_sparse_dim(self) -> int:
    return 2


@kernel("dense_dim", CSR)
def _compressed_dense_dim(self) -> int:
    return dense_dim(self)


@kernel("is_coalesced", COO)
def _is_coalesced(self):
    return parts(self).coalesced


@kernel("_coalesced_", COO)
def _set_coalesced(self, coalesced):
    parts(self).coalesced = coalesced
    return self


@kernel("_coalesce", COO)
def _coalesce(self):
    p = parts(self)
    indices, values = p.indices, p.values
    if values.is_meta:  # how many are equal nobody knows
        return on_meta(self)
    if values.shape[0] < 2:
        return coo(indices, values, self.shape, True)
    places, order = aten.sort(numbered(indices, self.shape[: indices.shape[0]]), stable=True)
    first = aten.cat([places.new_ones(1, dtype=BOOL), places[1:] != places[:-1]])
    group = aten.cumsum(first, 0) - 1
    values = values.index_select(0, order)
    count = int(group[-1]) + 1
    if count < values.shape[0]:
        # Truth values are joined by `or`.
        summed = values.new_zeros((count, *values.shape[1:]), dtype=INT64 if values.dtype == BOOL else values.dtype)
        values = summed.index_add_(0, group, values.to(summed.dtype)).to(values.dtype)
    return coo(indices.index_select(1, order[first]), values, self.shape, True)
