"""Who takes calls of operators over above autograd, in this thread: the handler of the dispatch key Tracer.

`torch.compile` puts calls off (`_deferred`), and a pre-dispatch trace records them (`fx`): each is a `Handler`, and there is
at most one in a thread. The C++ side (csrc/core/python/deferred.cpp) asks for values where data or history is read
without an operator.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterable, Iterator
from typing import Any, Protocol

from mindtorch_v2 import _C

__all__ = [
    "Handler",
    "active",
    "current",
    "handled_by",
    "inside_a_call",
    "paused",
    "records_here",
    "run_what_waits",
    "settle",
    "takes_all",
    "tensors_in",
    "watch",
]

_TRACER = _C._key_bit("Tracer")
_pending_of = _C._pending_of


class Handler(Protocol):
    """The object that calls are handed to."""

    waits: bool
    """Whether calls may wait, so that it can be paused."""

    def put_off(self, handle: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Take a call over and give its results; NotImplemented if it has to run now."""

    def settle(self, tensor: Any, shown: bool) -> None:
        """Run what waits if the value of a tensor (None: any) is read by other means than a call."""

    def flush(self, reason: str | None) -> None:
        """Run what waits."""


class _Thread(threading.local):
    handler: Handler | None = None


_thread = _Thread()


def current() -> Handler | None:
    """The handler of this thread."""
    return _thread.handler


def active() -> bool:
    """Whether this thread has a handler."""
    return _thread.handler is not None


def records_here() -> bool:
    """Whether the next call of an operator on this thread is written down, and runs at once."""
    handler = _thread.handler
    if handler is None or handler.waits:
        return False
    include, exclude = _C._tls_keys()
    return bool(include & ~exclude & _TRACER)


def watch(on: bool) -> None:
    """Let calls of this thread come to its handler, or not."""
    include, exclude = _C._tls_keys()
    _C._set_tls_keys(include | _TRACER if on else include & ~_TRACER, exclude)


@contextlib.contextmanager
def handled_by(handler: Handler) -> Iterator[None]:
    """Within this block calls of the thread are handed to `handler`, and not to the one before."""
    before, _thread.handler = _thread.handler, handler
    try:
        yield
    finally:
        _thread.handler = before


@contextlib.contextmanager
def takes_all(handler: Handler) -> Iterator[None]:
    """Within this block every call of the thread is handed to `handler`, under transforms and below autograd too."""
    before = _C._tls_keys()
    with handled_by(handler):
        everywhere = _C._set_tracer_takes_all(True)
        _C._set_tls_keys(before[0] | _TRACER, before[1] & ~_TRACER)
        try:
            yield
        finally:
            include, exclude = _C._tls_keys()
            _C._set_tls_keys(include & ~_TRACER | before[0] & _TRACER, exclude & ~_TRACER | before[1] & _TRACER)
            _C._set_tracer_takes_all(everywhere)


@contextlib.contextmanager
def inside_a_call() -> Iterator[None]:
    """Within this block, where a handler runs the call that it was handed, no call comes to it."""
    include, exclude = _C._tls_keys()
    _C._set_tls_keys(include, exclude | _TRACER)
    try:
        yield
    finally:
        _C._set_tls_keys(include, exclude)


def run_what_waits(reason: str) -> None:
    """Run what this thread has put off; nothing where it puts nothing off."""
    if _thread.handler is not None:
        _thread.handler.flush(reason)


@contextlib.contextmanager
def paused(reason: str) -> Iterator[None]:
    """Within this block calls run at once, after all that wait."""
    handler = _thread.handler
    if handler is None or not handler.waits:
        yield
        return
    handler.flush(reason)
    _thread.handler = None
    watch(False)
    try:
        yield
    finally:
        _thread.handler = handler
        watch(True)


def tensors_in(given: Iterable[Any]) -> Iterator[Any]:
    """The tensors among arguments, with lists and tuples taken apart."""
    for each in given:
        if isinstance(each, _C.TensorBase):
            yield each
        elif isinstance(each, (list, tuple)):
            yield from tensors_in(each)


def settle(tensor: Any) -> None:
    """Run what a tensor waits for, whichever thread's it is. RuntimeError if it came to nothing."""
    pending = _pending_of(tensor)
    if pending is None:
        return
    if pending.error is None:
        pending.region.flush("a value is needed elsewhere")
    if pending.error is not None:
        raise RuntimeError("the graph that computes this tensor has failed") from pending.error


def _handle(handle: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The handler of the key Tracer."""
    handler = _thread.handler
    if handler is not None:
        return handler.put_off(handle, args, kwargs)
    for tensor in tensors_in((*args, *kwargs.values())):
        settle(tensor)
    return NotImplemented


def _run_put_off(tensor: Any, shown: bool) -> None:
    """Run what waits, where C++ reads data, history or settings: see `run_put_off` in autograd.h."""
    handler = _thread.handler
    if handler is not None:
        handler.settle(tensor, shown)
    if tensor is not None:
        settle(tensor)


_C._set_key_handler("Tracer", _handle)
_C._set_run_put_off(_run_put_off)
