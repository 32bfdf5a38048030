"""Tensors with mapped dimensions: how vmap's levels are hidden and shown again.

A batched tensor hides leading dimensions of a plain one, its physical tensor: one for each vmap level that it is mapped
over, in ascending order of the levels. Operators see what is left, one slice's shape.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import Any

from ... import _C

parts = _C._batched_parts
_COMPRESSED = {_C.sparse_csr: "CSR", _C.sparse_csc: "CSC", _C.sparse_bsr: "BSR", _C.sparse_bsc: "BSC"}


def levels_of(x: Any) -> tuple[int, ...]:
    """The levels that ``x`` is mapped over, ascending; none for a plain tensor."""
    found = parts(x)
    return found[1] if found is not None else ()


def physical(x: Any) -> Any:
    """All of a tensor, mapped dimensions first."""
    found = parts(x)
    return x if found is None else found[0]


def wrap(tensor: Any, levels: tuple[int, ...]) -> Any:
    """``tensor`` with its leading dimensions hidden, one for each of ``levels``."""
    return _C._make_batched(tensor, levels) if levels else tensor


def hide(x: Any, dim: int, level: int) -> Any:
    """``x`` mapped over its dimension ``dim``, at a level that it is not mapped over yet; no compressed sparse tensor, as in PyTorch."""
    if x.layout in _COMPRESSED:
        raise RuntimeError(f"Sparse {_COMPRESSED[x.layout]} tensors do not have strides")
    tensor, levels = parts(x) or (x, ())
    place = bisect_left(levels, level)
    dim = dim % x.dim() + len(levels)
    if dim != place:
        tensor = tensor.movedim(dim, place)
    return wrap(tensor, (*levels[:place], level, *levels[place:]))


def show(x: Any, level: int, size: int) -> Any:
    """``x`` with the level's dimension as its first one; repeated there if ``x`` is not mapped over the level."""
    tensor, levels = parts(x) or (x, ())
    if level not in levels:
        return x.unsqueeze(0).expand(size, *x.shape)
    place, rest = levels.index(level), tuple(other for other in levels if other != level)
    if place != len(rest):
        tensor = tensor.movedim(place, len(rest))
    return wrap(tensor, rest)


def show_all(x: Any, levels: tuple[int, ...], sizes: Any) -> Any:
    """``x`` with the dimensions of ``levels`` as its first ones, in that order; ``sizes`` gives those it is not mapped over."""
    for level, size in zip(reversed(levels), reversed(tuple(sizes)), strict=True):
        x = show(x, level, size)
    return x


def hide_all(x: Any, levels: tuple[int, ...]) -> Any:
    """``x`` mapped over its first dimensions, one for each of ``levels``."""
    for level in levels:
        x = hide(x, 0, level)
    return x
