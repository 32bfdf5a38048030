"""Sharding rules of the family norm: what is not normalised over is cut; gradients of weights are sums over it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ._call import Call, Operand, Strategy, rule
from .placements import Partial, Placement, Replicate, Shard


def _leading(call: Call, backward: bool) -> Iterable[Strategy]:
    x: Operand = call.value("input")
    kept = x.dim() - len(call.value("normalized_shape"))
    affine = {each.number for name in ("weight", "bias") if isinstance(each := call.value(name), Operand)}
    for dim in range(kept):
        inputs: dict[int, Placement] = {each.number: Shard(dim) for each in call.operands if each.number not in affine}
        outputs = [Shard(dim) if each.dim() == x.dim() else Partial() for each in call.results]
        yield call.strategy(outputs if backward else Shard(dim), inputs)


@rule("native_layer_norm", "_fused_rms_norm")
def _layer_norm(call: Call) -> Iterable[Strategy]:
    return _leading(call, False)


@rule("native_layer_norm_backward", "_fused_rms_norm_backward")
def _layer_norm_backward(call: Call) -> Iterable[Strategy]:
    return _leading(call, True)


def _items(run: Callable, values: list[Any], place: Any) -> Any:
    values = list(values)
    values[place.argument("N")] = values[place.argument("input")].shape[0]
    return run(values)


def _of_batch(call: Call, outputs: list[Placement | None]) -> Iterable[Strategy]:
    whole = [each.number for name in ("weight", "bias") if isinstance(each := call.value(name), Operand)]
    inputs: dict[int, Placement] = {each.number: Shard(0) for each in call.operands if each.number not in whole}
    yield call.strategy(outputs, inputs, _items)


@rule("native_group_norm")
def _group_norm(call: Call) -> Iterable[Strategy]:
    return _of_batch(call, [Shard(0)] * len(call.results))


@rule("native_group_norm_backward")
def _group_norm_backward(call: Call) -> Iterable[Strategy]:
    rank = call.value("input").dim()
    return _of_batch(call, [Shard(0) if each.dim() == rank else Partial() for each in call.results])


@rule(
    "native_batch_norm",
    "_native_batch_norm_legit",
    "_native_batch_norm_legit_no_training",
    "native_batch_norm_backward",
)
def _batch_norm(call: Call) -> Iterable[Strategy]:
    """Channels are normalised each for itself; without statistics of the batch its items are, too."""
    x: Operand = call.value("input")

    def channels(each: Operand) -> Placement:
        return Shard(1) if each.dim() == x.dim() else Shard(0) if each.dim() == 1 and each.shape[0] else Replicate()

    yield call.strategy(
        [channels(each) for each in call.results], {each.number: channels(each) for each in call.operands}
    )
    if call.op.name == "_native_batch_norm_legit_no_training":
        yield call.strategy(
            [Shard(0) if each.dim() == x.dim() else None for each in call.results], {x.number: Shard(0)}
        )
