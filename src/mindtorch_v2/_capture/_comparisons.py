"""Comparisons, identity, membership and tests of truth.

Owns no state: what a test of an object outside found is guarded.
"""

from __future__ import annotations

import collections
import enum
import functools
import operator
import types
from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch
from mindtorch_v2._capture._guard_kinds import is_constant
from mindtorch_v2._capture._operators import FUNCTIONS
from mindtorch_v2._capture._sources import look_up
from mindtorch_v2._operators.table import every_row
from mindtorch_v2._sizes.recorded import RecordedNumber, RecordedSize

if TYPE_CHECKING:
    from mindtorch_v2._capture._recording import Recorder


__all__ = ["Comparisons"]

# Methods and functions of Python around operators that may give their argument back.
_AROUND = frozenset(("type", "cuda", "npu", "pos", "dropout1d", "dropout2d", "dropout3d"))


@functools.cache
def _giving_back() -> frozenset[str]:
    """Names in Python of methods and functions that may give their argument back."""
    return _AROUND.union(row.handle.name for row in every_row().values() if row.facts.gives_back)


class Comparisons:
    """Part of a recorder: comparisons and tests."""

    def __init__(self, trace: Recorder) -> None:
        self.trace = trace
        self.graph = trace.graph
        self.sources = trace.sources
        self.guards = trace.guards
        self.writes = trace.writes

    def compare(self, name: str, a: Any, b: Any) -> bool | torch.Tensor:
        """`a <name> b`."""
        self.trace.alive()
        if name == "is":
            return self.same(a, b)
        if name == "is_not":
            return not self.same(a, b)
        if name == "in":
            return self.contains(b, a)
        if name == "not_in":
            return not self.contains(b, a)
        function = FUNCTIONS[name]
        if isinstance(a, torch.Tensor) or isinstance(b, torch.Tensor):
            if not isinstance(a, torch.Tensor) and not isinstance(a, (int, float, complex, RecordedNumber)):
                return self._mixed(name, function, a, b)
            if not isinstance(b, torch.Tensor) and not isinstance(b, (int, float, complex, RecordedNumber)):
                return self._mixed(name, function, a, b)
            return self.graph.record("call_function", function, (a, b), {})
        if self.trace.values.is_plain(a) and self.trace.values.is_plain(b):
            return self._plain_comparison(function, a, b)
        if isinstance(a, (list, tuple, dict, set)) and isinstance(b, (list, tuple, dict, set)):
            a, b = self.trace.values.deep(a), self.trace.values.deep(b)
            if self.trace.values.is_plain(a) and self.trace.values.is_plain(b):
                return self._plain_comparison(function, a, b)
            self.trace.refuse("a comparison of containers with objects in them", "comparison")
        if name == "ne" and look_up(type(a), "__ne__") is object.__ne__ and self._compares(a):
            return not self.truth(self.compare("eq", a, b))
        if name in ("eq", "ne") and not self._compares(a) and not self._compares(b):
            return self.same(a, b) is (name == "eq")
        if isinstance(a, RecordedSize) or isinstance(b, RecordedSize):
            return function(tuple(a), tuple(b))
        return self.trace.operators.by_methods(function, name, a, b)

    def _mixed(self, name, function, a, b):
        if name == "eq":
            return False
        if name == "ne":
            return True
        return function(a, b)

    def _plain_comparison(self, function, a, b):
        if isinstance(a, types.FunctionType) or isinstance(b, types.FunctionType):
            return self.same(a, b) is (function is operator.eq)
        a = tuple(a) if isinstance(a, RecordedSize) else a
        b = tuple(b) if isinstance(b, RecordedSize) else b
        return function(a, b)

    def _compares(self, value) -> bool:
        """Whether the class says what equal means."""
        return look_up(type(value), "__eq__") is not object.__eq__ and not isinstance(
            value, (type, types.FunctionType, types.ModuleType, types.BuiltinFunctionType)
        )

    def same(self, a: Any, b: Any) -> bool:
        """`a is b`."""
        if a is None or b is None:
            return a is b
        first, second = self.sources.source_of(a), self.sources.source_of(b)
        for value, source in ((a, first), (b, second)):
            if source is not None and isinstance(value, types.FunctionType):
                self.guards.note("identity", source, value)
        if first is not None and second is not None and a is not b:
            self.guards.note("different", first, second)
        if type(a) is type(b) and isinstance(a, (tuple, frozenset)) and len(a) > 0:
            self.trace.refuse("`is` of two tuples", "comparison")
        if isinstance(a, RecordedNumber) or isinstance(b, RecordedNumber):
            return type(a) is type(b) and a.value is b.value and bool(a == b)
        if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor) and a is not b:
            # Where an operator may give its argument back, the fake tensors might not tell.
            if self._maybe_argument(a) or self._maybe_argument(b):
                self.trace.refuse("`is` of tensors that were computed", "comparison")
        return a is b

    def _maybe_argument(self, tensor) -> bool:
        if self.graph.input_of(tensor) is not None:
            return False
        node = self.graph.node_of(tensor)
        name = node.args[1] if node.target is getattr else getattr(node.target, "__name__", node.target)
        return name in _giving_back()

    def chain(self, left: int, *parts: Any) -> bool:
        """`a < b < c`; what comes after the first is given as functions."""
        result: Any = True
        for index in range(0, len(parts), 2):
            right = parts[index + 1]()
            result = self.compare(parts[index], left, right)
            if index + 2 < len(parts) and not self.truth(result):
                return result
            left = right
        return result

    def contains(self, container: Any, value: Any) -> Any:
        """`value in container`."""
        container = self.writes.current(container)
        kind = type(container)
        if isinstance(container, torch.Tensor):
            self.trace.refuse("`in` of a tensor depends on values", "data_dependent")
        method = look_up(kind, "__contains__")
        if type(method) is types.FunctionType:
            self.sources.type_attribute(kind, "__contains__")
            return self.truth(self.trace.calls.call(method, container, value))
        if isinstance(container, enum.EnumMeta):
            return value in container
        source = self.sources.source_of(container)
        if isinstance(container, dict):
            if isinstance(value, torch.Tensor):
                self.trace.refuse("a tensor as a key", "item")
            if source is None:
                return dict.__contains__(container, value)
            self.trace.items.check_key(value)
            if self.writes.item_written(container, value) is not None:
                return True
            if dict.__contains__(container, value):
                self.guards.note("has", source, value)
                return True
            self.guards.note("absent", source, value)
            return False
        if isinstance(container, (set, frozenset)) and isinstance(value, torch.Tensor):
            # Inputs are known to be different objects.
            tensors = [value, *(each for each in container if isinstance(each, torch.Tensor))]
            if source is not None or any(self.graph.input_of(each) is None for each in tensors):
                self.trace.refuse("a tensor in a set", "item")
        if isinstance(container, (set, frozenset)) and source is None:
            return value in container
        if isinstance(container, str) or method is None and look_up(kind, "__iter__") is None:
            return value in container
        for each in self.trace.iteration.over(container):
            if each is value or self.truth(self.compare("eq", each, value)):
                return True
        return False

    def truth(self, value: Any) -> bool | None:
        """Whether `value` is true."""
        self.trace.alive()
        if value is True or value is False or value is None:
            return bool(value)
        if isinstance(value, torch.Tensor):
            return self.trace.tensors.method(value, "item", (), {}) != 0
        if is_constant(value) or isinstance(value, RecordedNumber):
            return bool(value)
        if isinstance(value, dict) and self.writes.to(value) is not None:
            self.writes.to_copy(value)
        value = self.writes.current(value)
        kind = type(value)
        for name in ("__bool__", "__len__"):
            method = look_up(kind, name)
            if type(method) is types.FunctionType:
                self.sources.type_attribute(kind, name)
                return bool(self.trace.calls.call(method, value))
            if method is not None:
                break
        source = self.sources.source_of(value)
        if source is None:
            return bool(value)
        if isinstance(value, (list, dict, set, frozenset, collections.deque)):
            self.guards.note("truth", source, len(value) != 0)
            return len(value) != 0
        if method is None:
            self.sources.type_attribute(kind, "__bool__")
            self.sources.type_attribute(kind, "__len__")
            return True
        self.trace.refuse(f"a test of a {kind.__name__} cannot be captured", "test")
        return None

    def tested(self, value: Any) -> Any:
        """`value`, whose truth Python will ask for next."""
        self.truth(value)
        return value
