"""Sharding rules of the family creation: new tensors like others."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ._call import Call, Strategy, rule
from ._shared import like
from .placements import Partial, Shard

rule("empty_like", "full_like", "ones_like", "zeros_like")(like)


def _local_size(run: Callable, values: list[Any], place: Any) -> Any:
    values = list(values)
    values[place.argument("size")] = place.result_shape(0)
    return run(values)


def _local_empty(run: Callable, values: list[Any], place: Any) -> Any:
    return values[0].new_empty(place.result_shape(0), dtype=values[place.argument("dtype")])


@rule("new_empty_strided")
def _new_strided(call: Call) -> Iterable[Strategy]:
    """As new_empty; the pieces are dense."""
    for each in _new(call):
        yield each._replace(local=_local_empty if each.local else None)


@rule("new_empty", "new_full", "new_ones", "new_zeros")
def _new(call: Call) -> Iterable[Strategy]:
    """A tensor of the size of the first lies like it; another one is whole."""
    if call.operands[0].shape == call.results[0].shape:
        for each in like(call):
            yield each._replace(local=_local_size)
    else:
        for dim in range(call.operands[0].dim()):
            yield call.strategy([None], {0: Shard(dim)})
        yield call.strategy([None], {0: Partial()})
