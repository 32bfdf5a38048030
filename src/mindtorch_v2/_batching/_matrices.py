"""Linear algebra and distances: stacks of matrices are what the kernels take anyway."""

from __future__ import annotations

from typing import Any

from .._ops._table import ROWS, aten
from ._call import Batch, _arguments, call, is_tensor, rule
from ._pointwise import lined_up
from ._shapes import wrapped


@rule("linalg_qr", "linalg_eig", "linalg_cholesky_ex", "linalg_inv_ex", "linalg_lu_factor_ex", "_linalg_eigh", "_linalg_svd",
      "_linalg_det", "_linalg_slogdet", "linalg_pinv", "geqrf", "linalg_ldl_factor_ex", "linalg_matrix_exp")  # fmt: skip
def _matrices(batch: Batch, op: Any, values: list) -> Any:
    return wrapped(batch, call(op, [batch.full(values[0]), *values[1:]]))


@rule("_linalg_check_errors")
def _check_errors(batch: Batch, op: Any, values: list) -> Any:
    return op(batch.full(values[0]), values[1], is_matrix=False)


@rule("_linalg_solve_ex")
def _solve(batch: Batch, op: Any, values: list) -> Any:
    a, b, *rest = values
    vector = b.dim() == 1 or (b.dim() == a.dim() - 1 and tuple(b.shape) == tuple(a.shape[:-1]))
    b = b.unsqueeze(-1) if vector else b
    dims = max(a.dim(), b.dim())
    made, *others = call(op, [lined_up(batch, a, dims), lined_up(batch, b, dims), *rest])
    return (batch.wrap(made.squeeze(-1) if vector else made), *map(batch.wrap, others))


@rule("_solve_triangular")
def _solve_triangular(batch: Batch, op: Any, values: list) -> Any:
    a, b, *rest = values
    return batch.wrap(op(batch.full(a), batch.full(b), *rest))


# Arguments that are a vector for each matrix.
_VECTORS = {"pivots", "tau"}


@rule("_lu_solve", "_ldl_solve", "linalg_householder_product")
def _factors(batch: Batch, op: Any, values: list) -> Any:
    """A factorisation and what goes with it, stacks of which are broadcast against each other."""
    named = list(zip((name for name, _ in _arguments(op)[0]), values, strict=True))
    own = {name: 1 if name in _VECTORS else 2 for name, _ in named}
    stacked = max(v.dim() - own[name] for name, v in named if is_tensor(v))

    def whole(name: str, x: Any) -> Any:
        x = lined_up(batch, x, stacked + own[name])
        return x.expand(*batch.sizes, *x.shape[batch.n :])

    return wrapped(batch, call(op, [whole(name, v) if is_tensor(v) else v for name, v in named]))


@rule("_ormqr", "frexp.Tensor", "lu_unpack", "ormqr")
def _stacks(batch: Batch, op: Any, values: list) -> Any:
    return wrapped(batch, call(op, [batch.full(v) if is_tensor(v) else v for v in values]))


@rule("_cdist_forward", "_cdist_backward")
def _distances(batch: Batch, op: Any, values: list) -> Any:
    tensors = [v for v in values if is_tensor(v)]
    dims = max(t.dim() for t in tensors)
    lead = aten.broadcast_tensors([aten.empty([*t.shape[:-2], 1], device="meta") for t in tensors])[0].shape[:-1]
    args = [batch.full(v.expand(*lead, *v.shape[-2:]) if dims > 2 else v) if is_tensor(v) else v for v in values]
    return batch.wrap(call(op, args))


@rule("_pdist_forward")
def _distances_within(batch: Batch, op: Any, values: list) -> Any:
    x, p = values
    first, second = aten.triu_indices(x.shape[0], x.shape[0], 1, device=x.device)
    return aten.linalg_vector_norm(x[first] - x[second], p, -1)


@rule("_pdist_backward")
def _distances_within_backward(batch: Batch, op: Any, values: list) -> Any:
    gradient, x, p, distances = values
    n = x.shape[0]
    places = tuple(aten.triu_indices(n, n, 1, device=x.device))

    def square(pairs: Any) -> Any:
        upper = pairs.new_zeros(n, n).index_put(places, pairs)
        return upper + upper.mT

    return aten._cdist_backward(square(gradient), x, x, p, square(distances))


# ---- operators whose bodies are written with operators that have rules ----


@rule("_int_mm", "cholesky_inverse", "cholesky_solve", "linalg_cross", "linalg_pinv.atol_rtol_float",
      "linalg_pinv.atol_rtol_tensor", "_safe_softmax")  # fmt: skip
def _by_its_body(batch: Batch, op: Any, values: list) -> Any:
    named, positional = _arguments(op)
    by_name = {name: v for (name, _), v in zip(named[positional:], values[positional:], strict=True)}
    return ROWS[f"{op.name}.{op.overload}" if op.overload else op.name].body(*values[:positional], **by_name)
