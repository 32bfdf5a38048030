"""Which expression a number is, told by what it is for several sizes.

An expression is accepted only if it is right for each of them; the sizes are large primes where that is possible, so that
what is equal for all of them is equal.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from mindtorch_v2._sizes.expressions import Expression, apply, constant, symbol

__all__ = ["Fitting", "primes"]

_SYMBOLS = 10  # of which products are tried
_DEGREE = 4
_DIVISORS = range(2, 9)


def primes(start: int) -> Iterator[int]:
    """The primes from `start` on."""
    for number in itertools.count(start):
        if all(number % divisor for divisor in range(2, int(number**0.5) + 1)):
            yield number


class Fitting:
    """Expressions by their values. `learn` says what is known, `express` tells what a number is."""

    def __init__(self) -> None:
        self._symbols: dict[str, tuple] = {}
        self._known: dict[tuple, Expression] = {}

    def learn(self, expr: Expression, values: tuple) -> None:
        """`expr` has these values."""
        self._known.setdefault(values, expr)

    def learn_symbol(self, name: str, values: tuple) -> None:
        """A symbol has these values."""
        self._symbols[name] = values
        self.learn(symbol(name), values)

    def learnt(self) -> list[Expression]:
        """The expressions that were learnt, and found since."""
        return list(self._known.values())

    def known(self, values: tuple) -> Expression | None:
        """The expression that was learnt, or a constant."""
        if all(value == values[0] for value in values[1:]):
            return constant(values[0])
        return self._known.get(values)

    def express(self, values: tuple) -> Expression | None:
        """The expression with these values, or None if none was found."""
        found = self.known(values)
        if found is None and all(isinstance(value, int) for value in values):
            found = self._fitted(values)
            if found is not None:
                self._known[values] = found
        return found

    def _products(self, degree: int) -> Iterator[tuple[Expression, tuple]]:
        names = list(self._symbols)[:_SYMBOLS]
        for count in range(1, degree + 1):
            for chosen in itertools.combinations_with_replacement(names, count):
                expr, values = constant(1), (1,) * len(next(iter(self._symbols.values())))
                for name in chosen:
                    expr = expr.times(symbol(name))
                    values = tuple(a * b for a, b in zip(values, self._symbols[name]))
                yield expr, values

    def _fitted(self, values: tuple) -> Expression | None:
        for expr, product in self._products(_DEGREE):
            if all(value * product[0] == values[0] * each for value, each in zip(values, product)):
                ratio = Fraction(values[0], product[0])
                whole = expr.times(constant(ratio.numerator))
                return whole if ratio.denominator == 1 else apply("FloorDiv", whole, constant(ratio.denominator))
        if len(values) < 4:  # a line through three points is no evidence
            return None
        for expr, product in self._products(2):
            found = _line(values, expr, product)
            if found is not None:
                return found
        for name, own in self._symbols.items():
            for sign in (1, -1):
                rest = tuple(value - sign * each for value, each in zip(values, own))
                for expr, product in self._products(1):
                    found = _line(rest, expr, product)
                    if found is not None:
                        return found.plus(symbol(name).times(constant(sign)))
        return self._rounded(values)

    def _rounded(self, values: tuple) -> Expression | None:
        """`(product + start) // divisor`, if there is one start only that fits."""
        for expr, product in self._products(2):
            for divisor in _DIVISORS:
                if abs(values[0] * divisor - product[0]) > 2 * divisor:
                    continue
                starts = [divisor * value - each for value, each in zip(values, product)]
                if max(starts) == min(starts) + divisor - 1:
                    return apply("FloorDiv", expr.plus(constant(max(starts))), constant(divisor))
        return None


def _line(values: tuple, expr: Expression, product: tuple) -> Any:
    """`values` as a multiple of `product` and a constant."""
    if product[0] == product[1] or (values[1] - values[0]) % (product[1] - product[0]):
        return None
    slope = (values[1] - values[0]) // (product[1] - product[0])
    start = values[0] - slope * product[0]
    if slope and all(value == slope * each + start for value, each in zip(values, product)):
        return expr.times(constant(slope)).plus(constant(start))
    return None


def evaluated(expr: Any, assignments: Sequence[Mapping[str, int]]) -> tuple | None:
    """Value of an expression under each assignment; None where a symbol has no value there, or a function none (1 // 0)."""
    try:
        return tuple(expr.evaluate(each) for each in assignments)
    except (KeyError, ArithmeticError, ValueError):
        return None
