"""Further names and small questions: norms by name, what a dtype or two tensors are, special functions under torch.special."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..._core.warn_once import warn_once
from ..table import S, T, aten, composite

if TYPE_CHECKING:
    from ..._C import dtype
    from ..._tensor import Tensor
    from ...types import Number


@composite(
    "fill_diagonal_(Tensor(a!) self, Scalar fill_value, bool wrap=False) -> Tensor(a!)",
    "Writes one number along the main diagonal; `wrap` begins anew below the square of a tall matrix.",
    bind="method",
)
def fill_diagonal_(self: Tensor, fill_value: Number, wrap: bool = False) -> Tensor:
    if self.dim() < 2:
        raise RuntimeError("dimensions must larger than 1")
    if self.dim() > 2 and any(n != self.size(0) for n in self.shape):
        raise RuntimeError("all dimensions of input must be of equal length")
    count, step = min(self.shape), sum(self.stride())
    aten.fill_(aten.as_strided(self, [count], [step], self.storage_offset()), fill_value)
    rows, cols = self.shape[:2]
    if wrap and self.dim() == 2 and rows > cols + 1:
        rest = (rows * cols + cols) // (cols + 1) - count
        start = self.storage_offset() + self.stride(0) * (cols + 1)
        aten.fill_(aten.as_strided(self, [rest], [step], start), fill_value)
    return self


def _left_for_jit(name, instead) -> None:
    warn_once(
        f"at::{name} is deprecated and it is just left for JIT compatibility. It will be removed in a future PyTorch release. "
        f"Please use `{instead}` instead"
    )


@composite(
    "frobenius_norm.dim(Tensor self, int[1] dim, bool keepdim=False) -> Tensor",
    "Square root of the sum of squares along one or two dimensions.",
    bind="function out",
    out_dtype="exact",
    out_overload="out",
    samples=[S(T(3, 4), [1]), S(T(2, 3, 4), [0, 2], True)],
)
def frobenius_norm(self: Tensor, dim: Sequence[int], keepdim: bool = False) -> Tensor:
    _left_for_jit("frobenius_norm", "linalg.vector_norm(A, 2., dim, keepdim)")
    if len(dim) > 2:
        raise RuntimeError(f"Expected at most 2 dimensions, but got {len(dim)} dimensions instead.")
    return aten.linalg_vector_norm(self, 2.0, dim, keepdim)


@composite(
    "nuclear_norm(Tensor self, bool keepdim=False) -> Tensor",
    "Sum of a matrix's singular values.",
    bind="function out",
    out_dtype="linalg.matrix_norm expected out tensor dtype {result} but got: {out}",
    samples=[S(T(3, 4))],
    dtypes="float",
)
def nuclear_norm(self: Tensor, keepdim: bool = False) -> Tensor:
    _left_for_jit("nuclear_norm", "linalg.matrix_norm(A, 'nuc', dim, keepdim)")
    return aten.linalg_matrix_norm(self, "nuc", [-2, -1], keepdim)


@composite(
    "nuclear_norm.dim(Tensor self, int[2] dim, bool keepdim=False) -> Tensor",
    "Sum of the singular values of the matrices in two dimensions.",
    bind="function out",
    out_dtype="linalg.matrix_norm expected out tensor dtype {result} but got: {out}",
    samples=[S(T(2, 3, 4), [0, 2])],
    dtypes="float",
)
def nuclear_norm_dim(self: Tensor, dim: Sequence[int], keepdim: bool = False) -> Tensor:
    _left_for_jit("nuclear_norm", "linalg.matrix_norm(A, 'nuc', dim, keepdim)")
    return aten.linalg_matrix_norm(self, "nuc", dim, keepdim)


@composite("is_signed(Tensor self) -> bool", "Whether the dtype has negative numbers.", bind="function method")
def is_signed(self: Tensor) -> bool:
    return self.dtype.is_signed


@composite(
    "is_same_size(Tensor self, Tensor other) -> bool", "Whether both have the same sizes.", bind="function method"
)
def is_same_size(self: Tensor, other: Tensor) -> bool:
    return self.shape == other.shape


@composite(
    "special_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
    "`torch.softmax`.",
    bind="special",
    samples=[S(T(3, 4), 1)],
)
def special_softmax(self: Tensor, dim: int, dtype: dtype | None = None) -> Tensor:
    return aten.softmax(self, dim, dtype)


@composite(
    "special_log_softmax(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor",
    "`torch.log_softmax`.",
    bind="special",
    samples=[S(T(3, 4), 1)],
)
def special_log_softmax(self: Tensor, dim: int, *, dtype: dtype | None = None) -> Tensor:
    return aten.log_softmax(self, dim, dtype)


@composite(
    "special_logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor",
    "`torch.logsumexp`.",
    bind="special out",
    samples=[S(T(3, 4), [1])],
)
def special_logsumexp(self: Tensor, dim: Sequence[int], keepdim: bool = False) -> Tensor:
    return aten.logsumexp(self, dim, keepdim)


@composite(
    "sym_size.int(Tensor self, int dim) -> SymInt", "The size of a dimension: how graphs ask for it.", tags="core"
)
def _sym_size(self, dim):
    return self.size(dim)


@composite(
    "sym_stride.int(Tensor self, int dim) -> SymInt", "The stride of a dimension: how graphs ask for it.", tags="core"
)
def _sym_stride(self, dim):
    return self.stride(dim)


@composite("dim(Tensor self) -> int", "The number of dimensions: how a class that answers for its sizes is asked.")
def _dim(self):
    return self.dim()


@composite("is_contiguous(Tensor self) -> bool", "Whether rows follow each other: how a class is asked.")
def _is_contiguous(self):
    return self.is_contiguous()


@composite(
    "is_contiguous.memory_format(Tensor self, MemoryFormat memory_format) -> bool",
    "Whether elements lie in the order of a format: how a class is asked.",
)
def _is_contiguous_as(self, memory_format):
    return self.is_contiguous(memory_format=memory_format)


@composite("sym_size(Tensor self) -> SymInt[]", "All sizes: how a class that answers for its sizes is asked.")
def _sym_sizes(self):
    return list(self.shape)


@composite("sym_stride(Tensor self) -> SymInt[]", "All strides: how a class that answers for them is asked.")
def _sym_strides(self):
    return list(self.stride())


@composite("sym_numel(Tensor self) -> SymInt", "The number of elements: how graphs ask for it.", tags="core")
def _sym_numel(self):
    return self.numel()


@composite("sym_storage_offset(Tensor self) -> SymInt", "Where the elements begin: how graphs ask for it.", tags="core")
def _sym_storage_offset(self):
    return self.storage_offset()
