"""torch.autograd.graph: the public names around graph nodes."""

from __future__ import annotations

import weakref
from typing import Any

from .. import _C
from .._core.autograd.graph import (
    GradientEdge,
    Node,
    disable_saved_tensors_hooks,
    get_gradient_edge,
    increment_version,
    register_multi_grad_hook,
    save_on_cpu,
    saved_tensors_hooks,
    set_warn_on_accumulate_grad_stream_mismatch,
)

__all__ = [
    "GradientEdge",
    "Node",
    "allow_mutation_on_saved_tensors",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
    "set_warn_on_accumulate_grad_stream_mismatch",
]


def _get_grad_fn_or_grad_acc(t: Any) -> Any:
    """The node that a tensor's gradient goes to: what made it, or what adds to the `.grad` of a leaf; an edge's own node.

    RuntimeError for a tensor that has no gradient.
    """
    return t.node if isinstance(t, GradientEdge) else get_gradient_edge(t).node


class _Kept:
    """A tensor kept for backward: itself, until something writes to its memory; from then on a copy of before."""

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor
        self.is_copy = False

    def copy(self) -> None:
        if not self.is_copy:
            self.tensor = self.tensor.detach().clone()
            self.is_copy = True


class allow_mutation_on_saved_tensors:
    """Within this block tensors that backward needs may be written to: what it needs is copied just before.

    >>> with torch.autograd.graph.allow_mutation_on_saved_tensors():
    ...     a = torch.ones(2, requires_grad=True)
    ...     b = a.clone()
    ...     out = (b**2).sum()
    ...     _ = b.sin_()
    ...     out.backward()
    >>> a.grad
    tensor([2., 2.])
    """

    def __init__(self) -> None:
        self._kept: dict[int, list] = {}
        self._hooks = saved_tensors_hooks(self._pack, self._unpack)
        self._mode: Any = None

    def _pack(self, tensor: Any) -> _Kept:
        kept = _Kept(tensor)
        self._kept.setdefault(tensor.untyped_storage()._cdata, []).append(weakref.ref(kept))
        return kept

    def _unpack(self, kept: _Kept) -> Any:
        return kept.tensor

    def _before_write(self, tensor: Any) -> None:
        for reference in self._kept.pop(tensor.untyped_storage()._cdata, ()):
            kept = reference()
            if kept is not None:
                kept.copy()

    def __enter__(self) -> allow_mutation_on_saved_tensors:
        from ..utils._python_dispatch import TorchDispatchMode  # slow to load, and only this context needs it

        owner = self

        class Writes(TorchDispatchMode):
            def __torch_dispatch__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
                kwargs = kwargs or {}
                handle = func._handle
                if handle.mutates:
                    for place, argument in enumerate(handle.arguments):
                        value = args[place] if place < len(args) else kwargs.get(argument["name"])
                        if argument["is_write"]:
                            for each in value if isinstance(value, (list, tuple)) else (value,):
                                if isinstance(each, _C.TensorBase):
                                    owner._before_write(each)
                return func(*args, **kwargs)

        self._mode = Writes()
        self._hooks.__enter__()
        self._mode.__enter__()
        return self

    def __exit__(self, *exception: object) -> None:
        self._mode.__exit__(*exception)
        self._hooks.__exit__(*exception)
        self._kept.clear()
