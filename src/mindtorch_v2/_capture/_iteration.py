"""Loops, and whatever else goes through a container: unpacking, `**mapping`, keys and items of dictionaries outside.

Owns no state: that a container is as long as it was, or has the same keys, is guarded.
"""

from __future__ import annotations

import collections
import enum
import types
from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch
from mindtorch_v2._capture._guard_kinds import is_constant
from mindtorch_v2._capture._sources import Item, look_up, pairs_of, sequence_item
from mindtorch_v2._sizes.recorded import RecordedSize

if TYPE_CHECKING:
    from mindtorch_v2._capture._recording import Recorder


__all__ = ["Iteration"]


class Iteration:
    """Part of a recorder: iteration."""

    def __init__(self, trace: Recorder) -> None:
        self.trace = trace
        self.graph = trace.graph
        self.sources = trace.sources
        self.guards = trace.guards
        self.writes = trace.writes

    def over(self, obj: Any) -> Any:
        """The iterable that a loop over `obj` runs over."""
        self.trace.alive()
        kind = type(obj)
        if isinstance(obj, torch.Tensor):
            if obj.dim() == 0:
                raise TypeError("iteration over a 0-d tensor")
            if self.graph.is_dynamic(obj):
                self.graph.shape_of(obj)[0].__index__()
            return self.graph.record("call_method", "unbind", (obj, 0), {})
        if kind is RecordedSize:
            return obj
        obj = self.writes.current(obj)
        source = self.sources.source_of(obj)
        if isinstance(obj, enum.EnumMeta):
            return iter(obj)
        iterate = look_up(kind, "__iter__")
        if type(iterate) is types.FunctionType:
            self.sources.type_attribute(kind, "__iter__")
            return self._python_iterator(self.trace.calls.call(iterate, obj))
        if source is not None:
            return self._outside_iterator(obj, kind, source)
        if iterate is None:
            if type(look_up(kind, "__getitem__")) is types.FunctionType:
                return self._by_index(obj)
            raise TypeError(f"{kind.__name__!r} object is not iterable")
        if isinstance(obj, type) or not (self.trace.values.is_native(obj) or is_constant(obj)):
            self.trace.refuse(f"a loop over a {kind.__name__} cannot be captured", "iteration")
        return obj

    def _python_iterator(self, iterator):
        step = look_up(type(iterator), "__next__")
        if type(step) is not types.FunctionType:
            return self.over(iterator)

        def run() -> Any:
            while True:
                try:
                    value = self.trace.calls.call(step, iterator)
                except StopIteration:
                    return
                yield value

        return run()

    def _by_index(self, obj):
        index = 0
        while True:
            try:
                value = self.trace.items.get(obj, index)
            except IndexError:
                return
            yield value
            index += 1

    def _outside_iterator(self, obj, kind, source):
        if isinstance(obj, (list, collections.deque)):
            self.guards.note("length", source, len(obj))
            items = [(sequence_item(obj, i), self.sources.source(Item, source, i, False)) for i in range(len(obj))]
            found = (self.sources.wrap(value, where) for value, where in items)
            if isinstance(obj, list):
                return self._while_it_changes(obj, found)
            return self._while_unchanged(obj, found, "deque mutated during iteration")
        if isinstance(obj, dict):
            return self._while_unchanged(obj, self.keys(obj, source), "dictionary changed size during iteration")
        if isinstance(obj, (set, frozenset)):
            order = tuple(obj)
            if not all(map(is_constant, order)):
                self.trace.refuse("a loop over a set of objects", "iteration")
            self.guards.note("keys", source, order)
            return self._while_unchanged(obj, order, "Set changed size during iteration")
        self.trace.refuse(f"a loop over a {kind.__name__} outside cannot be captured", "iteration")
        return None

    def _while_it_changes(self, obj, found):
        """The items of a list outside: once the program has changed it, those of what it goes on with, from the same place on."""
        place = 0
        for value in found:
            if self.writes.current(obj) is not obj:
                break
            yield value
            place += 1
        changed = self.writes.current(obj)
        while changed is not obj and place < len(changed):
            yield changed[place]
            place += 1

    def _while_unchanged(self, obj, found, text):
        """Items of a container outside; RuntimeError where the program adds to it or takes from it meanwhile."""
        size = self._length_now(obj)
        for value in found:
            yield value
            if self._length_now(obj) != size:  # looked at before the end, too
                raise RuntimeError(text)

    def _length_now(self, obj):
        changed = self.writes.current(obj)
        written = self.writes.to(obj) if isinstance(obj, dict) else None
        fresh = 0 if written is None else sum(not dict.__contains__(obj, key) for key in written.values)
        return len(changed) + fresh

    def over_unpacked(self, obj: Any, pattern: Any) -> Any:
        """Like `it`, each item unpacked as a target of the pattern's form does."""
        return (self._unpacked(each, pattern) for each in self.over(obj))

    def _unpacked(self, value, pattern):
        if pattern is None:
            return value
        items = [*self.over(value)]
        if len(items) != len(pattern):
            return items
        return tuple(self._unpacked(item, part) for item, part in zip(items, pattern))

    def keys(self, obj: Any, source: Any) -> tuple[int | str, ...]:
        """The keys of a dictionary outside, guarded."""
        if self.writes.to(obj) is not None:
            return tuple(self.writes.to_copy(obj))
        return self._keys_before(obj, source)

    def _keys_before(self, obj: Any, source: Any) -> tuple[int | str, ...]:
        found = tuple(key for key, _ in pairs_of(obj))
        if not all(is_constant(k) or isinstance(k, (type, types.FunctionType)) for k in found):
            self.trace.refuse("a dictionary outside with keys that are no constants", "iteration")
        self.guards.note("keys", source, found)
        return found

    def items(self, obj: Any, source: Any) -> list:
        """The items of a dictionary outside."""
        if self.writes.to(obj) is not None:
            return pairs_of(self.writes.to_copy(obj))
        return self.items_before(obj, source)

    def items_before(self, obj: Any, source: Any) -> list:
        """The items of a dictionary outside, past what the program wrote to it."""
        keys = self._keys_before(obj, source)
        return [
            (key, self.sources.wrap(dict.__getitem__(obj, key), self.sources.source(Item, source, key))) for key in keys
        ]

    def mapping(self, obj: Any) -> dict[str, Any]:
        """The dictionary that `**obj` gives."""
        self.trace.alive()
        obj = self.writes.current(obj)
        source = self.sources.source_of(obj)
        if isinstance(obj, dict):
            if (
                type(look_up(type(obj), "__getitem__")) is types.FunctionType
                or type(look_up(type(obj), "keys")) is types.FunctionType
            ):
                return {
                    key: self.trace.items.get(obj, key)
                    for key in self.over(self.trace.calls.call(self.trace.attributes.get(obj, "keys")))
                }
            return dict(self.items(obj, source)) if source is not None else dict(pairs_of(obj))
        if isinstance(obj, types.MappingProxyType) and source is None:
            return dict(obj)
        return {
            key: self.trace.items.get(obj, key)
            for key in self.over(self.trace.calls.call(self.trace.attributes.get(obj, "keys")))
        }
