"""Values that code in C may be given: which the program made itself, which are plain, and copies of those from outside.

Owns no state: the sources say what came from outside.
"""

from __future__ import annotations

import collections
import operator
import types
from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch
from mindtorch_v2._capture._guard_kinds import is_constant
from mindtorch_v2._sizes.recorded import RecordedNumber, RecordedSize

if TYPE_CHECKING:
    from mindtorch_v2._capture._recording import Recorder


__all__ = ["Values"]

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


class Values:
    """Part of a recorder: what the program's own containers are, and what code in C may read."""

    def __init__(self, trace: Recorder) -> None:
        self.trace = trace
        self.sources = trace.sources

    def is_native(self, obj: Any) -> bool:
        """Whether `obj` is a builtin container or iterator that the program made."""
        return self.sources.source_of(obj) is None and (
            isinstance(obj, _NATIVE) or type(obj).__module__ == "itertools" or isinstance(obj, collections.OrderedDict)
        )

    def is_plain(self, value: Any) -> bool:
        """Whether C code may compare and print `value`: constants, and containers of them that the program made."""
        if is_constant(value) or isinstance(value, (RecordedNumber, type, types.FunctionType, types.ModuleType)):
            return True
        if isinstance(value, torch.Tensor) or self.sources.source_of(value) is not None:
            return False
        if type(value) in (list, tuple, set, frozenset, collections.deque) or type(value) is RecordedSize:
            return all(map(self.is_plain, value))
        if isinstance(value, tuple) and hasattr(type(value), "_fields"):
            return all(map(self.is_plain, value))
        if type(value) in (dict, collections.OrderedDict, collections.defaultdict):
            return all(self.is_plain(k) and self.is_plain(v) for k, v in value.items())
        return type(value) in (type({}.keys()), type({}.values())) and all(map(self.is_plain, value))

    def deep(self, value: Any) -> Any:
        """`value` with every container from outside replaced by one of this trace, so that C code may read it.

        What holds nothing from outside stays the object that it is.
        """
        value = self.trace.writes.current(value)
        kind = type(value)
        source = self.sources.source_of(value)
        if kind in (list, tuple):
            items: Any = [self.deep(each) for each in self.trace.iteration.over(value)]
            if source is None and all(map(operator.is_, items, value)):
                return value
            return kind(items)
        if kind is dict:
            items = {key: self.deep(each) for key, each in self.trace.iteration.mapping(value).items()}
            if source is None and all(map(operator.is_, items.values(), value.values())):
                return value
            return items
        if kind in (set, collections.OrderedDict) and source is not None:
            return kind(self.trace.iteration.over(value)) if kind is set else kind(self.trace.iteration.mapping(value))
        return value
