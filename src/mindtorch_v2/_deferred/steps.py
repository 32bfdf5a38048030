"""Calls that were put off, as steps of a tree: what each does, found out on fake tensors once, and the graph of a path.

A tree has one root for each setting of the thread; a step is found by the one before it and by its own call. Values have
numbers, in the order in which they are seen: tensors from outside and results alike. So a path of steps is a program, equal
programs are equal paths, and nothing is computed twice about them.
"""

from __future__ import annotations

import operator
import os
import sys
from collections.abc import Sequence
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2 import _C, fx
from mindtorch_v2._core.torch_dispatch import overload_of
from mindtorch_v2._core.torch_function import DisableTorchFunction
from mindtorch_v2._dispatch.tags import Tag
from mindtorch_v2._operators import autocast as _autocast
from mindtorch_v2._operators.table import facts_of
from mindtorch_v2._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from mindtorch_v2.amp import autocast_mode

__all__ = [
    "Fakes",
    "New",
    "Step",
    "Value",
    "graph_of",
    "place_in_program",
    "reason_of",
    "rule_of",
    "run_steps",
    "starts_with_grad",
    "value",
]

_PACKAGE = torch.__path__[0] + os.sep


class Value:
    """The value of a number, in the place of a tensor."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number


_values: list = []


def value(number: int) -> Value:
    """The Value of a number: one object for each."""
    while len(_values) <= number:
        _values.append(Value(len(_values)))
    return _values[number]


class New:
    """A result that is a new tensor: what is known of it before it is computed."""

    __slots__ = ("form", "number", "value")

    def __init__(self, number: int, fake: Any) -> None:
        self.number, self.value = number, value(number)
        self.form = (
            tuple(fake.shape),
            tuple(fake.stride()),
            fake.storage_offset(),
            fake.dtype,
            fake.device,
            fake.requires_grad,
        )


# ---- which calls can be put off ----

NOW, LATER, COMPOSITE, SAME = "now", "later", "composite", "same"

_rules: dict = {}


def rule_of(handle: Any) -> str:
    """Whether calls of an operator can be put off; COMPOSITE where it is made of others, as autocast sees them."""
    rule = _rules.get(handle)
    if rule is None:
        rule = _rules[handle] = _find_rule(handle)
    return rule


def reason_of(handle: Any) -> str:
    """Why a call of an operator cannot be put off."""
    name = f"{handle.namespace}::{handle.name}"
    facts = facts_of(handle)
    if facts.gives_value:
        return f"the program asks for a value ({name})"
    if facts.sizes_by_values:
        return f"the size of a result depends on values ({name})"
    if facts.raises_by_values:
        return f"values decide whether a call raises ({name})"
    return f"a call that cannot be put off ({name})"


def _find_rule(handle):
    facts = facts_of(handle)
    if facts.lifts:
        return SAME
    # Programs catch the errors that values decide, and go on.
    if facts.gives_value or facts.sizes_by_values is True or facts.raises_by_values or Tag.inplace_view in facts.tags:
        return NOW
    if handle.form == "out" or any(a["is_write"] and a["kwarg_only"] for a in handle.arguments):
        return NOW
    return COMPOSITE if "CompositeImplicitAutograd" in handle.kernels() else LATER


# ---- one call ----


class Step:
    """A call, and the steps that followed it in some run."""

    __slots__ = (
        "args",
        "casts",
        "examples",
        "gains_history",
        "grad",
        "graphs",
        "inputs",
        "kwargs",
        "next",
        "place",
        "random",
        "results",
        "target",
        "writes_outside",
    )

    def __init__(
        self, handle: Any = None, args: Any = (), kwargs: Any = None, grad: bool = True, casts: Any = None
    ) -> None:
        self.target = None if handle is None else overload_of(handle)
        self.args, self.kwargs, self.grad, self.casts = args, kwargs or {}, grad, casts
        self.random = handle is not None and handle.random
        self.inputs = ()  # numbers of the tensors from outside that it is the first to take
        self.results = self.examples = self.place = None
        self.gains_history: tuple[int, ...] = ()  # numbers of values that require grad from here on
        self.writes_outside = False  # to the memory of tensors from outside
        self.next: dict[Any, Any] = {}
        self.graphs: dict[Any, Any] = {}  # numbers of the values that are asked for -> what was compiled


class _Casts:
    """Within this block autocast is as it was at a call that was put off: `casts` is None or what `autocast` takes."""

    def __init__(self, casts: tuple | None) -> None:
        self._casts = casts

    def __enter__(self) -> None:
        self._mode = None if self._casts is None else autocast_mode._enter_autocast(*self._casts)

    def __exit__(self, *exception: Any) -> None:
        autocast_mode._exit_autocast(self._mode)


def _filled(tree, values):
    """`tree` with the values of its numbers."""
    kind = type(tree)
    if kind is Value:
        return values[tree.number]
    if kind is list or kind is tuple:
        return kind([_filled(each, values) for each in tree])
    return tree


def _call(step, values):
    """The result of a step for the values of its numbers."""
    args = [_filled(each, values) for each in step.args]
    kwargs = {name: _filled(each, values) for name, each in step.kwargs.items()}
    _C._set_grad_enabled(step.grad)
    with _Casts(step.casts):
        return step.target(*args, **kwargs)


def _spread(results, found, values) -> None:
    """Put the tensors of a result at their numbers."""
    if type(results) is New:
        values[results.number] = found
    elif type(results) is list:
        for each, tensor in zip(results, found):
            _spread(each, tensor, values)


def run_steps(path: list[Step], values: dict[int, Any]) -> None:
    """Run the steps one after the other on the operators' kernels. `values` is a dict, and holds what was computed."""
    for step in path:
        found = _call(step, values)
        _spread(step.results, found, values)


