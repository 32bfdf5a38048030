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


class _Handle:
    """The thing that a node keeps in place of a tensor; the tensor lives as long as a node has its handle."""


class allow_mutation_on_saved_tensors:
    """Within this block tensors that backward needs may be written to: what it needs is copied just before.

    Backward belongs into the block, too (AssertionError outside). Blocks of this kind are not nested (RuntimeError).

    >>> with torch.autograd.graph.allow_mutation_on_saved_tensors():
    ...     a = torch.ones(2, requires_grad=True)
    ...     b = a.clone()
    ...     out = (b**2).sum()
    ...     _ = b.sin_()
    ...     out.backward()
    >>> a.grad
    tensor([2., 2.])
    """

    _active = False

    def __init__(self) -> None:
        self.original: weakref.WeakKeyDictionary[_Handle, Any] = weakref.WeakKeyDictionary()
        self.cloned: weakref.WeakKeyDictionary[_Handle, Any] = weakref.WeakKeyDictionary()
        # One handle for a tensor in one state, however often it is saved; and the states saved of each storage.
        self.tid_to_weakhandle: weakref.WeakValueDictionary[tuple, _Handle] = weakref.WeakValueDictionary()
        self._saved_of: dict[int, set[tuple]] = {}
        self._hooks = saved_tensors_hooks(self._pack, self._unpack)
        self._mode: Any = None

    def _pack(self, tensor: Any) -> _Handle:
        storage = tensor.untyped_storage()._cdata
        shape = (tuple(tensor.shape), tensor.stride(), tensor.storage_offset(), tensor.dtype)
        state = (storage, *shape, tensor.is_conj(), tensor.is_neg(), tensor._version)
        handle = self.tid_to_weakhandle.get(state)
        if handle is None:
            self.tid_to_weakhandle[state] = handle = _Handle()
            self.original[handle] = tensor
            self._saved_of.setdefault(storage, set()).add(state)
        return handle

    def _unpack(self, handle: _Handle) -> Any:
        tensor = self.cloned.get(handle)
        if tensor is None:
            tensor = self.original.get(handle)
        if tensor is None:
            raise AssertionError("Trying to backward outside of the 'allow_mutation_on_saved_tensors' context")
        return tensor

    def _before_write(self, tensor: Any) -> None:
        for state in self._saved_of.pop(tensor.untyped_storage()._cdata, ()):
            handle = self.tid_to_weakhandle.pop(state, None)
            if handle is not None:
                self.cloned[handle] = self.original.pop(handle).detach().clone()

    def __enter__(self) -> allow_mutation_on_saved_tensors:
        from ..utils._python_dispatch import TorchDispatchMode  # slow to load, and only this context needs it

        if allow_mutation_on_saved_tensors._active:
            raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
        owner = self

        class Writes(TorchDispatchMode):
            sees_parts = False

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
        allow_mutation_on_saved_tensors._active = True
        return self

    def __exit__(self, *exception: object) -> None:
        allow_mutation_on_saved_tensors._active = False
        self._mode.__exit__(*exception)
        self._hooks.__exit__(*exception)
        for known in (self.original, self.cloned, self.tid_to_weakhandle, self._saved_of):
            known.clear()
