"""Making sparse tensors from indices and values, and checking what they are made of."""

from __future__ import annotations

from typing import Any

from ... import _C
from ..._operators.composite.sparse import LAYOUT_NAMES
from ..._operators.table import aten
from .creation import empty
from .parts import BLOCKED, COMPRESSED, INT32, INT64, check_compressed, check_coo, check_nnz, is_sparse, numbered
from .table import DENSE, kernel

_checking = {"on": False}


def checks_invariants() -> bool:
    """Whether new sparse tensors are checked where nothing else is said."""
    return _checking["on"]


def set_checks_invariants(on: bool) -> None:
    _checking["on"] = bool(on)


def _checked(check_invariants: bool | None) -> bool:
    return _checking["on"] if check_invariants is None else check_invariants


def _check_dtype(x: Any, wanted: bool) -> None:
    if wanted and not (x.dtype.is_floating_point or x.dtype.is_complex):
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")


def _finished(x: Any, requires_grad: bool) -> Any:
    _check_dtype(x, requires_grad)
    return x.requires_grad_() if requires_grad else x


def _indices(data: Any, device: Any) -> Any:
    """Whole numbers on the device of the values, as PyTorch puts them there."""
    return _C.as_tensor(data, device=device).to(INT64)


def _both_indices(compressed: Any, plain: Any, device: Any) -> tuple[Any, Any]:
    """The same of a compressed tensor, where int32 stays."""
    both = [_C.as_tensor(data, device=device) for data in (compressed, plain)]
    dtype = INT32 if all(each.dtype == INT32 for each in both) else INT64
    return both[0].to(dtype), both[1].to(dtype)


def _values(data: Any, dtype: Any, device: Any) -> Any:
    values = _C.as_tensor(data, dtype=dtype, device=device)
    if is_sparse(values):
        raise RuntimeError("expected values to be a dense tensor, got one that is sparse")
    return values.reshape(1) if values.dim() == 0 else values


# ---- coordinates ----


def _inferred_size(indices: Any, values: Any) -> tuple[int, ...]:
    rows, count = indices.shape
    if count == 0:
        return (0,) * rows + tuple(values.shape[1:])
    for d, least in enumerate(indices.amin(1).tolist()):
        if least < 0:
            raise RuntimeError(f"found negative index {least} for dim {d}")
    return (*(n + 1 for n in indices.amax(1).tolist()), *values.shape[1:])


def _validate_coo(indices: Any, values: Any, size: tuple[int, ...], is_coalesced: bool | None) -> None:
    rows, count = indices.shape
    if count == 0:
        return
    for d, (least, most) in enumerate(zip(indices.amin(1).tolist(), indices.amax(1).tolist(), strict=True)):
        if least < 0:
            raise RuntimeError(f"found negative index {least} for dim {d}")
        if most >= size[d]:
            raise RuntimeError(
                f"size is inconsistent with indices: for dim {d}, size is {size[d]} but found index {most}"
            )
    if is_coalesced and rows:
        places = numbered(indices, size[:rows])
        if not bool((places[1:] > places[:-1]).all()):
            raise RuntimeError("cannot set is_coalesced to true if indices correspond to uncoalesced COO tensor")


@kernel("_validate_sparse_coo_tensor_args", DENSE)
def _validate_coo_parts(indices, values, size, is_coalesced=None, check_pinning=None):
    check_coo(indices, values, tuple(size))
    _validate_coo(indices, values, tuple(size), is_coalesced)


def sparse_coo_tensor(
    indices: Any = None,
    values: Any = None,
    size: Any = None,
    *,
    dtype: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
    is_coalesced: bool | None = None,
) -> Any:
    """A tensor of the layout ``torch.sparse_coo``: ``values[k]`` stands at the coordinates ``indices[:, k]``.

    Args:
        indices: whole numbers, (sparse_dim, nnz); coordinates may repeat, their values count together.
        values: (nnz, *dense sizes), of any dtype.
        size: the sizes of the tensor, by default as small as the indices allow. Sizes alone make a tensor of zeros.
        check_invariants: whether indices are compared with the sizes (RuntimeError), by default as
            ``torch.sparse.check_sparse_tensor_invariants`` says.
        is_coalesced: promises that the coordinates are sorted and distinct.

    >>> x = torch.sparse_coo_tensor([[0, 1], [2, 0]], [3.0, 4.0], (2, 3))
    >>> x.to_dense()
    tensor([[0., 0., 3.],
            [4., 0., 0.]])
    """
    if values is None:
        sizes = indices if size is None else size
        if sizes is None or (size is not None and indices is not None):
            raise TypeError("sparse_coo_tensor() takes indices and values, or sizes alone")
        made = empty(tuple(sizes), _C.get_default_dtype() if dtype is None else dtype, _C.sparse_coo, device)
        return _finished(made, requires_grad)
    values = _values(values, dtype, device)
    indices = _indices(indices, values.device)
    if size is None:
        check_nnz(indices, values)
        size = _inferred_size(indices, values)
    size = tuple(int(n) for n in size)
    check_coo(indices, values, size)
    if _checked(check_invariants):
        _validate_coo(indices, values, size, is_coalesced)
    _check_dtype(values, requires_grad)
    made = aten._sparse_coo_tensor_with_dims_and_tensors(
        indices.shape[0],
        values.dim() - 1,
        size,
        indices,
        values.detach() if requires_grad else values,
        is_coalesced=is_coalesced,
    )
    return _finished(made, requires_grad)


