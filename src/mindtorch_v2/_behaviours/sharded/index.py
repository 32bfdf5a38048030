"""Sharding rules of the family index."""

from __future__ import annotations

from collections.abc import Iterable

from ._call import Call, Operand, Strategy, rule
from ._shared import along, linear
from .placements import Placement, Shard


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
