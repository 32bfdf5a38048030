"""Rules that many rows share: element by element, along dimensions, reductions, stacks of matrices."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ..._operators.table.rows import facts_of
from ._call import Call, Operand, Strategy, linear_in, shared
from .placements import NormPartial, Partial, Placement, Shard, chunk_bounds


def _in_order(call: Call, names: Iterable[str]) -> list[Operand]:
    """The operands among the arguments of these names."""
    found: list[Operand] = []
    for name in names:
        value = call.value(name)
        found += [each for each in (value if isinstance(value, list | tuple) else [value]) if isinstance(each, Operand)]
    return found


def linear(call: Call) -> Iterable[Strategy]:
    """Strategies that follow from what the row says of linearity; views are linear in their first argument."""
    facts = facts_of(call.op)
    names = facts.linear or ((_first_name(call),) if call.op.is_view else ())
    yield from linear_in(call, [group for group in [_in_order(call, names)] if group])
    yield from linear_in(call, [[each] for each in _in_order(call, facts.multilinear)])


def _first_name(call: Call) -> str:
    return call.op.arguments[0]["name"]


@shared("pointwise")
def pointwise(call: Call) -> Iterable[Strategy]:
    """Tensors are cut alike; those that are broadcast along the dimension stay whole."""
    shape = call.results[0].shape if call.results else ()
    for dim in range(len(shape)):
        inputs: dict[int, Placement] = {}
        for each in call.operands:
            own = dim - len(shape) + each.dim()
            if own >= 0 and each.shape[own] == shape[dim]:
                inputs[each.number] = Shard(own)
        if inputs:
            yield call.strategy(Shard(dim), inputs)
    yield from linear(call)


@shared("like")
def like(call: Call) -> Iterable[Strategy]:
    """A new tensor of the size of the first; its values do not come from there, so that sums need not be made."""
    (first, *_) = call.operands
    for dim in range(first.dim()):
        yield call.strategy(Shard(dim), {first.number: Shard(dim)})
    for kind in ("sum", "avg", "max", "min", "product"):
        yield call.strategy([None], {first.number: Partial(kind)})


def dims_named(call: Call, rank: int) -> set[int]:
    """The dimensions that the call's arguments name; all of them where it says none."""
    given: Any = None
    for name in ("dim", "dims", "dimension"):
        if call.has(name):
            given = call.value(name)
    named = given if isinstance(given, list | tuple) else [] if given is None else [given]
    return {each % rank if rank else 0 for each in named} or set(range(rank))


@shared("along")
def along(call: Call) -> Iterable[Strategy]:
    """Works along dimensions that its arguments name; tensors are cut along the others, all alike."""
    rank = call.operands[0].dim()
    used = dims_named(call, rank)
    for dim in range(rank):
        if dim in used or any(each.dim() != rank for each in (*call.operands, *call.results)):
            continue
        if len({each.shape[dim] for each in (*call.operands, *call.results)}) == 1:
            yield call.strategy(Shard(dim), {each.number: Shard(dim) for each in call.operands})
    yield from linear(call)


def _combines(call: Call, operand: Operand, dim: int, made: Partial) -> bool:
    """Whether the results of pieces can be combined: averages only of equally long ones, extremes of none that is empty."""
    if made.reduce_op == "avg":
        return call.divides(operand, dim)
    parts = call.parts(operand, dim)
    return made.reduce_op == "sum" or chunk_bounds(operand.shape[dim], parts, parts - 1)[1] > 0


@shared("reduction")
def reduction(call: Call) -> Iterable[Strategy]:
    """Take dimensions away; cut along the others."""
    return reduced(call, None)


def reduced(call: Call, made: Partial | None) -> Iterable[Strategy]:
    """Take dimensions away. Cut along one of these, the results are combined from those of pieces, if `made` says how."""
    (first, *more) = call.operands
    gone = dims_named(call, first.dim())
    keep = bool(call.value("keepdim", False))
    if call.results[0].dim() != first.dim() - (0 if keep else len(gone)):  # it reduces other dimensions than it names
        return
    for dim in range(first.dim()):
        if dim not in gone and not more:
            place = dim if keep else dim - sum(each < dim for each in gone)
            yield call.strategy(Shard(place), {first.number: Shard(dim)})
        elif made is not None and dim in gone and len(call.results) == 1 and _combines(call, first, dim, made):
            yield call.strategy(made, {first.number: Shard(dim)})
    yield from linear(call)


def _made_of(kind: str) -> Callable[[Call], Iterable[Strategy]]:
    return lambda call: reduced(call, Partial(kind))


for _kind in ("sum", "avg", "product", "max", "min"):
    shared(_kind)(_made_of(_kind))


@shared("norm")
def norm(call: Call) -> Iterable[Strategy]:
    """A norm of norms: the powers are summed, or extremes taken."""
    order = float(call.value("ord"))
    kind = {float("inf"): "max", float("-inf"): "min"}.get(order, "sum")
    return reduced(call, NormPartial(kind, order))


@shared("stack")
def stack(call: Call) -> Iterable[Strategy]:
    """Take stacks of matrices, and give as many results: cut along the dimensions of the stack."""
    rank = call.operands[0].dim()
    for dim in range(rank - 2):
        size = call.operands[0].shape[dim]
        if all(dim < each.dim() and each.shape[dim] == size for each in (*call.operands, *call.results)):
            yield call.strategy(Shard(dim), {each.number: Shard(dim) for each in call.operands})


@shared("planes")
def planes(call: Call) -> Iterable[Strategy]:
    """Do the same to each item of the first dimension."""
    size = call.operands[0].shape[0] if call.operands[0].dim() else 0
    if call.has("input_size") or not size:
        return
    if all(each.dim() and each.shape[0] == size for each in (*call.operands, *call.results)):
        yield call.strategy(Shard(0), {each.number: Shard(0) for each in call.operands})
