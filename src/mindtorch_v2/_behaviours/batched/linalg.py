"""Rules of vmap for the family linalg: each slice's result, made for all slices at once."""

from __future__ import annotations

from typing import Any

from ._call import Batch, _arguments, call, is_tensor, rule
from ._shared import lined_up, wrapped


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
    # One factorisation serves all slices that have the same matrix.
    others = [t.expand(*batch.sizes, *t.shape[batch.n :]) for t in others]
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
