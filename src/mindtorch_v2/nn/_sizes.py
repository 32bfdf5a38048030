"""Sizes: one for each dimension from one for all, and their orders."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import repeat


def _ntuple(n, name="parse"):
    """Return a function that makes a tuple of a sequence and `n` copies of anything else."""

    def parse(x: float | Sequence[float]) -> tuple:
        if isinstance(x, Iterable):
            return tuple(x)
        return tuple(repeat(x, n))

    parse.__name__ = name
    return parse


_single = _ntuple(1, "_single")
_pair = _ntuple(2, "_pair")
_triple = _ntuple(3, "_triple")
_quadruple = _ntuple(4, "_quadruple")


def _reverse_repeat_tuple(t, n) -> tuple:
    """`t` in reverse order, each element `n` times: the order in which `pad` takes paddings."""
    return tuple(x for x in reversed(t) for _ in range(n))


def _list_with_default(out_size, defaults):
    """`out_size` with None replaced by the last entries of `defaults`; an int stands for itself."""
    if isinstance(out_size, int):
        return out_size
    if len(defaults) <= len(out_size):
        raise ValueError(f"Input dimension should be at least {len(out_size) + 1}")
    return [v if v is not None else d for v, d in zip(out_size, defaults[len(defaults) - len(out_size) :], strict=True)]
