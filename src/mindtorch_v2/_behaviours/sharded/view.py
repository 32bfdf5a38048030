"""Sharding rules of the family view: where dimensions of the tensor are found in the result."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ._call import Call, Operand, Strategy, rule
from ._shared import linear
from .placements import Shard


def moved(call: Call, places: dict[int, int], local: Callable | None = None) -> Iterable[Strategy]:
    """Strategies where each dimension of the first operand in `places` is found in all results at the place given."""
    (first, *_) = call.operands
    for dim, place in places.items():
        yield call.strategy(Shard(place), {first.number: Shard(dim)}, local)
    yield from (each._replace(local=local) for each in linear(call))


def _sized(name: str) -> Callable[..., Any]:
    """Run the operator with the size of this rank's result in the argument of that name."""

    def local(run: Callable, values: list[Any], place: Any) -> Any:
        values = list(values)
        values[place.argument(name)] = place.result_shape(0)
        return run(values)

    return local


_LOCAL_SIZE = _sized("size")


def groups(old: Sequence[int], new: Sequence[int]) -> list[tuple[list[int], list[int]]]:
    """The dimensions of a tensor and of its view that hold the same elements, in the shortest runs."""
    found = []
    i = j = 0
    while i < len(old) or j < len(new):
        mine, theirs = [i] if i < len(old) else [], [j] if j < len(new) else []
        a = old[i] if mine else 1
        b = new[j] if theirs else 1
        i, j = i + len(mine), j + len(theirs)
        while a != b:
            if a < b:
                a, i = a * old[i], i + 1
                mine.append(i - 1)
            else:
                b, j = b * new[j], j + 1
                theirs.append(j - 1)
        found.append((mine, theirs))
    return found


def _viewed(call: Call, first: Operand, shape: Sequence[int]) -> dict[int, int]:
    """Which dimension of the tensor, cut, is which dimension of its view, cut."""
    places = {}
    if 0 in first.shape or 0 in shape:
        return {}
    for mine, theirs in groups(first.shape, shape):
        mine = [dim for dim in mine if first.shape[dim] != 1]
        theirs = [dim for dim in theirs if shape[dim] != 1]
        if not mine or not theirs:
            continue
        dim, place = mine[0], theirs[0]  # the outermost is cut into runs of elements
        if len(mine) == len(theirs) == 1:
            places[dim] = place
        elif call.divides(first, dim) and shape[place] % call.parts(first, dim) == 0:
            places[dim] = place
    return places


@rule("view", "_unsafe_view", "_reshape_alias")
def _view(call: Call) -> Iterable[Strategy]:
    (first,) = call.operands
    local = _LOCAL_SIZE if call.op.name != "_reshape_alias" else _realias
    return moved(call, _viewed(call, first, call.results[0].shape), local)


def _realias(run: Callable, values: list[Any], place: Any) -> Any:
    return values[0].reshape(place.result_shape(0))


@rule("expand")
def _expand(call: Call) -> Iterable[Strategy]:
    (first,) = call.operands
    (result,) = call.results
    added = result.dim() - first.dim()
    kept = {dim: dim + added for dim in range(first.dim()) if first.shape[dim] == result.shape[dim + added]}
    yield from moved(call, kept, _LOCAL_SIZE)


@rule("permute")
def _permute(call: Call) -> Iterable[Strategy]:
    rank = call.operands[0].dim()
    return moved(call, {dim % rank: place for place, dim in enumerate(call.value("dims"))})


@rule("transpose.int", "t")
def _transpose(call: Call) -> Iterable[Strategy]:
    rank = call.operands[0].dim()
    if rank < 2:
        return moved(call, {dim: dim for dim in range(rank)})
    one, other = (0, 1) if call.op.name == "t" else (each % rank for each in call.values[1:])
    return moved(call, {dim: {one: other, other: one}.get(dim, dim) for dim in range(rank)})


@rule("unsqueeze")
def _unsqueeze(call: Call) -> Iterable[Strategy]:
    rank = call.operands[0].dim()
    new = call.value("dim") % (rank + 1)
    return moved(call, {dim: dim + (dim >= new) for dim in range(rank)})


@rule("squeeze", "squeeze.dim", "squeeze.dims")
def _squeeze(call: Call) -> Iterable[Strategy]:
    (first,) = call.operands
    rank = first.dim()
    given = call.value("dim", range(rank))
    named = {each % rank if rank else 0 for each in (given if isinstance(given, list | tuple | range) else [given])}
    gone = [dim for dim in named if rank and first.shape[dim] == 1]
    kept = [dim for dim in range(rank) if dim not in gone]

    def local(run: Callable, values: list[Any], place: Any) -> Any:  # pieces of size one stay dimensions
        return values[0].squeeze(gone)

    return moved(call, {dim: place for place, dim in enumerate(kept)}, local)


@rule("select.int", "unbind.int")
def _select(call: Call) -> Iterable[Strategy]:
    rank = call.operands[0].dim()
    gone = call.value("dim") % rank
    return moved(call, {dim: dim - (dim > gone) for dim in range(rank) if dim != gone})


@rule("diagonal")
def _diagonal(call: Call) -> Iterable[Strategy]:
    rank = call.operands[0].dim()
    used = {call.value("dim1") % rank, call.value("dim2") % rank}
    kept = [dim for dim in range(rank) if dim not in used]
    return moved(call, {dim: place for place, dim in enumerate(kept)})


@rule("unfold")
def _unfold(call: Call) -> Iterable[Strategy]:
    rank = call.operands[0].dim()
    return moved(call, {dim: dim for dim in range(rank) if dim != call.value("dimension") % rank})


@rule("view_as_real", "view_as_complex")
def _complex(call: Call) -> Iterable[Strategy]:
    rank = min(call.operands[0].dim(), call.results[0].dim())
    return moved(call, {dim: dim for dim in range(rank)})


def _sizes_of_input(run: Callable, values: list[Any], place: Any) -> Any:
    values = list(values)
    values[place.argument("input_sizes")] = place.result_shape(0)
    return run(values)


@rule("slice_backward", "select_backward", "diagonal_backward", "unfold_backward")
def _backward(call: Call) -> Iterable[Strategy]:
    """The gradient of a part: cut along the dimensions that were not touched."""
    (first,) = call.operands
    rank = len(call.value("input_sizes"))
    name = call.op.name
    if name == "diagonal_backward":
        used = [call.value("dim1") % rank, call.value("dim2") % rank]
    else:
        used = [call.value("dim") % rank]
    kept = [dim for dim in range(rank) if dim not in used]
    own = kept if name in ("slice_backward", "unfold_backward") else list(range(len(kept)))
    return moved(call, dict(zip(own, kept, strict=True)), _sizes_of_input)
