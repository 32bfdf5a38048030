"""Capture and replay of an NPU's work: `torch.npu.NPUGraph`."""

from __future__ import annotations

import ctypes
import os
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Self, cast

from ..common import graph as _common
from ..common.draws import Draws
from ..common.graph_pools import GraphPool
from . import state
from . import stream as _stream
from .aclnn import operator
from .graph_updates import Updates


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
    return GraphPool(state.get().memory[state.get().runtime.thread.device])


# The options of `super_kernel_optimize` and the types of their values: of a list its elements', of a dictionary its entries'.
_OPTIMIZE: dict[str, Any] = {
    **dict.fromkeys(("auto_op_parallel", "constant_codegen", "early_start", "preload_code"), int),
    **dict.fromkeys(("split_mode", "stream_fusion"), int),
    **dict.fromkeys(("dcci_after_kernel_end", "dcci_before_kernel_start", "dcci_disable_on_kernel"), [str]),
    "aggressive_opt_strategies": dict.fromkeys(
        ("event_breaker_bypass", "task_breaker_bypass", "value_breaker_bypass"), int
    ),
    "opt_extend": str,
    "ubuf_lock_ignore_kernel": [str],
}
_DEBUG: dict[str, Any] = {
    **dict.fromkeys(("debug_cross_core_sync_check", "debug_op_exec_trace", "debug_per_op_max_core_num"), int),
    "debug_extend": str,
    "debug_sync_all": int,
}


def _check_options(what: str, given: Any, known: dict[str, Any]) -> None:
    if given is None:
        return
    if not isinstance(given, dict):
        raise RuntimeError(f"super_kernel_optimize: {what} must be a dict, not {type(given).__name__}")
    for name, value in given.items():
        if name not in known:
            raise RuntimeError(f"super_kernel_optimize: {what} has no {name!r}; known are {', '.join(sorted(known))}")
        kind, place = known[name], f"{what}[{name!r}]"
        if isinstance(kind, dict):
            _check_options(place, value, kind)
            continue
        element: type = kind[0] if isinstance(kind, list) else object
        wanted: type = list if isinstance(kind, list) else kind
        if not isinstance(value, wanted):
            raise RuntimeError(f"super_kernel_optimize: {place} must be {wanted.__name__}, not {type(value).__name__}")
        for each in cast("list", value) if isinstance(kind, list) else ():
            if not isinstance(each, element):
                raise RuntimeError(
                    f"super_kernel_optimize: {place} must hold {element.__name__}, but {each!r} is {type(each).__name__}"
                )


class NPUGraph(_common.Graph):
    """Work of a stream that is recorded once and done often, on what its tensors then hold.

    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        y = model(x)
    x.copy_(batch)
    graph.replay()  # y is model(batch)
    """

    streams = _stream.streams
    nothing_captured = "NPUGraph: nothing was captured"

    def __init__(self) -> None:
        self.graph_dispatch_mode, self._updated = Updates(), False
        super().__init__(state.get())

    def new_draws(self) -> Draws:
        return Draws(
            operator("aclnnInplaceFillScalar").run,
            "NPUGeneratorImpl::set_current_seed can be called during stream capture only if new seed is the same as the original "
            "seed. A generator's seed can only be set to what it is while a graph is recorded: a replay draws with the seed that "
            "the generator then has",
        )

    def begin(self, stream: Any, mode: int) -> None:
        self._runtime.check("aclmdlRICaptureBegin", self._runtime.aclmdlRICaptureBegin(stream.handle or None, mode))

    def end(self, stream: Any) -> tuple[int, tuple[str, int]]:
        model = ctypes.c_void_p()
        code = self._runtime.aclmdlRICaptureEnd(stream.handle, ctypes.byref(model))
        return model.value or 0, ("aclmdlRICaptureEnd", code)

    def launch(self, stream: Any) -> None:
        runtime = self._runtime
        code = runtime.aclmdlRIExecuteAsync(self._recording, stream.handle or None)
        if code:
            runtime.fail("aclmdlRIExecuteAsync", code, runtime.hint())
        runtime.note("NPUGraph.replay", stream.device_index, stream.handle)

    def drop(self, recording: int) -> None:
        self._runtime.check("aclmdlRIDestroy", self._runtime.aclmdlRIDestroy(recording))

    def reset(self) -> None:
        """Drop the recording and its hold on memory."""
        super().reset()
        self.graph_dispatch_mode.records.clear()

    def update(self, cpu_update_input: Sequence[Mapping[str, Any]]) -> None:
        """Give operators of the recording other arguments, from the next replay on, or from one that waits for them.

        For graphs of `torch.npu.graph(..., auto_dispatch_capture=True)`, whose replays each wait for an update: a replay without
        one lasts for ever. Attention of inference is updated, and operators of `register_npu_graph_handler`.

        Args:
            cpu_update_input: by the names of arguments their values: one dictionary for each such operator, in the order of the
                recording, or one for all.

        Raises:
            RuntimeError: the graph was recorded without auto_dispatch_capture, or there are as many dictionaries as operators
                neither.

        A warning names what no operator has.
        """
        if not self._updated:
            raise RuntimeError(
                "NPUGraph.update(): the graph was recorded without auto_dispatch_capture=True, which keeps what an update needs"
            )
        self.graph_dispatch_mode.update(cpu_update_input)

    def super_kernel_optimize(
        self, optimize_options: dict[str, Any] | None = None, debug_options: dict[str, Any] | None = None
    ) -> None:
        """Check the options and, as a warning says, do nothing: kernels of a graph are not fused here.

        RuntimeError for an option that is not known, or whose value is of another type.
        """
        _check_options("optimize_options", optimize_options, _OPTIMIZE)
        _check_options("debug_options", debug_options, _DEBUG)
        warnings.warn("super_kernel_optimize has no effect here: kernels are not fused", stacklevel=2)

    def debug_dump(self, debug_path: str | None = None) -> None:
        """Write the recorded tasks to a file, as a trace that Perfetto and chrome://tracing open; without a path, print them."""
        if not self._recording:
            warnings.warn("NPUGraph.debug_dump(): nothing was captured, and nothing is written", stacklevel=2)
        elif debug_path is not None:
            path = os.fsencode(debug_path)
            self._runtime.check(
                "aclmdlRIDebugJsonPrint", self._runtime.aclmdlRIDebugJsonPrint(self._recording, path, 0)
            )
        else:
            self._runtime.check("aclmdlRIDebugPrint", self._runtime.aclmdlRIDebugPrint(self._recording))


class graph(_common.Capture):
    """Record the work of a block into a graph, on a stream of its own unless one is named.

    The block must not wait for the device or copy from pageable memory. Random numbers are drawn anew at each replay, from
    where the generator then is. If the block raises, so does this, and the graph holds nothing. With `auto_dispatch_capture`
    the lengths that attention of inference takes can be changed by `npu_graph.update`, for which each replay waits.
    """

    def __init__(
        self,
        npu_graph: NPUGraph,
        pool: Any = None,
        stream: _stream.Stream | None = None,
        auto_dispatch_capture: bool = False,
        capture_error_mode: str = "global",
    ) -> None:
        super().__init__(npu_graph, pool, stream, capture_error_mode)
        self._updated = auto_dispatch_capture

    def __enter__(self) -> Self:
        super().__enter__()
        self._graph._updated = self._updated
        if self._updated:
            self._graph.graph_dispatch_mode.__enter__()
        return self

    def __exit__(self, kind: Any, *exception: Any) -> None:
        try:
            if self._updated:
                self._graph.graph_dispatch_mode.__exit__(kind, *exception)
        finally:
            super().__exit__(kind, *exception)
