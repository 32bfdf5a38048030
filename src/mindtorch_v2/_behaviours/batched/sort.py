"""Rules of vmap for the family sort: each slice's result, made for all slices at once."""

from __future__ import annotations

from typing import Any

from ..._core.autograd import batched
from ..._operators.table import aten
from ._call import Batch, call, is_tensor, rule


@rule("searchsorted.Tensor")
def _searchsorted(batch: Batch, op: Any, values: list) -> Any:
    rows, x, out_int32, right, side, sorter = values
    if rows.dim() > 1 or batched.levels_of(rows) or (sorter is not None and batched.levels_of(sorter)):
        # One row for each slice takes all of the slice's values; several are a row for each row of values.
        own = batch.full(x) if rows.dim() > 1 else batch.full(x).reshape(*batch.sizes, x.numel())
        order = None if sorter is None else batch.full(sorter)
        made = op(batch.full(rows), own, out_int32=out_int32, right=right, side=side, sorter=order)
        return batch.wrap(made.reshape(*batch.sizes, *x.shape))
    return batch.wrap(op(rows, batch.full(x), out_int32=out_int32, right=right, side=side, sorter=sorter))


@rule("searchsorted.Scalar")
def _searchsorted_number(batch: Batch, op: Any, values: list) -> Any:
    rows, number, *rest = values
    out_int32, right, side, sorter = rest
    x = aten.full([], number, device=rows.device)
    return aten.searchsorted(rows, x, out_int32=out_int32, right=right, side=side, sorter=sorter)


@rule("bucketize.Tensor")
def _bucketize(batch: Batch, op: Any, values: list) -> Any:
    x, boundaries, out_int32, right = values
    _check_boundaries(boundaries)
    return aten.searchsorted(boundaries, x, out_int32=out_int32, right=right)


@rule("bucketize.Scalar")
def _bucketize_number(batch: Batch, op: Any, values: list) -> Any:
    number, boundaries, out_int32, right = values
    _check_boundaries(boundaries)
    return aten.searchsorted(boundaries, number, out_int32=out_int32, right=right)


def _check_boundaries(boundaries: Any) -> None:
    if boundaries.dim() != 1:
        raise RuntimeError(f"boundaries tensor must be 1 dimension, but got dim({boundaries.dim()})")


@rule("isin.Tensor_Tensor", "isin.Tensor_Scalar", "isin.Scalar_Tensor")
def _isin(batch: Batch, op: Any, values: list) -> Any:
    elements, among, unique, invert = values
    if not is_tensor(among) or not batched.levels_of(among):
        return batch.wrap(call(op, [batch.full(elements), among, unique, invert]))
    if is_tensor(elements):
        elements = elements.unsqueeze(-1)
    found = (among.reshape(-1) == elements).any(-1)
    return ~found if invert else found
