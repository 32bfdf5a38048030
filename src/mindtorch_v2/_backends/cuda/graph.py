"""Capture and replay of a device's work: `torch.cuda.CUDAGraph`.

While a stream is captured, work is recorded with the addresses that it was given, and nothing is done. So what a graph works on has
to stay where it is: blocks that are allocated meanwhile come from a pool of the graph's own.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
from typing import Any, Self

from ..common.draws import Draws
from ..common.graph_pools import GraphPool
from . import copies, state
from .stream import Stream, current_stream, set_stream

_MODES = {"global": 0, "thread_local": 1, "relaxed": 2}
_streams: dict[int, Stream] = {}  # device -> the stream that graphs are captured on, where none is named


def _new_draws() -> Draws:
    return Draws(
        copies.fill,
        "CUDAGeneratorImpl::set_current_seed can be called during stream capture only if new seed is the same as the original "
        "seed.",
    )


def graph_pool_handle() -> GraphPool:
    """A pool of memory that several graphs can share, for `pool=`."""
    held = state.get()
    return GraphPool(held.memory[held.runtime.thread.device])


class CUDAGraph:
    """Work of a stream that is recorded once and done often, on what its tensors then hold.

    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = model(x)
    x.copy_(batch)
    graph.replay()  # y is model(batch)
    """

    def __init__(self, keep_graph: bool = False) -> None:
        self._executable = 0  # first: what could not be made is given back too
        self._runtime = state.get().runtime
        self._device = 0
        self._pool: GraphPool | None = None
        self._stream: Stream | None = None
        self._draws = _new_draws()

    def capture_begin(self, pool: Any = None, capture_error_mode: str = "global") -> None:
        """Record the current stream's work from here on. RuntimeError on the default stream or if there is a recording."""
        if capture_error_mode not in _MODES:
            raise ValueError(f"capture_error_mode has to be one of {', '.join(_MODES)}, got {capture_error_mode!r}")
        if self._executable or self._stream is not None:
            raise RuntimeError("CUDAGraph: it holds a recording; reset() it, or take a new one")
        runtime, stream = self._runtime, current_stream()
        if not stream.cuda_stream:
            raise RuntimeError(
                "CUDA graphs must be captured on a non-default stream. (However, after capture, it's ok to replay them on the default "
                "stream.)"
            )
        runtime.activate(stream.device_index)
        code = runtime.cuStreamBeginCapture_v2(stream.cuda_stream, _MODES[capture_error_mode])
        runtime.check("cuStreamBeginCapture", code)
        self._stream, self._device = stream, stream.device_index
        self._pool = pool if pool is not None else GraphPool(state.get().memory[stream.device_index])
        runtime.thread.pool, runtime.thread.draws = self._pool.number, self._draws

    def capture_end(self) -> None:
        """End the recording. CUDAError, and nothing is held, if something spoiled it."""
        if self._stream is None:
            raise RuntimeError("CUDAGraph: capture_end without capture_begin")
        runtime, stream, self._stream = self._runtime, self._stream, None
        runtime.thread.pool = runtime.thread.draws = None
        recorded, executable = ctypes.c_void_p(), ctypes.c_void_p()
        function, code = "cuStreamEndCapture", runtime.cuStreamEndCapture(stream.cuda_stream, ctypes.byref(recorded))
        if code:  # the stream is let go all the same
            runtime.cuStreamEndCapture(stream.cuda_stream, ctypes.byref(recorded))
        else:
            function = "cuGraphInstantiate"
            code = runtime.cuGraphInstantiateWithFlags(ctypes.byref(executable), recorded, 0)
            runtime.cuGraphDestroy(recorded)
        if code:
            self._pool, self._draws = None, _new_draws()
            runtime.fail(function, code)
        self._executable = executable.value or 0

    def replay(self) -> None:
        """Do the recorded work on the current stream."""
        if not self._executable:
            raise RuntimeError("Called CUDAGraph::replay without a preceding successful capture.")
        runtime, stream = self._runtime, current_stream(self._device)
        self._draws.renew()
        runtime.activate(stream.device_index)
        runtime.check("cuGraphLaunch", runtime.cuGraphLaunch(self._executable, stream.cuda_stream or None))
        if runtime.blocking:
            runtime.synchronize_stream(stream.device_index, stream.cuda_stream)

    def reset(self) -> None:
        """Drop the recording and its hold on memory."""
        if self._executable and not self._runtime.closed:
            self._runtime.synchronize(self._device)
            executable, self._executable = self._executable, 0
            self._runtime.check("cuGraphExecDestroy", self._runtime.cuGraphExecDestroy(executable))
        self._pool, self._draws = None, _new_draws()

    def pool(self) -> Any:
        """The pool of its memory, to be shared with another graph."""
        return self._pool

    def register_generator_state(self, generator: Any) -> None:
        """Check that a generator is of a CUDA device: a recording takes up each that it draws from, at its first number."""
        if generator.device.type != "cuda":
            raise RuntimeError(
                f"register_generator_state: expected a generator of cuda, but its device is {generator.device}"
            )

    def __del__(self) -> None:
        with contextlib.suppress(RuntimeError):  # a lost context has no graphs any more
            self.reset()


class graph:
    """Record the work of a block into a graph, on a stream of its own unless one is named.

    The block must not wait for the device or copy from pageable memory. Random numbers are drawn anew at each replay, from where
    the generator then is. If the block raises, so does this, and the graph holds nothing.
    """

    def __init__(
        self, cuda_graph: CUDAGraph, pool: Any = None, stream: Stream | None = None, capture_error_mode: str = "global"
    ) -> None:
        index = state.get().runtime.thread.device
        if stream is None:
            stream = _streams.get(index) or _streams.setdefault(index, Stream(index))
        self._graph, self._pool, self._stream, self._mode = cuda_graph, pool, stream, capture_error_mode

    def __enter__(self) -> Self:
        index = self._stream.device_index
        state.get().runtime.synchronize(index)
        gc.collect()
        self._before = current_stream(index)
        set_stream(self._stream)
        try:
            self._graph.capture_begin(self._pool, self._mode)
        except BaseException:
            set_stream(self._before)
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
            set_stream(self._before)
