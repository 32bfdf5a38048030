"""Sharding rules of the family join."""

from __future__ import annotations

from collections.abc import Iterable

from ._call import Call, Strategy, rule
from ._shared import linear
from .placements import Shard


@rule("cat")
def _cat(call: Call) -> Iterable[Strategy]:
    rank = call.results[0].dim()
    along = call.value("dim") % rank if rank else 0
    if any(each.dim() != rank for each in call.operands):  # an empty tensor of one dimension is left out
        return
    for dim in range(rank):
        if dim != along:
            yield call.strategy(Shard(dim), {each.number: Shard(dim) for each in call.operands})
    yield from linear(call)


@rule("stack")
def _stack(call: Call) -> Iterable[Strategy]:
    rank = call.results[0].dim()
    new = call.value("dim") % rank
    for dim in range(rank - 1):
        yield call.strategy(Shard(dim + (dim >= new)), {each.number: Shard(dim) for each in call.operands})
    yield from linear(call)
