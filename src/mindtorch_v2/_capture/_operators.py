"""Operators, comparisons, tests and formatting, as the instrumented copy of a function asks for them."""

from __future__ import annotations

import collections
import contextlib
import enum
import operator
import types
from collections.abc import Sequence
from types import TracebackType
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2._capture._guard_kinds import is_constant
from mindtorch_v2._capture._reading import Reader
from mindtorch_v2._capture._rewrite import DECIDED_BY_FORM
from mindtorch_v2._capture._sources import look_up
from mindtorch_v2._sizes.recorded import RecordedInt, RecordedNumber, RecordedSize

__all__ = ["Operators"]

_ITERATORS = tuple(
    type(iter(x))  # type: ignore[var-annotated]  # (any container)
    for x in (
        [],
        (),
        {},
        {}.keys(),
        {}.values(),
        {}.items(),
        range(0),
        set(),
        "",
        b"",
        reversed([]),
        collections.deque(),
    )
)
_NATIVE: Any = (
    *(list, dict, tuple, set, frozenset, collections.deque, str, bytes, range),
    *(zip, map, enumerate, filter, reversed, types.GeneratorType, types.MappingProxyType),
    *(type({}.keys()), type({}.values()), type({}.items())),
    *(type(collections.OrderedDict().keys()), type(collections.OrderedDict().items())),
    type(collections.OrderedDict().values()),
    type(iter(collections.OrderedDict())),
    *_ITERATORS,
)
_ITERTOOLS = "itertools"
_FUNCTIONS = {
    name: getattr(operator, name)
    for name in "add sub mul truediv floordiv mod pow matmul lshift rshift and_ or_ xor neg pos invert".split()
    + "lt le gt ge eq ne".split()
}
_IN_PLACE = {
    name: getattr(operator, "i" + name.strip("_")) for name in _FUNCTIONS if hasattr(operator, "i" + name.strip("_"))
}
_GIVING_BACK = frozenset(
    "contiguous to float double half bfloat16 int long short bool char byte type type_as cpu cuda npu dropout alpha_dropout "
    "feature_alpha_dropout dropout1d dropout2d dropout3d resolve_conj resolve_neg positive pos".split()
)
_REFLECTED = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le", "eq": "eq", "ne": "ne"}


class _Context:
    """A context manager of the program's, entered and left through the trace."""

    def __init__(self, trace: Any, manager: Any) -> None:
        self.trace, self.manager = trace, manager

    def __enter__(self) -> Any:
        self.trace.graph.tries += isinstance(self.manager, contextlib.suppress)
        self.leave = self.trace.ga(self.manager, "__exit__")
        return self.trace.call(self.trace.ga(self.manager, "__enter__"))

    def __exit__(self, kind: Any, error: BaseException | None, traceback: TracebackType | None) -> bool | None:
        self.trace.graph.tries -= isinstance(self.manager, contextlib.suppress)
        if self.trace.failed is not None:
            return False
        return self.trace.t(self.trace.call(self.leave, kind, error, traceback))


class _Trying:
    """The block of a try statement with handlers: errors that calls in it make in a later run would be caught.

    `classes` are those of the handlers, where all are known not to depend on values: then it is the first run that shows.
    """

    def __init__(self, trace: Any, classes: Sequence[type[Exception]]) -> None:
        self.trace = trace
        self.by_values = not classes or not all(each is DECIDED_BY_FORM.get(each.__name__) for each in classes)

    def __enter__(self) -> None:
        self.trace.graph.tries += self.by_values
        self.trace.graph.tries_by_form += not self.by_values

    def __exit__(self, *error: Any) -> None:
        self.trace.graph.tries -= self.by_values
        self.trace.graph.tries_by_form -= not self.by_values


