"""Sharding rules of the family conv: items of the batch, and output channels."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ._call import Call, Operand, Strategy, rule
from .placements import Partial, Placement, Shard


@rule("convolution")
def _convolution(call: Call) -> Iterable[Strategy]:
    x, weight, bias = call.values[:3]
    if x.dim() != weight.dim():
        return
    if call.divides(x, 0):
        yield call.strategy(Shard(0), {x.number: Shard(0)})
    if call.value("groups") == 1 and not call.value("transposed"):
        inputs: dict[int, Placement] = {weight.number: Shard(0)}
        if bias is not None:
            inputs[bias.number] = Shard(0)
        yield call.strategy(Shard(1), inputs)


@rule("convolution_backward")
def _convolution_backward(call: Call) -> Iterable[Strategy]:
    gradient, x, weight = (each for each in call.values[:3])
    mask = call.value("output_mask")

    def wanted(*placements: Placement) -> list[Placement]:
        return [each for each, asked in zip(placements, mask, strict=True) if asked]

    if call.divides(x, 0):
        yield call.strategy(wanted(Shard(0), Partial(), Partial()), {gradient.number: Shard(0), x.number: Shard(0)})
    if call.value("groups") == 1 and not call.value("transposed") and isinstance(weight, Operand):
        yield call.strategy(
            wanted(Partial(), Shard(0), Shard(0)), {gradient.number: Shard(1), weight.number: Shard(0)}, _own_bias
        )


def _own_bias(run: Callable, values: list[Any], place: Any) -> Any:
    values = list(values)
    if values[3] is not None:
        values[3] = [values[0].shape[1]]
    return run(values)
