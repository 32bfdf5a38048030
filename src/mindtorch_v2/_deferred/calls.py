"""Graphs of programs that cannot be captured whole: Python runs them as they stand, and their torch calls are put off.

Within a `Region` each operator's call arrives here by the dispatch key Tracer, above autograd and below autocast. It is
not run: its results are pending tensors, which have sizes, dtype and device and no value yet. The calls that wait run as
one graph as soon as anything needs a value, and at the end: then the pending tensors that are still there become what was
computed, the same objects. What cannot be put off runs at once, after what waits.

The C++ side (csrc/core/python/deferred.cpp) asks for values where data or history is read without an operator.
"""

from __future__ import annotations

import math
import threading
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch
from mindtorch_v2 import _C
from mindtorch_v2._core import tracer
from mindtorch_v2._core.tracer import settle, tensors_in
from mindtorch_v2._deferred.steps import (
    COMPOSITE,
    NOW,
    SAME,
    Fakes,
    New,
    Step,
    Value,
    graph_of,
    outside_of_all,
    place_in_program,
    reason_of,
    rule_of,
    run_steps,
    starts_with_grad,
    value,
)
from mindtorch_v2._library.honesty import UndeclaredError
from mindtorch_v2._operators import autocast as _autocast

if TYPE_CHECKING:
    from mindtorch_v2._backends.npu.aclnn import Operator


__all__ = ["Region", "Tree"]

_LONGEST = 4096  # calls that wait: a program without an end is cut
_Tensor, _reference = torch.Tensor, weakref.ref  # for each call
_pending_of, _make_pending, _deferred_state = _C._pending_of, _C._make_pending, _C._deferred_state
_GRAD = 1  # in the state of a call: grad mode; the other bits are autocast's
_BY_IDENTITY = frozenset((type(None), torch.dtype, torch.layout, torch.memory_format, str, int))
_REFUSED = object()  # in the place of a step: the call cannot be put off here
_SHARED_NAME = {True: "True of a call", False: "False of a call"}  # 1 == True


class _Pending:
    """The run that a pending tensor waits for. `error` is why there will be no value."""

    __slots__ = ("error", "region", "value")

    def __init__(self, region: Any, value: Any) -> None:
        self.region, self.value, self.error = region, value, None


class Tree:
    """The steps that were put off in calls of one function, and the graphs made of them.

    `compile(path, graph, examples, reason)` gives what runs in the place of a graph, or None: then its steps run one by
    one, and nothing more is put off in this call. `reason` says what ended the graph; None for the end of the call.
    """

    def __init__(self, compile: Callable[..., Any]) -> None:
        self.compile = compile
        self._roots: dict[Any, Any] = {}

    def root(self, state: Any) -> Step:
        """The root for a setting of the thread."""
        found = self._roots.get(state)
        if found is None:
            found = self._roots[state] = Step()
        return found


class _NotPlain(Exception):
    """Raised for an argument with which a call cannot be put off."""


