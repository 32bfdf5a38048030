"""`TorchRefsMode`: functions run as the references in `torch._refs`."""

from __future__ import annotations

import contextlib
import functools
import importlib
from collections.abc import Callable
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2.overrides import TorchFunctionMode, resolve_name

__all__ = ["TorchRefsMode"]

_PARTS = ("nn.functional", "special", "fft", "linalg")  # of the references, loaded when they are first asked for


@functools.cache
def _references() -> dict[Any, Callable[..., Any]]:
    """The reference of each function of `torch` and its namespaces, and of tensors' methods."""
    refs = importlib.import_module("mindtorch_v2._refs")
    parts = {name: importlib.import_module(f"mindtorch_v2._refs.{name}") for name in _PARTS}
    found: dict[Any, Callable[..., Any]] = {}
    for space, of_space in (
        (torch, refs),
        (torch.nn.functional, parts["nn.functional"]),
        (torch.special, parts["special"]),
        (torch.fft, parts["fft"]),
        (torch.linalg, parts["linalg"]),
    ):
        for name in getattr(of_space, "__all__", dir(of_space)):
            if callable(getattr(space, name, None)) and hasattr(of_space, name):
                found.setdefault(getattr(space, name), getattr(of_space, name))
    for name in refs.__all__:
        if hasattr(torch.Tensor, name):
            found.setdefault(getattr(torch.Tensor, name), getattr(refs, name))
    return found


_PASSES = frozenset(
    getattr(torch.Tensor, name)
    for name in "dim numel size stride storage_offset is_contiguous requires_grad_ __format__ __repr__".split()
)
"""Functions that ask a tensor about itself: they need no reference."""


class TorchRefsMode(TorchFunctionMode):
    """A context in which functions of `torch` run as their references in `torch._refs`.

    With `strict` one without a reference is an error (RuntimeError); else it runs as it is. `should_fallback_fn(mode, function,
    reference, args, kwargs)` says which runs as it is all the same. `prims_mode` is a context for the references.

    >>> from mindtorch_v2._prims.context import TorchRefsMode
    >>> with TorchRefsMode(strict=True):
    ...     torch.add(torch.ones(1), 1)
    tensor([2.])
    """

    sees_attributes = False

    def __init__(
        self,
        strict: bool = False,
        should_fallback_fn: Callable[..., bool] = lambda *_: False,
        prims_mode: Any = None,
    ) -> None:
        super().__init__()
        self.strict = strict
        self.should_fallback_fn = should_fallback_fn
        self.prims_mode = contextlib.nullcontext() if prims_mode is None else prims_mode

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """The reference's result, or the function's own."""
        kwargs = kwargs or {}
        if func in _PASSES:
            return func(*args, **kwargs)
        reference = _references().get(func)
        if reference is None and self.strict:
            raise RuntimeError(f"no _refs support for {resolve_name(func)}")
        if reference is None or self.should_fallback_fn(self, func, reference, args, kwargs):
            return func(*args, **kwargs)
        with self.prims_mode:
            return reference(*args, **kwargs)
