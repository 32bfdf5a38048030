"""Views and copies of views that are made of the native ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ... import _C
from ..._core.dimensions import wrap_dim
from ..._core.dtype import DTYPES
from ..table import S, T, aten, class_name, composite

if TYPE_CHECKING:
    from ..._tensor import Tensor


@composite(
    "_conj(Tensor(a) self) -> Tensor(a)",
    "The conjugate: a view of memory on the CPU, else computed at once.",
    bind="function method",
)
def _conj(self):
    if not self.is_complex():
        return self
    return aten._lazy_view(self, True, False) if _C._may_be_lazy(self) else aten._conj_physical(self)


@composite(
    "conj_physical(Tensor self) -> Tensor",
    "The conjugate, computed at once; of real numbers the tensor itself.",
    bind="function method inplace out",
    out_dtype="found",
    tags="pointwise maybe_aliasing_or_mutating",
    samples=[S(3, 4), S(T(3, 4, dtype="complex64"))],
    dtypes="all",
)
def conj_physical(self: Tensor) -> Tensor:
    return aten._conj_physical(self) if self.is_complex() else self


@composite(
    "real(Tensor(a) self) -> Tensor(a)",
    "The real parts, as a view; of real numbers the tensor itself.",
    bind="function",
    gives_back=True,
    samples=[S(T(3, 4, dtype="complex64")), S(3, 4)],
    dtypes="floating+complex",
)
def real(self: Tensor) -> Tensor:
    if not self.is_complex():
        return self
    # The conjugate has the same real parts, and they can be seen in its memory.
    return aten.select(aten.view_as_real(aten._conj(self) if self.is_conj() else self), -1, 0)


@composite(
    "_neg_view(Tensor(a) self) -> Tensor(a)",
    "The negative: a view of memory on the CPU, else computed at once.",
    bind="function method",
)
def _neg_view(self: Tensor) -> Tensor:
    return aten._lazy_view(self, False, True) if _C._may_be_lazy(self) else aten.neg(self)


@composite(
    "adjoint(Tensor(a) self) -> Tensor(a)",
    "The conjugate of the last two dimensions exchanged.",
    bind="function method",
)
def adjoint(self: Tensor) -> Tensor:
    if self.dim() == 0:
        return aten.conj(self)
    if self.dim() == 1:
        raise RuntimeError(
            f"tensor.adjoint() is only supported on matrices or batches of matrices. Got {self.dim()}-D tensor."
        )
    return aten.conj(self.transpose(-2, -1))


@composite(
    "broadcast_to(Tensor(a) self, SymInt[] size) -> Tensor(a)",
    "`expand`, as a function.",
    bind="function method",
    samples=[S(T(3, 1), [2, 3, 4])],
)
def broadcast_to(self: Tensor, size: Sequence[int]) -> Tensor:
    return self.expand(size)


@composite(
    "conj(Tensor(a) self) -> Tensor(a)",
    "The complex conjugate; real tensors as they are.",
    bind="function method",
    samples=[S(3, 4)],
    dtypes="floating+complex",
    gives_back=True,
)
def conj(self: Tensor) -> Tensor:
    return aten._conj(self)


@composite(
    "detach_(Tensor(a!) self) -> Tensor(a!)",
    "Cuts the tensor out of the graph that made it.",
    bind="function method",
    tags="inplace_view",
)
def detach_(self: Tensor) -> Tensor:
    if self._base is not None:
        raise RuntimeError(
            "Can't detach views in-place. Use detach() instead. If you are using DistributedDataParallel (DDP) for "
            "training, and gradient_as_bucket_view is set as True, gradients are views of DDP buckets, and hence "
            "detach_() cannot be called on these gradients."
        )
    self._grad_fn = None  # type: ignore[attr-defined]  # (the core's own name for it)
    if self.requires_grad:
        self.requires_grad_(False)
    for level in _C._tangent_levels(self):
        _C._set_tangent(self, level, None)
    return self


def _split_at(self, positions, dim):
    """Parts that end before each of `positions`; like Python slices, they may be empty."""
    size = self.size(dim)
    parts, start = [], 0
    for position in [*positions, size]:
        end = max(start, min(position + size if position < 0 else position, size))
        parts.append(aten.slice(self, dim, start, end, 1))
        start = min(max(position + size if position < 0 else position, 0), size)
    return parts


_MOST_PARTS = 1 << 26  # their tensor objects alone would take 16 GB


def _sections(self, sections, dim):
    if sections <= 0:
        raise RuntimeError(f"number of sections must be larger than 0, got {sections}")
    if sections > _MOST_PARTS:
        raise RuntimeError(f"tensor_split: there is no memory for {sections} tensors")
    size = self.size(dim)
    parts, start = [], 0
    for i in range(sections):
        length = size // sections + (1 if i < size % sections else 0)
        parts.append(aten.slice(self, dim, start, start + length, 1))
        start += length
    return parts


@composite(
    "tensor_split.indices(Tensor(a -> *) self, SymInt[] indices, int dim=0) -> Tensor(a)[]",
    "Parts that end before each index.",
    bind="function method",
    samples=[S(T(5, 4), [1, 3])],
)
def tensor_split_indices(self: Tensor, indices: Sequence[int], dim: int = 0) -> Sequence[Tensor]:
    if self.dim() == 0:
        raise RuntimeError("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
    return _split_at(self, indices, dim)


@composite(
    "tensor_split.sections(Tensor(a -> *) self, SymInt sections, int dim=0) -> Tensor(a)[]",
    "Parts of sizes that differ by at most one.",
    bind="function method",
    samples=[S(T(5, 4), 3)],
)
def tensor_split_sections(self: Tensor, sections: int, dim: int = 0) -> Sequence[Tensor]:
    if self.dim() == 0:
        raise RuntimeError("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
    return _sections(self, sections, dim)


@composite(
    "tensor_split.tensor_indices_or_sections(Tensor(a -> *) self, Tensor tensor_indices_or_sections, int dim=0) -> Tensor(a)[]",
    "Sections or indices given as a tensor.",
    bind="function method",
)
def tensor_split_tensor(self: Tensor, tensor_indices_or_sections: Tensor, dim: int = 0) -> Sequence[Tensor]:
    given = tensor_indices_or_sections
    if str(given.dtype) != "torch.int64":
        raise RuntimeError(
            f"tensor_split expected tensor_indices_or_sections to have dtype of long, but got {class_name(given.dtype)}"
        )
    if given.dim() > 1:
        raise RuntimeError(
            f"tensor_split expected tensor_indices_or_sections to be a zero-dimensional or one-dimensional tensor, but got a tensor with {given.dim()} dims"
        )
    return _sections(self, given.item(), dim) if given.dim() == 0 else _split_at(self, given.tolist(), dim)


def _directed(name, least, dim_of) -> None:
    """hsplit, vsplit, dsplit: tensor_split along one dimension, sections must divide evenly."""

    def check(self: Tensor, sections: int | None) -> int:
        if self.dim() < least:
            raise RuntimeError(
                f"torch.{name} requires a tensor with at least {least} dimension, but got a tensor with {self.dim()} dimensions!"
            )
        dim = dim_of(self)
        if sections is not None and (sections == 0 or self.size(dim) % sections):
            raise RuntimeError(
                f"torch.{name} attempted to split along dimension {dim}, but the size of the dimension {self.size(dim)} is not divisible by the split_size {sections}!"
            )
        return dim

    @composite(
        f"{name}.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]",
        "Equal parts along one dimension.",
        bind="function method",
    )
    def by_sections(self: Tensor, sections: int) -> list[Tensor]:
        return _sections(self, sections, check(self, sections))

    @composite(
        f"{name}.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]",
        "Parts that end before each index.",
        bind="function method",
    )
    def by_indices(self: Tensor, indices: Sequence[int]) -> list[Tensor]:
        return _split_at(self, indices, check(self, None))


_directed("dsplit", 3, lambda self: 2)
_directed("hsplit", 1, lambda self: 0 if self.dim() == 1 else 1)
_directed("vsplit", 2, lambda self: 0)


@composite("H(Tensor(a) self) -> Tensor(a)", "The conjugate transpose of a matrix.")
def H(self: Tensor) -> Tensor:
    return aten.matrix_H(self) if self.is_complex() or self.dim() != 2 else aten.transpose(self, -2, -1)


@composite("lift(Tensor self) -> Tensor", "The tensor itself.", bind="generated_out", lifts=True)
def lift(self: Tensor) -> Tensor:
    return aten.alias(self)


@composite("matrix_H(Tensor(a) self) -> Tensor(a)", "The conjugate transpose of a matrix.")
def matrix_H(self: Tensor) -> Tensor:
    if self.dim() not in (0, 2):
        raise RuntimeError(
            f"tensor.H is only supported on matrices (2-D tensors). Got {self.dim()}-D tensor.{' For batches of matrices, consider using tensor.mH' if self.dim() > 2 else ''}"
        )
    return aten.conj(self.t()) if self.dim() == 2 else aten.conj(self)


@composite("mH(Tensor(a) self) -> Tensor(a)", "The conjugate of the last two dimensions exchanged.")
def mH(self: Tensor) -> Tensor:
    if self.dim() == 0:
        return aten.conj(self)
    if self.dim() == 1:
        raise RuntimeError(
            f"tensor.mH is only supported on matrices or batches of matrices. Got {self.dim()}-D tensor."
        )
    return aten.conj(self.transpose(-2, -1))


def _moved(self, source, destination):
    n = self.dim()
    if len(source) != len(destination):
        raise RuntimeError(
            f"movedim: Invalid source or destination dims: source ({list(source)} dims) should contain the same number of dims as destination ({list(destination)} dims)"
        )
    for d in (*source, *destination):
        wrap_dim(d, n)
    if n == 0:
        return aten.alias(self)
    for dims, name in ((source, "source"), (destination, "destination")):
        if len({d % n for d in dims}) != len(dims):
            raise RuntimeError(f"movedim: repeated dim in `{name}` ({list(dims)})")
    source, destination = [d % n for d in source], [d % n for d in destination]
    order = [-1] * n
    for s, d in zip(source, destination, strict=True):
        order[d] = s
    rest = iter(d for d in range(n) if d not in source)
    return self.permute([next(rest) if d == -1 else d for d in order])


@composite(
    "movedim.int(Tensor(a) self, int source, int destination) -> Tensor(a)",
    "One dimension moved to another place.",
    bind="function method",
    alias="moveaxis",
    samples=[S(T(2, 3, 4), 0, 2)],
)
def movedim_int(self: Tensor, source: int, destination: int) -> Tensor:
    return _moved(self, [source], [destination])


@composite(
    "movedim.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)",
    "Dimensions moved to other places.",
    bind="function method",
    alias="moveaxis",
    samples=[S(T(2, 3, 4), [0, 1], [2, 0])],
)
def movedim_list(self: Tensor, source: Sequence[int], destination: Sequence[int]) -> Tensor:
    return _moved(self, source, destination)


@composite(
    "narrow.Tensor(Tensor(a) self, int dim, Tensor start, SymInt length) -> Tensor(a)",
    "`narrow` whose start is a tensor.",
    bind="function method",
)
def narrow_tensor(self: Tensor, dim: int, start: Tensor, length: int) -> Tensor:
    if start.dim() != 0 or start.is_floating_point() or start.dtype == DTYPES["bool"]:
        raise RuntimeError("start must be an 0-dim integral Tensor.")
    return self.narrow(dim, start.item(), length)


@composite(
    "ravel(Tensor(a) self) -> Tensor(a)",
    "One-dimensional, in row-major order.",
    bind="function method",
    samples=[S(3, 4)],
)
def ravel(self: Tensor) -> Tensor:
    return self.contiguous().view(-1)


@composite(
    "resolve_conj(Tensor(a) self) -> Tensor(a)",
    "The tensor itself; of a view that shows conjugates, these in memory of their own.",
    bind="function method",
    samples=[S(3, 4)],
    gives_back=True,
)
def resolve_conj(self: Tensor) -> Tensor:
    return aten.clone(self) if self.is_conj() else self


@composite(
    "resolve_neg(Tensor(a) self) -> Tensor(a)",
    "The tensor itself; of a view that shows negatives, these in memory of their own.",
    bind="function method",
    samples=[S(3, 4)],
    gives_back=True,
)
def resolve_neg(self: Tensor) -> Tensor:
    return aten.clone(self) if self.is_neg() else self


@composite(
    "split.sizes(Tensor(a -> *) self, SymInt[] split_size, int dim=0) -> Tensor(a)[]",
    "Parts of the given sizes.",
    bind="method",
    samples=[S(T(5, 4), [2, 3])],
)
def split_sizes(self: Tensor, split_size: Sequence[int], dim: int = 0) -> Sequence[Tensor]:
    return aten.split_with_sizes(self, split_size, dim)


@composite(
    "swapaxes(Tensor(a) self, int axis0, int axis1) -> Tensor(a)",
    "`torch.transpose`, whose dimensions have NumPy's names here.",
    bind="function method",
    samples=[S(T(2, 3, 4), 0, 2)],
)
def swapaxes(self: Tensor, axis0: int, axis1: int) -> Tensor:
    return self.transpose(axis0, axis1)


for _name in ("swapaxes_", "swapdims_"):
    _first, _second = ("axis0", "axis1") if _name == "swapaxes_" else ("dim0", "dim1")

    @composite(
        f"{_name}(Tensor(a!) self, int {_first}, int {_second}) -> Tensor(a!)",
        "Exchanges two dimensions of the tensor itself.",
        bind="method",
        tags="inplace_view",
    )
    def swap_(self: Tensor, first: int, second: int) -> Tensor:
        return self.transpose_(first, second)


@composite(
    "unflatten.int(Tensor(a) self, int dim, SymInt[] sizes) -> Tensor(a)",
    "One dimension seen as several.",
    bind="function method",
    samples=[S(T(6, 2), 0, [2, -1])],
)
def unflatten(self: Tensor, dim: int, sizes: Sequence[int]) -> Tensor:
    if not sizes:
        raise RuntimeError("unflatten: sizes must be non-empty")
    if self.dim() == 0:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    dim = dim + self.dim() if dim < 0 else dim
    size, known = self.size(dim), 1
    for s in sizes:
        known *= s if s != -1 else 1
    holes = list(sizes).count(-1)
    if holes > 1:
        raise RuntimeError("only one dimension can be inferred")
    if (holes and (known == 0 or size % known)) or (not holes and known != size):
        raise RuntimeError(
            f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {dim} ({size}) in the input tensor"
        )
    filled = [size // known if s == -1 else s for s in sizes]
    return self.view([*self.shape[:dim], *filled, *self.shape[dim + 1 :]])


@composite(
    "unsafe_chunk(Tensor self, int chunks, int dim=0) -> Tensor[]",
    "`chunk` whose parts do not count as views.",
    bind="function method",
    tags="maybe_aliasing_or_mutating",
)
def unsafe_chunk(self: Tensor, chunks: int, dim: int = 0) -> Sequence[Tensor]:
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    each = -(-self.size(dim) // chunks)
    return aten.unsafe_split(self, each, dim) if each else aten.unsafe_split_with_sizes(self, [0] * chunks, dim)


def _row_major(x):
    return x.clone(memory_format=_C.contiguous_format) if x.layout == _C.strided else x.clone()


def _copies(schema, of) -> None:
    """`x_copy`: the view that `of` makes, as a tensor of its own."""
    name = schema.partition("(")[0].partition(".")[0]

    @composite(
        schema,
        f"A copy of what `{name.removesuffix('_copy')}` gives.",
        bind="out" if name == "lift_fresh_copy" else "function out",
        out_dtype="exact",
        out_overload="Tensor_out" if name == "slice_copy" else "",
        tags="view_copy",
        out_tags="" if schema.endswith("[]") else "view_copy generated",
    )
    def copy(*args: Any, **kwargs: Any) -> Any:
        result = getattr(aten, of)(*args, **kwargs)
        if isinstance(result, (list, tuple)):
            return [_row_major(x) for x in result]
        return _row_major(result)


for _schema, _view in (
    ("alias_copy(Tensor self) -> Tensor", "alias"),
    (
        "as_strided_copy(Tensor self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor",
        "as_strided",
    ),
    ("detach_copy(Tensor self) -> Tensor", "detach"),
    ("diagonal_copy(Tensor self, int offset=0, int dim1=0, int dim2=1) -> Tensor", "diagonal"),
    ("expand_copy(Tensor self, SymInt[] size, *, bool implicit=False) -> Tensor", "expand"),
    ("lift_fresh_copy(Tensor self) -> Tensor", "lift_fresh"),
    ("permute_copy(Tensor self, int[] dims) -> Tensor", "permute"),
    ("select_copy.int(Tensor self, int dim, SymInt index) -> Tensor", "select"),
    (
        "slice_copy.Tensor(Tensor self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor",
        "slice",
    ),
    ("split_copy.Tensor(Tensor self, SymInt split_size, int dim=0) -> Tensor[]", "split"),
    ("split_with_sizes_copy(Tensor self, SymInt[] split_sizes, int dim=0) -> Tensor[]", "split_with_sizes"),
    ("squeeze_copy(Tensor self) -> Tensor", "squeeze"),
    ("squeeze_copy.dim(Tensor self, int dim) -> Tensor", "squeeze"),
    ("squeeze_copy.dims(Tensor self, int[] dim) -> Tensor", "squeeze"),
    ("t_copy(Tensor self) -> Tensor", "t"),
    ("transpose_copy.int(Tensor self, int dim0, int dim1) -> Tensor", "transpose"),
    ("unbind_copy.int(Tensor self, int dim=0) -> Tensor[]", "unbind"),
    ("unfold_copy(Tensor self, int dimension, int size, int step) -> Tensor", "unfold"),
    ("unsqueeze_copy(Tensor self, int dim) -> Tensor", "unsqueeze"),
    ("view_as_complex_copy(Tensor self) -> Tensor", "view_as_complex"),
    ("view_as_real_copy(Tensor self) -> Tensor", "view_as_real"),
    ("view_copy(Tensor self, SymInt[] size) -> Tensor", "view"),
    ("view_copy.dtype(Tensor self, ScalarType dtype) -> Tensor", "view"),
):
    _copies(_schema, _view)


@composite(
    "narrow_copy(Tensor self, int dim, SymInt start, SymInt length) -> Tensor",
    "A copy of `length` elements of a dimension from `start` on.",
    bind="function method out",
    quiet_out=True,
    out_dtype="Expected self.dtype() == output.dtype() to be true, but got false.  (Could this error message be "
    "improved?  If so, please report an enhancement request to PyTorch.)",
    tags="view_copy",
    out_tags="",
    samples=[S(T(3, 4), 1, 1, 2)],
    dtypes="all",
    node="NarrowCopyBackward0",
)
def narrow_copy(self: Tensor, dim: int, start: int, length: int) -> Tensor:
    if self.layout != _C.strided:
        if start < 0 or length < 0 or start + length > self.shape[dim]:
            raise RuntimeError(
                f"Invalid range to narrow. range(start, start+length) must be a subset of range(0, {self.shape[dim]})."
            )
        return aten.index_select(self, dim, aten.arange(start, start + length))
    if dim >= self.dim() > 0:
        raise RuntimeError(
            "Expected dim < static_cast<int64_t>(self_sizes.size()) to be true, but got false.  (Could this error message "
            "be improved?  If so, please report an enhancement request to PyTorch.)"
        )
    if length < 0:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({self.size(dim)}).")
    return _row_major(self.narrow(dim, start, length))


@composite(
    "reshape_as(Tensor(a) self, Tensor other) -> Tensor(a)",
    "Reshaped to the sizes of another tensor.",
    bind="method",
    samples=[S(T(3, 4), T(4, 3, grad=False))],
    dtypes="all",
)
def reshape_as(self: Tensor, other: Tensor) -> Tensor:
    return self.reshape(other.shape)


@composite(
    "slice_inverse(Tensor(a) self, Tensor src, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1)"
    " -> Tensor(a)",
    "The elements of `self` with the sizes, strides and beginning of `src`, which stands for a part of it.",
    bind="method",
    samples=None,
)
def slice_inverse(
    self: Tensor, src: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Tensor:
    return aten.as_strided(self, src.shape, src.stride(), src.storage_offset())