class Region:
    """One call of a function whose torch calls are put off."""

    waits = True  # so that it can be paused

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._lock = threading.RLock()
        self._off = False
        self._shown: dict[Any, Any] = {}  # memory whose address the program knows -> a tensor that keeps it
        self._start()

    def _start(self):
        self._step: Any = None  # the Step that was taken last, from the first call on
        self._settings: Any = None
        self._fakes: Fakes | None = None
        self._path: list[Step] = []
        self._objects: list[Any] = []  # by number: a tensor from outside, or a weak reference to a pending one
        self._inputs: dict[int, int] = {}  # id of a tensor from outside -> its number
        self._memory: dict[Any, int] = {}  # memory of tensors from outside -> the number of the first
        self._writes = False  # to tensors from outside

    def run(self, function: Callable, args: tuple, kwargs: dict) -> Any:
        """The call. However it ends, nothing waits afterwards."""
        before = tracer.current()
        with tracer.handled_by(self):
            tracer.watch(True)
            try:
                return function(*args, **kwargs)
            finally:
                try:
                    self.flush(None)
                finally:
                    tracer.watch(before is not None)

    # ---- a call ----

    def put_off(self, handle: Operator, args: Any, kwargs: Any) -> Any:
        """Put a call off and give its results; NotImplemented if it has to run now."""
        rule = rule_of(handle)
        if rule is NOW or self._off:
            return self._now(handle, args, kwargs)
        if rule is SAME:
            return NotImplemented
        with self._lock:
            state, settings = _deferred_state()
            if settings != self._settings:
                self.flush("a setting of the thread changed")
                self._settings, self._step = settings, self._tree.root(settings)
            casts = None
            first = len(self._objects)
            try:
                if state > _GRAD:
                    casts = _active_casts() if rule is COMPOSITE else None
                    state &= _GRAD
                key: Any = [handle, state, casts]
                for each in args:
                    kind = type(each)
                    key.append(
                        each
                        if kind in _BY_IDENTITY
                        else self._key_of_tensor(each)
                        if kind is _Tensor
                        else self._key(each)
                    )
                for name, each in kwargs.items():
                    key += (name, self._key(each))
                key = tuple(key)
                step = self._step.next.get(key)
                if step is None:
                    step = self._explore(key, first, handle, args, kwargs, bool(state), casts)
            except _NotPlain:
                step = _REFUSED
            except BaseException:
                self._forget_inputs(first)
                raise
            if step is _REFUSED:
                self._forget_inputs(first)
                return self._now(handle, args, kwargs)
            return self._follow(step)

    def _key(self, given):
        """The key that tells an argument from others; takes new tensors from outside in."""
        kind = type(given)
        if kind in _BY_IDENTITY:
            return given
        if kind is bool:
            return _SHARED_NAME[given]
        if kind is float:
            return (float, given, math.copysign(1.0, given)) if given == given else "nan of a call"
        if isinstance(given, _Tensor):
            return self._key_of_tensor(given)
        if kind is list or kind is tuple:
            return (kind, *map(self._key, given))
        if kind is torch.device or kind is complex:
            return (kind, repr(given))
        raise _NotPlain

    def _key_of_tensor(self, tensor):
        pending = _pending_of(tensor)
        if pending is not None:
            if pending.region is self and pending.error is None:
                return pending.value
            settle(tensor)
        number = self._inputs.get(id(tensor))
        if number is not None:
            return value(number)
        plain = _C._plain_input(tensor)
        if plain is None or plain[0] in self._shown:
            raise _NotPlain
        memory, form = plain
        number = self._inputs[id(tensor)] = len(self._objects)
        self._objects.append(tensor)
        return form, self._memory.setdefault(memory, number)

    def _forget_inputs(self, first) -> None:
        for tensor in self._objects[first:]:
            del self._inputs[id(tensor)]
        del self._objects[first:]
        self._memory = {memory: number for memory, number in self._memory.items() if number < first}

    def _template(self, given):
        if isinstance(given, torch.Tensor):
            pending = _C._pending_of(given)
            return value(self._inputs[id(given)]) if pending is None else pending.value
        if type(given) in (list, tuple):
            return type(given)(map(self._template, given))
        return given

    def _explore(self, key, first, handle, args, kwargs, grad, casts):
        """The new step for a call that was not seen after the steps before it."""
        named = {name: self._template(each) for name, each in kwargs.items()}
        step: Any = Step(handle, tuple(map(self._template, args)), named, grad, casts)
        step.inputs = tuple(range(first, len(self._objects)))
        step.place = place_in_program()
        outside = set(self._inputs.values())
        try:
            with outside_of_all():
                if self._fakes is None:
                    self._fakes = Fakes(self._path, self._objects)
                self._fakes.take(step.inputs, self._objects)
                self._fakes.explore(step, len(self._objects), outside)
        except Exception:  # noqa: BLE001  (Refused, or what the call raises itself, and will raise when it is run)
            self._fakes = None
            step = _REFUSED
        self._step.next[key] = step
        return step

    def _follow(self, step):
        self._step = step
        self._path.append(step)
        results = self._results(step.results)
        for number in step.gains_history:
            tensor = self._tensor(number)
            if tensor is not None:
                _C._pending_requires_grad(tensor)
        self._writes = self._writes or step.writes_outside
        if len(self._path) >= _LONGEST:
            self.flush(f"{_LONGEST} calls wait")
        return results

    def _tensor(self, number):
        found = self._objects[number]
        return found() if type(found) is weakref.ref else found

    def _results(self, template):
        kind = type(template)
        if kind is New:
            made = _make_pending(_Pending(self, template.value), *template.form)
            self._objects.append(_reference(made))
            return made
        if kind is Value:
            return self._tensor(template.number)
        return None if template is None else [self._results(each) for each in template]

    def _now(self, handle, args, kwargs):
        """Before a call that cannot be put off: whatever it may depend on runs."""
        if self._path:
            harmless = handle.namespace == "aten" and not (handle.mutates or handle.random or self._writes)
            if not harmless or any(_C._pending_of(t) is not None for t in tensors_in((*args, *kwargs.values()))):
                self.flush(reason_of(handle))
        for tensor in tensors_in((*args, *kwargs.values())):
            settle(tensor)
        return NotImplemented

    # ---- running what waits ----

    def settle(self, tensor: Any, shown: bool) -> None:
        """Run what waits if the value of a tensor (None: any) is read by other means than a call."""
        with self._lock:
            if tensor is None:
                self.flush("the program asks for values")
                return
            pending = _C._pending_of(tensor)
            if pending is not None:
                self.flush("the program asks for a value")
                return
            if self._path and (shown or self._writes):
                self.flush("the program asks for the memory of a tensor")
            if shown:
                plain = _C._plain_input(tensor)
                if plain is not None:
                    self._shown[plain[0]] = tensor

    def flush(self, reason: str | None) -> None:
        """Run what waits. `reason` says why now; None at the end of the call."""
        with self._lock:
            if not self._path:
                return
            path, objects, step = self._path, self._objects, self._step
            self._start()
            waiting = {}
            for number, each in enumerate(objects):
                if type(each) is weakref.ref:
                    tensor = each()
                    if tensor is not None:
                        waiting[number] = tensor
            try:
                with outside_of_all():
                    self._run_path(path, step, objects, waiting, reason)
            except BaseException as error:
                for tensor in waiting.values():
                    pending = _C._pending_of(tensor)
                    if pending is not None:
                        pending.error = error
                raise

    def _run_path(self, path, step, objects, waiting, reason) -> None:
        numbers = tuple(waiting)
        run = step.graphs.get(numbers)
        if run is None:
            graph, examples = graph_of(path, objects, numbers)
            run = self._tree.compile(path, graph, examples, reason)
            if run is None:
                self._off = True
                self._by_steps(path, objects, waiting)
                return
            step.graphs[numbers] = run
        inputs = [objects[number] for each in path for number in each.inputs]
        _C._set_grad_enabled(starts_with_grad(path))
        draws = any(each.random for each in path)
        state = torch.get_rng_state() if draws else None
        versions = [tensor._version for tensor in inputs] if any(each.writes_outside for each in path) else None
        try:
            results = list(run(*inputs))
        except UndeclaredError:
            raise  # of an operator that must not be in a graph: step by step nothing would be seen of it
        except Exception:  # it is raised again
            if versions is not None and versions != [tensor._version for tensor in inputs]:
                raise
            # The graph stopped somewhere. Step by step, all that comes before the error gets its value.
            if state is not None:
                torch.set_rng_state(state)
            self._by_steps(path, objects, waiting)
            return
        _C._settled(list(waiting.values()), results)

    def _by_steps(self, path, objects, waiting) -> None:
        values = {number: objects[number] for each in path for number in each.inputs}
        try:
            run_steps(path, values)
        finally:
            done = [number for number in waiting if number in values]
            _C._settled([waiting[number] for number in done], [values[number] for number in done])


def _active_casts() -> tuple:
    """The arguments of `autocast` for the state of this thread."""
    on = [device for device in _autocast.DEVICES if torch.is_autocast_enabled(device)]
    if len(on) != 1:
        raise _NotPlain
    return (on[0], torch.get_autocast_dtype(on[0]), True, torch.is_autocast_cache_enabled())
