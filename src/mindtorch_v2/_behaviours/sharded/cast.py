"""Sharding rules of the family cast: what is written over."""

from __future__ import annotations

from collections.abc import Iterable

from ._call import Call, Strategy, rule
from ._shared import pointwise
from .placements import Partial, Shard

rule("copy_", "fill_.Tensor")(pointwise)


@rule("fill_.Scalar", "zero_")
def _written(call: Call) -> Iterable[Strategy]:
    """Nothing is read: each rank fills what it has. The sum of zeros is zero."""
    for dim in range(call.operands[0].dim()):
        yield call.strategy(Shard(dim), {0: Shard(dim)})
    if call.op.name == "zero_":
        yield call.strategy(Partial(), {0: Partial()})
