"""Functions in Python: their instrumented copies, which of them the program defined, and what it told the compiler of some.

Owns the copies of this trace, and how deep their calls are nested.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch
from mindtorch_v2._capture import _known, _transforms
from mindtorch_v2._capture._frame import Frame
from mindtorch_v2._capture._result import ForbiddenCall, Uncapturable
from mindtorch_v2._capture._rewrite import PARTS, instrument
from mindtorch_v2._capture._sources import Attribute, Item, Source
from mindtorch_v2._capture._tensors import METHODS_REFUSED
from mindtorch_v2._capture._without_source import check_simple, runs_as_it_is

if TYPE_CHECKING:
    from mindtorch_v2._capture._recording import Recorder


__all__ = ["Functions"]

_factories: dict[tuple[str, types.CodeType], Callable[..., Any] | None] = {}


class Functions:
    """Part of a recorder: functions in Python."""

    def __init__(self, trace: Recorder) -> None:
        self.trace = trace
        self.sources = trace.sources
        self.guards = trace.guards
        self._made: dict[int, Any] = {}  # id of a function that the program defined -> it
        self._copies: dict[int, Callable[..., Any]] = {}  # id of a function -> its instrumented copy
        self._depth = 0

    def made(self, function: Any) -> Callable[..., Any]:
        """A function that the program defines; it is instrumented already."""
        self._made[id(function)] = function
        return function

    def is_made(self, f: Any) -> bool:
        """Whether the program defined a function."""
        return id(f) in self._made

    def marked(self, f: Any) -> Callable[..., Any] | None:
        """The action that the program has told the compiler to do at calls of a function."""
        marks, told = f.__dict__, torch._dynamo._marks
        if marks.get("_torchdynamo_disable") is True:
            self.trace.refuse(f"{f.__qualname__!r} is disabled for compilation", "disabled")
        if marks.get("_dynamo_forbidden") is True:
            raise ForbiddenCall(f"Attempt to trace forbidden callable {f}")
        if f in told.DISALLOWED:
            self.trace.refuse(f"{f.__qualname__!r} may not be called in a graph", "disallowed")
        if marks.get("_dynamo_marked_constant") is True:
            return _known.assumed_constant(f)
        if f in told.ALLOWED:
            return lambda trace, *args, **kwargs: trace.calls.leaf(f, args, kwargs)
        replacement = told.SUBSTITUTES.get(f) or marks.get("_torchdynamo_orig_callable")
        if replacement is not None:
            return lambda trace, *args, **kwargs: trace.calls.call(replacement, *args, **kwargs)
        return _transforms.of_wrapper(self.trace, f)

    def call(self, f: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """A call of a Python function: of its instrumented copy."""
        copy = self._copies.get(id(f))
        if copy is None:
            copy = self._copies[id(f)] = self._copy(f)
        self._depth += 1
        if self._depth > 150:
            self.trace.refuse("calls are nested too deep", "recursion")
        try:
            return copy(*args, **kwargs)
        finally:
            self._depth -= 1

    def _factory(self, f: types.FunctionType) -> Callable[..., Any] | None:
        """The factory of copies of a function, known to all traces; None if there is no source."""
        code = f.__code__
        key = (code.co_filename, code)
        if key not in _factories:
            try:
                _factories[key] = instrument(f)
            except Uncapturable as error:
                if error.kind != "no_source" or not code.co_filename.startswith("<"):
                    self.trace.fail(error)
                _factories[key] = None
        return _factories[key]

    def _copy(self, f: types.FunctionType) -> Callable[..., Any]:
        """The instrumented copy of a function, with the defaults that it has."""
        factory = self._factory(f)
        source = self.sources.source_of(f)
        frame = Frame(self.trace, f, source)
        if source is None or factory is None:
            self.guards.note("function", None, (f, f.__code__, f.__defaults__, f.__kwdefaults__))
        if factory is None:
            try:
                check_simple(self.trace, frame, f, METHODS_REFUSED)
            except Uncapturable as error:
                self.trace.fail(error)
            self.trace.kept.append(f)
            return runs_as_it_is(self.trace, f)
        made = factory(self.trace, frame, *(getattr(self.trace, part) for part in PARTS))
        made.__name__, made.__qualname__ = f.__name__, f.__qualname__
        of: Source = source or self.sources.constant_source(f, f.__qualname__)
        if f.__defaults__ is not None:
            made.__defaults__ = self.sources.wrap(f.__defaults__, self.sources.source(Attribute, of, "__defaults__"))
        if f.__kwdefaults__ is not None:
            where = self.sources.source(Attribute, of, "__kwdefaults__")
            made.__kwdefaults__ = {
                name: self.sources.wrap(value, self.sources.source(Item, where, name))
                for name, value in f.__kwdefaults__.items()
            }
        self.trace.kept.append(f)
        return made

    def wrapped(self, f: Any) -> Any:
        """`f` for C code that calls it."""
        if not callable(f) or type(f) is types.FunctionType and id(f) in self._made:
            return f
        return lambda *args, **kwargs: self.trace.calls.call(f, *args, **kwargs)
