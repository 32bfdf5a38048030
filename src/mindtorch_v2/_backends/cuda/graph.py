"""Capture and replay of a CUDA device's work: `torch.cuda.CUDAGraph`."""

from __future__ import annotations

import ctypes
from typing import Any

from ..common import graph as _common
from ..common.draws import Draws
from ..common.graph_pools import GraphPool
from . import copies, state
from . import stream as _stream


def graph_pool_handle() -> GraphPool:
    """A pool of memory that several graphs can share, for `pool=`."""
    held = state.get()
    return GraphPool(held.memory[held.runtime.thread.device])


class CUDAGraph(_common.Graph):
    """Work of a stream that is recorded once and done often, on what its tensors then hold: see `torch.cuda.graph`."""

    streams = _stream.streams
    nothing_captured = "Called CUDAGraph::replay without a preceding successful capture."

    def __init__(self, keep_graph: bool = False) -> None:
        super().__init__(state.get())

    def new_draws(self) -> Draws:
        return Draws(
            copies.fill,
            "CUDAGeneratorImpl::set_current_seed can be called during stream capture only if new seed is the same as the "
            "original seed.",
        )

    def begin(self, stream: Any, mode: int) -> None:
        if not stream.handle:
            raise RuntimeError(
                "CUDA graphs must be captured on a non-default stream. (However, after capture, it's ok to replay them on the default "
                "stream.)"
            )
        self._runtime.check("cuStreamBeginCapture", self._runtime.cuStreamBeginCapture_v2(stream.handle, mode))

    def end(self, stream: Any) -> tuple[int, tuple[str, int]]:
        runtime, recorded, executable = self._runtime, ctypes.c_void_p(), ctypes.c_void_p()
        function, code = "cuStreamEndCapture", runtime.cuStreamEndCapture(stream.handle, ctypes.byref(recorded))
        if code:  # the stream is let go all the same
            runtime.cuStreamEndCapture(stream.handle, ctypes.byref(recorded))
        else:
            function = "cuGraphInstantiate"
            code = runtime.cuGraphInstantiateWithFlags(ctypes.byref(executable), recorded, 0)
            runtime.cuGraphDestroy(recorded)
        return executable.value or 0, (function, code)

    def launch(self, stream: Any) -> None:
        self._runtime.check("cuGraphLaunch", self._runtime.cuGraphLaunch(self._recording, stream.handle or None))

    def drop(self, recording: int) -> None:
        self._runtime.check("cuGraphExecDestroy", self._runtime.cuGraphExecDestroy(recording))


class graph(_common.Capture):
    """Record the work of a block into a graph, on a stream of its own unless one is named.

    The block must not wait for the device or copy from pageable memory. Random numbers are drawn anew at each replay, from where
    the generator then is. If the block raises, so does this, and the graph holds nothing.

    recorded = torch.cuda.CUDAGraph()
    with torch.cuda.graph(recorded):
        y = model(x)
    x.copy_(batch)
    recorded.replay()  # y is model(batch)
    """

    def __init__(
        self,
        cuda_graph: CUDAGraph,
        pool: Any = None,
        stream: _stream.Stream | None = None,
        capture_error_mode: str = "global",
    ) -> None:
        super().__init__(cuda_graph, pool, stream, capture_error_mode)
