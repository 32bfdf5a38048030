"""Products of sparse matrices with sparse results, and norms of sparse tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..table import aten, composite

if TYPE_CHECKING:
    from ..._tensor import Tensor
    from ...types import Number


def _product(sparse, dense) -> Any:
    """The product with all elements of the rows in which the sparse matrix has some."""
    rows = aten.unique_dim(sparse.coalesce().indices()[0], 0)[0]
    values = aten.index_select(aten.mm(sparse, dense), 0, rows)
    width = dense.size(1)
    places = aten.stack([rows.repeat_interleave(width), aten.arange(width).repeat([rows.size(0)])])
    return aten._sparse_coo_tensor_unsafe(places, values.reshape([-1]), [sparse.size(0), width])


@composite(
    "smm(Tensor self, Tensor mat2) -> Tensor",
    "A sparse matrix times a dense one, as a sparse matrix.",
    bind="function method",
    samples=None,
)
def smm(self: Tensor, mat2: Tensor) -> Tensor:
    return _product(self, mat2)


@composite(
    "sspaddmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
    "`beta * self + alpha * mat1 @ mat2`, with `self` and `mat1` sparse.",
    bind="function method",
    samples=None,
)
def sspaddmm(self: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Tensor:
    made = _product(mat1, mat2)
    return aten.add(self * beta, made * alpha)


@composite(
    "hspmm(Tensor mat1, Tensor mat2) -> Tensor",
    "A sparse matrix times a dense one, with whole rows as values.",
    bind="function",
    samples=None,
)
def hspmm(mat1: Tensor, mat2: Tensor) -> Tensor:
    rows = aten.unique_dim(mat1.coalesce().indices()[0], 0)[0]
    values = aten.index_select(aten.mm(mat1, mat2), 0, rows)
    return aten._sparse_coo_tensor_unsafe(rows.unsqueeze(0), values, [mat1.size(0), mat2.size(1)])


def _norm(x, p) -> Any:
    return aten.norm(x.coalesce().values(), 2 if p is None else p)


@composite(
    "native_norm(Tensor self, Scalar p=2) -> Tensor", "The norm of a sparse tensor.", bind="function", samples=None
)
def native_norm(self: Tensor, p: Number = 2) -> Tensor:
    return _norm(self, p)


@composite(
    "native_norm.ScalarOpt_dim_dtype(Tensor self, Scalar? p, int[1] dim, bool keepdim, ScalarType? dtype) -> Tensor",
    "The norm of a sparse tensor over all its dimensions.",
    bind="function",
    samples=None,
)
def native_norm_of_dims(self: Tensor, p: Number | None, dim: Sequence[int], keepdim: bool, dtype: Any) -> Tensor:
    if dim and sorted(d % self.dim() for d in dim) != list(range(self.dim())):
        raise RuntimeError(
            "norm_sparse currently only supports full reductions, so 'dim' must either be empty or contain all dimensions of the input"
        )
    if keepdim:
        raise RuntimeError("norm_sparse currently does not support keepdim=True")
    return _norm(self, p)