# ---- compressed ----

_NAMES = {
    _C.sparse_csr: ("crow_indices", "col_indices", "nrows", "ncols"),
    _C.sparse_csc: ("ccol_indices", "row_indices", "ncols", "nrows"),
    _C.sparse_bsr: ("crow_indices", "col_indices", "nrows", "ncols"),
    _C.sparse_bsc: ("ccol_indices", "row_indices", "ncols", "nrows"),
}


_COUNTED = {"nrows": "rows", "ncols": "columns"}


def _validate_compressed(starts: Any, plain: Any, values: Any, size: tuple[int, ...], layout: Any) -> None:
    """RuntimeError unless the indices of each matrix of a batch are those of one."""
    batch = starts.dim() - 1
    block = tuple(values.shape[batch + 1 : batch + 3]) if layout in BLOCKED else (1, 1)
    compressed_name, plain_name = _NAMES[layout][:2]
    for name, indices in ((compressed_name, starts), (plain_name, plain)):
        if indices.shape[-1] > 1 and indices.numel() and indices.stride(-1) != 1:
            raise RuntimeError(f"expected {name} to be a contiguous tensor per batch")
    if plain.shape[-1] != values.shape[batch]:
        raise RuntimeError(
            f"{plain_name}.shape[-1] must be equal to nnz ({values.shape[batch]}) but got {plain.shape[-1]}"
        )
    matrix = size[batch : batch + 2]
    lines = zip(starts.reshape(-1, starts.shape[-1]).unbind(), _of_batch(plain, starts).unbind(), strict=True)
    for first, (each, its_plain) in enumerate(lines):
        _validate_matrix(each, its_plain, block, matrix, layout, batch if not first else None)


def _of_batch(plain: Any, starts: Any) -> Any:
    count = 1
    for size in starts.shape[:-1]:
        count *= size
    return plain.reshape(count, plain.shape[-1])


def _validate_matrix(
    starts: Any, plain: Any, block: tuple[int, ...], size: tuple[int, ...], layout: Any, first: int | None
) -> None:
    compressed_name, plain_name, count, length = _NAMES[layout]
    which = COMPRESSED[layout]
    for d, (n, each) in enumerate(zip(size, block, strict=True), first or 0):
        if each == 0 or n % each:
            raise RuntimeError(
                f"tensor shape[{d}] (={n}) must be divisible with blocksize[{d}] (={each}) as defined by values shape"
            )
    rows, columns = size[which] // block[which], size[1 - which] // block[1 - which]
    nnz, counted = plain.shape[0], _COUNTED[count]
    if layout in BLOCKED:
        counted = f"{counted[:-1]} blocks"
    if starts.shape[0] != rows + 1:
        raise RuntimeError(
            f"{compressed_name}.shape[-1] must be equal to the number of {counted} + 1 (={rows + 1}), but got {starts.shape[0]}"
        )
    if int(starts[0]) != 0:
        raise RuntimeError(f"`{compressed_name}[..., 0] == 0` is not satisfied.")
    if int(starts[-1]) != nnz:
        raise RuntimeError(f"`{compressed_name}[..., -1] == nnz` is not satisfied.")
    lengths = starts.diff()
    if bool(((lengths < 0) | (lengths > columns)).any()):
        raise RuntimeError(
            f"`0 <= {compressed_name}[..., 1:] - {compressed_name}[..., :-1] <= {length}` is not satisfied."
        )
    if bool(((plain < 0) | (plain >= columns)).any()):
        raise RuntimeError(f"`0 <= {plain_name} < {length}` is not satisfied.")
    places = aten.repeat_interleave(lengths) * columns + plain
    if not bool((places[1:] > places[:-1]).all()):
        raise RuntimeError(
            f"`{plain_name}[..., {compressed_name}[..., i - 1]:{compressed_name}[..., i]] for all i = 1, ..., {count} are sorted "
            "and distinct along the last dimension values` is not satisfied."
        )


@kernel("_validate_sparse_compressed_tensor_args", DENSE)
def _validate_compressed_parts(compressed_indices, plain_indices, values, size, layout, check_pinning=None):
    if layout not in COMPRESSED:
        raise RuntimeError(
            "validate_sparse_compressed_tensor_args expected sparse compressed tensor layout but got "
            f"{LAYOUT_NAMES.get(layout, layout)}"
        )
    check_compressed(compressed_indices, plain_indices, values, layout, tuple(size))
    _validate_compressed(compressed_indices, plain_indices, values, tuple(size), layout)