# ---- finding out what a call gives ----


class Refused(Exception):
    """Raised for a call that cannot be put off."""


class Fakes:
    """The values of a path so far, as fake tensors."""

    def __init__(self, path: Any, objects: Any) -> None:
        self.mode = FakeTensorMode()
        self.values: dict[Any, Any] = {}
        for step in path:
            self.take(step.inputs, objects)
            _spread(step.results, self._run(step), self.values)

    def take(self, numbers: tuple[int, ...], objects: list) -> None:
        """Fake tensors for tensors from outside."""
        for number in numbers:
            self.values[number] = self.mode.from_tensor(objects[number])

    def _run(self, step):
        with self.mode:
            return _call(step, self.values)

    def explore(self, step: Any, first: int, outside: set[int]) -> None:
        """Find out what a new step does. Its new values are numbered from `first`; `outside` are those from outside."""
        fakes = self.values
        places = _writes(step.target._handle)
        before = {n: (_form(fake), fake.requires_grad) for n, fake in fakes.items()} if places else {}
        result = self._run(step)
        if places:
            written = self._written(step, places)
            for number, fake in fakes.items():
                form, required = before[number]
                if _form(fake) != form:
                    raise Refused("the form of a tensor changes")
                if step.grad and fake.requires_grad and number in outside and number in written:
                    raise Refused("a tensor from outside gets a history")
                if fake.requires_grad is not required:
                    step.gains_history += (number,)
            step.writes_outside = not outside.isdisjoint(written)
        known = {id(fake): number for number, fake in fakes.items()}
        step.results = self._number(result, known, [first])
        step.examples = result

    def _written(self, step, places) -> set:
        """The numbers of all values that share memory with one that the step wrote to."""
        memories = set()
        for place, name in places:
            given = step.args[place] if place < len(step.args) else step.kwargs.get(name)
            for each in given if isinstance(given, (list, tuple)) else (given,):
                if type(each) is Value:
                    memories.add(_memory(self.values[each.number]))
        return {number for number, fake in self.values.items() if _memory(fake) in memories}

    def _number(self, result, known, first):
        if result is None:
            return None
        if isinstance(result, FakeTensor):
            if id(result) in known:
                return value(known[id(result)])
            if result.layout is not torch.strided:  # how many items it has, values tell
                raise Refused("the result is a sparse tensor")
            new = New(first[0], result)
            self.values[first[0]] = result
            known[id(result)] = first[0]
            first[0] += 1
            return new
        if isinstance(result, (list, tuple)):
            return [self._number(each, known, first) for each in result]
        raise Refused("the result is no tensor")


