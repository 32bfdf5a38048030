"""The sources of one trace: where each value that the program read came from, and under which guards it is what it is."""

from __future__ import annotations

import functools
import types
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2._capture._guard_kinds import is_constant
from mindtorch_v2._capture._guards import Guard
from mindtorch_v2._capture._sources import Attribute, Constant, Item, OfClass, absent, look_up

__all__ = ["Sources"]

# What has no state that a program could change: known by identity.
_BY_IDENTITY = (
    type,
    types.BuiltinFunctionType,
    types.FunctionType,
    types.MethodDescriptorType,
    types.ModuleType,
    types.WrapperDescriptorType,
    types.ClassMethodDescriptorType,
    types.GetSetDescriptorType,
    types.MemberDescriptorType,
    types.GenericAlias,
    types.UnionType,
    torch._C.Overridable,
    type(torch.relu),
    type(torch.Tensor.view),
    type(torch.ops),
    type(torch.ops.aten),
    torch._ops.OpOverload,
    torch._ops.OpOverloadPacket,
    functools._lru_cache_wrapper,
    property,
    staticmethod,
    classmethod,
)


class Sources:
    """The part of a trace that knows what was read, and under which guards."""

    def __init__(self, trace: Any) -> None:
        self.trace = trace
        self.outside: dict = {}  # id -> (object, source)
        self.interned: dict = {}
        self.read: dict = {}  # source -> value as the program knows it
        self.guards: list = []
        self._known_guards: set = set()

    def source(self, kind: Any, *args: Any) -> Any:
        """The one Source object of a path."""
        made = kind(*args)
        return self.interned.setdefault(made, made)

    def constant_source(self, value: Any, name: str) -> Any:
        """The source of an object that is guarded elsewhere to be this one."""
        return self.source(Constant, value, name)

    def source_of(self, obj: Any) -> Any:
        """Where an object came from; None if the program made it."""
        found = self.outside.get(id(obj))
        return None if found is None else found[1]

    def guard(self, kind: Any, source: Any, value: Any = None) -> None:
        """A guard, once."""
        key: tuple
        if kind in ("absent", "constant", "has", "keys"):
            key = (kind, source, _key(value))
        elif kind == "result":
            key = (kind, id(value[0]), _key(value[1]))
        elif kind == "function":
            key = (kind, id(value[0]))
        elif kind == "super":
            key = (kind, *map(id, value[:2]), value[2])
        else:
            key = (kind, source, value if isinstance(value, int) else id(value))
        if key not in self._known_guards:
            self._known_guards.add(key)
            self.trace.kept.append(value)
            self.guards.append(Guard(kind, source, value))

    def wrap(self, value: Any, source: Any) -> Any:
        """The value that the program gets for one that was read from a source; its guard is noted."""
        known = self.read.get(source, absent)
        if known is not absent:
            return known
        self.read[source] = result = self._wrapped(value, source)
        self.trace.kept.append(value)
        return result

    def _wrapped(self, value, source):
        kind = type(value)
        if is_constant(value):
            self.guard("constant", source, value)
            return value
        if isinstance(value, torch.Tensor):
            return self.trace.graph.tensor_input(value, source)
        if kind is tuple or isinstance(value, tuple) and hasattr(kind, "_fields"):
            self.guard("class", source, kind)
            self.guard("length", source, len(value))
            items = [self.wrap(each, self.source(Item, source, i, False)) for i, each in enumerate(value)]
            return tuple(items) if kind is tuple else tuple.__new__(kind, items)
        if kind is types.FunctionType:
            return self._function(value, source)
        if isinstance(value, type) or kind in _BY_IDENTITY or isinstance(value, types.ModuleType):
            if kind is types.BuiltinFunctionType and not isinstance(
                value.__self__, (types.ModuleType, type(None), type)
            ):
                self.trace.refuse(f"the bound method {value.__qualname__!r} of an object outside", "bound_method")
            self.guard("identity", source, value)
            return value
        if kind is types.MethodType:
            self.guard("class", source, kind)
            function = self.wrap(value.__func__, self.source(Attribute, source, "__func__"))
            obj = self.wrap(value.__self__, self.source(Attribute, source, "__self__"))
            return types.MethodType(function, obj)
        self.guard("class", source, kind)
        self.register(value, source)
        return value

    def _function(self, value, source):
        root = source
        while root.parent is not None:
            root = root.parent
        if isinstance(root, (Constant, OfClass)):
            self.guard("identity", source, value)
        else:
            # Made anew for each call, maybe: what it runs and holds is what counts.
            self.guard("code", source, value.__code__)
            self.guard("identity", self.source(Attribute, source, "__globals__"), value.__globals__)
            self.register(value, source)
        return value

    def register(self, value: Any, source: Any) -> None:
        """Note where an object came from; the same object by another way is guarded to be the same."""
        known = self.outside.get(id(value))
        if known is None:
            self.outside[id(value)] = (value, source)
        elif known[1] is not source:
            self.guard("same", source, known[1])

    def type_attribute(self, kind: Any, name: str) -> Any:
        """The attribute that a class has under a name, guarded; `absent` if nothing."""
        found = look_up(kind, name, absent)
        source = self.source(OfClass, kind, name)
        if source not in self.read:
            self.read[source] = found
            self.guard("lookup", source, found)
        return found


def _key(value):
    """The key that tells a guarded value from others: its text where it is a constant, else which object it is."""
    if type(value) is tuple:
        return tuple(map(_key, value))
    return (type(value), repr(value)) if is_constant(value) else id(value)
