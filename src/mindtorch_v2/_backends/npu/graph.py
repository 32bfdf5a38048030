"""Capture and replay of a device's work: `torch.npu.NPUGraph`.

While a stream is captured, operators are recorded with the addresses that they were given, and nothing is done. So what a graph
works on has to stay where it is: blocks that are allocated meanwhile come from a pool of the graph's own, which no other work
gets, and which is given back with `reset` or when the last graph that uses it goes.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import itertools
from collections.abc import Iterator
from typing import Any

from . import state
from .stream import Stream, current_stream, set_stream

_MODES = {"global": 0, "thread_local": 1, "relaxed": 2}
_pools = itertools.count(1)
_streams: dict[int, Stream] = {}  # device -> the stream that graphs are captured on, where none is named


class _Pool:
    """Blocks that graphs share. Its number, below 0, stands where a stream's handle does for other blocks."""

    def __init__(self, device: int):
        self.device, self.number = device, -next(_pools)

    def __del__(self) -> None:
        if state.started() and not state.get().runtime.closed:
            state.get().memory[self.device].forget_pool(self.number)


def is_current_stream_capturing() -> bool:
    """Whether work of this thread's current stream is recorded instead of done."""
    runtime = state.get().runtime
    status = ctypes.c_int()
    handle = runtime.stream_handle(runtime.thread.device)
    runtime.activate(runtime.thread.device)
    code = runtime.aclmdlRICaptureGetInfo(handle or None, ctypes.byref(status), None)
    runtime.check("aclmdlRICaptureGetInfo", code)
    return status.value == 1


def graph_pool_handle() -> Any:
    """A pool of memory that several graphs can share, for `pool=`."""
    return _Pool(state.get().runtime.thread.device)


class NPUGraph:
    """Work of a stream that is recorded once and done often, on what its tensors then hold.

    >>> graph = torch.npu.NPUGraph()               # doctest: +SKIP
    >>> with torch.npu.graph(graph):               # doctest: +SKIP
    ...     y = model(x)
    >>> x.copy_(batch); graph.replay()             # doctest: +SKIP
    """

    def __init__(self) -> None:
        self._runtime = state.get().runtime
        self._model = 0
        self._pool: _Pool | None = None
        self._stream: Stream | None = None

    def capture_begin(self, pool: Any = None, capture_error_mode: str = "global") -> None:
        """Record the current stream's work from here on. RuntimeError on the default stream or if there is a recording.

        Args:
            pool: of another graph (`graph.pool()`) or from `graph_pool_handle`; its own without.
            capture_error_mode: "global", "thread_local" or "relaxed": whose unsafe calls (copies of pageable memory, allocations
                beside the pool) are errors meanwhile.
        """
        if capture_error_mode not in _MODES:
            raise ValueError(f"capture_error_mode has to be one of {', '.join(_MODES)}, got {capture_error_mode!r}")
        if self._model or self._stream is not None:
            raise RuntimeError("NPUGraph: it holds a recording; reset() it, or take a new one")
        runtime = self._runtime
        stream = current_stream()
        runtime.activate(stream.device_index)
        code = runtime.aclmdlRICaptureBegin(stream.npu_stream or None, _MODES[capture_error_mode])
        runtime.check("aclmdlRICaptureBegin", code)
        self._stream = stream
        self._pool = pool if pool is not None else _Pool(stream.device_index)
        runtime.thread.pool = self._pool.number

    def capture_end(self) -> None:
        """End the recording. NPUError, and nothing is held, if something spoiled it."""
        if self._stream is None:
            raise RuntimeError("NPUGraph: capture_end without capture_begin")
        runtime, stream, self._stream = self._runtime, self._stream, None
        runtime.thread.pool = None
        model = ctypes.c_void_p()
        code = runtime.aclmdlRICaptureEnd(stream.npu_stream, ctypes.byref(model))
        if code:
            self._pool = None
            runtime.fail("aclmdlRICaptureEnd", code)
        self._model = model.value or 0

    def replay(self) -> None:
        """Do the recorded work on the current stream."""
        if not self._model:
            raise RuntimeError("NPUGraph: nothing was captured")
        runtime = self._runtime
        stream = current_stream()
        runtime.activate(stream.device_index)
        code = runtime.aclmdlRIExecuteAsync(self._model, stream.npu_stream or None)
        if code:
            runtime.fail("aclmdlRIExecuteAsync", code, runtime.hint())
        runtime.note("NPUGraph.replay", stream.device_index, stream.npu_stream)
        if runtime.blocking:
            runtime.synchronize_stream(stream.device_index, stream.npu_stream)

    def reset(self) -> None:
        """Drop the recording and its hold on memory."""
        if self._model and not self._runtime.closed:
            self._runtime.synchronize(self._runtime.thread.device)
            model, self._model = self._model, 0
            self._runtime.check("aclmdlRIDestroy", self._runtime.aclmdlRIDestroy(model))
        self._pool = None

    def pool(self) -> Any:
        """The pool of its memory, to be shared with another graph."""
        return self._pool

    def debug_dump(self, debug_path: str | None = None) -> None:
        """Print the recorded tasks."""
        self._runtime.check("aclmdlRIDebugPrint", self._runtime.aclmdlRIDebugPrint(self._model))

    def __del__(self) -> None:
        self.reset()


@contextlib.contextmanager
def graph(
    npu_graph: NPUGraph, pool: Any = None, stream: Stream | None = None, capture_error_mode: str = "global"
) -> Iterator[None]:
    """Record the work of a block into a graph, on a stream of its own unless one is named.

    The block must not wait for the device, copy from pageable memory, or draw random numbers. If it raises, so does this, and
    the graph holds nothing.
    """
    runtime = state.get().runtime
    index = runtime.thread.device
    if stream is None:
        stream = _streams.get(index) or _streams.setdefault(index, Stream(index))
    before = current_stream(index)
    runtime.synchronize(index)
    gc.collect()
    set_stream(stream)
    try:
        npu_graph.capture_begin(pool, capture_error_mode)
        try:
            yield
        except BaseException:
            with contextlib.suppress(RuntimeError):
                npu_graph.capture_end()
            npu_graph.reset()
            raise
        npu_graph.capture_end()
    finally:
        set_stream(before)
