"""Numbers in a program that is captured: each stands for a node of the graph, and carries the value seen.

What the program decides by such a number is a condition, which the recorder notes. The program itself never sees one:
`torch.SymInt` is the class of numbers that it does see.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, NoReturn, Protocol

__all__ = [
    "RecordedDatum",
    "RecordedFloat",
    "RecordedInt",
    "RecordedNumber",
    "RecordedSize",
    "datum_of",
    "seen",
    "stand_in",
    "wrap_number",
]


class _Graph(Protocol):
    def symbolic_node(self, function: Callable[..., Any], args: Sequence[Any]) -> Any:
        """The node of a number that is computed of numbers."""

    def condition(self, node: Any, value: Any) -> None:
        """Note that the program decided by the value of a node."""


class _Recorder(Protocol):
    """The parts of a recorder that its numbers need."""

    @property
    def graph(self) -> _Graph:
        """The graph that numbers are nodes of."""

    def refuse(self, reason: str, kind: str = ...) -> NoReturn:
        """Give the capture up."""


class RecordedNumber:
    """A number that a node of a graph gives; `value` is what it was in the capture."""

    def __init__(self, trace: _Recorder, node: Any, value: Any) -> None:
        self.trace, self.node, self.value = trace, node, value

    def _with(self, function: Callable[..., Any], *args: Any) -> RecordedNumber:
        if any(isinstance(a, RecordedDatum) for a in args):
            return _datum_with(self.trace, function, args)
        values = function(*map(seen, args))
        node = self.trace.graph.symbolic_node(function, args)
        return wrap_number(self.trace, node, values)

    def _decided(self, function: Callable[..., Any], *args: Any) -> Any:
        value = function(*map(seen, args))
        self.trace.graph.condition(self.trace.graph.symbolic_node(function, args), value)
        return value

    def __bool__(self) -> bool:
        return self._decided(operator.ne, self, 0)

    def __index__(self) -> int:
        self.trace.graph.condition(self.node, self.value)
        return operator.index(self.value)

    def __int__(self) -> int:
        self.trace.graph.condition(self.node, self.value)
        return int(self.value)

    def __float__(self) -> float:
        self.trace.graph.condition(self.node, self.value)
        return float(self.value)

    def __hash__(self) -> int:
        self.trace.graph.condition(self.node, self.value)
        return hash(self.value)

    def __repr__(self) -> str:
        self.trace.graph.condition(self.node, self.value)
        return repr(self.value)

    def __format__(self, spec: str) -> str:
        self.trace.graph.condition(self.node, self.value)
        return format(self.value, spec)


class RecordedInt(RecordedNumber):
    """An integer of this kind."""


class RecordedFloat(RecordedNumber):
    """A float of this kind."""


class RecordedDatum(RecordedNumber):
    """A number out of a tensor's data, which nobody knows in the capture. What would need to know it is refused.

    `stand_ins` are numbers to try it with: what comes out alike for each of them does not depend on the number.
    """

    def __init__(self, trace: _Recorder, node: Any, stand_ins: tuple) -> None:
        self.trace, self.node, self.stand_ins = trace, node, stand_ins

    @property
    def value(self) -> None:
        self.trace.refuse("a number out of a tensor decides something: it depends on values", "data_dependent")

    def __bool__(self) -> bool:
        return bool(self.value)


class _DatumInt(RecordedDatum, RecordedInt):
    pass


class _DatumFloat(RecordedDatum, RecordedFloat):
    pass


def datum_of(trace: _Recorder, node: Any, floating: bool) -> RecordedDatum:
    """The number that `node` reads out of a tensor."""
    if floating:
        return _DatumFloat(trace, node, (-2.75, 0.625, 1009.375))
    return _DatumInt(trace, node, (-3, 1, 1009))


def stand_in(value: Any, which: int) -> Any:
    """The stand-in of a datum; anything else as `seen` gives it."""
    return value.stand_ins[which] if isinstance(value, RecordedDatum) else seen(value)


def _datum_with(trace: _Recorder, function: Callable[..., Any], args: Sequence[Any]) -> RecordedDatum:
    try:
        stand_ins = tuple(function(*(stand_in(a, which) for a in args)) for which in range(3))
    except ArithmeticError as error:
        trace.refuse(f"{function.__name__}() of a number out of a tensor: {error}", "data_dependent")
    kinds = set(map(type, stand_ins))
    if kinds - {int, float} or len(kinds) > 1:
        trace.refuse(f"the type of {function.__name__}() of a number out of a tensor", "data_dependent")
    kind = _DatumFloat if kinds == {float} else _DatumInt
    return kind(trace, trace.graph.symbolic_node(function, args), stand_ins)


def seen(value: Any) -> Any:
    """The number seen, for one of these; anything else as it is."""
    return value.value if isinstance(value, RecordedNumber) else value


def wrap_number(trace: _Recorder, node: Any, value: Any) -> RecordedNumber:
    """The number that `node` gives, `value` in the capture."""
    return (RecordedFloat if isinstance(value, float) else RecordedInt)(trace, node, value)


def _binary(function) -> tuple:
    def forward(self: RecordedNumber, other: int | RecordedInt) -> RecordedNumber:
        return self._with(function, self, other) if isinstance(other, (int, float, RecordedNumber)) else NotImplemented

    def reflected(self: RecordedInt, other: int) -> RecordedNumber:
        return self._with(function, other, self) if isinstance(other, (int, float, RecordedNumber)) else NotImplemented

    return forward, reflected


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow"):
    _forward, _reflected = _binary(getattr(operator, _name))
    setattr(RecordedNumber, f"__{_name}__", _forward)
    setattr(RecordedNumber, f"__r{_name}__", _reflected)


def _comparison(function):
    def compare(self: RecordedNumber, other: int | RecordedInt) -> bool:
        return (
            self._decided(function, self, other) if isinstance(other, (int, float, RecordedNumber)) else NotImplemented
        )

    return compare


for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
    setattr(RecordedNumber, f"__{_name}__", _comparison(getattr(operator, _name)))


def _unary(function):
    return lambda self: self._with(function, self)


for _name in ("neg", "pos", "abs"):
    setattr(RecordedNumber, f"__{_name}__", _unary(getattr(operator, _name)))


class RecordedSize(tuple):
    """The shape of a tensor in which sizes are such numbers."""

    __slots__ = ()

    def numel(self) -> Any:
        """The product of the sizes."""
        result = 1
        for size in self:
            result = result * size
        return result
