"""Functions of the host between a stream's tasks: a thread of the program's runs them when the stream has come there.

Such a function may give other streams work. It must not wait for the device: its stream goes on only when it returns.
"""

from __future__ import annotations

import ctypes
import itertools
import threading
import weakref
from collections.abc import Callable
from typing import Any

from . import state
from .errors import NPUError
from .stream import Stream

_BLOCKING = 1
_WAIT_MS = 100
_TIMEOUT, _NOT_SUBSCRIBED = 100036, 100035
_numbers = itertools.count(1)
_functions: dict[int, tuple[Callable[[Any], Any], Any, int, bool]] = {}  # number -> function, argument, device, once
_threads: dict[int, _Reports] = {}  # stream -> the thread that runs its functions


def _run(number: int) -> None:
    function, argument, device, once = _functions[number]
    if once:
        del _functions[number]
    state.get().runtime.set_device(device)
    function(argument)


_callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(_run)
_address = ctypes.cast(_callback, ctypes.c_void_p)


class _Recorded:
    """A function in a recorded graph, which keeps it."""

    def __init__(self, number: int) -> None:
        weakref.finalize(self, _functions.pop, number, None).atexit = False


class _Reports(threading.Thread):
    """The thread that runs the functions of one stream."""

    def __init__(self, stream: Stream) -> None:
        super().__init__(name=f"host functions of stream {stream.npu_stream}", daemon=True)
        self.stream, self._runtime = stream, state.get().runtime
        self._ready, self._ended = threading.Event(), threading.Event()
        self._problem: BaseException | None = None
        self.start()
        self._ready.wait()
        if self._problem is not None:
            raise self._problem

    def run(self) -> None:
        runtime, stream = self._runtime, self.stream
        thread = ctypes.c_uint64(threading.get_ident())
        try:
            runtime.activate(stream.device_index)
            code = runtime.aclrtSubscribeReport(thread, stream.npu_stream)
            runtime.check("aclrtSubscribeReport", code)
        except NPUError as error:
            self._problem = error
            return
        finally:
            self._ready.set()
        while not self._ended.is_set():
            code = runtime.aclrtProcessReport(_WAIT_MS)
            if code == _NOT_SUBSCRIBED:
                return
        runtime.aclrtUnSubscribeReport(thread, stream.npu_stream)

    def end(self) -> None:
        """Let the thread end, once it has run what it is running."""
        self._ended.set()
        self.join()


def subscribe(stream: Stream) -> None:
    """Start the thread that runs a stream's functions. RuntimeError if it has one."""
    if stream.npu_stream in _threads:
        raise RuntimeError(
            f"_subscribe_report(): the functions of stream {stream.npu_stream} are run by a thread already"
        )
    thread = _threads[stream.npu_stream] = _Reports(stream)
    state.get().runtime.finalizers.append(thread.end)  # which are called before those of the streams that are here now


def unsubscribe(stream: Stream) -> None:
    """End that thread, once the stream has done its work. RuntimeError if there is none."""
    thread = _threads.get(stream.npu_stream)
    if thread is None:
        raise RuntimeError(f"_unsubscribe_report(): no thread runs the functions of stream {stream.npu_stream}")
    stream.synchronize()
    state.get().runtime.finalizers.remove(thread.end)
    _threads.pop(stream.npu_stream).end()


def launch(stream: Stream, function: Callable[[Any], Any], argument: Any) -> None:
    """Let a stream run `function(argument)` on the host at this place, and go on when it has returned.

    A stream that has no thread for it, by `subscribe`, gets one. In a recorded graph the function is run at each replay.
    """
    if stream.npu_stream not in _threads:
        subscribe(stream)
    runtime = state.get().runtime
    draws = runtime.thread.draws
    number = next(_numbers)
    _functions[number] = function, argument, stream.device_index, draws is None
    runtime.activate(stream.device_index)
    code = runtime.aclrtLaunchCallback(_address, number, _BLOCKING, stream.npu_stream)
    if code:
        del _functions[number]
        runtime.fail("aclrtLaunchCallback", code)
    if draws is not None:
        draws.events.append(_Recorded(number))
