"""Functional tensors by hand: `torch._to_functional_tensor` and its like, for programs that drive functionalization."""

from __future__ import annotations

import threading
from typing import Any

from ... import _C
from . import _levels
from ._values import Storage, level_of, storage_of, value_of, wrap, write


class _State(threading.local):
    """Whether this thread is between `_enable_functionalization` and its end."""

    def __init__(self) -> None:
        self.on = False


_state = _State()


def _storage(function: str, t: Any) -> Storage:
    found = storage_of(t)
    if found is None:
        raise RuntimeError(f"torch.{function}: expected a functional tensor, as torch._to_functional_tensor makes them")
    return found


def _to_functional_tensor(t: Any, *, mirror_autograd_meta: bool = False) -> Any:
    """A functional tensor that stands for `t`. It has no part in `t`'s graph; with `mirror_autograd_meta` it requires
    grad where `t` does, as a leaf.

    RuntimeError if `t` is a functional tensor of the level under way already.

    >>> import mindtorch_v2 as torch
    >>> x = torch._to_functional_tensor(torch.zeros(2))
    >>> _ = x[0].add_(5)
    >>> torch._from_functional_tensor(x)
    tensor([5., 0.])
    """
    level = max(1, _levels.active_level())
    if level_of(t) >= level:
        raise RuntimeError("torch._to_functional_tensor: the tensor is a functional tensor already")
    made = wrap(t.detach() if t.requires_grad else t, level)
    if mirror_autograd_meta and t.requires_grad:
        made.requires_grad_()
    return made


def _from_functional_tensor(t: Any) -> Any:
    """The value of a functional tensor; RuntimeError for any other tensor."""
    _storage("_from_functional_tensor", t)
    return value_of(t)


def _is_functional_tensor(t: Any) -> bool:
    """Whether `t` is a functional tensor."""
    return _C._functional_parts(t) is not None


def _sync(t: Any) -> None:
    """Bring the value of a functional tensor up to date with the writes to what it shares memory with."""
    _storage("_sync", t)
    value_of(t)


_functionalize_sync = _sync


def _functionalize_replace(self_: Any, other: Any) -> None:
    """Make `other` the value of the functional tensor `self_`, and of all it shares memory with."""
    _storage("_functionalize_replace", self_)
    write(self_, other)


def _functionalize_commit_update(t: Any) -> None:
    """Nothing: a replaced value is seen through every alias at once. RuntimeError for other tensors."""
    _storage("_functionalize_commit_update", t)


def _functionalize_has_data_mutation(t: Any) -> bool:
    """Whether the memory of a functional tensor was written since the tensor was made."""
    return _storage("_functionalize_has_data_mutation", t).generation > 0


def _functionalize_has_metadata_mutation(t: Any) -> bool:
    """Whether a functional tensor that was no view got other sizes, strides or offset in place."""
    storage = _storage("_functionalize_has_metadata_mutation", t)
    return t._base is None and (tuple(t.shape), t.stride(), t.storage_offset()) != storage.first


def _enable_functionalization(*, reapply_views: bool = False) -> None:
    """From now on, on this thread, tensors that operators make are functional ones.

    Until `_disable_functionalization`. RuntimeError if it is on already.
    """
    if _state.on:
        raise RuntimeError("torch._enable_functionalization: functionalization is enabled already on this thread")
    _levels.begin(reapply_views)
    _state.on = True


def _disable_functionalization() -> None:
    """End what `_enable_functionalization` began."""
    if _state.on:
        _state.on = False
        _levels.end()


__all__ = [
    "_disable_functionalization",
    "_enable_functionalization",
    "_from_functional_tensor",
    "_functionalize_commit_update",
    "_functionalize_has_data_mutation",
    "_functionalize_has_metadata_mutation",
    "_functionalize_replace",
    "_functionalize_sync",
    "_is_functional_tensor",
    "_sync",
    "_to_functional_tensor",
]