class Operators(Reader):
    """The part of a trace that computes."""

    call: Any
    tensor_method: Any

    def is_native(self, obj: Any) -> bool:
        """Whether `obj` is a builtin container or iterator that the program made."""
        return id(obj) not in self.sources.outside and (
            isinstance(obj, _NATIVE) or type(obj).__module__ == _ITERTOOLS or isinstance(obj, collections.OrderedDict)
        )

    def is_plain(self, value: Any) -> bool:
        """Whether C code may compare and print `value`: constants, and containers of them that the program made."""
        if is_constant(value) or isinstance(value, (RecordedNumber, type, types.FunctionType, types.ModuleType)):
            return True
        if isinstance(value, torch.Tensor) or id(value) in self.sources.outside:
            return False
        if type(value) in (list, tuple, set, frozenset, collections.deque) or type(value) is RecordedSize:
            return all(map(self.is_plain, value))
        if isinstance(value, tuple) and hasattr(type(value), "_fields"):
            return all(map(self.is_plain, value))
        if type(value) in (dict, collections.OrderedDict, collections.defaultdict):
            return all(self.is_plain(k) and self.is_plain(v) for k, v in value.items())
        return type(value) in (type({}.keys()), type({}.values())) and all(map(self.is_plain, value))

    # ---- operators ----

    def bin(self, name: str, a: Any, b: Any) -> Any:
        """`a <name> b`."""
        self.alive()
        function = _FUNCTIONS[name]
        if type(a) in (int, float, str) and type(b) in (int, float):
            return function(a, b)
        if isinstance(a, torch.Tensor) or isinstance(b, torch.Tensor):
            return self.graph.record("call_function", function, (self.deep(a), self.deep(b)), {})
        if isinstance(a, RecordedNumber) or isinstance(b, RecordedNumber):
            if isinstance(a, (list, tuple, str)):
                b = b.__index__()
            elif isinstance(b, (list, tuple, str)):
                a = a.__index__()
            return function(a, b)
        if isinstance(a, str) and name == "mod":
            return self.formatted(a, b)
        if is_constant(a) and is_constant(b):
            return function(a, b)
        return self._with_methods(function, name, a, b)

    def formatted(self, text: Any, values: Any) -> str:
        """`text % values`."""
        values = self.deep(values)
        if not self.is_plain(values):
            self.refuse(f"the text of a {type(values).__name__}", "format")
        return text % values

    def _with_methods(self, function, name, a, b):
        special = f"__{name.strip('_')}__"
        method = look_up(type(a), special)
        if type(method) is types.FunctionType:
            self.sources.type_attribute(type(a), special)
            result = self.call(method, a, b)
            if result is not NotImplemented:
                return result
        reverse = f"__{_REFLECTED[name]}__" if name in _REFLECTED else f"__r{name.strip('_')}__"
        other = look_up(type(b), reverse)
        if type(other) is types.FunctionType:
            self.sources.type_attribute(type(b), reverse)
            return self.call(other, b, a)
        if isinstance(a, (dict, set, frozenset, list, tuple, str)) or isinstance(b, (list, tuple)):
            a, b = self.deep(a), self.deep(b)
            if self._joins(name, a, b) and id(a) not in self.sources.outside and id(b) not in self.sources.outside:
                return function(a, b)
        if isinstance(a, type) or isinstance(b, type):
            return function(a, b)
        self.refuse(f"{special} of a {type(a).__name__} and a {type(b).__name__} cannot be captured", "operator")
        return None

    def _joins(self, name, a, b):
        """Whether the operator of two containers looks at no item (or at plain ones only)."""
        if name in ("add", "mul") and isinstance(a, (list, tuple, int, str)) and isinstance(b, (list, tuple, int, str)):
            return True
        if name == "or_" and isinstance(a, dict) and isinstance(b, dict):
            return True
        return self.is_plain(a) and self.is_plain(b)

    def aug(self, name: str, a: Any, b: Any) -> Any:
        """`a <name>= b`: what `a` is then."""
        self.alive()
        if isinstance(a, torch.Tensor):
            return self.graph.record("call_function", _IN_PLACE[name], (a, self.deep(b)), {})
        if isinstance(a, (list, set, dict, collections.deque)) and name in ("add", "or_", "and_", "sub", "xor", "mul"):
            if self.sources.source_of(a) is not None:
                self.refuse(f"a write to a {type(a).__name__} outside", "write")
            if name == "add":
                return operator.iadd(a, [*self.it(b)])
            return _IN_PLACE[name](a, self.deep(b))
        special = f"__i{name.strip('_')}__"
        method = look_up(type(a), special)
        if type(method) is types.FunctionType:
            self.sources.type_attribute(type(a), special)
            result = self.call(method, a, b)
            if result is not NotImplemented:
                return result
        elif method is not None and not is_constant(a):
            self.refuse(f"{special} of a {type(a).__name__} cannot be captured", "operator")
        return self.bin(name, a, b)

    def un(self, name: str, a: Any) -> Any:
        """`-a`, `+a`, `~a`."""
        self.alive()
        function = _FUNCTIONS[name]
        if isinstance(a, torch.Tensor):
            return self.graph.record("call_function", function, (a,), {})
        if is_constant(a) or isinstance(a, RecordedNumber):
            return function(a)
        special = f"__{name}__"
        method = self.sources.type_attribute(type(a), special)
        if type(method) is not types.FunctionType:
            self.refuse(f"{special} of a {type(a).__name__} cannot be captured", "operator")
        return self.call(method, a)

    # ---- comparisons ----

    def cmp(self, name: str, a: Any, b: Any) -> bool | torch.Tensor:
        """`a <name> b`."""
        self.alive()
        if name == "is":
            return self.same(a, b)
        if name == "is_not":
            return not self.same(a, b)
        if name == "in":
            return self.contains(b, a)
        if name == "not_in":
            return not self.contains(b, a)
        function = _FUNCTIONS[name]
        if isinstance(a, torch.Tensor) or isinstance(b, torch.Tensor):
            if not isinstance(a, torch.Tensor) and not isinstance(a, (int, float, complex, RecordedNumber)):
                return self._mixed(name, function, a, b)
            if not isinstance(b, torch.Tensor) and not isinstance(b, (int, float, complex, RecordedNumber)):
                return self._mixed(name, function, a, b)
            return self.graph.record("call_function", function, (a, b), {})
        if self.is_plain(a) and self.is_plain(b):
            return self._plain_comparison(function, a, b)
        if isinstance(a, (list, tuple, dict, set)) and isinstance(b, (list, tuple, dict, set)):
            a, b = self.deep(a), self.deep(b)
            if self.is_plain(a) and self.is_plain(b):
                return self._plain_comparison(function, a, b)
            self.refuse("a comparison of containers with objects in them", "comparison")
        if name == "ne" and look_up(type(a), "__ne__") is object.__ne__ and self._compares(a):
            return not self.t(self.cmp("eq", a, b))
        if name in ("eq", "ne") and not self._compares(a) and not self._compares(b):
            return self.same(a, b) is (name == "eq")
        if isinstance(a, RecordedSize) or isinstance(b, RecordedSize):
            return function(tuple(a), tuple(b))
        return self._with_methods(function, name, a, b)

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
                self.sources.guard("identity", source, value)
        if first is not None and second is not None and a is not b:
            self.sources.guard("different", first, second)
        if type(a) is type(b) and isinstance(a, (tuple, frozenset)) and len(a) > 0:
            self.refuse("`is` of two tuples", "comparison")
        if isinstance(a, RecordedNumber) or isinstance(b, RecordedNumber):
            return type(a) is type(b) and a.value is b.value and bool(a == b)
        if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor) and a is not b:
            # Where an operator may give its argument back, the fake tensors might not tell.
            if self._maybe_argument(a) or self._maybe_argument(b):
                self.refuse("`is` of tensors that were computed", "comparison")
        return a is b

    def _maybe_argument(self, tensor) -> bool:
        target = self.graph.node_of(tensor).target
        return id(tensor) not in self.graph.real_of and getattr(target, "__name__", target) in _GIVING_BACK

    def chain(self, left: int, *parts: Any) -> bool:
        """`a < b < c`; what comes after the first is given as functions."""
        result: Any = True
        for index in range(0, len(parts), 2):
            right = parts[index + 1]()
            result = self.cmp(parts[index], left, right)
            if index + 2 < len(parts) and not self.t(result):
                return result
            left = right
        return result

    def contains(self, container: Any, value: Any) -> Any:
        """`value in container`."""
        kind = type(container)
        if isinstance(container, torch.Tensor):
            self.refuse("`in` of a tensor depends on values", "data_dependent")
        method = look_up(kind, "__contains__")
        if type(method) is types.FunctionType:
            self.sources.type_attribute(kind, "__contains__")
            return self.t(self.call(method, container, value))
        if isinstance(container, enum.EnumMeta):
            return value in container
        source = self.sources.source_of(container)
        if isinstance(container, dict):
            if isinstance(value, torch.Tensor):
                self.refuse("a tensor as a key", "item")
            if source is None:
                return dict.__contains__(container, value)
            self.check_key(value)
            if self.writes.item_written(container, value) is not None:
                return True
            if dict.__contains__(container, value):
                self.sources.guard("has", source, value)
                return True
            self.sources.guard("absent", source, value)
            return False
        if isinstance(container, (set, frozenset)) and isinstance(value, torch.Tensor):
            # Inputs are known to be different objects.
            tensors = [value, *(each for each in container if isinstance(each, torch.Tensor))]
            if source is not None or any(id(each) not in self.graph.real_of for each in tensors):
                self.refuse("a tensor in a set", "item")
        if isinstance(container, (set, frozenset)) and source is None:
            return value in container
        if isinstance(container, str) or method is None and look_up(kind, "__iter__") is None:
            return value in container
        for each in self.it(container):
            if each is value or self.t(self.cmp("eq", each, value)):
                return True
        return False

    # ---- tests ----

    def t(self, value: Any) -> bool | None:
        """Whether `value` is true."""
        self.alive()
        if value is True or value is False or value is None:
            return bool(value)
        if isinstance(value, torch.Tensor):
            return self.tensor_method(value, "item", (), {}) != 0
        if is_constant(value) or isinstance(value, RecordedNumber):
            return bool(value)
        kind = type(value)
        for name in ("__bool__", "__len__"):
            method = look_up(kind, name)
            if type(method) is types.FunctionType:
                self.sources.type_attribute(kind, name)
                return bool(self.call(method, value))
            if method is not None:
                break
        source = self.sources.source_of(value)
        if source is None:
            return bool(value)
        if id(value) in self.writes.noted:
            self.refuse("a test of a dictionary outside that was written to", "write")
        if isinstance(value, (list, dict, set, frozenset, collections.deque)):
            self.sources.guard("truth", source, len(value) != 0)
            return len(value) != 0
        if method is None:
            self.sources.type_attribute(kind, "__bool__")
            self.sources.type_attribute(kind, "__len__")
            return True
        self.refuse(f"a test of a {kind.__name__} cannot be captured", "test")
        return None

    def truthy(self, value: Any) -> Any:
        """`value`, whose truth Python will ask for next."""
        self.t(value)
        return value

    def length(self, value: Any) -> int:
        """`len(value)`."""
        if isinstance(value, torch.Tensor):
            if value.dim() == 0:
                raise TypeError("len() of a 0-d tensor")
            return self.graph.shape_of(value)[0]
        kind = type(value)
        method = look_up(kind, "__len__")
        if type(method) is types.FunctionType:
            self.sources.type_attribute(kind, "__len__")
            return self.call(method, value)
        source = self.sources.source_of(value)
        if source is not None:
            if not isinstance(value, (list, dict, set, frozenset, collections.deque)):
                self.refuse(f"len() of a {kind.__name__} cannot be captured", "length")
            if id(value) in self.writes.noted:
                self.refuse("len() of a dictionary outside that was written to", "write")
            self.sources.guard("length", source, len(value))
        return len(value)

    def numel(self, tensor: Any) -> int:
        """`tensor.numel()`."""
        if id(tensor) not in self.graph.tainted:
            return tensor.numel()
        return self.graph.shape_of(tensor).numel()

    # ---- the rest of the syntax ----

    def slice(self, start: Any, stop: int | RecordedInt | None, step: int | None) -> slice:
        """`start:stop:step`."""
        return slice(start, stop, step)

    def fmt(self, value: Any, conversion: int, spec: str) -> str:
        """The text in an f-string for `value`."""
        if isinstance(value, torch.Tensor):
            self.refuse("the text of a tensor depends on its values", "data_dependent")
        if id(value) in self.sources.outside and type(value) in (list, dict, set):
            value = self.deep(value)
        if not (self.is_plain(value) or isinstance(value, BaseException)):
            method = look_up(type(value), "__repr__" if conversion == 114 else "__str__")
            if type(method) is not types.FunctionType:
                method = look_up(type(value), "__repr__")
            if type(method) is not types.FunctionType or spec:
                self.refuse(f"the text of a {type(value).__name__} cannot be captured", "format")
            return self.call(method, value)
        if conversion in (114, 97):
            value = repr(value) if conversion == 114 else ascii(value)
        elif conversion == 115:
            value = str(value)
        return format(value, spec)

    def subject(self, value: Any) -> Any:
        """The value that a match statement looks at."""
        if id(value) in self.sources.outside or not (self.is_plain(value) or isinstance(value, (list, tuple, dict))):
            self.refuse(f"a match statement over a {type(value).__name__} cannot be captured", "match")
        if isinstance(value, RecordedInt):
            return value.__index__()
        return value

    def context(self, manager: Any) -> Any:
        """The context that a with statement enters for `manager`."""
        self.alive()
        return _Context(self, manager)

    def trying(self, classes: Sequence[type[Exception]]) -> Any:
        """Around the block of a try statement."""
        return _Trying(self, classes)

    def caught(self) -> None:
        """At the begin of a handler: what makes the capture impossible cannot be caught."""
        self.alive()
