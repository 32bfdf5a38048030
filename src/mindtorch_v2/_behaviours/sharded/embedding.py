"""Sharding rules of the family embedding."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ._call import Call, Strategy, rule
from ._shared import linear
from .placements import Partial, Shard


def _rows(run: Callable, values: list[Any], place: Any) -> Any:
    """Rows of the piece of the table that this rank holds; those that others hold are zero."""
    table, indices = values[:2]
    start = place.offset(0, 0)
    own = indices - start
    foreign = (own < 0) | (own >= table.shape[0])
    values = list(values)
    values[1] = own.masked_fill(foreign, 0)
    if not table.shape[0]:
        return table.new_zeros((*indices.shape, table.shape[1]))
    padding = values[2]
    values[2] = padding - start if start <= padding < start + table.shape[0] else -1
    return run(values).masked_fill(foreign.unsqueeze(-1), 0)


@rule("embedding")
def _embedding(call: Call) -> Iterable[Strategy]:
    table, indices = call.operands
    yield call.strategy(Shard(indices.dim()), {table.number: Shard(1)})
    for dim in range(indices.dim()):
        yield call.strategy(Shard(dim), {indices.number: Shard(dim)})
    if not call.value("scale_grad_by_freq") and call.parts(table, 0) in (1, call.size):
        yield call.strategy(Partial(), {table.number: Shard(0)}, _rows)
    yield from linear(call)


def _own_rows(run: Callable, values: list[Any], place: Any) -> Any:
    """The gradient of the rows that this rank holds."""
    count, start = place.result_shape(0)[0], place.result_offset(0, 0)
    gradient, indices = values[:2]
    own = indices - start
    foreign = (own < 0) | (own >= count)
    padding = values[3]
    if not count:
        return gradient.new_zeros((0, gradient.shape[-1]))
    kept = gradient.masked_fill(foreign.unsqueeze(-1), 0)
    inside = padding - start if start <= padding < start + count else -1
    return run([kept, own.masked_fill(foreign, 0), count, inside, *values[4:]])


@rule("embedding_dense_backward")
def _embedding_backward(call: Call) -> Iterable[Strategy]:
    gradient, indices = call.operands
    frequent = call.value("scale_grad_by_freq")
    yield call.strategy(Shard(1), {gradient.number: Shard(indices.dim())})
    if not frequent:
        for dim in range(indices.dim()):
            yield call.strategy(Partial(), {gradient.number: Shard(dim), indices.number: Shard(dim)})
    yield call.strategy(Partial(), {gradient.number: Partial()})
