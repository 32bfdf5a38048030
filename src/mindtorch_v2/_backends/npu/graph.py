"""Capture and replay of a device's work: `torch.npu.NPUGraph`.

While a stream is captured, operators are recorded with the addresses that they were given, and nothing is done. So what a graph
works on has to stay where it is: blocks that are allocated meanwhile come from a pool of the graph's own, which no other work
gets, and which is given back with `reset` or when the last graph that uses it goes.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from ..common.draws import Draws
from ..common.graph_pools import GraphPool
from . import state
from .aclnn import operator
from .graph_updates import Updates
from .stream import Stream, current_stream, set_stream

_MODES = {"global": 0, "thread_local": 1, "relaxed": 2}
_streams: dict[int, Stream] = {}  # device -> the stream that graphs are captured on, where none is named


def _new_draws() -> Draws:
    return Draws(
        operator("aclnnInplaceFillScalar").run,
        "NPUGeneratorImpl::set_current_seed can be called during stream capture only if new seed is the same as the original "
        "seed. A generator's seed can only be set to what it is while a graph is recorded: a replay draws with the seed that the "
        "generator then has",
    )


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


class NPUGraph:
    """Work of a stream that is recorded once and done often, on what its tensors then hold.

    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        y = model(x)
    x.copy_(batch)
    graph.replay()  # y is model(batch)
    """

    def __init__(self) -> None:
        self._model = 0  # first: what could not be made is given back too
        self.graph_dispatch_mode, self._updated = Updates(), False
        self._runtime = state.get().runtime
        self._device = 0
        self._pool: GraphPool | None = None
        self._stream: Stream | None = None
        self._draws = _new_draws()

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
        self._stream, self._device = stream, stream.device_index
        self._pool = pool if pool is not None else GraphPool(state.get().memory[stream.device_index])
        runtime.thread.pool, runtime.thread.draws = self._pool.number, self._draws

    def capture_end(self) -> None:
        """End the recording. NPUError, and nothing is held, if something spoiled it."""
        if self._stream is None:
            raise RuntimeError("NPUGraph: capture_end without capture_begin")
        runtime, stream, self._stream = self._runtime, self._stream, None
        runtime.thread.pool = runtime.thread.draws = None
        model = ctypes.c_void_p()
        code = runtime.aclmdlRICaptureEnd(stream.npu_stream, ctypes.byref(model))
        if code:
            self._pool, self._draws = None, _new_draws()
            runtime.fail("aclmdlRICaptureEnd", code)
        self._model = model.value or 0

    def replay(self) -> None:
        """Do the recorded work on the current stream."""
        if not self._model:
            raise RuntimeError("NPUGraph: nothing was captured")
        runtime = self._runtime
        stream = current_stream()
        self._draws.renew()
        runtime.activate(stream.device_index)
        code = runtime.aclmdlRIExecuteAsync(self._model, stream.npu_stream or None)
        if code:
            runtime.fail("aclmdlRIExecuteAsync", code, runtime.hint())
        runtime.note("NPUGraph.replay", stream.device_index, stream.npu_stream)
        if runtime.waits:
            runtime.synchronize_stream(stream.device_index, stream.npu_stream)

    def reset(self) -> None:
        """Drop the recording and its hold on memory."""
        if self._model and not self._runtime.closed:
            self._runtime.synchronize(self._device)
            model, self._model = self._model, 0
            self._runtime.check("aclmdlRIDestroy", self._runtime.aclmdlRIDestroy(model))
        self._pool, self._draws = None, _new_draws()
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

    def pool(self) -> Any:
        """The pool of its memory, to be shared with another graph."""
        return self._pool

    def register_generator_state(self, generator: Any) -> None:
        """Check that a generator is of an NPU: a recording takes up each that it draws from, at its first number."""
        if generator.device.type != "npu":
            raise RuntimeError(
                f"register_generator_state: expected a generator of an NPU, but its device is {generator.device}"
            )

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
        if not self._model:
            warnings.warn("NPUGraph.debug_dump(): nothing was captured, and nothing is written", stacklevel=2)
        elif debug_path is not None:
            path = os.fsencode(debug_path)
            self._runtime.check("aclmdlRIDebugJsonPrint", self._runtime.aclmdlRIDebugJsonPrint(self._model, path, 0))
        else:
            self._runtime.check("aclmdlRIDebugPrint", self._runtime.aclmdlRIDebugPrint(self._model))

    def __del__(self) -> None:
        self.reset()


@contextlib.contextmanager
def graph(
    npu_graph: NPUGraph,
    pool: Any = None,
    stream: Stream | None = None,
    auto_dispatch_capture: bool = False,
    capture_error_mode: str = "global",
) -> Iterator[None]:
    """Record the work of a block into a graph, on a stream of its own unless one is named.

    The block must not wait for the device or copy from pageable memory. Random numbers are drawn anew at each replay, from
    where the generator then is. If the block raises, so does this, and the graph holds nothing. With `auto_dispatch_capture`
    the lengths that attention of inference takes can be changed by `npu_graph.update`, for which each replay waits.
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
            npu_graph._updated = auto_dispatch_capture
            with npu_graph.graph_dispatch_mode if auto_dispatch_capture else contextlib.nullcontext():
                yield
        except BaseException:
            with contextlib.suppress(RuntimeError):
                npu_graph.capture_end()
            npu_graph.reset()
            raise
        npu_graph.capture_end()
    finally:
        set_stream(before)
