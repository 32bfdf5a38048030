"""Rules of vmap for the family sparse: stacks made dense, and a matrix that slices share, which meets all their columns in one product."""

from __future__ import annotations

from typing import Any

from ... import _C
from ..._core.autograd import batched
from ..._operators.table import aten
from ._call import Batch, by_slices, rule
from .matmul import added, columns_side_by_side, is_shared_sparse


@rule("_to_dense")
def _to_dense(batch: Batch, op: Any, values: list) -> Any:
    return batch.wrap(op(batch.full(values[0]), *values[1:]))


@rule("_sparse_addmm")
def _sparse_addmm(batch: Batch, op: Any, values: list) -> Any:
    bias, a, b, beta, alpha = values
    if any(x.layout != _C.strided and batched.levels_of(x) for x in (bias, a, b)):
        return by_slices(op, values)
    if is_shared_sparse(a):  # as _sparse_mm has it, the gradient of a sparse matrix has its pattern
        mapped = batched.levels_of(b)
        made = columns_side_by_side(batch, aten._sparse_mm, a, b) if mapped else aten._sparse_mm(a, b)
    else:
        made = aten.matmul(a, b)
    return added(made, bias, beta, alpha)
