"""Capture and replay of a device's work: what graphs share on every device.

While a stream is captured, work is recorded with the addresses that it was given, and nothing is done. So what a graph works on has
to stay where it is: blocks that are allocated meanwhile come from a pool of the graph's own, which no other work gets, and which is
given back with `reset` or when the last graph that uses it goes.
"""

from __future__ import annotations

import abc
import contextlib
import gc
from typing import Any, ClassVar, Self

from .draws import Draws
from .graph_pools import GraphPool
from .stream import Streams

MODES = {"global": 0, "thread_local": 1, "relaxed": 2}
"""Whose unsafe calls are errors during a capture, and the numbers that ACL and CUDA both give them."""


class Graph(abc.ABC):
    """The base of `NPUGraph` and `CUDAGraph`. A back end defines the abstract methods.

    Args:
        state: the back end's state, with its runtime and the memory of each device.
    """

    streams: ClassVar[Streams]
    _recording = 0  # the back end's handle of what was recorded; of a graph that could not be made too
    nothing_captured: ClassVar[str]  # what a replay says then

    def __init__(self, state: Any) -> None:
        self._state, self._runtime = state, state.runtime
        self._device = 0
        self._pool: GraphPool | None = None
        self._stream: Any | None = None
        self._draws = self.new_draws()

    @abc.abstractmethod
    def new_draws(self) -> Draws:
        """Where random operators of a capture find seed and offset."""

    @abc.abstractmethod
    def begin(self, stream: Any, mode: int) -> None:
        """Start the recording of a stream."""

    @abc.abstractmethod
    def end(self, stream: Any) -> tuple[int, tuple[str, int]]:
        """End the recording of a stream. What was recorded; the call that failed, with its code."""

    @abc.abstractmethod
    def launch(self, stream: Any) -> None:
        """Enqueue what was recorded on a stream."""

    @abc.abstractmethod
    def drop(self, recording: int) -> None:
        """Destroy what was recorded."""

    def capture_begin(self, pool: Any = None, capture_error_mode: str = "global") -> None:
        """Record the current stream's work from here on. RuntimeError on the default stream or if there is a recording.

        Args:
            pool: of another graph (`graph.pool()`) or from `graph_pool_handle`; its own without.
            capture_error_mode: "global", "thread_local" or "relaxed": whose unsafe calls (copies of pageable memory, allocations
                beside the pool) are errors meanwhile.
        """
        if capture_error_mode not in MODES:
            raise ValueError(f"capture_error_mode has to be one of {', '.join(MODES)}, got {capture_error_mode!r}")
        if self._recording or self._stream is not None:
            raise RuntimeError(f"{type(self).__name__}: it holds a recording; reset() it, or take a new one")
        stream = self.streams.current_stream()
        self._runtime.activate(stream.device_index)
        self._draws.reserve(stream.device)
        self.begin(stream, MODES[capture_error_mode])
        self._stream, self._device = stream, stream.device_index
        self._pool = pool if pool is not None else GraphPool(self._state.memory[stream.device_index])
        thread = self._runtime.thread
        thread.pool, thread.draws = self._pool.number, self._draws

    def capture_end(self) -> None:
        """End the recording. RuntimeError, and nothing is held, if something spoiled it."""
        if self._stream is None:
            raise RuntimeError(f"{type(self).__name__}: capture_end without capture_begin")
        stream, self._stream = self._stream, None
        thread = self._runtime.thread
        thread.pool = thread.draws = None
        self._recording, (function, code) = self.end(stream)
        if code:
            self._pool, self._draws = None, self.new_draws()
            self._runtime.fail(function, code)

    def replay(self) -> None:
        """Do the recorded work on the current stream."""
        if not self._recording:
            raise RuntimeError(self.nothing_captured)
        stream = self.streams.current_stream(self._device)
        self._draws.renew()
        self._runtime.activate(stream.device_index)
        self.launch(stream)
        if self._runtime.waits:
            self._runtime.synchronize_stream(stream.device_index, stream.handle)

    def reset(self) -> None:
        """Drop the recording and its hold on memory."""
        if self._recording and not self._runtime.closed:
            self._runtime.synchronize(self._device)
            recording, self._recording = self._recording, 0
            self.drop(recording)
        self._pool, self._draws = None, self.new_draws()

    def pool(self) -> Any:
        """The pool of its memory, to be shared with another graph."""
        return self._pool

    def register_generator_state(self, generator: Any) -> None:
        """Check that a generator is of this kind of device: a recording takes up each that it draws from, at its first number."""
        if generator.device.type != self.streams.kind:
            raise RuntimeError(
                f"register_generator_state: expected a generator of {self.streams.kind}, but its device is {generator.device}"
            )

    def __del__(self) -> None:
        with contextlib.suppress(RuntimeError):  # a lost device has no graphs any more
            self.reset()


class Capture:
    """The base of `torch.npu.graph` and `torch.cuda.graph`: the work of a block goes into a graph.

    Args:
        graph: takes the recording.
        pool, capture_error_mode: as for `capture_begin`.
        stream: where the work is recorded; None is one for all captures of the device.
    """

    _own: ClassVar[dict[tuple[str, int], Any]] = {}  # (kind, device) -> the stream of captures that name none

    def __init__(self, graph: Any, pool: Any, stream: Any, capture_error_mode: str) -> None:
        streams: Streams = graph.streams
        if stream is None:
            index = streams.device_index(None)
            stream = self._own.get((streams.kind, index))
            if stream is None:
                stream = self._own[streams.kind, index] = streams.stream(index)
        self._graph, self._pool, self._stream, self._mode = graph, pool, stream, capture_error_mode
        self._streams = streams

    def __enter__(self) -> Self:
        index = self._stream.device_index
        self._streams.runtime().synchronize(index)
        gc.collect()
        self._before = self._streams.current_stream(index)
        self._streams.set_stream(self._stream)
        try:
            self._graph.capture_begin(self._pool, self._mode)
        except BaseException:
            self._streams.set_stream(self._before)
            raise
        return self

    def __exit__(self, kind: Any, *exception: Any) -> None:
        try:
            if kind is None:
                self._graph.capture_end()
            else:
                with contextlib.suppress(RuntimeError):
                    self._graph.capture_end()
                self._graph.reset()
        finally:
            self._streams.set_stream(self._before)
