"""Calls as the program makes them, above autograd: `conv2d` and not `convolution`, writes, and where gradients are switched.

They come by the dispatch key Tracer, as those do that `torch.compile` puts off; here each is handed to the mode that records
and runs at once.
"""

import contextlib

from mindtorch_v2 import _C, _torch_dispatch
from mindtorch_v2._capture import _deferred

__all__ = ["recording"]

_TRACER = _C._key_bit("Tracer")


class _Recorder:
    """What the handler of Tracer gives calls to, in the place of a region of deferred ones. Nothing ever waits here."""

    waits = False

    def __init__(self, mode):
        self._mode = mode
        self._grad = _C.is_grad_enabled()

    def put_off(self, handle, args, kwargs):
        """Record a call and give its results; NotImplemented where modes are off, as in what a mode itself computes."""
        if not any(mode is self._mode for mode in _torch_dispatch.modes()):
            return NotImplemented
        include, exclude = _C._tls_keys()
        _C._set_tls_keys(include, exclude | _TRACER)
        try:
            self.note_grad_mode()
            return self._mode.take(_torch_dispatch.overload_of(handle), args, kwargs)
        finally:
            _C._set_tls_keys(include, exclude)

    def note_grad_mode(self):
        """Where the program has switched gradients, that is a node."""
        if self._grad != _C.is_grad_enabled():
            self._grad = not self._grad
            self._mode.tracer.create_node("call_function", _C._set_grad_enabled, (self._grad,), {})

    def settle(self, tensor, shown):
        pass

    def flush(self, reason):
        pass


@contextlib.contextmanager
def recording(mode):
    """Every call in the block is handed to `mode.take(overload, args, kwargs)`."""
    keys, before = _C._tls_keys(), _deferred._thread.region
    recorder = _deferred._thread.region = _Recorder(mode)
    everywhere = _C._set_tracer_takes_all(True)
    _C._set_tls_keys(keys[0] | _TRACER, keys[1] & ~_TRACER)
    try:
        yield
        recorder.note_grad_mode()
    finally:
        include, exclude = _C._tls_keys()
        _C._set_tls_keys(include & ~_TRACER | keys[0] & _TRACER, exclude & ~_TRACER | keys[1] & _TRACER)
        _C._set_tracer_takes_all(everywhere)
        _deferred._thread.region = before
