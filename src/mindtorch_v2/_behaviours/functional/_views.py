"""Views of functional tensors: made again after a write to what they show, and undone for a write to them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ... import _C
from ..._operators.table import aten


class View:
    """One call of a view operator."""

    __slots__ = ("args", "kwargs", "op")

    def __init__(self, op: Any, args: tuple, kwargs: dict) -> None:
        self.op = op
        self.args = args
        self.kwargs = kwargs

    def forward(self, value: Any, reapply: bool) -> Any:
        """The view of ``value``; with ``reapply`` false a copy of it."""
        if reapply:
            return self.op(value, *self.args, **self.kwargs)
        return _copied(self.op, value, self.args, self.kwargs)

    def inverse(self, before: Any, after: Any, index: int | None, reapply: bool) -> Any:
        """The value that ``before`` must have for its view (number ``index`` of several) to be ``after``."""
        found = _INVERSES.get(self.op.name) if self.op.namespace == "aten" else None
        if found is None:
            return _by_position(self, before, after, index)
        bound = dict(zip((a["name"] for a in self.op.arguments[1:]), self.args, strict=False)) | self.kwargs
        defaults = {a["name"]: a["default"] for a in self.op.arguments[1:]}
        return found(before, after, part=index, reapply=reapply, **(defaults | bound))


class Step(NamedTuple):
    """A view, or one of the views that an operator makes at once."""

    view: View
    index: int | None  # type: ignore[assignment]  # (a tuple's method has that name)

    def forward(self, value: Any, reapply: bool) -> Any:
        return self.part(self.view.forward(value, reapply))

    def part(self, made: Any) -> Any:
        """Of the results of the view's operator the one that this step leads to."""
        return made if self.index is None else made[self.index]

    def inverse(self, before: Any, after: Any, reapply: bool) -> Any:
        return self.view.inverse(before, after, self.index, reapply)


def _row_major(x: Any) -> Any:
    return x if x.is_contiguous() else aten.clone(x, memory_format=_C.contiguous_format)


def _copied(op: Any, value: Any, args: tuple, kwargs: dict) -> Any:
    if op.namespace == "aten":
        copy = _C._find_operator(f"aten::{op.name}_copy", op.overload)
        if copy is not None:
            return copy(value, *args, **kwargs)
    made = op(value, *args, **kwargs)
    return [_copy(x) for x in made] if isinstance(made, (list, tuple)) else _copy(made)


def _copy(x: Any) -> Any:
    return aten.clone(x, memory_format=_C.contiguous_format)


# ---- inverses: (before, after, part: which of several views, reapply, arguments of the view) -> new `before` ----

_INVERSES: dict[str, Callable] = {}


def _inverse(*names: str) -> Callable[[Callable], Callable]:
    def register(made: Callable) -> Callable:
        _INVERSES.update(dict.fromkeys(names, made))
        return made

    return register


@_inverse("alias", "detach", "lift_fresh")
def _same(before: Any, after: Any, **_: Any) -> Any:
    return after


@_inverse("view", "_reshape_alias", "squeeze")
def _other_sizes(before: Any, after: Any, reapply: bool, dtype: Any = None, **_: Any) -> Any:
    after = _row_major(after)
    if dtype is not None:
        return (aten.view if reapply else aten.view_copy)(after, before.dtype)
    return (aten.view if reapply else aten.view_copy)(after, tuple(before.shape))


@_inverse("expand")
def _expand(before: Any, after: Any, reapply: bool, **_: Any) -> Any:
    # Elements that several places show are written by none: the eager write is an error.
    lead = after.dim() - before.dim()
    for d in range(after.dim()):
        if after.shape[d] != 1 and (d < lead or before.shape[d - lead] == 1):
            after = aten.narrow(after, d, 0, 1)
    return _other_sizes(before, after, reapply)


@_inverse("unsqueeze")
def _unsqueeze(before: Any, after: Any, reapply: bool, dim: int, **_: Any) -> Any:
    return (aten.squeeze if reapply else aten.squeeze_copy)(after, dim)


@_inverse("t")
def _t(before: Any, after: Any, reapply: bool, **_: Any) -> Any:
    return (aten.t if reapply else aten.t_copy)(after)


@_inverse("transpose")
def _transpose(before: Any, after: Any, reapply: bool, dim0: int, dim1: int, **_: Any) -> Any:
    return (aten.transpose if reapply else aten.transpose_copy)(after, dim0, dim1)


@_inverse("permute")
def _permute(before: Any, after: Any, reapply: bool, dims: Any, **_: Any) -> Any:
    back = [0] * len(dims)
    for i, d in enumerate(dims):
        back[d % len(dims)] = i
    return (aten.permute if reapply else aten.permute_copy)(after, back)


@_inverse("select")
def _select(before: Any, after: Any, dim: int, index: Any, **_: Any) -> Any:
    return aten.select_scatter(before, after, dim, index)


@_inverse("slice")
def _slice(before: Any, after: Any, dim: int, start: Any, end: Any, step: int, **_: Any) -> Any:
    return aten.slice_scatter(before, after, dim, start, end, step)


@_inverse("narrow")
def _narrow(before: Any, after: Any, dim: int, start: int, length: int, **_: Any) -> Any:
    start = start + before.shape[dim] if start < 0 else start
    return aten.slice_scatter(before, after, dim, start, start + length, 1)


@_inverse("split")
def _split(before: Any, after: Any, part: int, split_size: int, dim: int, **_: Any) -> Any:
    start = part * split_size
    return aten.slice_scatter(before, after, dim, start, start + after.shape[dim], 1)


@_inverse("split_with_sizes")
def _split_with_sizes(before: Any, after: Any, part: int, split_sizes: Any, dim: int, **_: Any) -> Any:
    start = sum(split_sizes[:part])
    return aten.slice_scatter(before, after, dim, start, start + split_sizes[part], 1)


@_inverse("unbind")
def _unbind(before: Any, after: Any, part: int, dim: int, **_: Any) -> Any:
    return aten.select_scatter(before, after, dim, part)


@_inverse("diagonal")
def _diagonal(before: Any, after: Any, offset: int, dim1: int, dim2: int, **_: Any) -> Any:
    return aten.diagonal_scatter(before, after, offset, dim1, dim2)


@_inverse("as_strided")
def _as_strided(before: Any, after: Any, size: Any, stride: Any, storage_offset: Any, **_: Any) -> Any:
    return aten.as_strided_scatter(before, after, size, stride, storage_offset)


@_inverse("view_as_real")
def _view_as_real(before: Any, after: Any, **_: Any) -> Any:
    return aten.view_as_complex(_row_major(after))


@_inverse("view_as_complex")
def _view_as_complex(before: Any, after: Any, **_: Any) -> Any:
    return aten.view_as_real(after)


@_inverse("imag")
def _imag(before: Any, after: Any, **_: Any) -> Any:
    return aten.complex(aten.real(before), after)


def _by_position(view: View, before: Any, after: Any, index: Any) -> Any:
    """A view that is known only by what it shows: the places of a row-major tensor's elements say which they are."""
    if after.dtype != before.dtype:
        raise NotImplementedError(
            f"functionalization: a write through a view made by {view.op.namespace}::{view.op.name}, which shows "
            f"{before.dtype} as {after.dtype}, cannot be undone. Register a kernel for the key Functionalize"
        )
    base = _row_major(before)
    base = aten.clone(base) if base.storage_offset() else base
    shown = view.op(base, *view.args, **view.kwargs)
    shown = shown if index is None else shown[index]
    return aten.as_strided_scatter(base, after, tuple(shown.shape), shown.stride(), shown.storage_offset())
