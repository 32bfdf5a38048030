"""The parts behind a sparse tensor: its indices and values, dense tensors that no operator records."""

from __future__ import annotations

from typing import Any

from ... import _C
from ..._core.dtype import DTYPES
from ..._operators.table import aten

INT64 = DTYPES["int64"]
INT32 = DTYPES["int32"]
BOOL = DTYPES["bool"]
COMPRESSED = {_C.sparse_csr: 0, _C.sparse_csc: 1, _C.sparse_bsr: 0, _C.sparse_bsc: 1}
"""The compressed layouts, and which of the two dimensions they compress."""
BLOCKED = (_C.sparse_bsr, _C.sparse_bsc)
"""Those whose values are blocks, (..., rows of a block, columns of a block), and whose indices number blocks."""
TRANSPOSED = {
    _C.sparse_csr: _C.sparse_csc,
    _C.sparse_csc: _C.sparse_csr,
    _C.sparse_bsr: _C.sparse_bsc,
    _C.sparse_bsc: _C.sparse_bsr,
}


class Coo:
    """Coordinates (sparse_dim, nnz), the values at them (nnz, *dense sizes), and whether they are sorted and distinct."""

    __slots__ = ("coalesced", "indices", "values")

    def __init__(self, indices: Any, values: Any, coalesced: bool) -> None:
        self.indices, self.values, self.coalesced = indices, values, coalesced

    def is_compact(self) -> bool:
        """Whether the parts lie in memory as new tensors do."""
        return bool(self.indices.is_contiguous() and self.values.is_contiguous())


class Compressed:
    """Where each row begins in ``plain`` and ``values`` (rows + 1), and the column of each value (columns for csc).

    Of the layouts of blocks these are rows and columns of blocks. Of a batch all three have its dimensions in front; values
    have those of a block behind, and the dense ones behind these. Indices are of int32 or int64, as they were given.
    """

    __slots__ = ("compressed", "plain", "values")

    def __init__(self, compressed: Any, plain: Any, values: Any) -> None:
        self.compressed, self.plain, self.values = compressed, plain, values

    def is_compact(self) -> bool:
        """Whether the parts lie in memory as new tensors do."""
        return bool(all(part.is_contiguous() for part in (self.compressed, self.plain, self.values)))


def is_sparse(x: Any) -> bool:
    """Whether ``x`` is a tensor of any sparse layout."""
    return _C._sparse_parts(x) is not None


def parts(x: Any) -> Any:
    """The parts of ``x``, a :class:`Coo` or :class:`Compressed`."""
    found = _C._sparse_parts(x)
    if found is None:
        raise RuntimeError(f"expected a sparse tensor, but got one of the layout {x.layout}")
    return found


def bare(x: Any) -> Any:
    """A dense tensor without history, over the same memory."""
    return x._shallow_alias() if x.requires_grad or x.grad_fn is not None else x


def check_nnz(indices: Any, values: Any) -> None:
    """That there is a coordinate for each value."""
    if indices.dim() != 2:
        raise RuntimeError(f"indices must be sparse_dim x nnz, but got: {list(indices.shape)}")
    if values.dim() == 0 or values.shape[0] != indices.shape[1]:
        count = values.shape[0] if values.dim() else 1
        raise RuntimeError(
            f"indices and values must have same nnz, but got nnz from indices: {indices.shape[1]}, nnz from values: {count}"
        )


def check_coo(indices: Any, values: Any, size: tuple[int, ...]) -> None:
    """That parts and sizes of a coordinate tensor belong together; what the indices say is not looked at."""
    check_nnz(indices, values)
    rows = indices.shape[0]
    if len(size) != rows + values.dim() - 1:
        raise RuntimeError(
            f"'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {len(size)}, sparse_dim = {rows}, "
            f"dense_dim = {values.dim() - 1}"
        )
    if tuple(values.shape[1:]) != size[rows:]:
        raise RuntimeError(
            f"values has incorrect size, expected {[indices.shape[1], *size[rows:]]}, got {list(values.shape)}"
        )


_INDEX_NAMES = {0: ("crow_indices", "col_indices"), 1: ("ccol_indices", "row_indices")}


