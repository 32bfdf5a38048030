"""Dimensions counted from the end, and sizes that broadcast."""

from __future__ import annotations

from collections.abc import Sequence


def wrap_dim(dim: int, rank: int, wrap_scalar: bool = True) -> int:
    """Dimension ``dim`` of a tensor of ``rank`` dimensions, counted from the front. IndexError if there is none.

    A tensor without dimensions is taken for one of one, or refused without ``wrap_scalar``.
    """
    if rank == 0:
        if not wrap_scalar:
            raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
        rank = 1
    if not -rank <= dim < rank:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], but got {dim})")
    return dim % rank


def broadcast_sizes(first: Sequence[int], second: Sequence[int]) -> list[int]:
    """The sizes that two broadcast to; ones that do not fit are left for `expand` to refuse."""
    rank = max(len(first), len(second))
    one, other = ([1] * (rank - len(sizes)) + [*sizes] for sizes in (first, second))
    return [b if a == 1 else a for a, b in zip(one, other, strict=True)]
