"""Items of containers: `obj[key]`, its assignment and deletion, and `len(obj)`.

Owns no state: what is found outside is a source with its guards, and what is written outside is kept by the writes.
"""

from __future__ import annotations

import collections
import enum
import operator
import types
from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch
from mindtorch_v2._capture._guard_kinds import is_constant
from mindtorch_v2._capture._sources import Item, Source, look_up, sequence_item
from mindtorch_v2._sizes.recorded import RecordedInt, RecordedNumber, RecordedSize

if TYPE_CHECKING:
    from mindtorch_v2._capture._recording import Recorder


__all__ = ["Items"]


class Items:
    """Part of a recorder: items."""

    def __init__(self, trace: Recorder) -> None:
        self.trace = trace
        self.graph = trace.graph
        self.sources = trace.sources
        self.guards = trace.guards
        self.writes = trace.writes

    def get(self, obj: Any, key: Any) -> Any:
        """`obj[key]`."""
        self.trace.alive()
        kind = type(obj)
        if isinstance(obj, torch.Tensor):
            return self.graph.record("call_function", operator.getitem, (obj, self.trace.values.deep(key)), {})
        if kind is RecordedSize:
            return RecordedSize(obj[key]) if isinstance(key, slice) else obj[key]
        if kind is torch.Size:
            return obj[key]
        obj = self.writes.current(obj)
        source = self.sources.source_of(obj)
        if isinstance(obj, type):
            members: Any = obj
            if type(obj) is enum.EnumMeta:
                return members[key]
            return (
                self.trace.calls.call(self.trace.attributes.get(obj, "__class_getitem__"), key)
                if kind is not type
                else members[key]
            )
        getter = look_up(kind, "__getitem__")
        if type(getter) is types.FunctionType:
            self.sources.type_attribute(kind, "__getitem__")
            return self.trace.calls.call(getter, obj, key)
        if source is None:
            if isinstance(key, RecordedNumber):
                key = key.__index__()
            if kind in (list, tuple, dict, str, bytes, range, torch.Size) or self.trace.values.is_native(obj):
                return getter(obj, key)
            self.trace.refuse(f"an item of a {kind.__name__} cannot be captured", "item")
        return self.get_outside(obj, kind, source, key)

    def get_outside(self, obj: Any, kind: type, source: Source, key: Any) -> Any:
        """`obj[key]` of a container outside."""
        if isinstance(obj, (list, collections.deque)):
            if isinstance(key, slice):
                return [*self.trace.iteration.over(obj)][key]
            self.guards.note("length", source, len(obj))
            index = key.__index__()
            if not -len(obj) <= index < len(obj):
                raise IndexError(f"{'list' if isinstance(obj, list) else 'deque'} index out of range")
            index %= len(obj)
            return self.sources.wrap(sequence_item(obj, index), self.sources.source(Item, source, index, False))
        if isinstance(obj, dict):
            self.check_key(key)
            written = self.writes.item_written(obj, key)
            if written is not None:
                return written[0]
            if dict.__contains__(obj, key):
                return self.sources.wrap(dict.__getitem__(obj, key), self.sources.source(Item, source, key))
            self.guards.note("absent", source, key)
            missing = look_up(kind, "__missing__")
            if (
                isinstance(obj, collections.defaultdict)
                and kind is collections.defaultdict
                and obj.default_factory is not None
            ):
                return self.writes.to_copy(obj)[key]
            if missing is not None and kind is not collections.defaultdict:
                self.trace.refuse(f"a missing item of a {kind.__name__}", "write")
            raise KeyError(key)
        self.trace.refuse(f"an item of a {kind.__name__} cannot be captured", "item")
        return None

    def check_key(self, key: Any) -> None:
        """Refuse what is no constant and is not compared by identity as a key of a dictionary outside."""
        if is_constant(key) or isinstance(key, (type, types.FunctionType)):
            return
        source = self.sources.source_of(key)
        if source is None or look_up(type(key), "__eq__") is not object.__eq__:
            self.trace.refuse("a key that is no constant", "item")
        self.guards.note("identity", source, key)

    def set(self, value: Any, obj: Any, key: Any) -> None:
        """`obj[key] = value`."""
        self.trace.alive()
        if isinstance(obj, torch.Tensor):
            self.graph.record(
                "call_function", operator.setitem, (obj, self.trace.values.deep(key), self.trace.values.deep(value)), {}
            )
            return
        obj = self.writes.current(obj)
        if self.sources.source_of(obj) is not None:
            if type(obj) is dict and is_constant(key):
                self.writes.item(obj, key, value)
                return
            if isinstance(obj, dict):
                self.check_key(key)
            obj = self.writes.to_copy(obj)
        setter = look_up(type(obj), "__setitem__")
        if type(setter) is types.FunctionType:
            self.sources.type_attribute(type(obj), "__setitem__")
            self.trace.calls.call(setter, obj, key, value)
        elif self.trace.values.is_native(obj):
            setter(obj, key, value)
        else:
            self.trace.refuse(f"assignment to an item of a {type(obj).__name__}", "write")

    def delete(self, obj: Any, key: Any) -> None:
        """`del obj[key]`."""
        self.trace.alive()
        obj = self.writes.current(obj)
        if self.sources.source_of(obj) is not None and isinstance(obj, (list, dict, collections.deque)):
            obj = self.writes.to_copy(obj)
        deleter = look_up(type(obj), "__delitem__")
        if self.sources.source_of(obj) is not None or not self.trace.values.is_native(obj):
            self.trace.refuse(f"del of an item of a {type(obj).__name__} outside", "write")
        if type(deleter) is types.FunctionType:
            self.trace.calls.call(deleter, obj, key)
        else:
            deleter(obj, key)

    def slice_of(self, start: Any, stop: int | RecordedInt | None, step: int | None) -> slice:
        """`start:stop:step`."""
        return slice(start, stop, step)

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
            return self.trace.calls.call(method, value)
        if self.writes.to(value) is not None:
            self.writes.to_copy(value)
        value = self.writes.current(value)
        source = self.sources.source_of(value)
        if source is not None:
            if not isinstance(value, (list, dict, set, frozenset, collections.deque)):
                self.trace.refuse(f"len() of a {kind.__name__} cannot be captured", "length")
            self.guards.note("length", source, len(value))
        return len(value)
