"""Data that depend on sizes, written once for all of them: found from what they are for some.

A template is the data with a `Slot` where a number differs; `Numbers` says which expression of the symbols each slot is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from mindtorch_v2._sizes.expressions import Expression, symbol
from mindtorch_v2._sizes.fitting import Fitting
from mindtorch_v2._sizes.graph_node import GraphNode

__all__ = ["NoTemplate", "Numbers", "Slot", "filled", "fitted", "slots"]


class NoTemplate(Exception):
    """Raised for data of which nobody can say what they are for other sizes."""


class Slot:
    """The number at a place of `Numbers.expressions`."""

    __slots__ = ("place",)

    def __init__(self, place: int) -> None:
        self.place = place


class Numbers:
    """The numbers of some samples that are not the same in all of them. `symbols` has what each symbol is in each.

    Integers are expressions of the symbols that are integers; a float is a symbol itself.
    """

    def __init__(self, symbols: Mapping[str, tuple[Any, ...]]) -> None:
        self.expressions: list[Expression] = []
        self._fitting = Fitting()
        self._floats: dict[tuple[float, ...], Expression] = {}
        for name, values in symbols.items():
            if type(values[0]) is float:
                self._floats[values] = symbol(name)
            else:
                self._fitting.learn_symbol(name, values)
        self._places: dict[tuple[Any, ...], int] = {}
        self._few: dict[tuple[Any, ...], int | None] = {}  # by what they are in the first samples; None for several
        self._count = 0  # of these samples

    def place(self, values: tuple[Any, ...]) -> int:
        """The place of a number by what it is in each sample."""
        if self._count:
            known = self._few.get(values)
            if known is None:
                raise NoTemplate(f"the numbers {values} may be several expressions of the sizes, or none")
            return known
        known = self._places.get(values)
        if known is None:
            found = self._floats.get(values) if type(values[0]) is float else self._fitting.express(values)
            if found is None:
                raise NoTemplate(f"the numbers {values} are no expression of the sizes")
            known = self._places[values] = len(self.expressions)
            self.expressions.append(found)
        return known

    def may_differ(self, values: tuple[Any, ...]) -> bool:
        """Whether a number that is the same in the first samples differs in others."""
        return values in self._few

    def by_first(self, count: int) -> None:
        """From now on numbers are told by what they are in the first `count` samples, and have to be known."""
        self._count = count
        for values, place in self._places.items():
            first = values[:count]
            self._few[first] = None if first in self._few else place

    def at(self, symbols: Mapping[str, int]) -> list[Any]:
        """The number at each place where the symbols have these values."""
        return [each.evaluate(symbols) for each in self.expressions]


def fitted(values: Sequence[Any], numbers: Numbers) -> Any:
    """The template of data by what they are in each sample; NoTemplate if they differ by more than numbers.

    Data are numbers, nodes of graphs that are the same but for numbers (those of the first sample stand in the template), tuples,
    lists, dictionaries and slices of them, and objects that are the same in each.
    """
    first = values[0]
    kind = type(first)
    if any(type(each) is not kind for each in values):
        raise NoTemplate(f"{kind.__name__} became {', '.join(type(each).__name__ for each in values[1:])}")
    if kind in (int, float):
        if all(each == first for each in values):
            if numbers.may_differ(tuple(values)):
                raise NoTemplate(f"{first} may be the same for all sizes, or an expression of them")
            return first
        return Slot(numbers.place(tuple(values)))
    if isinstance(first, (tuple, list)):
        if any(len(each) != len(first) for each in values):
            raise NoTemplate(f"{len(first)} values became {[len(each) for each in values[1:]]}")
        items = [fitted(each, numbers) for each in zip(*values)]
        return items if isinstance(first, list) else tuple(items)
    if kind is dict:
        if any(each.keys() != first.keys() for each in values):
            raise NoTemplate("the names of arguments became others")
        return {key: fitted([each[key] for each in values], numbers) for key in first}
    if kind is slice:
        return slice(*(fitted([getattr(v, n) for v in values], numbers) for n in ("start", "stop", "step")))
    if isinstance(first, GraphNode):
        same = all(each.name == first.name for each in values)
    else:
        same = all(each is first for each in values) or _equal(values)
    if not same:
        raise NoTemplate(f"{first!r} became {values[1]!r}")
    return first


def _equal(values: Sequence[Any]) -> bool:
    try:
        return all(bool(each == values[0]) for each in values)
    except (RuntimeError, ValueError, TypeError):  # a tensor, say, for which equal is no question
        return False


def filled(template: Any, number: Callable[[int], Any], node: Callable[[Any], Any] = lambda each: each) -> Any:
    """The data that a template stands for: `number(place)` in the place of slots, `node(n)` in that of nodes."""
    if isinstance(template, Slot):
        return number(template.place)
    if isinstance(template, GraphNode):
        return node(template)
    if isinstance(template, tuple):
        return tuple([filled(each, number, node) for each in template])
    if isinstance(template, list):
        return [filled(each, number, node) for each in template]
    if isinstance(template, dict):
        return {key: filled(each, number, node) for key, each in template.items()}
    if isinstance(template, slice):
        return slice(*(filled(each, number, node) for each in (template.start, template.stop, template.step)))
    return template


def slots(template: Any) -> Iterator[int]:
    """The places of a template's numbers."""
    if isinstance(template, Slot):
        yield template.place
    elif isinstance(template, (tuple, list)):
        for each in template:
            yield from slots(each)
    elif isinstance(template, dict):
        yield from slots([*template.values()])
    elif isinstance(template, slice):
        yield from slots((template.start, template.stop, template.step))