def _writes(handle) -> list:
    """The arguments that an operator writes to: place and name. Batch norms do so to running statistics, unsaid."""
    return [
        (place, argument["name"])
        for place, argument in enumerate(handle.arguments)
        if argument["is_write"] or argument["name"].startswith("running_")
    ]


def _form(fake) -> tuple:
    return fake.shape, fake.stride(), fake.storage_offset(), fake.dtype


def _memory(fake):
    return fake._elem.untyped_storage()._cdata


# ---- the graph of a path ----


def starts_with_grad(path: list[Step]) -> bool:
    """The grad mode in which the graph of a path is called: some back ends make no way back where it is off."""
    return any(step.grad for step in path)


def graph_of(path: Any, objects: Any, wanted: Sequence[int]) -> Any:
    """A GraphModule of the steps, whose inputs are the tensors from outside and whose outputs the values of `wanted`.

    Returns it with example inputs: fake tensors.
    """
    graph = fx.Graph()
    nodes: dict[int, Any] = {}
    examples: list[Any] = []
    mode = FakeTensorMode()
    for number in (number for step in path for number in step.inputs):
        nodes[number] = graph.placeholder(f"input_{len(examples) + 1}")
        example = nodes[number].meta["example_value"] = mode.from_tensor(objects[number])
        examples.append(example)
    grad, casts, entered = starts_with_grad(path), None, None
    for step in path:
        if step.casts != casts and entered is not None:
            graph.call_function(autocast_mode._exit_autocast, (entered,))
            entered = None
        if step.casts != casts and step.casts is not None:
            entered = graph.call_function(autocast_mode._enter_autocast, step.casts)
        if step.grad is not grad:
            graph.call_function(torch._C._set_grad_enabled, (step.grad,))
        grad, casts = step.grad, step.casts
        args = tuple(_filled(each, nodes) for each in step.args)
        node = graph.call_function(step.target, args, {n: _filled(each, nodes) for n, each in step.kwargs.items()})
        node.meta["example_value"] = step.examples
        if step.place is not None:
            node.meta["stack_trace"] = '  File "{}", line {}, in {}'.format(*step.place)
        _place_nodes(graph, node, step.results, nodes)
    if entered is not None:
        graph.call_function(autocast_mode._exit_autocast, (entered,))
    if grad is not starts_with_grad(path):
        graph.call_function(torch._C._set_grad_enabled, (not grad,))
    graph.output(tuple(nodes[number] for number in wanted))
    for node in reversed(graph.nodes):
        if node.target is operator.getitem and not node.users:
            graph.erase_node(node)
    return fx.GraphModule({}, graph), examples


def _place_nodes(graph, node, results, nodes) -> None:
    if type(results) is New:
        nodes[results.number] = node
    elif type(results) is list:
        for index, each in enumerate(results):
            if type(each) in (New, list):
                item = graph.call_function(operator.getitem, (node, index))
                item.meta["example_value"] = node.meta["example_value"][index]
                _place_nodes(graph, item, each, nodes)


def place_in_program() -> Any:
    """`(file name, line number, name of the function)` of the innermost frame of the user's; None if there is none."""
    frame: Any = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    return None if frame is None else (frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)


class outside_of_all:  # used as a function
    """Within this block calls run: nothing is put off, autocast and function modes are off, grad mode may be changed."""

    _OFF = _autocast.KEYS
    _TRACER = _C._key_bit("Tracer")

    def __enter__(self) -> None:
        self._keys = include, exclude = _C._tls_keys()
        self._grad = torch.is_grad_enabled()
        _C._set_tls_keys(include & ~(self._OFF | self._TRACER), exclude | self._TRACER)
        self._overrides = DisableTorchFunction()
        self._overrides.__enter__()

    def __exit__(self, *exception: Any) -> None:
        self._overrides.__exit__(*exception)
        _C._set_grad_enabled(self._grad)
        _C._set_tls_keys(*self._keys)
