"""Sharding rules of the family loss: items of the batch; means divide by what all ranks count."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ._call import Call, Operand, Strategy, rule
from ._shared import pointwise
from .placements import Partial, Placement, Shard

_NONE, _MEAN, _SUM = 0, 1, 2


@rule("mse_loss", "smooth_l1_loss", "huber_loss", "binary_cross_entropy")
def _of_pairs(call: Call) -> Iterable[Strategy]:
    kind = call.value("reduction")
    if kind == _NONE:
        yield from (each for each in pointwise(call) if isinstance(each.outputs[0], Shard))
        return
    (first, *_) = call.operands
    if any(each.shape != first.shape for each in call.operands):
        return
    for dim in range(first.dim()):
        if kind == _SUM or call.divides(first, dim):
            made = Partial("sum" if kind == _SUM else "avg")
            yield call.strategy(made, {each.number: Shard(dim) for each in call.operands})


def _counted(run: Callable, values: list[Any], place: Any) -> Any:
    """The mean as this rank's part of it: its sum, divided by what all ranks count."""
    values = list(values)
    values[place.argument("reduction")] = _SUM
    loss, *between, total = run(values)
    total = place.all_reduce(total)
    return loss / total, *between, total


@rule("nll_loss_forward", "_cross_entropy")
def _likelihood(call: Call) -> Iterable[Strategy]:
    x, target = call.value("self"), call.value("target")
    if x.dim() != 2 or target.dim() != 1:
        return
    kind = call.value("reduction")
    inputs: dict[int, Placement] = {x.number: Shard(0), target.number: Shard(0)}
    statistics = [Shard(1)] * (len(call.results) - 2)  # of two rows: largest scores, logarithms of sums
    if kind == _NONE:
        yield call.strategy([Shard(0), *statistics, Partial()], inputs)
    elif kind == _SUM:
        yield call.strategy([Partial(), *statistics, Partial()], inputs)
    else:
        yield call.strategy([Partial(), *statistics, None], inputs, _counted)
    if statistics and call.value("weight") is None and not call.value("label_smoothing"):
        yield call.strategy([None, None, None], {x.number: Shard(1)}, _over_classes)


def _own_classes(x: Any, target: Any, ignored: int, start: int) -> tuple[Any, Any, Any]:
    """(places of the targets in this rank's classes, whether each is there, whether each counts)."""
    counts = target != ignored
    own = target - start
    here = counts & (own >= 0) & (own < x.shape[1])
    return own.masked_fill(~here, 0), here, counts


def _rows(most: Any, total: Any) -> Any:
    made = most.new_empty((2, *most.shape))
    made[0].copy_(most)
    made[1].copy_(total)
    return made


def _over_classes(run: Callable, values: list[Any], place: Any) -> Any:
    """The loss of scores of which each rank has those of some classes."""
    x, target, _, reduction, ignored, _ = values
    wide = x.float() if x.dtype.itemsize < 4 else x
    own, here, counts = _own_classes(x, target, ignored, place.offset(0, 1))
    most = place.all_reduce(wide.amax(1) if x.shape[1] else wide.new_full(target.shape, float("-inf")), "max")
    total = place.all_reduce((wide - most.unsqueeze(1)).exp().sum(1)).log()
    hit = wide.gather(1, own.unsqueeze(1)).squeeze(1) if x.shape[1] else most
    score = place.all_reduce(hit.masked_fill(~here, 0))
    loss = (total + most - score).masked_fill(~counts, 0)
    count = counts.sum().to(wide.dtype)
    if reduction != _NONE:
        loss = loss.sum() / count if reduction == _MEAN else loss.sum()
    return loss.to(x.dtype), _rows(most, total), count


@rule("nll_loss_backward", "_cross_entropy_backward")
def _likelihood_backward(call: Call) -> Iterable[Strategy]:
    x: Operand = call.value("self")
    if x.dim() != 2:
        return
    inputs: dict[int, Placement] = {}
    for name in ("self", "target", "statistics"):
        if isinstance(each := call.value(name), Operand) and each.dim():
            inputs[each.number] = Shard(1) if name == "statistics" else Shard(0)
    gradient = call.value("grad_output")
    if gradient.dim():
        inputs[gradient.number] = Shard(0)
    yield call.strategy(Shard(0), inputs)
    if call.op.name == "_cross_entropy_backward" and call.value("weight") is None and not call.value("label_smoothing"):
        yield call.strategy(Shard(1), {x.number: Shard(1)}, _slope_over_classes)


def _slope_over_classes(run: Callable, values: list[Any], place: Any) -> Any:
    gradient, x, target, _, reduction, ignored, _, statistics, total = values
    own, here, counts = _own_classes(x, target, ignored, place.offset(1, 1))
    slope = (x.to(statistics.dtype) - statistics[0].unsqueeze(1) - statistics[1].unsqueeze(1)).exp()
    if x.shape[1]:
        slope.scatter_add_(1, own.unsqueeze(1), -here.to(slope.dtype).unsqueeze(1))
    factor = counts.to(slope.dtype) * (gradient / total if reduction == _MEAN else gradient)
    return (slope * factor.unsqueeze(1)).to(x.dtype)
