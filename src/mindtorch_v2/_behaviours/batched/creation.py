"""Rules of vmap for the family creation: each slice's result, made for all slices at once."""

from __future__ import annotations

from typing import Any

from ... import _C
from ._call import Batch, call, rule


@rule("empty_like")
def _empty_like(batch: Batch, op: Any, values: list) -> Any:
    """One slice after the other, so that what is drawn into them is drawn in that order."""
    x, *rest, memory_format = values
    whole = batch.aligned(x)
    inside = max(whole.stride()[batch.n :], default=0)
    if memory_format in (None, _C.preserve_format) and min(whole.stride()[: batch.n], default=0) < inside:
        memory_format = _C.contiguous_format
    return batch.wrap(call(op, [whole, *rest, memory_format]))


@rule("new_empty", "new_zeros", "new_ones", "new_full")
def _new(batch: Batch, op: Any, values: list) -> Any:
    x, size, *rest = values
    return batch.wrap(call(op, [batch.full(x), [*batch.sizes, *size], *rest]))


@rule("new_empty_strided")
def _new_strided(batch: Batch, op: Any, values: list) -> Any:
    x, size, stride, *rest = values
    span = 1 + sum((n - 1) * s for n, s in zip(size, stride, strict=True)) if all(size) else 0
    steps, step = [], span
    for n in reversed(batch.sizes):
        steps.append(step)
        step *= n
    return batch.wrap(call(op, [batch.full(x), [*batch.sizes, *size], [*reversed(steps), *stride], *rest]))
