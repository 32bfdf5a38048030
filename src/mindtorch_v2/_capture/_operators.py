"""Operators: `a + b`, `a += b`, `-a`, by the graph for tensors and by the methods of their classes for other objects.

Owns no state.
"""

from __future__ import annotations

import collections
import operator
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch
from mindtorch_v2._capture._guard_kinds import is_constant
from mindtorch_v2._capture._sources import look_up
from mindtorch_v2._sizes.recorded import RecordedNumber

if TYPE_CHECKING:
    from mindtorch_v2._capture._recording import Recorder


__all__ = ["FUNCTIONS", "Operators"]

FUNCTIONS = {
    name: getattr(operator, name)
    for name in "add sub mul truediv floordiv mod pow matmul lshift rshift and_ or_ xor neg pos invert".split()
    + "lt le gt ge eq ne".split()
}
"""Name of an operator or a comparison -> function."""
_IN_PLACE = {
    name: getattr(operator, "i" + name.strip("_")) for name in FUNCTIONS if hasattr(operator, "i" + name.strip("_"))
}
_REFLECTED = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le", "eq": "eq", "ne": "ne"}


class Operators:
    """Part of a recorder: operators."""

    def __init__(self, trace: Recorder) -> None:
        self.trace = trace
        self.graph = trace.graph
        self.sources = trace.sources

    def binary(self, name: str, a: Any, b: Any) -> Any:
        """`a <name> b`."""
        self.trace.alive()
        function = FUNCTIONS[name]
        if type(a) in (int, float, str) and type(b) in (int, float):
            return function(a, b)
        if isinstance(a, torch.Tensor) or isinstance(b, torch.Tensor):
            return self.graph.record(
                "call_function", function, (self.trace.values.deep(a), self.trace.values.deep(b)), {}
            )
        if isinstance(a, RecordedNumber) or isinstance(b, RecordedNumber):
            if isinstance(a, (list, tuple, str)):
                b = b.__index__()
            elif isinstance(b, (list, tuple, str)):
                a = a.__index__()
            return function(a, b)
        if isinstance(a, str) and name == "mod":
            return self.trace.texts.filled(a, b)
        if is_constant(a) and is_constant(b):
            return function(a, b)
        return self.by_methods(function, name, a, b)

    def augmented(self, name: str, a: Any, b: Any) -> Any:
        """`a <name>= b`: what `a` is then."""
        self.trace.alive()
        if isinstance(a, torch.Tensor):
            return self.graph.record("call_function", _IN_PLACE[name], (a, self.trace.values.deep(b)), {})
        if isinstance(a, (list, set, dict, collections.deque)) and name in ("add", "or_", "and_", "sub", "xor", "mul"):
            outside, a = a, self.trace.writes.current(a)
            if self.sources.source_of(a) is not None:
                a = self.trace.writes.to_copy(a)
            if name == "add":
                operator.iadd(a, [*self.trace.iteration.over(b)])
            else:
                _IN_PLACE[name](a, self.trace.values.deep(b))
            return outside
        special = f"__i{name.strip('_')}__"
        method = look_up(type(a), special)
        if type(method) is types.FunctionType:
            self.sources.type_attribute(type(a), special)
            result = self.trace.calls.call(method, a, b)
            if result is not NotImplemented:
                return result
        elif method is not None and not is_constant(a):
            self.trace.refuse(f"{special} of a {type(a).__name__} cannot be captured", "operator")
        return self.binary(name, a, b)

    def unary(self, name: str, a: Any) -> Any:
        """`-a`, `+a`, `~a`."""
        self.trace.alive()
        function = FUNCTIONS[name]
        if isinstance(a, torch.Tensor):
            return self.graph.record("call_function", function, (a,), {})
        if is_constant(a) or isinstance(a, RecordedNumber):
            return function(a)
        special = f"__{name}__"
        method = self.sources.type_attribute(type(a), special)
        if type(method) is not types.FunctionType:
            self.trace.refuse(f"{special} of a {type(a).__name__} cannot be captured", "operator")
        return self.trace.calls.call(method, a)

    def by_methods(self, function: Callable[[Any, Any], Any], name: str, a: Any, b: Any) -> Any:
        """An operator or a comparison, by the methods of the classes."""
        special = f"__{name.strip('_')}__"
        method = look_up(type(a), special)
        if type(method) is types.FunctionType:
            self.sources.type_attribute(type(a), special)
            result = self.trace.calls.call(method, a, b)
            if result is not NotImplemented:
                return result
        reverse = f"__{_REFLECTED[name]}__" if name in _REFLECTED else f"__r{name.strip('_')}__"
        other = look_up(type(b), reverse)
        if type(other) is types.FunctionType:
            self.sources.type_attribute(type(b), reverse)
            return self.trace.calls.call(other, b, a)
        if isinstance(a, (dict, set, frozenset, list, tuple, str)) or isinstance(b, (list, tuple)):
            a, b = self.trace.values.deep(a), self.trace.values.deep(b)
            if self._joins(name, a, b) and self.sources.source_of(a) is None and self.sources.source_of(b) is None:
                return function(a, b)
        if isinstance(a, type) or isinstance(b, type):
            return function(a, b)
        self.trace.refuse(f"{special} of a {type(a).__name__} and a {type(b).__name__} cannot be captured", "operator")
        return None

    def _joins(self, name, a, b):
        """Whether the operator of two containers looks at no item (or at plain ones only)."""
        if name in ("add", "mul") and isinstance(a, (list, tuple, int, str)) and isinstance(b, (list, tuple, int, str)):
            return True
        if name == "or_" and isinstance(a, dict) and isinstance(b, dict):
            return True
        return self.trace.values.is_plain(a) and self.trace.values.is_plain(b)
