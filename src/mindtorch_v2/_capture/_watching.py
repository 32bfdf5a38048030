"""The quick check of guards: whether anything that they look at was touched since they last held.

Guards on what the program found by itself (globals, cells, attributes of its Modules) hold as long as the dictionaries,
lists, classes, cells and functions on the way are as they were, which the native `_Watch` tells in a few nanoseconds
each. What came with the call is looked at each time, and so is the little that cannot be watched. When something was
touched, all guards are evaluated; if they hold, the watch begins anew.
"""

from __future__ import annotations

import collections
import types
from collections.abc import Callable, Sequence
from typing import Any

from mindtorch_v2 import _C
from mindtorch_v2._capture._guards import Guard, compile_check
from mindtorch_v2._capture._sources import Argument, Attribute, Constant, Dictionary, Item, Keyword, OfClass, root_of
from mindtorch_v2._core import deterministic as _deterministic

__all__ = ["Watching"]

_OF_FUNCTIONS = ("__closure__", "__code__", "__defaults__", "__kwdefaults__", "__globals__")


_HEAP_TYPE = 1 << 9


class _Unwatchable(Exception):
    """Raised where changes cannot be told."""


def _sources(guard):
    if guard.kind in ("distinct", "separate"):
        return guard.value
    if guard.kind in ("same", "different"):
        return (guard.source, guard.value)
    return () if guard.source is None else (guard.source,)


class _Collected:
    """Objects whose state is to be watched, each once."""

    NAMES = ("dicts", "instances", "classes", "types", "lists", "cells", "functions")

    def __init__(self) -> None:
        self.found: dict[Any, Any] = {name: {} for name in self.NAMES}
        self.guards: list[Any] = []
        self.tensors: list[Any] = []
        self.of_tensors: list[Any] = []
        self.values: dict[Any, Any] = {}

    def add(self, name: str, obj: Any) -> None:
        """Watch an object, as one of `NAMES`."""
        self.found[name][id(obj)] = obj

    def lists(self) -> tuple:
        """The facts that the native watch is armed with."""
        return tuple([*self.found[name].values()] for name in self.NAMES), self.guards, self.tensors

    def value(self, source: Any) -> Any:
        """The value of a source that the call does not bring; what lies on the way is watched."""
        if source in self.values:
            return self.values[source]
        parent = None if source.parent is None else self.value(source.parent)
        kind = type(source)
        if kind is OfClass:
            self.add("types", source.kind)
        elif kind is Dictionary:
            self.add("instances", parent)
        elif kind is Item:
            if isinstance(parent, dict):
                self.add("dicts", parent)
            elif isinstance(parent, list):
                self.add("lists", parent)
            elif not isinstance(parent, tuple):
                raise _Unwatchable
        elif kind is Attribute:
            self._attribute(parent, source.key)
        elif kind is not Constant:
            raise _Unwatchable
        value = self.values[source] = source.get((), {})
        return value

    def _attribute(self, parent, name) -> None:
        if type(parent) is types.CellType:
            self.add("cells", parent)
        elif type(parent) is types.FunctionType and name in _OF_FUNCTIONS:
            self.add("functions", parent)
        elif type(parent) is not types.MethodType:
            raise _Unwatchable

    def guard(self, guard: Any) -> None:
        """Watch what a guard is about."""
        kind = guard.kind
        if kind == "function":
            self.add("functions", guard.value[0])
            return
        if kind == "super":
            self.add("types", guard.value[1])
            return
        if kind in ("result", "state", "arguments", "shapes"):
            raise _Unwatchable
        value = self.value(guard.source)
        if kind in ("constant", "identity", "lookup"):
            return
        if kind in ("same", "different"):
            self.value(guard.value)
        elif kind == "class":
            if type(value).__flags__ & _HEAP_TYPE:  # others cannot be assigned another class
                self.add("classes", value)
        elif kind == "code":
            self.add("functions", value)
        elif kind == "tensor":
            self.guards.append(guard.value.native)
            self.tensors.append(value)
            self.of_tensors.append(guard.source)
        elif kind in ("absent", "has", "keys", "length", "truth"):
            self._content(kind, value)
        else:
            raise _Unwatchable

    def _content(self, kind, value) -> None:
        if isinstance(value, list):
            self.add("lists", value)
        # move_to_end() of an OrderedDict changes the order and nothing that the dictionary itself knows of.
        elif isinstance(value, dict) and not (kind == "keys" and isinstance(value, collections.OrderedDict)):
            self.add("dicts", value)
        elif not isinstance(value, tuple):
            raise _Unwatchable


