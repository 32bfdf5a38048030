"""`capture`: one run of a program's instrumented copy on fake tensors, and what is kept of it."""

from __future__ import annotations

import contextlib
import operator
import types
from collections.abc import Sequence
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2 import _C, fx
from mindtorch_v2._capture._calls import Calls
from mindtorch_v2._capture._guard_kinds import active_modes, global_state, is_constant, same_constant
from mindtorch_v2._capture._guards import Guard
from mindtorch_v2._capture._rebuild import Rebuilding
from mindtorch_v2._capture._result import Capture, Guards, Uncapturable
from mindtorch_v2._capture._shape_program import ShapeProgram
from mindtorch_v2._capture._sources import Argument, Constant, Dictionary, Item, Keyword, absent
from mindtorch_v2._core.torch_function import DisableTorchFunction
from mindtorch_v2._operators import autocast as _autocast
from mindtorch_v2._subclasses.fake_tensor import FakeTensorMode

__all__ = ["capture"]


class _Dynamic:
    """Which sizes of which inputs may differ between calls."""

    def __init__(self, dynamic: Any, previous: Sequence[Capture]) -> None:
        self.dynamic = dynamic
        self.seen: dict[Any, Any] = {}
        for each in previous:
            for guard in each.guards.guards:
                if guard.kind == "tensor":
                    self.seen.setdefault(guard.source.text(), []).append(guard.value)

    def __call__(self, source: Any, tensor: Any) -> Any:
        if self.dynamic is False or isinstance(tensor, torch.nn.Parameter):
            return ()
        root = source
        while root.parent is not None:
            root = root.parent
        marked = set(getattr(tensor, "_dynamo_dynamic_indices", ())) | set(
            getattr(tensor, "_dynamo_weak_dynamic_indices", ())
        )
        fixed = set(getattr(tensor, "_dynamo_static_indices", ()))
        found = set(marked)
        if self.dynamic and isinstance(root, (Argument, Keyword)):
            found |= set(range(tensor.dim()))
        for meta in self.seen.get(source.text(), ()):
            if len(meta.shape) == tensor.dim():
                found |= meta.dynamic
                found |= {i for i, size in enumerate(meta.shape) if size != tensor.shape[i]}
        return [i for i in found - fixed if 0 <= i < tensor.dim() and tensor.shape[i] >= 2]


@contextlib.contextmanager
def _state_kept():
    """Whatever the program does to modes and settings is undone after the block."""
    casts = [(d, torch.is_autocast_enabled(d)) for d in ("cpu", "npu")]
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
) -> Any:
    """Capture the call `function(*args, **kwargs)` whole.

    `function` is a function, a method or a Module. `dynamic` is whether sizes of inputs may differ between calls: None
    lets those that differ from `previous`, the captures of earlier calls; `mark_dynamic` and `mark_static` are heeded.
    With `records_data` numbers that are read out of tensors become nodes, where nothing is decided by them.
    Nothing is computed, and nothing outside the program's own objects is changed.

    Returns a `Capture`; raises `Uncapturable`, with the place in the program, for what cannot be captured whole.
    """
    if active_modes():
        raise Uncapturable("a mode that sees calls of torch functions is active", "mode")
    state = global_state()
    trace = Calls(_Dynamic(dynamic, previous))
    trace.graph.records_data = records_data
    trace.sources.guards.append(Guard("state", None, state))
    trace.sources.guards.append(Guard("arguments", None, (len(args), tuple(kwargs))))
    try:
        with _state_kept(), trace.graph.recording():
            return _finish(trace, _run(trace, function, args, kwargs), function)
    except Uncapturable as error:
        raise (trace.failed or error) from None
    except Exception as error:  # the program's own error, which a run without capture will show
        if trace.failed is not None:
            raise trace.failed from None
        place = _place_of(error) or None
        raise Uncapturable(f"the program raised {type(error).__name__}: {error}", "exception", place) from error
    finally:
        for _, entered in reversed(trace.autocasts):
            torch.amp.autocast_mode._exit_autocast(entered)
        trace.kept.clear()


def _place_of(error):
    found, traceback = None, error.__traceback__
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if "__mt_h" in code.co_freevars:
            found = (code.co_filename, traceback.tb_lineno, Calls._line(code.co_filename, traceback.tb_lineno))
        traceback = traceback.tb_next
    return found


