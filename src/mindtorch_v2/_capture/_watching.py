"""The quick check of guards: whether anything that they look at was touched since they last held.

Guards on what the program found by itself (globals, cells, attributes of its Modules) hold as long as the dictionaries,
lists, classes, cells and functions on the way are as they were, which the native `_Watch` tells in a few nanoseconds
each. What came with the call is looked at each time, and so is the little that cannot be watched. When something was
touched, all guards are evaluated; if they hold, the watch begins anew.
"""

import collections
import types

from mindtorch_v2 import _C
from mindtorch_v2._capture._guards import Guard, compile_check
from mindtorch_v2._capture._sources import Argument, Attribute, Constant, Dictionary, Item, Keyword, OfClass
from mindtorch_v2._ops import _autocast

__all__ = ["Watching"]

_OF_FUNCTIONS = ("__closure__", "__code__", "__defaults__", "__kwdefaults__", "__globals__")


_HEAP_TYPE = 1 << 9


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
        self.guards, self.tensors, self.of_tensors = [], [], []
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
        if kind == "super":
            self.add("types", guard.value[1])
            return
        if kind in ("result", "state", "arguments"):
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

    def _content(self, kind, value):
        if isinstance(value, list):
            self.add("lists", value)
        # move_to_end() of an OrderedDict changes the order and nothing that the dictionary itself knows of.
        elif isinstance(value, dict) and not (kind == "keys" and isinstance(value, collections.OrderedDict)):
            self.add("dicts", value)
        elif not isinstance(value, tuple):
            raise _Unwatchable


class Watching:
    """The check of a list of guards: `check(args, kwargs)`, which is another function once the guards held."""

    def __init__(self, guards):
        self.fixed = [g for g in guards if not self._of_call(g)]
        self.of_call = [g for g in guards if self._of_call(g)]
        self._check_all = compile_check(guards)
        self._watch = _C._Watch()
        self.check = self.full
        self.values = {}  # source -> tensor: those that are as they were as long as the watch sees no change

    @staticmethod
    def _of_call(guard):
        if guard.kind in ("arguments", "distinct", "separate"):
            return True
        return any(isinstance(_root(s), (Argument, Keyword)) for s in _sources(guard))

    def full(self, args, kwargs):
        """Evaluate all guards; if they hold, watch what they are about."""
        if not self._check_all(args, kwargs):
            return False
        self._arm()
        return True

    def _arm(self):
        collected = _Collected()
        each_time, memory = [], False
        for guard in (*self.of_call, *self.fixed):
            if guard.kind == "state":
                continue
            try:
                if guard.kind in ("distinct", "separate"):
                    each_time += self._apart(collected, guard)
                    memory = memory or guard.kind == "separate"
                elif guard.kind == "tensor" and isinstance(_root(guard.source), (Argument, Keyword)):
                    each_time.append(Guard("looks", guard.source, guard.value.native))
                else:
                    collected.guard(guard)
            except _Unwatchable:
                each_time.append(guard)
        casts = dict(_autocast._state.dtypes), _autocast._state.cache_enabled
        if self._watch.arm(*collected.lists(), memory):
            self.values = dict(zip(collected.of_tensors, collected.tensors))
            self.check = compile_check(each_time, (self._watch.check, self.full, _autocast._state, *casts))
        else:
            self.values = {}
            self.check = self.full

    def _apart(self, collected, guard):
        """The guard that the tensors of a call are apart; those found by the program itself are known to the watch."""
        for source in guard.value:
            if not isinstance(_root(source), (Argument, Keyword)):
                collected.value(source)
        moving = tuple(s for s in guard.value if isinstance(_root(s), (Argument, Keyword)))
        return [Guard("apart", None, (self._watch.apart, guard.kind == "separate", moving))] if moving else []
