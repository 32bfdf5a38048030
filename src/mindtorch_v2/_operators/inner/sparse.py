"""Sparse tensors from indices and values, and operators on them by names of PyTorch's own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ... import _C
from ..composite.sparse import LAYOUT_NAMES
from ..table import aten, class_name, composite
from .functional import without_writes

if TYPE_CHECKING:
    from ..._tensor import Tensor

_LAYOUTS = {
    "csr": ("crow_indices", "col_indices", "crow_col_value"),
    "csc": ("ccol_indices", "row_indices", "ccol_row_value"),
    "bsr": ("crow_indices", "col_indices", "crow_col_value"),
    "bsc": ("ccol_indices", "row_indices", "ccol_row_value"),
}


def _options(pinned) -> str:
    return f"ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory={pinned}"


def _size(compressed, plain, values, kind) -> list[int]:
    """The least sizes that the indices of a compressed tensor have room for."""
    blocks = list(values.shape[compressed.dim() : compressed.dim() + 2]) if kind in ("bsr", "bsc") else [1, 1]
    batch = list(compressed.shape[:-1])
    lines = compressed.size(-1) - 1
    across = int(plain.max().item()) + 1 if plain.numel() else 0
    rows, columns = (lines, across) if kind in ("csr", "bsr") else (across, lines)
    dense = list(values.shape[compressed.dim() + (2 if kind in ("bsr", "bsc") else 0) :])
    return [*batch, rows * blocks[0], columns * blocks[1], *dense]


def _made(compressed, plain, values, size, kind, options) -> Any:
    wanted, given = getattr(_C, f"sparse_{kind}"), options.get("layout")
    if given not in (None, wanted):
        raise RuntimeError(
            f"sparse {kind} layout must be Sparse{kind.title()} but got {LAYOUT_NAMES.get(given, str(given))}"
        )
    dtype = options.get("dtype")
    if dtype not in (None, values.dtype):
        raise RuntimeError(
            f"dtype of values ({class_name(values.dtype)}) must match dtype of sparse tensor ({class_name(dtype)})"
        )
    if size is None:
        size = _size(compressed, plain, values, kind)
    return aten._sparse_compressed_tensor_unsafe(compressed, plain, values, size, layout=wanted)


def _compressed(kind) -> None:
    first, second, overload = _LAYOUTS[kind]
    indices = f"Tensor {first}, Tensor {second}, Tensor values"

    @composite(
        f"sparse_{kind}_tensor.{overload}({indices}, *, {_options('False')}) -> Tensor",
        f"A {kind.upper()} tensor as large as its indices ask for.",
        samples=None,
    )
    def of_indices(compressed: Tensor, plain: Tensor, values: Tensor, **options: Any) -> Tensor:
        return _made(compressed, plain, values, None, kind, options)

    @composite(
        f"sparse_{kind}_tensor.{overload}_size({indices}, int[] size, *, {_options('False')}) -> Tensor",
        f"A {kind.upper()} tensor.",
        samples=None,
    )
    def of_size(compressed: Tensor, plain: Tensor, values: Tensor, size: Sequence[int], **options: Any) -> Tensor:
        return _made(compressed, plain, values, size, kind, options)

    @composite(
        f"_sparse_{kind}_tensor_unsafe({indices}, int[] size, *, {_options('None')}) -> Tensor",
        f"A {kind.upper()} tensor of indices that are not looked at.",
        bind="function",
        samples=None,
    )
    def unsafe(compressed: Tensor, plain: Tensor, values: Tensor, size: Sequence[int], **options: Any) -> Tensor:
        return _made(compressed, plain, values, size, kind, options)


for _kind in _LAYOUTS:
    _compressed(_kind)

_ANY = "Tensor compressed_indices, Tensor plain_indices, Tensor values"


def _kind_of(layout) -> str:
    for kind in _LAYOUTS:
        if layout == getattr(_C, f"sparse_{kind}"):
            return kind
    raise RuntimeError(
        f"sparse_compressed_tensor expected sparse compressed tensor layout but got {'none' if layout is None else layout}"
    )


@composite(
    f"sparse_compressed_tensor.comp_plain_value({_ANY}, *, {_options('False')}) -> Tensor",
    "A tensor of the layout that is given, as large as its indices ask for.",
    samples=None,
)
def sparse_compressed_tensor(
    compressed_indices: Tensor, plain_indices: Tensor, values: Tensor, **options: Any
) -> Tensor:
    return _made(compressed_indices, plain_indices, values, None, _kind_of(options.get("layout")), options)


@composite(
    f"sparse_compressed_tensor.comp_plain_value_size({_ANY}, SymInt[] size, *, {_options('False')}) -> Tensor",
    "A tensor of the layout that is given.",
    samples=None,
)
def sparse_compressed_tensor_of_size(
    compressed_indices: Tensor, plain_indices: Tensor, values: Tensor, size: Sequence[int], **options: Any
) -> Tensor:
    return _made(compressed_indices, plain_indices, values, size, _kind_of(options.get("layout")), options)


# ---- coordinates ----


@composite(
    f"sparse_coo_tensor.size(int[] size, *, {_options('False')}) -> Tensor",
    "A sparse tensor without elements.",
    bind="generated_out",
    samples=None,
)
def sparse_coo_tensor(size: Sequence[int], **options: Any) -> Tensor:
    return _empty(len(size), 0, size, options)


def _empty(sparse_dim, dense_dim, size, options) -> Any:
    dtype, device = options.get("dtype"), options.get("device")
    indices = aten.empty([sparse_dim, 0], dtype=_C._dtypes["int64"], device=device)
    values = aten.empty([0, *list(size)[sparse_dim:]], dtype=dtype, device=device)
    return aten._sparse_coo_tensor_unsafe(indices, values, size)


@composite(
    f"_sparse_coo_tensor_with_dims(int sparse_dim, int dense_dim, int[] size, *, {_options('False')}) -> Tensor",
    "A sparse tensor without elements, whose last dimensions are dense.",
    bind="function",
    samples=None,
)
def _sparse_coo_tensor_with_dims(sparse_dim, dense_dim, size, **options):
    if options.get("layout") != _C.sparse_coo:
        raise NotImplementedError("aten::_sparse_coo_tensor_with_dims makes tensors of layout torch.sparse_coo only")
    return _empty(sparse_dim, dense_dim, size, options)


_COORDINATES = f"{_options('None')}, bool? is_coalesced=None"


def _coordinates(indices, values, size, options) -> Any:
    return aten._sparse_coo_tensor_unsafe(indices, values, size, is_coalesced=options.get("is_coalesced"))


@composite(
    f"sparse_coo_tensor.indices(Tensor indices, Tensor values, *, {_COORDINATES}) -> Tensor",
    "A sparse tensor as large as its indices ask for.",
    samples=None,
)
def sparse_coo_tensor_of_indices(indices: Tensor, values: Tensor, **options: Any) -> Tensor:
    if indices.size(1):
        least = indices.amin(1).tolist()
        for dim, place in enumerate(least):
            if place < 0:
                raise RuntimeError(f"found negative index {place} for dim {dim}")
        size = [place + 1 for place in indices.amax(1).tolist()]
    else:
        size = [0] * indices.size(0)
    return _coordinates(indices, values, [*size, *values.shape[1:]], options)


@composite(
    f"sparse_coo_tensor.indices_size(Tensor indices, Tensor values, int[] size, *, {_COORDINATES}) -> Tensor",
    "A sparse tensor.",
    samples=None,
)
def sparse_coo_tensor_of_size(indices: Tensor, values: Tensor, size: Sequence[int], **options: Any) -> Tensor:
    return _coordinates(indices, values, size, options)


# ---- in place, and reductions ----


@composite(
    "copy_sparse_to_sparse_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)",
    "Takes the sizes and the elements of another sparse tensor.",
    samples=None,
)
def copy_sparse_to_sparse_(self: Tensor, src: Tensor, non_blocking: bool = False) -> Tensor:
    if self is src:
        return self
    return _C._become_sparse(self, aten.clone(src).to(self.dtype))


def _reduced(x, dim, keepdim, dtype, name) -> Any:
    """The sum or the product of the elements that a CSR matrix has, along dimensions that stay."""
    if not keepdim:
        raise RuntimeError("reduction operations on CSR tensors with keepdim=False is unsupported")
    values = x.values()
    if dtype is None and not (values.is_floating_point() or values.is_complex()):
        dtype = _C._dtypes["int64"]
    values = values if dtype is None else values.to(dtype)
    dims = sorted({d % 2 for d in dim})
    rows, columns = x.shape
    crow, col = x.crow_indices(), x.col_indices()
    lines = aten.repeat_interleave(aten.arange(rows, device=col.device), crow[1:] - crow[:-1])
    if dims == [0, 1]:
        kept, size = aten.zeros_like(col), [1, 1]
    elif dims == [0]:
        kept, size = col, [1, columns]
    else:
        kept, size = lines, [rows, 1]
    found, where, _ = aten.unique_dim(kept, 0, True, True)
    start = values.new_full([found.size(0)], 0 if name == "sum" else 1)
    made = aten.scatter_reduce(start, 0, where, values, "sum" if name == "sum" else "prod")
    if dims == [1]:
        counts = crow.new_zeros([rows]).index_fill(0, found, 1)
        new_crow, new_col = aten.cat([crow.new_zeros([1]), counts.cumsum(0).to(crow.dtype)]), aten.zeros_like(found)
    else:
        new_crow = _C.tensor([0, found.size(0)], dtype=crow.dtype)
        new_col = found if dims == [0] else aten.zeros_like(found)
    return aten._sparse_compressed_tensor_unsafe(new_crow, new_col.to(col.dtype), made, size, layout=_C.sparse_csr)


def _reduction(name) -> None:
    @composite(
        f"_sparse_csr_{name}.dim_dtype(Tensor self, int[1] dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
        f"The {name} of the elements that a CSR matrix has, along dimensions that stay.",
        bind="function generated_out",
        samples=None,
    )
    def reduced(self: Tensor, dim: Sequence[int], keepdim: bool = False, *, dtype: Any = None) -> Tensor:
        return _reduced(self, dim, keepdim, dtype, name)


_reduction("sum")
_reduction("prod")

for _name in (
    "sparse_resize_",
    "sparse_resize_and_clear_",
    "resize_as_sparse_",
    "copy_sparse_to_sparse_",
    "_coalesced_",
):
    without_writes(_name)