def _run(trace, function, args, kwargs):
    names = _names(function, len(args))
    given = [trace.sources.wrap(value, trace.sources.source(Argument, i, names[i])) for i, value in enumerate(args)]
    named = {key: trace.sources.wrap(value, trace.sources.source(Keyword, key)) for key, value in kwargs.items()}
    if isinstance(function, torch.nn.Module):
        trace.sources.wrap(function, trace.sources.source(Constant, function, "L['self']"))
    elif isinstance(function, types.MethodType):
        source = trace.sources.source(Constant, function.__self__, "L['self']")
        function = types.MethodType(function.__func__, trace.sources.wrap(function.__self__, source))
    elif not isinstance(function, types.FunctionType):
        trace.sources.wrap(function, trace.sources.source(Constant, function, "function"))
    return trace.call(function, *given, **named)


def _effects(trace, rebuilding):
    """The writes that are due to objects that were there before, at the end of each call."""
    found = []
    for writes in trace.writes.noted.values():
        obj = writes.obj
        if isinstance(obj, torch.Tensor):
            trace.refuse("an attribute of a tensor was written", "write")
        source = trace.sources.source_of(obj)
        for other, of_other in trace.sources.outside.values():
            # A write to one object would be seen in another that is the same.
            if type(other) is type(obj) and other is not obj:
                trace.sources.guard("different", source, of_other)
        values = obj if writes.of_items else object.__getattribute__(obj, "__dict__")
        where = source if writes.of_items else trace.sources.source(Dictionary, source)
        for name, value in writes.values.items():
            before = values.get(name, absent)
            if before is not absent and is_constant(before) and same_constant(value, before):
                # What it was is guarded, so that a write of the same need not be repeated.
                trace.sources.wrap(before, trace.sources.source(Item, where, name))
                continue
            write = operator.setitem if writes.of_items else setattr
            found.append((write, source, name, rebuilding.recipe(value)))
    return found


def _drop_unused(trace) -> None:
    for node in reversed(trace.graph.fx.nodes):
        if node.users:
            continue
        if node in trace.graph.symbolic or node.op == "call_function" and node.target is operator.getitem:
            trace.graph.fx.erase_node(node)
            trace.graph.conditions.pop(node, None)


def _shape_program(trace, inputs):
    """The graph with conditions as outputs, where there are some sizes that may differ."""
    dynamic = [i for i, (_, _, _, fake) in enumerate(inputs) if id(fake) in trace.graph.tainted]
    if not dynamic:
        return None
    graph, copies = fx.Graph(), {}
    graph.graph_copy(trace.graph.fx, copies)
    graph.output(tuple(copies[node] for node in trace.graph.conditions))
    module = fx.GraphModule({}, graph)
    return ShapeProgram(module, tuple(trace.graph.conditions.values()), [real for _, _, real, _ in inputs], dynamic)


def _guard_memory(trace, inputs) -> None:
    """Inputs are different objects, and where some are written they lie apart."""
    sources = tuple(source for _, source, _, _ in inputs)
    if len(sources) > 1:
        trace.sources.guards.append(Guard("distinct", None, sources))
    written = [i for i, (_, _, _, fake) in enumerate(inputs) if fake._version]
    if not written:
        return
    for i in written:
        place = inputs[i][2].untyped_storage()._cdata
        if any(j != i and other.untyped_storage()._cdata == place for j, (_, _, other, _) in enumerate(inputs)):
            trace.refuse(f"a write to {inputs[i][1].text()}, which shares memory with another input", "aliasing")
    if len(sources) > 1:
        trace.sources.guards.append(Guard("separate", None, sources))


def _finish(trace, result, function):
    trace.alive()
    writes = any(fake._version for _, _, _, fake in trace.graph.inputs)
    if trace.graph.recorded_in_try and writes:
        trace.refuse("a call in the block of a try statement, in a program that writes to its inputs", "try")
    rebuilding = Rebuilding(trace)
    recipe = rebuilding.recipe(result)
    effects = _effects(trace, rebuilding)
    _guard_memory(trace, trace.graph.inputs)
    shapes = _shape_program(trace, trace.graph.inputs)
    shape_sources = [source for _, source, _, _ in trace.graph.inputs]
    trace.graph.fx.output(tuple(rebuilding.nodes))
    _drop_unused(trace)
    kept = []
    for entry in trace.graph.inputs:
        if entry[0].users:
            kept.append(entry)
        else:
            trace.graph.fx.erase_node(entry[0])
    module = fx.GraphModule({}, trace.graph.fx)
    with torch.utils._python_dispatch._disable_current_modes(), DisableTorchFunction():
        mode = FakeTensorMode()
        examples = [mode.from_tensor(real) for _, _, real, _ in kept]
    guards = Guards(trace.sources.guards, None if shapes is None else (shapes, shape_sources))
    sources = [source for _, source, _, _ in kept]
    again = function if trace.graph.recorded_in_try or trace.graph.recorded_in_try_by_form else None
    written = [place for place, (_, _, _, fake) in enumerate(kept) if fake._version] if again else []
    return Capture(module, examples, guards, sources, recipe, effects, again, written)
