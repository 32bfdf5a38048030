"""Functions whose source is nowhere, made by `exec` and `eval`: simple ones run as they are, and what they call is recorded.

Simple is a function of tensors and constants whose instructions read nothing that a guard could not hold: no attributes
of objects, and of global variables and cells only constants, modules on the way to operators, a few builtins, and other
simple functions.
"""

from __future__ import annotations

import dis
import inspect
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import mindtorch_v2 as torch
from mindtorch_v2 import _C
from mindtorch_v2._capture._frame import Frame
from mindtorch_v2._capture._guard_kinds import is_constant
from mindtorch_v2._capture._result import Uncapturable

if TYPE_CHECKING:
    from mindtorch_v2._capture._recording import Recorder


__all__ = ["check_simple", "runs_as_it_is"]

_INSTRUCTIONS = (
    "RESUME CACHE NOP PUSH_NULL PRECALL CALL CALL_KW KW_NAMES CALL_FUNCTION CALL_FUNCTION_KW CALL_METHOD LOAD_CONST "
    "LOAD_SMALL_INT LOAD_FAST LOAD_FAST_BORROW LOAD_FAST_CHECK LOAD_FAST_AND_CLEAR LOAD_FAST_LOAD_FAST STORE_FAST "
    "LOAD_FAST_BORROW_LOAD_FAST_BORROW STORE_FAST_LOAD_FAST STORE_FAST_STORE_FAST BINARY_OP BINARY_SUBSCR BINARY_SLICE "
    "UNARY_NEGATIVE UNARY_POSITIVE UNARY_INVERT UNARY_NOT COMPARE_OP POP_TOP COPY SWAP DUP_TOP ROT_TWO ROT_THREE "
    "BUILD_TUPLE BUILD_LIST BUILD_SLICE LIST_EXTEND UNPACK_SEQUENCE RETURN_VALUE RETURN_CONST GET_ITER FOR_ITER END_FOR "
    "POP_ITER JUMP_FORWARD JUMP_BACKWARD JUMP_ABSOLUTE JUMP_IF_TRUE_OR_POP JUMP_IF_FALSE_OR_POP TO_BOOL NOT_TAKEN "
    "EXTENDED_ARG STORE_SUBSCR BUILD_MAP LIST_APPEND MAKE_FUNCTION SET_FUNCTION_ATTRIBUTE MAKE_CELL COPY_FREE_VARS "
    "LOAD_CLOSURE STORE_DEREF RERAISE"
).split()
_BUILTINS = (abs, enumerate, float, int, len, list, max, min, range, reversed, sum, tuple, zip)
_FACTS = frozenset("shape dtype device ndim T mT H mH dim size numel".split())
_READS = ("LOAD_ATTR", "LOAD_METHOD")


def _refuse(function, why):
    raise Uncapturable(
        f"the source of {function.__qualname__!r} is not available ({function.__code__.co_filename}), and {why}",
        "no_source",
    )


def _is_operator(value):
    return isinstance(value, _C.Function) or (
        isinstance(value, types.FunctionType) and (value.__module__ or "").startswith(f"{torch.nn.__name__}.")
    )


def _is_tensors(name, methods_refused):
    """Whether `x.name` of a tensor is an operator, or says what the capture knows."""
    if name in _FACTS or not hasattr(torch.Tensor, name):
        return True
    return isinstance(inspect.getattr_static(torch.Tensor, name), _C.Method) and name not in methods_refused


def check_simple(trace: Recorder, frame: Frame, function: Any, methods_refused: frozenset[str]) -> None:
    """Guards of all that a simple function reads; Uncapturable for another one."""
    _Check(trace, methods_refused, set()).function(frame, function)


class _Check(NamedTuple):
    """Check whether guards can hold what a function's instructions read."""

    trace: Recorder
    methods_refused: frozenset[str]
    seen: set[types.CodeType]  # of functions that call each other

    def function(self, frame: Frame, function: Any) -> None:
        if function.__code__ in self.seen:
            return
        self.seen.add(function.__code__)
        if not all(map(is_constant, (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()))):
            _refuse(function, "it has defaults that are no constants")
        self._code(frame, function, function.__code__)

    def _code(self, frame: Frame, function: Any, code: types.CodeType) -> None:
        if code.co_flags & (inspect.CO_GENERATOR | inspect.CO_COROUTINE):
            _refuse(function, "it is no simple function")
        for part in code.co_consts:  # functions within it
            if isinstance(part, types.CodeType):
                self._code(frame, function, part)
        outside = function.__code__.co_freevars
        instructions = [i for i in dis.get_instructions(code) if i.opname != "EXTENDED_ARG"]
        place = 0
        while place < len(instructions):
            name, what = instructions[place].opname, instructions[place].argval
            place += 1
            if name == "LOAD_GLOBAL" or (name == "LOAD_DEREF" and what in outside):
                value = frame.read_global(what) if name == "LOAD_GLOBAL" else frame.read_cell(what)
                while isinstance(value, types.ModuleType) and instructions[place].opname in _READS:
                    value = self.trace.attributes.get(value, instructions[place].argval)
                    place += 1
                self._value(function, what, value)
            elif name in _READS:
                if not _is_tensors(what, self.methods_refused):
                    _refuse(function, f"it reads an attribute {what!r}")
            elif name == "STORE_DEREF" and what in outside:
                _refuse(function, f"it writes {what!r}, which is another function's")
            elif name not in _INSTRUCTIONS and name != "LOAD_DEREF" and not name.startswith("POP_JUMP_"):
                _refuse(function, f"it has an instruction {name}")

    def _value(self, function: Any, name: str, value: Any) -> None:
        if is_constant(value) or _is_operator(value) or any(value is each for each in _BUILTINS):
            return
        if not isinstance(value, types.FunctionType) or not value.__code__.co_filename.startswith("<"):
            _refuse(function, f"it reads {name!r}")
        self.trace.guards.note("function", None, (value, value.__code__, value.__defaults__, value.__kwdefaults__))
        self.function(Frame(self.trace, value, self.trace.sources.source_of(value)), value)


def runs_as_it_is(trace: Recorder, function: Any) -> Callable[..., Any]:
    """The function for calls in the capture, after `check_simple`."""

    def call(*args: Any, **kwargs: Any) -> Any:
        for value in (*args, *kwargs.values()):
            if not isinstance(value, torch.Tensor) and not is_constant(value):
                trace.refuse(f"a {type(value).__name__} for a function whose source is not available", "no_source")
        if trace.graph.has_dynamic:
            trace.refuse("sizes that may differ, for a function whose source is not available", "no_source")
        return function(*args, **kwargs)

    return call
