"""Names of `torch._C._functorch`: what test suites and operators of higher order ask of mapped tensors and transforms."""

from __future__ import annotations

import enum
from typing import Any

from ..._core.autograd import batched
from . import _levels

__all__ = ["NAMES"]


class TransformType(enum.Enum):
    """The kinds of transforms of `torch.func`."""

    Torch = 0
    Vmap = 1
    Grad = 2
    Jvp = 3
    Functionalize = 4


class RandomnessType(enum.Enum):
    """Behaviour of a vmap about random numbers."""

    Error = 0
    Same = 1
    Different = 2


def is_batchedtensor(tensor: Any) -> bool:
    """Whether a tensor is mapped over by a vmap."""
    return bool(batched.levels_of(tensor))


def is_legacy_batchedtensor(tensor: Any) -> bool:
    """Whether a tensor is mapped over by the first vmap's own kind: no, both vmaps are one here."""
    return False


def maybe_get_level(tensor: Any) -> int:
    """The innermost level that a tensor is mapped over; -1 for none."""
    levels = batched.levels_of(tensor)
    return levels[-1] if levels else -1


def maybe_get_bdim(tensor: Any) -> int:
    """The dimension of `get_unwrapped(tensor)` that the innermost level hides; -1 for none."""
    return 0 if batched.levels_of(tensor) else -1


def get_unwrapped(tensor: Any) -> Any:
    """A tensor with the dimension that its innermost level hides, as its first one; RuntimeError for a plain one."""
    levels = batched.levels_of(tensor)
    if not levels:
        raise RuntimeError("get_unwrapped: no wrapped tensor")
    return batched.show(tensor, levels[-1], _levels.size_of(levels[-1]))


def _add_batch_dim(tensor: Any, dim: int, level: int) -> Any:
    return batched.hide(tensor, dim, level)


def _remove_batch_dim(tensor: Any, level: int, size: int, dim: int) -> Any:
    return batched.show(tensor, level, size).movedim(0, dim)


def reshape_dim_into(source: int, target: int, x: Any) -> Any:
    """A tensor with its dimension `source` moved before the dimension `target` and joined with it."""
    source, moved = source % x.dim(), x.movedim(source, 0)
    target = target % (x.dim() - 1)
    shape = [*moved.shape[1:]]
    shape[target] *= moved.shape[0]
    return moved.movedim(0, target).reshape(shape)


def reshape_dim_outof(dim: int, size: int, x: Any) -> Any:
    """A tensor whose dimension `dim` is split in two, the first of `size`."""
    dim %= x.dim()
    return x.reshape(*x.shape[:dim], size, x.shape[dim] // size, *x.shape[dim + 1 :])


NAMES: dict[str, Any] = {
    each.__name__: each
    for each in (
        RandomnessType,
        TransformType,
        _add_batch_dim,
        _remove_batch_dim,
        get_unwrapped,
        is_batchedtensor,
        is_legacy_batchedtensor,
        maybe_get_bdim,
        maybe_get_level,
        reshape_dim_into,
        reshape_dim_outof,
    )
}
