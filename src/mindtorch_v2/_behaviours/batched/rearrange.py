"""Rules of vmap for the family rearrange: each slice's result, made for all slices at once."""

from __future__ import annotations

from typing import Any

from ._call import Batch, call, rule
from ._shared import lined_up, past


@rule("tril", "triu")
def _last_two(batch: Batch, op: Any, values: list) -> Any:
    if values[0].dim() < 2:
        raise RuntimeError(f"{op.name}: input tensor must have at least 2 dimensions")
    return batch.wrap(call(op, [batch.full(values[0]), *values[1:]]))


@rule("roll")
def _roll(batch: Batch, op: Any, values: list) -> Any:
    x, shifts, dims = values
    whole = batch.full(x)
    if not dims:
        flat = whole.reshape(*batch.sizes, x.numel())
        return batch.wrap(op(flat, shifts, [batch.n]).reshape(whole.shape))
    return batch.wrap(op(whole, shifts, [past(batch, d, x.dim()) for d in dims]))


@rule("repeat")
def _repeat(batch: Batch, op: Any, values: list) -> Any:
    x, repeats = values
    if len(repeats) < x.dim():
        raise RuntimeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    return batch.wrap(op(lined_up(batch, x, len(repeats)), [*(1,) * batch.n, *repeats]))
