"""Parts of a sparse tensor, and copies of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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
    check_compressed,
    check_coo,
    compressed,
    coo,
    numbered,
    parts,
    with_values,
)
from .table import COO, CSR, DENSE, become, kernel

if TYPE_CHECKING:
    from ..._tensor import Tensor


_BOTH = (COO, CSR)


def _alias(x: Any) -> Any:
    """A tensor of its own over the same memory: what becomes of it as a tensor does not concern the part."""
    return x._shallow_alias()


@kernel("_sparse_coo_tensor_with_dims_and_tensors", DENSE, COO)
def _with_tensors(sparse_dim, dense_dim, size, indices, values, **options):
    size = tuple(size)
    check_coo(indices, values, size)
    return coo(_alias(bare(indices.to(INT64))), _alias(bare(values)), size, bool(options.get("is_coalesced")))


@kernel("_sparse_compressed_tensor_unsafe", DENSE, CSR)
def _compressed_unsafe(compressed_indices, plain_indices, values, size, *, layout=None, **options):
    check_compressed(compressed_indices, plain_indices, values, layout, tuple(size))
    starts, plain = compressed_indices.to(INT64), plain_indices.to(INT64)
    return compressed(_alias(bare(starts)), _alias(bare(plain)), _alias(bare(values)), size, layout)


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
    return parts(self).values.shape[0]


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
    return 0


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


# ---- copies ----


@kernel("clone", *_BOTH)
def _clone(self, *, memory_format=None):
    if memory_format not in (None, _C.preserve_format):
        raise RuntimeError("unsupported memory format option Contiguous")
    p = parts(self)
    if self.layout == _C.sparse_coo:
        return coo(p.indices.clone(), p.values.clone(), self.shape, p.coalesced)
    return compressed(p.compressed.clone(), p.plain.clone(), p.values.clone(), self.shape, self.layout)


@kernel("detach", *_BOTH)
@kernel("alias", *_BOTH)
def _detach(self):
    return with_values(self, parts(self).values)


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


# ---- tensors of nothing ----


def empty(
    size: Any, dtype: Any, layout: Any, device: Any = None, sparse_dim: int | None = None, blocksize: Any = None
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
    which = COMPRESSED[layout]
    starts = aten.zeros((size[which] // (block or (1, 1))[which] + 1,), dtype=INT64, device=device)
    return compressed(starts, starts.new_zeros(0), starts.new_zeros((0, *block), dtype=dtype), size, layout)


def _arrangement(self: Any, layout: Any) -> dict[str, Any]:
    """Options of `empty` that a tensor hands on: its number of sparse dimensions, the size of its blocks."""
    if self.layout == _C.sparse_coo:
        return {"sparse_dim": parts(self).indices.shape[0]} if layout == _C.sparse_coo else {}
    return {"blocksize": blocksize_of(self)}


@kernel("zeros_like", *_BOTH)
@kernel("empty_like", *_BOTH)
def _zeros_like(self, *, dtype=None, layout=None, device=None, pin_memory=None, memory_format=None):
    dtype = self.dtype if dtype is None else dtype
    device = self.device if device is None else device
    if layout == _C.strided:
        return aten.zeros(self.shape, dtype=dtype, device=device)
    layout = layout or self.layout
    return empty(self.shape, dtype, layout, device, **_arrangement(self, layout))


@kernel("ones_like", CSR)
def _ones_like(self, *, dtype=None, layout=None, device=None, pin_memory=None, memory_format=None):
    if layout not in (None, self.layout):
        raise NotImplementedError(
            f"ones_like() of a tensor of the layout {self.layout} in another one is not implemented"
        )
    made = with_values(self, aten.ones_like(parts(self).values, dtype=dtype))
    return made if device is None else _to_copy(made, device=device)


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


@kernel("zero_", *_BOTH)
def _zero(self):
    return become(self, empty(self.shape, self.dtype, self.layout, self.device, **_arrangement(self, self.layout)))
