"""Products of a csr matrix with a dense one, whose terms are joined by a sum, a mean, or the largest or smallest."""

from __future__ import annotations

from typing import Any

from ... import _C
from ..._operators.composite.sparse import LAYOUT_NAMES
from ..._operators.table import aten, class_name
from .parts import INT64, bare, matrix_parts, parts, spread, with_values
from .table import CSR, kernel

_WAYS = ("sum", "mean", "amax", "amin")
_SHORT = {"max": "amax", "min": "amin"}
_FLOATS = ("Float", "Double", "BFloat16", "Half")


def _check(self: Any, other: Any, reduce: str) -> None:
    if self.layout != _C.sparse_csr:
        raise RuntimeError(f"sparse_mm_reduce: expect self to be SparseCsr, got {LAYOUT_NAMES[self.layout]}")
    if other.layout != _C.strided:
        raise RuntimeError(
            f"Expected tensor to have Strided Layout, but got tensor with {LAYOUT_NAMES[other.layout]} Layout (while checking "
            "arguments for sparse_mm_reduce)"
        )
    if other.dtype != self.dtype:
        raise RuntimeError(
            f"Expected tensor for argument #1 'other' to have scalar type {class_name(self.dtype)}; but got {other.type()} "
            "instead (while checking arguments for sparse_mm_reduce)"
        )
    if other.dim() != 2 or other.shape[0] != self.shape[1]:
        raise RuntimeError(
            f"Expected a tensor of dimension 2 and tensor.size[0] == {self.shape[1]} but got: dimension {other.dim()} and "
            f"tensor.size[0] = {other.shape[0] if other.dim() else 1}"
        )
    if reduce not in _WAYS:
        raise RuntimeError(f"sparse_mm_reduce: reduce type of {reduce} has not been enabled.")
    if class_name(self.dtype) not in _FLOATS:
        raise NotImplementedError(f"\"spmm_reduce_kernel\" not implemented for '{class_name(self.dtype)}'")


def _terms(self: Any, other: Any) -> tuple[Any, Any]:
    """The row of each stored value, and its product with the row of the dense matrix that its column names."""
    starts, plain, values = matrix_parts(self)
    return spread(starts), values.unsqueeze(1) * bare(other).index_select(0, plain)


def _lengths(self: Any) -> Any:
    """How many values each row has, at least one: what the mean is divided by, (rows, 1)."""
    return parts(self).compressed.diff().clamp(min=1).unsqueeze(1)


@kernel("_sparse_mm_reduce_impl", CSR)
def _forward(self, other, reduce) -> tuple:
    reduce = _SHORT.get(reduce, reduce)
    _check(self, other, reduce)
    (starts, plain, values), size = matrix_parts(self), (self.shape[0], other.shape[1])
    if reduce in ("sum", "mean"):
        joined = aten._weighted_row_sums(starts, plain, values, bare(other))
        joined = joined / _lengths(self) if reduce == "mean" else joined
        return joined.to(self.dtype), plain.new_empty(0)
    rows, terms = _terms(self, other)
    place, count = rows.unsqueeze(1).expand(terms.shape), terms.shape[0]
    best = terms.new_zeros(size).scatter_reduce(0, place, terms, reduce, include_self=False)
    chosen = best.index_select(0, rows)
    at = (terms == chosen) | (terms.isnan() & chosen.isnan())
    numbers = aten.where(at, aten.arange(count, dtype=INT64, device=terms.device).unsqueeze(1), count)
    # Of equal terms the first one counts; a row without any has the number behind the last.
    return best, numbers.new_full(size, count).scatter_reduce(0, place, numbers, "amin")


@kernel("_sparse_mm_reduce_impl_backward", CSR)
def _backward(self, grad_out, weight, reduce, arg_out, output_mask) -> tuple:
    (starts, plain, values), grad, other = matrix_parts(self), bare(grad_out), bare(weight)
    rows = spread(starts)
    if reduce == "mean":
        grad = grad / _lengths(self).to(grad.dtype)
    if reduce in ("sum", "mean"):
        slopes = grad.index_select(0, rows)
    else:  # a term that was not taken has no slope
        numbers = aten.arange(rows.shape[0], dtype=INT64, device=rows.device).unsqueeze(1)
        slopes = grad.index_select(0, rows) * (arg_out.index_select(0, rows) == numbers)
    into_self = into_other = None
    if output_mask[0]:
        into_self = with_values(self, (slopes * other.index_select(0, plain)).sum(1))
    if output_mask[1]:
        into_other = aten.zeros_like(other).index_add_(0, plain, slopes * values.unsqueeze(1))
    return into_self, into_other
