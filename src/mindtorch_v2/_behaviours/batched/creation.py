"""Rules of vmap for the family creation: each slice's result, made for all slices at once."""

from __future__ import annotations

from typing import Any

from ._call import Batch, call, rule


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