def sparse_compressed_tensor(
    compressed_indices: Any,
    plain_indices: Any,
    values: Any,
    size: Any = None,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Any:
    """A matrix of a compressed layout: ``sparse_csr``, ``sparse_csc``, ``sparse_bsr``, ``sparse_bsc``; see ``sparse_csr_tensor``.

    >>> m = torch.sparse_compressed_tensor([0, 1, 2], [1, 0], [5.0, 6.0], size=(2, 2), layout=torch.sparse_csr)
    >>> m.to_dense()
    tensor([[0., 5.],
            [6., 0.]])
    """
    if layout not in COMPRESSED:
        raise RuntimeError(
            f"sparse_compressed_tensor expected sparse compressed tensor layout but got {LAYOUT_NAMES.get(layout, 'none')}"
        )
    values = _values(values, dtype, device)
    starts, plain = _both_indices(compressed_indices, plain_indices, values.device)
    check_compressed(starts, plain, values, layout)
    if size is None:
        batch, columns = starts.dim() - 1, int(plain.max()) + 1 if plain.numel() else 0
        size = (starts.shape[-1] - 1, columns)
        size = size if COMPRESSED[layout] == 0 else size[::-1]
        block = values.shape[batch + 1 : batch + 3] if layout in BLOCKED else (1, 1)
        size = tuple(n * each for n, each in zip(size, block, strict=True))
        behind = batch + 1 + (2 if layout in BLOCKED else 0)
        size = (*starts.shape[:-1], *size, *values.shape[behind:])
    size = tuple(int(n) for n in size)
    check_compressed(starts, plain, values, layout, size)
    if _checked(check_invariants):
        _validate_compressed(starts, plain, values, size, layout)
    _check_dtype(values, requires_grad)
    made = aten._sparse_compressed_tensor_unsafe(
        starts, plain, values.detach() if requires_grad else values, size, layout=layout
    )
    return _finished(made, requires_grad)


def sparse_csr_tensor(crow_indices: Any, col_indices: Any, values: Any, size: Any = None, **options: Any) -> Any:
    """A matrix of the layout ``torch.sparse_csr``: row i has ``values[crow_indices[i] : crow_indices[i + 1]]``.

    Args:
        crow_indices: where each row begins and the last ends, (rows + 1).
        col_indices: the column of each value, (nnz).
        values: (nnz).
        size: (rows, columns), by default as small as the indices allow.
        options: dtype, device, requires_grad, check_invariants, as for ``sparse_coo_tensor``.

    >>> torch.sparse_csr_tensor([0, 1, 2], [2, 0], [3.0, 4.0]) @ torch.ones(3)
    tensor([3., 4.])
    """
    return sparse_compressed_tensor(crow_indices, col_indices, values, size, **{"layout": _C.sparse_csr, **options})


def sparse_csc_tensor(ccol_indices: Any, row_indices: Any, values: Any, size: Any = None, **options: Any) -> Any:
    """A matrix of the layout ``torch.sparse_csc``: as ``sparse_csr_tensor``, by columns.

    >>> m = torch.sparse_csc_tensor([0, 1, 2], [1, 0], [5.0, 6.0], size=(2, 2))
    >>> m.to_dense()
    tensor([[0., 6.],
            [5., 0.]])
    """
    return sparse_compressed_tensor(ccol_indices, row_indices, values, size, **{"layout": _C.sparse_csc, **options})


def sparse_bsr_tensor(crow_indices: Any, col_indices: Any, values: Any, size: Any = None, **options: Any) -> Any:
    """A matrix of the layout ``torch.sparse_bsr``: as ``sparse_csr_tensor``, of blocks.

    Args:
        crow_indices: where each row of blocks begins, and the last ends, (rows of blocks + 1).
        col_indices: the column of each block, (nnz).
        values: (nnz, rows of a block, columns of a block).
        size: (rows, columns) of the matrix, by default as small as the indices allow.
        options: dtype, device, requires_grad, check_invariants, as for ``sparse_coo_tensor``.

    >>> torch.sparse_bsr_tensor([0, 1, 2], [1, 0], [[[1.0, 2.0]], [[3.0, 4.0]]]).to_dense()
    tensor([[0., 0., 1., 2.],
            [3., 4., 0., 0.]])
    """
    return sparse_compressed_tensor(crow_indices, col_indices, values, size, **{"layout": _C.sparse_bsr, **options})


def sparse_bsc_tensor(ccol_indices: Any, row_indices: Any, values: Any, size: Any = None, **options: Any) -> Any:
    """A matrix of the layout ``torch.sparse_bsc``: as ``sparse_bsr_tensor``, by columns.

    >>> torch.sparse_bsc_tensor([0, 1], [1], [[[1.0, 2.0]]]).to_dense()
    tensor([[0., 0.],
            [1., 2.]])
    """
    return sparse_compressed_tensor(ccol_indices, row_indices, values, size, **{"layout": _C.sparse_bsc, **options})


__all__ = [
    "sparse_bsc_tensor",
    "sparse_bsr_tensor",
    "sparse_compressed_tensor",
    "sparse_coo_tensor",
    "sparse_csc_tensor",
    "sparse_csr_tensor",
]
