"""The stack of vmaps under way on this thread: a level for each, its size and what it does about random numbers."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from ... import _C

_BATCHED = _C._key_bit("Batched")


class Level(NamedTuple):
    """One vmap: ``randomness`` is "error", "different" or "same"."""

    number: int
    size: int
    randomness: str


class _State(threading.local):
    def __init__(self) -> None:
        self.stack: list[Level] = []
        self.set_aside: list[Level] = []


_state = _State()
_numbers = itertools.count(1)  # never used twice: what outlives its vmap cannot be taken for another one's


def active_levels() -> list[Level]:
    """The vmaps under way, outermost first."""
    return _state.stack


def current() -> Level:
    """The innermost vmap."""
    return _state.stack[-1]


def size_of(number: int) -> int:
    """How many slices the level has; raises RuntimeError for a tensor that outlived its vmap."""
    for level in (*_state.stack, *_state.set_aside):
        if level.number == number:
            return level.size
    raise RuntimeError("a tensor that vmap made is used after the end of its vmap: it stands for no single slice")


@contextmanager
def in_vmap(size: int, randomness: str) -> Iterator[Level]:
    """A level of its own for what runs inside."""
    level = Level(next(_numbers), size, randomness)
    include, exclude = _C._tls_keys()
    _state.stack.append(level)
    _C._set_tls_keys(include | _BATCHED, exclude & ~_BATCHED)
    _C._change_transforms(1)
    try:
        yield level
    finally:
        _C._change_transforms(-1)
        _C._set_tls_keys(include, exclude)
        _state.stack.pop()


@contextmanager
def in_place_of(level: Level) -> Iterator[Level]:
    """A level of its own, for what runs inside, in place of ``level`` and of those within it."""
    whole, before = _state.stack, _state.set_aside
    place = whole.index(level) if level in whole else len(whole)
    _state.stack, _state.set_aside = whole[:place], [*before, *whole[place:]]
    try:
        with in_vmap(level.size, level.randomness) as own:
            yield own
    finally:
        _state.stack, _state.set_aside = whole, before


@contextmanager
def outside_vmap() -> Iterator[None]:
    """No vmap asks about random numbers here."""
    include, exclude = _C._tls_keys()
    _C._set_tls_keys(include & ~_BATCHED, exclude)
    try:
        yield
    finally:
        _C._set_tls_keys(include, exclude)


@contextmanager
def past_vmaps(count: int) -> Iterator[None]:
    """That many vmaps are no transforms to what runs inside: it has single slices of theirs."""
    _C._change_transforms(-count)
    try:
        yield
    finally:
        _C._change_transforms(count)
