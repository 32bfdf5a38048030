"""The quick check of guards: whether anything that they look at was touched since they last held.

Guards on what the program found by itself (globals, cells, attributes of its Modules) hold as long as the dictionaries,
lists, classes, cells and functions on the way are as they were, which the native `_Watch` tells in a few nanoseconds
each. What came with the call is looked at each time, and so is the little that cannot be watched. When something was
touched, all guards are evaluated; if they hold, the watch begins anew.
"""

import collections
import types

from mindtorch_v2 import _C
from mindtorch_v2._capture._guards import Guard, compile_check, python_state
from mindtorch_v2._capture._sources import Argument, Attribute, Constant, Dictionary, Item, Keyword, OfClass

__all__ = ["Watching"]

_OF_FUNCTIONS = ("__closure__", "__code__", "__defaults__", "__kwdefaults__", "__globals__")


class _Unwatchable(Exception):
    """Raised where changes cannot be told."""


def _root(source):
    while source.parent is not None:
        source = source.parent
    return source


def _sources(guard):
    if guard.kind in ("distinct", "separate"):
        return guard.value
    if guard.kind in ("same", "different"):
        return (guard.source, guard.value)
    return () if guard.source is None else (guard.source,)


class _Collected:
    """Objects whose state is to be watched, each once."""

    NAMES = ("dicts", "instances", "classes", "types", "lists", "cells", "functions")

    def __init__(self):
        self.found = {name: {} for name in self.NAMES}
        self.guards, self.tensors = [], []
        self.values = {}

    def add(self, name, obj):
        """Watch an object, as one of `NAMES`."""
        self.found[name][id(obj)] = obj

    def lists(self):
        """What the native watch is armed with."""
        return [*([*self.found[name].values()] for name in self.NAMES), self.guards, self.tensors]

    def value(self, source):
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

    def _attribute(self, parent, name):
        if type(parent) is types.CellType:
            self.add("cells", parent)
        elif type(parent) is types.FunctionType and name in _OF_FUNCTIONS:
            self.add("functions", parent)
        elif type(parent) is not types.MethodType:
            raise _Unwatchable

    def guard(self, guard):
        """Watch what a guard is about."""
        kind = guard.kind
        if kind == "function":
            self.add("functions", guard.value[0])
            return
        if kind in ("result", "state", "arguments"):
            raise _Unwatchable
        value = self.value(guard.source)
        if kind in ("constant", "identity", "lookup"):
            return
        if kind in ("same", "different"):
            self.value(guard.value)
        elif kind == "class":
            self.add("classes", value)
        elif kind == "code":
            self.add("functions", value)
        elif kind == "tensor":
            self.guards.append(guard.value.native)
            self.tensors.append(value)
        elif kind in ("absent", "has", "keys", "length", "truth"):
            self._content(kind, value)
        else:
            raise _Unwatchable

    def _content(self, kind, value):
        if isinstance(value, list):
            self.add("lists", value)
        # move_to_end() of an OrderedDict changes the order and nothing that the dictionary itself knows of.
        elif isinstance(value, dict) and not (kind == "keys" and isinstance(value, collections.OrderedDict)):
            self.add("dicts", value)
        elif not isinstance(value, tuple):
            raise _Unwatchable


def _memory(tensor):
    return tensor.untyped_storage()._cdata


class _Apart:
    """That the tensors of a call are other objects, or lie in other memory, than each other and the known ones."""

    def __init__(self, key, known, sources):
        self.key, self.known, self.sources = key, frozenset(map(key, known)), sources

    def holds(self, args, kwargs):
        """Whether they are."""
        found = {self.key(source.get(args, kwargs)) for source in self.sources}
        return len(found) == len(self.sources) and found.isdisjoint(self.known)


class Watching:
    """The check of a list of guards."""

    def __init__(self, guards):
        self.fixed = [g for g in guards if not self._of_call(g)]
        self.of_call = [g for g in guards if self._of_call(g)]
        self._check_all = compile_check(guards)
        self._watch = _C._Watch()
        self._state = None
        self._check_call = self._check_all
        self._apart = ()

    @staticmethod
    def _of_call(guard):
        if guard.kind in ("arguments", "distinct", "separate"):
            return True
        return any(isinstance(_root(s), (Argument, Keyword)) for s in _sources(guard))

    def check(self, args, kwargs):
        """Whether all guards hold."""
        if not self._watch.check() or python_state() != self._state:
            if not self._check_all(args, kwargs):
                return False
            self._arm()
            return True
        if not self._check_call(args, kwargs):
            return False
        for each in self._apart:
            if not each.holds(args, kwargs):
                return False
        return True

    def _arm(self):
        collected = _Collected()
        each_time, apart, memory = [], [], False
        for guard in self.of_call:
            if guard.kind in ("distinct", "separate"):
                moving = [s for s in guard.value if isinstance(_root(s), (Argument, Keyword))]
                try:
                    known = [collected.value(s) for s in guard.value if s not in moving]
                except _Unwatchable:
                    each_time.append(guard)
                    continue
                memory = memory or guard.kind == "separate"
                if moving:
                    apart.append(_Apart(id if guard.kind == "distinct" else _memory, known, moving))
            else:
                each_time.append(guard)
        for guard in self.fixed:
            if guard.kind == "state":
                continue
            try:
                collected.guard(guard)
            except _Unwatchable:
                each_time.append(guard)
        self._state = python_state()
        if self._watch.arm(*collected.lists(), memory):
            self._check_call = compile_check([_native(g) for g in each_time])
            self._apart = apart
        else:
            self._check_call, self._apart = self._check_all, ()


def _native(guard):
    return Guard("looks", guard.source, guard.value.native) if guard.kind == "tensor" else guard

