"""Calls as the program makes them, above autograd: `conv2d` and not `convolution`, writes, and where gradients are switched.

They come by the dispatch key Tracer, as those do that `torch.compile` puts off; here each is handed to the mode that records
and runs at once.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from mindtorch_v2 import _C
from mindtorch_v2._core import torch_dispatch as _torch_dispatch
from mindtorch_v2._core import tracer

if TYPE_CHECKING:
    from mindtorch_v2._backends.npu.aclnn import Operator


__all__ = ["recording"]


class _Recorder:
    """A handler of Tracer with which nothing ever waits."""

    waits = False

    def __init__(self, mode: Any) -> None:
        self._mode = mode
        self._grad = _C.is_grad_enabled()

    def put_off(self, handle: Operator, args: Any, kwargs: Any) -> Any:
        """Record a call and give its results; NotImplemented where modes are off, as in what a mode itself computes."""
        if not any(mode is self._mode for mode in _torch_dispatch.modes()):
            return NotImplemented
        with tracer.inside_a_call():
            self.note_grad_mode()
            return self._mode.take(*_torch_dispatch.seen_call(handle, args, kwargs))

    def note_grad_mode(self) -> None:
        """Where the program has switched gradients, that is a node."""
        if self._grad != _C.is_grad_enabled():
            self._grad = not self._grad
            self._mode.tracer.create_node("call_function", _C._set_grad_enabled, (self._grad,), {})

    def settle(self, tensor: Any, shown: bool) -> None:
        pass

    def flush(self, reason: Any) -> None:
        pass


@contextlib.contextmanager
def recording(mode: Any) -> Iterator[None]:
    """Every call in the block is handed to `mode.take(overload, args, kwargs)`."""
    recorder = _Recorder(mode)
    with tracer.takes_all(recorder):
        yield
        recorder.note_grad_mode()
