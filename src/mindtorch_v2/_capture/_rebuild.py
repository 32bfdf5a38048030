"""The program's result made of the graph's outputs: what has to be put round them, found once and repeated at each call."""

from __future__ import annotations

import collections
import functools
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch
from mindtorch_v2._capture._guard_kinds import is_constant
from mindtorch_v2._capture._sources import pairs_of
from mindtorch_v2._sizes.recorded import RecordedNumber, RecordedSize

if TYPE_CHECKING:
    from mindtorch_v2._capture._recording import Recorder
    from mindtorch_v2.fx.node import Node


__all__ = ["Rebuilding"]


def _partial(function, args, keywords):
    return functools.partial(function, *args, **keywords)


# Iterators that a program may give back -> what makes one over the items that are left.
_ITERATORS: dict[type, Callable[[list[Any]], Any]] = {
    zip: lambda items: zip(*zip(*items)),
    map: lambda items: map(lambda each: each, items),
    type(iter([])): iter,
    types.GeneratorType: lambda items: (each for each in items),
}


class Rebuilding:
    """Collect the outputs of a graph; `recipe(value)` gives a function of `(outputs, inputs, args, kwargs, memo)`."""

    def __init__(self, trace: Recorder) -> None:
        self.trace = trace
        self.nodes: list[Any] = []
        self.places: dict[Any, Any] = {}
        self.keys: dict[Any, Any] = {}

    def output(self, node: Node) -> int:
        """The place of a node among the outputs."""
        if node not in self.places:
            self.places[node] = len(self.nodes)
            self.nodes.append(node)
        return self.places[node]

    def gives(self, tensor: torch.Tensor) -> bool:
        """Whether a tensor was given to the call, or is among what it gives by now."""
        graph = self.trace.graph
        return graph.input_of(tensor) is not None or graph.node_of(tensor) in self.places

    def recipe(self, value: Any) -> Callable[..., Any]:
        """How to make such a value."""
        trace = self.trace
        if isinstance(value, torch.Tensor):
            given = trace.graph.input_of(value)
            if given is not None:
                return given.source.of_call
            place = self.output(trace.graph.node_of(value))
            return lambda outputs, args, kwargs, memo: outputs[place]
        if isinstance(value, RecordedNumber):
            place = self.output(value.node)
            return lambda outputs, args, kwargs, memo: outputs[place]
        if is_constant(value):
            return lambda outputs, args, kwargs, memo: value
        source = trace.sources.source_of(value)
        if source is not None:
            return source.of_call
        if isinstance(value, type) or isinstance(
            value, (types.ModuleType, types.BuiltinFunctionType, torch.finfo, torch.iinfo)
        ):
            return lambda outputs, args, kwargs, memo: value
        if isinstance(value, types.FunctionType):
            if trace.functions.is_made(value):
                trace.refuse("a function that was defined in the program as its result", "result")
            return lambda outputs, args, kwargs, memo: value
        if isinstance(value, tuple):
            return self._tuple(value)
        if type(value) is functools.partial:
            parts = [self.recipe(each) for each in (value.func, value.args, dict(value.keywords))]
            return lambda *given: _partial(*(part(*given) for part in parts))
        if type(value) in _ITERATORS:
            again, items = _ITERATORS[type(value)], self.recipe([*value])
            return lambda *given: again(items(*given))
        return self._object(value)

    def _tuple(self, value):
        kind = torch.Size if isinstance(value, RecordedSize) else type(value)
        parts = [self.recipe(each) for each in value]
        if kind is tuple:
            return lambda *given: tuple([part(*given) for part in parts])
        if hasattr(kind, "_fields"):
            return lambda *given: tuple.__new__(kind, [part(*given) for part in parts])
        if kind is torch.Size:
            return lambda *given: torch.Size([part(*given) for part in parts])
        if hasattr(kind, "n_sequence_fields"):
            return lambda *given: kind([part(*given) for part in parts])
        self.trace.refuse(f"a {kind.__name__} as the program's result", "result")
        return None

    def _object(self, value):
        """A list, a dictionary or an instance of a class with attributes; the same object once."""
        kind: Any = type(value)
        known = self.keys.get(id(value))
        if known is not None:
            return lambda outputs, args, kwargs, memo: memo[known]
        key = self.keys[id(value)] = len(self.keys)
        base: Any = next(
            (b for b in (list, collections.OrderedDict, dict, set, collections.deque) if isinstance(value, b)), object
        )
        if base is object and kind.__new__ is not object.__new__ or kind.__module__ == "builtins" and base is object:
            self.trace.refuse(f"a {kind.__name__} as the program's result", "result")
        if isinstance(value, collections.defaultdict):
            self.trace.refuse("a defaultdict as the program's result", "result")
        parts, items = [], []
        if base in (list, set, collections.deque):
            parts = [self.recipe(each) for each in value]
        elif base is not object:
            items = [(self.recipe(k), self.recipe(v)) for k, v in pairs_of(value)]
        attributes = [(name, self.recipe(each)) for name, each in (getattr(value, "__dict__", None) or {}).items()]
        slots = [
            (slot, self.recipe(slot.__get__(value)))
            for b in kind.__mro__
            for slot in vars(b).values()
            if type(slot) is types.MemberDescriptorType and _is_set(slot, value)
        ]

        def make(*given: Any) -> Any:
            memo = given[-1]
            made = memo[key] = object.__new__(kind) if base is object else kind.__new__(kind)
            if base is collections.deque:
                collections.deque.__init__(made, (), value.maxlen)
            if base is list:
                list.extend(made, [part(*given) for part in parts])
            elif base is set:
                set.update(made, [part(*given) for part in parts])
            elif base is collections.deque:
                collections.deque.extend(made, [part(*given) for part in parts])
            elif base is not object:
                for name, part in items:
                    base.__setitem__(made, name(*given), part(*given))
            if attributes:
                made.__dict__.update({name: part(*given) for name, part in attributes})
            for slot, part in slots:
                slot.__set__(made, part(*given))
            return made

        return make


def _is_set(slot, value) -> bool:
    try:
        slot.__get__(value)
    except AttributeError:
        return False
    return True
