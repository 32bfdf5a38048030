"""`capture`: one run of a program's instrumented copy on fake tensors, and what is kept of it."""

from __future__ import annotations

import contextlib
import types
from collections.abc import Sequence
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2 import _C
from mindtorch_v2._capture._graph import Input
from mindtorch_v2._capture._guard_kinds import active_modes, global_state
from mindtorch_v2._capture._rebuild import Rebuilding
from mindtorch_v2._capture._recording import Recorder, line_of
from mindtorch_v2._capture._result import Capture, ForbiddenCall, Guards, Uncapturable
from mindtorch_v2._capture._rewrite import WITHIN_COPIES
from mindtorch_v2._capture._sources import Argument, Constant, Keyword
from mindtorch_v2._capture._varying import Varying
from mindtorch_v2._core.torch_function import DisableTorchFunction
from mindtorch_v2._operators import autocast as _autocast
from mindtorch_v2._subclasses.fake_tensor import FakeTensorMode

__all__ = ["capture"]


@contextlib.contextmanager
def _state_kept():
    """Whatever the program does to modes and settings is undone after the block."""
    casts = [(d, torch.is_autocast_enabled(d)) for d in _autocast.DEVICES]
    dtypes = dict(_autocast._state.dtypes)
    cache, grad, inference = (
        torch.is_autocast_cache_enabled(),
        torch.is_grad_enabled(),
        torch.is_inference_mode_enabled(),
    )
    try:
        yield
    finally:
        for device, enabled in casts:
            if torch.is_autocast_enabled(device) is not enabled:
                torch.set_autocast_enabled(device, enabled)
        _autocast._state.dtypes.clear()
        _autocast._state.dtypes.update(dtypes)
        torch.set_autocast_cache_enabled(cache)
        _C._set_inference_mode(inference)
        _C._set_grad_enabled(grad)


def _names(function, count) -> list:
    if isinstance(function, torch.nn.Module):
        function = type(function).forward
        skipped = 1
    else:
        skipped = 1 if isinstance(function, types.MethodType) else 0
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    names = () if code is None else code.co_varnames[skipped : code.co_argcount]
    return [names[i] if i < len(names) else f"args[{i}]" for i in range(count)]


def capture(
    function: Any,
    args: Any,
    kwargs: dict[str, Any],
    *,
    dynamic: Any = None,
    previous: Sequence[Capture] = (),
    records_data: bool = False,
    keeps_writes: bool = False,
) -> Any:
    """Capture the call `function(*args, **kwargs)` whole.

    `function` is a function, a method or a Module. `dynamic` is whether sizes of inputs, and numbers, may differ between calls:
    None lets those that differ from `previous`, the captures of earlier calls; `mark_dynamic` and `mark_static` are heeded.
    With `records_data` numbers that are read out of tensors become nodes, where nothing is decided by them. With `keeps_writes`
    a program may change variables and containers outside, though each call that finds them changed needs another capture.
    Nothing is computed, and nothing outside the program's own objects is changed.

    Returns a `Capture`; raises `Uncapturable`, with the place in the program, for what cannot be captured whole, and
    `ForbiddenCall` for a call that is forbidden there.
    """
    if active_modes():
        raise Uncapturable("a mode that sees calls of torch functions is active", "mode")
    varying = Varying(dynamic, previous)
    try:
        return _captured(Recorder(varying, records_data, keeps_writes), function, args, kwargs)
    except Uncapturable:
        if not varying.numbers:
            raise
    varying = Varying(dynamic, previous, numbers_vary=False)  # what needs to know a number may take it as it is
    return _captured(Recorder(varying, records_data, keeps_writes), function, args, kwargs)


def _captured(trace: Recorder, function: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    trace.guards.note("state", None, global_state())
    trace.guards.note("arguments", None, (len(args), tuple(kwargs)))
    try:
        with _state_kept(), trace.graph.recording():
            return _finish(trace, _run(trace, function, args, kwargs), function)
    except Uncapturable as error:
        raise (trace.failed or error) from None
    except ForbiddenCall:
        raise
    except Exception as error:  # the program's own error, which a run without capture will show
        if trace.failed is not None:
            raise trace.failed from None
        raise Uncapturable(
            f"the program raised {type(error).__name__}: {error}", "exception", _place_of(error)
        ) from error
    finally:
        trace.blocks.leave()
        trace.kept.clear()


def _place_of(error: BaseException) -> tuple[str, int, str] | None:
    found, traceback = None, error.__traceback__
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if WITHIN_COPIES in code.co_qualname:
            found = line_of(code, traceback.tb_lineno)
        traceback = traceback.tb_next
    return found


def _run(trace: Recorder, function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    sources, names = trace.sources, _names(function, len(args))
    given = [sources.wrap(value, sources.source(Argument, i, names[i])) for i, value in enumerate(args)]
    named = {key: sources.wrap(value, sources.source(Keyword, key)) for key, value in kwargs.items()}
    if isinstance(function, torch.nn.Module):
        sources.wrap(function, sources.source(Constant, function, "L['self']"))
    elif isinstance(function, types.MethodType):
        source = sources.source(Constant, function.__self__, "L['self']")
        function = types.MethodType(function.__func__, sources.wrap(function.__self__, source))
    elif not isinstance(function, types.FunctionType):
        sources.wrap(function, sources.source(Constant, function, "function"))
    return trace.calls.call(function, *given, **named)


def _guard_memory(trace: Recorder, inputs: Sequence[Input]) -> None:
    """Inputs are different objects, and where some are written they lie apart."""
    inputs = [each for each in inputs if not each.is_number]
    sources = tuple(each.source for each in inputs)
    if len(sources) > 1:
        trace.guards.note("distinct", None, sources)
    written = [each for each in inputs if each.written]
    for each in written:
        place = each.real.untyped_storage()._cdata
        if any(other is not each and other.real.untyped_storage()._cdata == place for other in inputs):
            trace.refuse(f"a write to {each.source.text()}, which shares memory with another input", "aliasing")
    if written and len(sources) > 1:
        trace.guards.note("separate", None, sources)


def _finish(trace: Recorder, result: Any, function: Any) -> Capture:
    trace.alive()
    graph, blocks = trace.graph, trace.blocks
    if blocks.called_in_try and any(each.written for each in graph.inputs):
        trace.refuse("a call in the block of a try statement, in a program that writes to its inputs", "try")
    rebuilding = Rebuilding(trace)
    recipe = rebuilding.recipe(result)
    effects = trace.writes.effects(rebuilding)
    _guard_memory(trace, graph.inputs)
    shapes = graph.shape_program()
    shape_sources = [each.source for each in graph.inputs]
    module, needed = graph.finish(rebuilding.nodes)
    with torch.utils._python_dispatch._disable_current_modes(), DisableTorchFunction():
        mode = FakeTensorMode()
        examples = [each.real if each.is_number else mode.from_tensor(each.real) for each in needed]
    guards = Guards(trace.guards.noted, None if shapes is None else (shapes, shape_sources))
    again = function if blocks.called_in_try or blocks.called_in_try_by_form else None
    written = [place for place, each in enumerate(needed) if each.written] if again else []
    return Capture(module, examples, guards, [each.source for each in needed], recipe, effects, again, written)
