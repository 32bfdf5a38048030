"""Rules of vmap for the family reduction: each slice's result, made for all slices at once."""

from __future__ import annotations

from typing import Any

from ..._operators.table import aten
from ._call import Batch, is_tensor, rule
from ._shared import _slice_dims, asked_about_a_slice


@rule("trace")
@asked_about_a_slice
def _trace(batch: Batch, op: Any, values: list) -> Any:
    return batch.wrap(batch.full(values[0]).diagonal(0, -2, -1).sum(-1))


@rule("sum", "mean")
def _total(batch: Batch, op: Any, values: list) -> Any:
    x, dtype = values
    whole = batch.full(x)
    if not x.dim():
        whole = whole.unsqueeze(-1)
    return batch.wrap(getattr(aten, op.name)(whole, _slice_dims(batch, whole), dtype=dtype))


@rule("prod")
def _product(batch: Batch, op: Any, values: list) -> Any:
    x, dtype = values
    return batch.wrap(aten.prod(batch.full(x).reshape(*batch.sizes, x.numel()), batch.n, dtype=dtype))


@rule("max", "min", "median", "nanmedian", "all", "any")
def _over_all(batch: Batch, op: Any, values: list) -> Any:
    (x,) = values
    flat = batch.full(x).reshape(*batch.sizes, x.numel())
    name = {"max": "amax", "min": "amin"}.get(op.name, op.name)
    made = getattr(aten, name)(flat, batch.n)
    return batch.wrap(made if is_tensor(made) else made[0])
