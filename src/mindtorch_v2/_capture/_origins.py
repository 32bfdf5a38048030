"""The sources of one trace: where each value that the program read came from, and what the program gets for it.

Owns the one `Source` of each path, the value read there, and which objects are from outside.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TypeVar

import mindtorch_v2 as torch
from mindtorch_v2._capture._guard_kinds import is_constant
from mindtorch_v2._capture._sources import Attribute, Constant, Item, OfClass, Source, absent, look_up, root_of

if TYPE_CHECKING:
    from mindtorch_v2._capture._recording import Recorder

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


_S = TypeVar("_S", bound=Source)


class Sources:
    """Part of a recorder: what was read."""

    def __init__(self, trace: Recorder) -> None:
        self.trace = trace
        self.guards = trace.guards
        self._outside: dict[int, tuple[Any, Source]] = {}  # id -> (object, source)
        self._interned: dict[Source, Source] = {}
        self._read: dict[Source, Any] = {}  # source -> value as the program knows it

    def source(self, kind: type[_S], *args: Any) -> _S:
        """The one Source object of a path."""
        made = kind(*args)
        return self._interned.setdefault(made, made)  # type: ignore[return-value]  # (sources that are equal are of one class)

    def constant_source(self, value: Any, name: str) -> Source:
        """The source of an object that is guarded elsewhere to be this one."""
        return self.source(Constant, value, name)

    def source_of(self, obj: Any) -> Source | None:
        """Where an object came from; None if the program made it."""
        found = self._outside.get(id(obj))
        return None if found is None else found[1]

    def read(self, source: Source) -> Any:
        """The value that the program got from a source; `absent` if it did not read there."""
        return self._read.get(source, absent)

    def others_like(self, obj: Any) -> Iterator[Source]:
        """The sources of the other objects from outside that are of an object's class."""
        return (source for other, source in self._outside.values() if type(other) is type(obj) and other is not obj)

    def wrap(self, value: Any, source: Source) -> Any:
        """The value that the program gets for one that was read from a source; its guard is noted."""
        known = self._read.get(source, absent)
        if known is not absent:
            return known
        self._read[source] = result = self._wrapped(value, source)
        self.trace.kept.append(value)
        return result

    def _wrapped(self, value, source):
        kind = type(value)
        varying = self.trace.graph.varying
        if kind in (int, float) and not self._of_module(source) and varying.number(source, value):
            return self.trace.graph.number_input(value, source)
        if is_constant(value) and not (kind is tuple and varying.any_number(source.text(), value)):
            self.guards.note("constant", source, value)
            return value
        if isinstance(value, torch.Tensor):
            return self.trace.graph.tensor_input(value, source)
        if kind is tuple or isinstance(value, tuple) and hasattr(kind, "_fields"):
            self.guards.note("class", source, kind)
            self.guards.note("length", source, len(value))
            items = [self.wrap(each, self.source(Item, source, i, False)) for i, each in enumerate(value)]
            return tuple(items) if kind is tuple else tuple.__new__(kind, items)
        if kind is types.FunctionType:
            return self._function(value, source)
        if isinstance(value, type) or kind in _BY_IDENTITY or isinstance(value, types.ModuleType):
            if kind is types.BuiltinFunctionType and not isinstance(
                value.__self__, (types.ModuleType, type(None), type)
            ):
                self.trace.refuse(f"the bound method {value.__qualname__!r} of an object outside", "bound_method")
            self.guards.note("identity", source, value)
            return value
        if kind is types.MethodType:
            self.guards.note("class", source, kind)
            function = self.wrap(value.__func__, self.source(Attribute, source, "__func__"))
            obj = self.wrap(value.__self__, self.source(Attribute, source, "__self__"))
            return types.MethodType(function, obj)
        self.guards.note("class", source, kind)
        self.register(value, source)
        return value

    def _of_module(self, source) -> bool:
        """Whether a value is a Module's: what tells how a layer was made."""
        while source is not None:
            if isinstance(self._read.get(source), torch.nn.Module):
                return True
            source = source.parent
        return False

    def _function(self, value, source):
        if isinstance(root_of(source), (Constant, OfClass)):
            self.guards.note("identity", source, value)
        else:
            # Made anew for each call, maybe: what it runs and holds is what counts.
            self.guards.note("code", source, value.__code__)
            self.guards.note("identity", self.source(Attribute, source, "__globals__"), value.__globals__)
            self.register(value, source)
        return value

    def register(self, value: Any, source: Source) -> None:
        """Note where an object came from; the same object by another way is guarded to be the same."""
        known = self._outside.get(id(value))
        if known is None:
            self._outside[id(value)] = (value, source)
        elif known[1] is not source:
            self.guards.note("same", source, known[1])

    def type_attribute(self, kind: Any, name: str) -> Any:
        """The attribute that a class has under a name, guarded; `absent` if nothing."""
        found = look_up(kind, name, absent)
        source = self.source(OfClass, kind, name)
        if source not in self._read:
            self._read[source] = found
            self.guards.note("lookup", source, found)
        return found