def check_compressed(starts: Any, plain: Any, values: Any, layout: Any, size: tuple[int, ...] | None = None) -> None:
    """The same for a compressed tensor."""
    blocks = 2 if layout in BLOCKED else 0
    compressed_name, plain_name = _INDEX_NAMES[COMPRESSED[layout]]
    if starts.dim() < 1:
        raise RuntimeError(f"{compressed_name} must have dimensionality >= 1 but got {starts.dim()}")
    if starts.dim() != plain.dim():
        raise RuntimeError(
            f"{compressed_name} and {plain_name} dimensionalities must be equal but got {starts.dim()} and {plain.dim()}, "
            "respectively"
        )
    batch = starts.dim() - 1
    if values.dim() <= batch + blocks:
        raise RuntimeError(
            f"values must have dimensionality > sum of batch and block dimensionalities (={batch} + {blocks}) but got "
            f"{values.dim()}"
        )
    dense = values.dim() - batch - blocks - 1
    if starts.shape[-1] == 0:
        raise RuntimeError(f"a tensor of the layout {layout} needs at least one compressed index")
    if size is None:
        return
    if len(size) != batch + 2 + dense:
        raise RuntimeError(
            f"tensor dimensionality must be sum of batch, base, and dense dimensionalities (={batch} + 2 + {dense}) but got "
            f"{len(size)}"
        )
    batches = [tuple(each.shape[:batch]) for each in (starts, plain, values)]
    if any(each != size[:batch] for each in batches):
        raise RuntimeError(
            f"all batch dimensions of {compressed_name} (={[*batches[0]]}), {plain_name} (={[*batches[1]]}), and values "
            f"(={[*batches[2]]}) must be equal to tensor batch dimensions (={[*size[:batch]]})"
        )
    if dense and tuple(values.shape[-dense:]) != size[-dense:]:
        raise RuntimeError(
            f"values dense dimensions (={[*values.shape[-dense:]]}) must be equal to those of the tensor (={[*size[-dense:]]})"
        )


def batch_dim(x: Any) -> int:
    """How many dimensions of a compressed tensor are those of a batch."""
    count: int = parts(x).compressed.dim() - 1
    return count


def dense_dim(x: Any) -> int:
    """How many of its last dimensions each value has, blocks apart."""
    count: int = x.dim() - batch_dim(x) - 2
    return count


def matrix_parts(x: Any) -> tuple[Any, Any, Any]:
    """The parts of a compressed matrix, indices as int64."""
    if x.dim() != 2:
        raise NotImplementedError(
            f"this operator takes matrices of the layout {x.layout}, but got sizes {list(x.shape)}"
        )
    p = parts(x)
    return p.compressed.to(INT64), p.plain.to(INT64), p.values


def coo(indices: Any, values: Any, size: Any, coalesced: bool = False) -> Any:
    """A coordinate tensor of these parts, which are not checked."""
    values = bare(values)
    return _C._make_sparse(tuple(size), values.dtype, _C.sparse_coo, Coo(indices, values, coalesced), values.device)


def compressed(starts: Any, plain: Any, values: Any, size: Any, layout: Any) -> Any:
    """A compressed tensor of these parts, which are not checked."""
    values = bare(values)
    return _C._make_sparse(tuple(size), values.dtype, layout, Compressed(starts, plain, values), values.device)


def with_values(x: Any, values: Any, size: Any = None) -> Any:
    """A tensor with the pattern of ``x`` and other values."""
    p = parts(x)
    size = x.shape if size is None else size
    if isinstance(p, Coo):
        return coo(p.indices, values, size, p.coalesced)
    return compressed(p.compressed, p.plain, values, size, x.layout)


def blocksize_of(x: Any) -> tuple[int, ...] | None:
    """The sizes of a block of ``x``, None of a layout without blocks."""
    if x.layout not in BLOCKED:
        return None
    before = batch_dim(x) + 1
    return tuple(parts(x).values.shape[before : before + 2])


def coalesced(x: Any) -> Any:
    """``x`` with sorted and distinct coordinates."""
    return x if parts(x).coalesced else aten._coalesce(x)


def numbered(indices: Any, sizes: Any) -> Any:
    """The place of each coordinate in a row-major array of ``sizes``."""
    place = indices.new_zeros(indices.shape[1])
    for row, size in zip(indices.unbind(0), sizes, strict=True):
        place = place * size + row
    return place


def find(sorted_places: Any, wanted: Any) -> tuple[Any, Any]:
    """For each wanted place its position among the sorted ones, and whether it is there."""
    count = sorted_places.shape[0]
    if count == 0:
        return aten.zeros_like(wanted), aten.zeros_like(wanted, dtype=BOOL)
    at = aten.searchsorted(sorted_places, wanted).clamp(max=count - 1)
    return at, sorted_places[at] == wanted


def spread(starts: Any) -> Any:
    """The row of each value, from where the rows begin."""
    return aten.repeat_interleave(starts.diff())


def starts_of(rows: Any, count: int) -> Any:
    """Where each of ``count`` rows begins among the sorted ``rows``."""
    return aten.searchsorted(rows, aten.arange(count + 1, dtype=INT64, device=rows.device))