class Watching:
    """The check of a list of guards: `check(args, kwargs)`, which is another function once the guards held.

    `publish` is told each time which one it is.
    """

    def __init__(self, guards: Sequence[Guard], publish: Callable[..., Any]) -> None:
        self.fixed = [g for g in guards if not self._of_call(g)]
        self.of_call = [g for g in guards if self._of_call(g)]
        self._check_all = compile_check(guards)
        self._watch = _C._Watch()
        self._publish = publish
        self._becomes(self.full)
        self.values: dict[
            Any, Any
        ] = {}  # source -> tensor: those that are as they were as long as the watch sees no change

    def _becomes(self, check) -> None:
        self.check = check
        self._publish(check)

    @staticmethod
    def _of_call(guard) -> bool:
        if guard.kind in ("arguments", "distinct", "separate", "shapes"):
            return True
        return any(isinstance(root_of(s), (Argument, Keyword)) for s in _sources(guard))

    def full(self, args: Any, kwargs: dict[str, Any]) -> bool:
        """Evaluate all guards; if they hold, watch what they are about."""
        if not self._check_all(args, kwargs):
            return False
        self._arm()
        return True

    def _arm(self) -> None:
        collected, call = _Collected(), _OfCall()
        collected.add("dicts", _deterministic._state)
        memory = any(guard.kind == "separate" for guard in self.of_call)
        for guard in (*self.of_call, *self.fixed):
            if guard.kind == "state" or call.takes(guard):
                continue
            try:
                if guard.kind in ("distinct", "separate"):
                    call.others += self._apart(collected, call, guard)
                else:
                    collected.guard(guard)
            except _Unwatchable:
                call.others.append(guard)
        if self._watch.arm(*collected.lists(), memory, (*call.lists(), self.full)):
            self.values = dict(zip(collected.of_tensors, collected.tensors))
            self._becomes(self._watch)
        else:
            self.values = {}
            self._becomes(self.full)

    def _apart(self, collected, call, guard) -> list:
        """The guard that the tensors of a call are apart; those found by the program itself are known to the watch."""
        memory = guard.kind == "separate"
        moving = []
        for source in guard.value:
            if isinstance(root_of(source), (Argument, Keyword)):
                moving.append(source)
            else:
                collected.value(source)
        if all(isinstance(source, (Argument, Keyword)) for source in moving):
            call.apart[memory] = [source.key for source in moving]
            return []
        return [Guard("apart", None, (self._watch.apart, memory, tuple(moving)))]


class _OfCall:
    """The guards that are looked at in each call: by the native watch where it is about arguments themselves."""

    def __init__(self) -> None:
        self.positional = 0
        self.keywords: Any = ()
        self.looks: list[Any] = []
        self.apart: dict[Any, Any] = {}
        self.others: list[Any] = []

    def takes(self, guard: Any) -> bool:
        """Whether the native watch can look at it; then it does."""
        if guard.kind == "arguments":
            self.positional, self.keywords = guard.value
            return True
        if guard.kind == "tensor" and isinstance(root_of(guard.source), (Argument, Keyword)):
            if isinstance(guard.source, (Argument, Keyword)):
                self.looks.append((guard.source.key, guard.value.native))
            else:
                self.others.append(Guard("looks", guard.source, guard.value.native))
            return True
        return False

    def lists(self) -> tuple:
        """The facts that the native watch is armed with."""
        apart = self.apart.get(False, self.apart.get(True, []))
        rest = compile_check(self.others) if self.others else None
        return self.positional, self.keywords, self.looks, apart, True in self.apart, rest
