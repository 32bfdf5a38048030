"""Sharding rules of the families index and embedding."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ._call import Call, Operand, Strategy, rule
from ._shared import along, linear
from .placements import Partial, Placement, Shard


@rule("index_select")
def _index_select(call: Call) -> Iterable[Strategy]:
    x, index = call.operands
    along = call.value("dim") % x.dim() if x.dim() else 0
    for dim in range(x.dim()):
        if dim != along:
            yield call.strategy(Shard(dim), {x.number: Shard(dim)})
    if index.dim() and x.dim():
        yield call.strategy(Shard(along), {index.number: Shard(0)})
    yield from linear(call)


@rule("gather")
def _gather(call: Call) -> Iterable[Strategy]:
    """Each place along `dim` takes from its own row: cut along the others, all alike; or along it, as the indices are."""
    yield from along(call)
    x, index = call.operands
    dim = call.value("dim") % x.dim() if x.dim() else 0
    if x.dim() and all(x.shape[other] == index.shape[other] for other in range(x.dim()) if other != dim):
        yield call.strategy(Shard(dim), {index.number: Shard(dim)})


@rule("index.Tensor", "_unsafe_index.Tensor")
def _index(call: Call) -> Iterable[Strategy]:
    """Dimensions that nobody indexes are cut; and the indices' own."""
    x = call.operands[0]
    given = call.value("indices")
    places = [dim for dim, each in enumerate(given) if isinstance(each, Operand)]
    indices = [each for each in given if isinstance(each, Operand)]
    if not places or any("bool" in str(each.dtype) or "uint8" in str(each.dtype) for each in indices):
        return
    rank = max(each.dim() for each in indices)
    together = places == list(range(places[0], places[-1] + 1))
    start = places[0] if together else 0
    for dim in range(x.dim()):
        if dim not in places:
            before = sum(each < dim for each in places)
            moved = dim - before + (rank if not together or dim > places[0] else 0)
            yield call.strategy(Shard(moved), {x.number: Shard(dim)})
    size = [
        max(each.shape[i - rank + each.dim()] if i >= rank - each.dim() else 1 for each in indices) for i in range(rank)
    ]
    for dim in range(rank):
        inputs: dict[int, Placement] = {}
        for each in indices:
            own = dim - rank + each.dim()
            if own >= 0 and each.shape[own] == size[dim] != 1:
                inputs[each.number] = Shard(own)
        if inputs:
            yield call.strategy(Shard(start + dim), inputs)
    yield from linear(call)


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
