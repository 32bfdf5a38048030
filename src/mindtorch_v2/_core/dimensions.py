"""Dimensions counted from the end."""

from __future__ import annotations


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
