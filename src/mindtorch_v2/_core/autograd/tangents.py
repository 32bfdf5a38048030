"""Tangents of tensors: set and read, through vmap's levels, at one level of forward mode."""

from __future__ import annotations

from typing import Any

from ... import _C
from . import batched


def _aligned(tensor: Any, tangent: Any) -> tuple[Any, Any]:
    """A tensor as autograd knows it (all of it, if vmap made it), and its tangent in that shape."""
    found = batched.parts(tensor)
    if found is None:
        return tensor, tangent
    whole, levels = found
    return whole, batched.show_all(tangent, levels, whole.shape[: len(levels)])


def _lies_alike(tangent: Any, whole: Any) -> bool:
    """Whether a view of one tensor's memory, taken of the other's, shows what belongs to it."""
    if tangent.is_conj() != whole.is_conj() or tangent.is_neg() != whole.is_neg():
        return False
    steps = [(size, step) for size, step in zip(whole.shape, whole.stride(), strict=True) if size > 1]
    others = [(size, step) for size, step in zip(tangent.shape, tangent.stride(), strict=True) if size > 1]
    if steps != others or tangent.storage_offset() != whole.storage_offset():
        return False
    return batched.parts(tangent) is not None or _C._storage_numel(tangent) == _C._storage_numel(whole)


def make_dual(tensor: Any, tangent: Any, level: int) -> Any:
    """A view of ``tensor`` with ``tangent`` at ``level``."""
    if not (tensor.is_floating_point() or tensor.is_complex()):
        raise ValueError(f"Expected primal to be floating point or complex, but got: {tensor.dtype}")
    if not (tangent.is_floating_point() or tangent.is_complex()):
        raise ValueError(f"Expected tangent to be floating point or complex, but got: {tangent.dtype}")
    if tuple(tensor.shape) != tuple(tangent.shape):
        raise RuntimeError(
            "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not "
            f"supported. Tensor is of size {list(tensor.shape)} while the given forward gradient is of size "
            f"{list(tangent.shape)}."
        )
    if tangent_of(tangent, level) is not None:
        raise RuntimeError(
            "Setting a forward grad that itself has a forward gradient at the same level0 is not supported."
        )
    if tangent_of(tensor, level) is not None:
        raise RuntimeError(
            "Making a dual Tensor based on a Tensor that already has a forward gradient at the same level 0 is not supported."
        )
    before = _C._set_fwd_grad_enabled(True)
    try:
        dual = tensor.view_as(tensor)
    finally:
        _C._set_fwd_grad_enabled(before)
    whole, tangent = _aligned(dual, tangent)
    _C._set_tangent(whole, level, tangent if _lies_alike(tangent, whole) else laid_out(tangent, whole))
    return dual


def laid_out(tangent: Any, whole: Any) -> Any:
    """A copy of a tangent that lies in memory as its tensor does, so that views of the one are views of the other."""
    if not tangent.layout == whole.layout == _C.strided:
        return tangent
    copy = _C._find_operator("aten::_new_zeros_with_same_feature_meta", "")(tangent, whole)
    copy = copy.conj() if whole.is_conj() else copy
    copy = copy._neg_view() if whole.is_neg() else copy
    return copy.copy_(tangent)


def tangent_of(tensor: Any, level: int) -> Any:
    """The tangent of ``tensor`` at ``level``, or None."""
    found = batched.parts(tensor)
    if found is None:
        return _C._tangent(tensor, level)
    whole, levels = found
    tangent = _C._tangent(whole, level)
    if tangent is None:
        return None
    for number in levels:
        if number in batched.levels_of(tangent):
            # A tangent for each slice met a tensor with slices: each tangent has moved all of them, and counts for its own.
            tangent = batched.show(tangent, number, 0).diagonal(0, 0, 1).movedim(-1, 0)
        tangent = batched.hide(tangent, 0, number)
    return tangent


def primal_of(tensor: Any, level: int) -> Any:
    """``tensor`` without its tangents of ``level`` and inside it: the same data and history."""
    found = batched.parts(tensor)
    if found is None:
        return _C._without_tangents(tensor, level)
    whole, levels = found
    return batched.wrap(_C._without_tangents(whole, level), levels)


def unpack_dual(tensor: Any, level: int) -> tuple[Any, Any]:
    """(tensor without its tangent, tangent or None)."""
    tangent = tangent_of(tensor, level)
    return primal_of(tensor, level) if tangent is not None else tensor, tangent
