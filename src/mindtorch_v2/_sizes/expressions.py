"""Expressions over sizes: polynomials of symbols and of functions that are no polynomials; conditions on them.

A polynomial has one form, so that what is equal as a polynomial is one expression.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Iterator, Mapping
from typing import Any

__all__ = ["FUNCTIONS", "Apply", "Condition", "Expression", "Junction", "Symbol", "apply", "constant", "symbol"]

Number = int | float


def _round(value: Any) -> int:
    return round(value)


# What a function of an expression computes; by the name that it is printed with.
FUNCTIONS: dict[str, Callable] = {
    "FloorDiv": operator.floordiv,
    "Mod": operator.mod,
    "IntTrueDiv": operator.truediv,
    "FloatTrueDiv": operator.truediv,
    "PowByNatural": operator.pow,
    "FloatPow": operator.pow,
    "Max": max,
    "Min": min,
    "Abs": abs,
    "ToFloat": float,
    "TruncToInt": int,
    "FloorToInt": math.floor,
    "CeilToInt": math.ceil,
    "RoundToInt": _round,
    "sqrt": math.sqrt,
}


class _Atom:
    """A factor of a monomial: what prints alike is the same."""

    __slots__ = ("_text",)
    _text: str

    def __str__(self) -> str:
        return self._text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Atom) and self._text == other._text

    def __hash__(self) -> int:
        return hash(self._text)


class Symbol(_Atom):
    """A size that may differ, by its name."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = self._text = name

    def evaluate(self, values: Mapping[str, Number]) -> Number:
        return values[self.name]

    def least(self, least: Mapping[str, int]) -> Number | None:
        """Its least value where that is known."""
        return least.get(self.name)

    def symbols(self) -> Iterator[str]:
        yield self.name


class Apply(_Atom):
    """A function of expressions that is no polynomial."""

    __slots__ = ("args", "name")

    def __init__(self, name: str, *args: Expression) -> None:
        self.name, self.args = name, args
        if name == "FloorDiv":
            self._text = f"({args[0]._in_brackets()}//{args[1]._in_brackets()})"
        else:
            self._text = f"{name}({', '.join(map(str, args))})"

    def evaluate(self, values: Mapping[str, Number]) -> Number:
        return FUNCTIONS[self.name](*(each.evaluate(values) for each in self.args))

    def least(self, least: Mapping[str, int]) -> Number | None:
        """Its least value where the function grows with what it is of, and that is known."""
        parts = self.args
        if self.name == "FloorDiv" and (self.args[1].constant or 0) > 0:
            parts = self.args[:1]
        elif self.name not in ("Max", "Min"):
            return None
        if any(each.constant is None and each.bounds(least)[0] is None for each in parts):
            return None
        return self.evaluate(least)

    def symbols(self) -> Iterator[str]:
        for each in self.args:
            yield from each.symbols()


Monomial = tuple  # of symbols and applications, sorted by their text; empty for a constant


class _Printed:
    """The base of what has symbols, and prints as text."""

    __slots__ = ()

    def symbols(self) -> Iterator[str]:
        """The names of its symbols, some of them more than once."""
        raise NotImplementedError

    @property
    def free_symbols(self) -> set[str]:
        """The names of its symbols."""
        return set(self.symbols())

    def __repr__(self) -> str:
        return str(self)


class Expression(_Printed):
    """A polynomial: for each monomial a coefficient that is not 0."""

    __slots__ = ("_text", "terms")

    def __init__(self, terms: dict[Monomial, Number]) -> None:
        ordered = sorted(terms.items(), key=lambda term: (-len(term[0]), tuple(map(str, term[0]))))
        self.terms = {monomial: coefficient for monomial, coefficient in ordered if coefficient != 0}
        self._text = self._printed()

    # ---- what it is ----

    @property
    def constant(self) -> Number | None:
        """The number, where it is one."""
        if not self.terms:
            return 0
        if len(self.terms) == 1 and () in self.terms:
            return self.terms[()]
        return None

    def symbols(self) -> Iterator[str]:
        for monomial in self.terms:
            for atom in monomial:
                yield from atom.symbols()

    def evaluate(self, values: Mapping[str, Number]) -> Number:
        """Its value, with a number for each symbol."""
        total: Number = 0
        for monomial, coefficient in self.terms.items():
            product = coefficient
            for atom in monomial:
                product = product * atom.evaluate(values)
            total = total + product
        return total

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Expression) and self._text == other._text

    def __hash__(self) -> int:
        return hash(self._text)

    def __str__(self) -> str:
        return self._text

    def _in_brackets(self) -> str:
        return self._text if len(self.terms) < 2 and not self._text.startswith("-") else f"({self._text})"

    def _printed(self) -> str:
        terms = list(self.terms.items())
        if terms and terms[0][1] < 0:  # one that is not negative comes first
            first = next((place for place, (_, coefficient) in enumerate(terms) if coefficient > 0), 0)
            terms.insert(0, terms.pop(first))
        text = ""
        for monomial, coefficient in terms:
            size = _term(monomial, abs(coefficient))
            if not text:
                text = f"-{size}" if coefficient < 0 else size
            else:
                text += f" - {size}" if coefficient < 0 else f" + {size}"
        return text or "0"

    # ---- arithmetic ----

    def plus(self, other: Expression) -> Expression:
        found = dict(self.terms)
        for monomial, coefficient in other.terms.items():
            found[monomial] = found.get(monomial, 0) + coefficient
        return Expression(found)

    def times(self, other: Expression) -> Expression:
        found: dict[Monomial, Number] = {}
        for a, x in self.terms.items():
            for b, y in other.terms.items():
                monomial = tuple(sorted((*a, *b), key=str))
                found[monomial] = found.get(monomial, 0) + x * y
        return Expression(found)

    def minus(self, other: Expression) -> Expression:
        return self.plus(other.times(constant(-1)))

    def over(self, divisor: Expression) -> Expression | None:
        """The quotient, where a divisor of one term divides every term."""
        if len(divisor.terms) != 1:
            return None
        ((atoms, number),) = divisor.terms.items()
        found: dict[Monomial, Number] = {}
        for monomial, coefficient in self.terms.items():
            rest = list(monomial)
            for atom in atoms:
                if atom not in rest:
                    return None
                rest.remove(atom)
            if not isinstance(coefficient, int) or not isinstance(number, int) or coefficient % number:
                return None
            found[tuple(rest)] = coefficient // number
        return Expression(found)

    def substituted(self, values: Mapping[str, Number]) -> Expression:
        """The same, with numbers in the place of some symbols."""
        if not values or self.free_symbols.isdisjoint(values):
            return self
        total = constant(0)
        for monomial, coefficient in self.terms.items():
            product = constant(coefficient)
            for atom in monomial:
                if isinstance(atom, Apply):
                    factor = apply(atom.name, *(each.substituted(values) for each in atom.args))
                else:
                    factor = constant(values[atom.name]) if atom.name in values else symbol(atom.name)
                product = product.times(factor)
            total = total.plus(product)
        return total

    def bounds(self, least: Mapping[str, int]) -> tuple[Number | None, Number | None]:
        """Its least and its greatest value, where every symbol has a least value; None for what is not known."""
        for monomial in self.terms:
            for atom in monomial:
                low = atom.least(least)
                if low is None or low < 0 and len(monomial) > 1:  # (-5) * (-5) is more than 0 * 0
                    return None, None
        varying = [coefficient for monomial, coefficient in self.terms.items() if monomial]
        start = self.evaluate(least)
        return (
            start if all(each > 0 for each in varying) else None,
            start if all(each < 0 for each in varying) else None,
        )


def _term(monomial: Monomial, coefficient: Number) -> str:
    names = list(map(str, monomial))
    parts = [name if names.count(name) == 1 else f"{name}**{names.count(name)}" for name in dict.fromkeys(names)]
    if coefficient != 1 or not parts:
        parts.insert(0, str(coefficient))
    return "*".join(parts)


@functools.lru_cache(maxsize=4096)
def symbol(name: str) -> Expression:
    """The expression that is a symbol."""
    return Expression({(Symbol(name),): 1})


def constant(value: Number) -> Expression:
    """The expression that is a number."""
    return Expression({(): value})


def apply(name: str, *args: Expression) -> Expression:
    """A function of expressions, simplified where that is plain."""
    known = [each.constant for each in args]
    if all(each is not None for each in known):
        return constant(FUNCTIONS[name](*known))
    if name in ("FloorDiv", "Mod"):
        quotient = args[0].over(args[1])
        if quotient is not None:
            return quotient if name == "FloorDiv" else constant(0)
    if name in ("Max", "Min"):
        if args[0] == args[1]:
            return args[0]
        args = tuple(sorted(args, key=lambda each: (each.constant is None, str(each))))
    return Expression({(Apply(name, *args),): 1})


# ---- conditions ----

_RELATIONS = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_OPPOSITE = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


class _Pair(_Printed):
    """Two sides and what is said of them."""

    __slots__ = ("left", "relation", "right")

    def __init__(self, relation: str, left: Any, right: Any) -> None:
        self.relation, self.left, self.right = relation, left, right

    def symbols(self) -> Iterator[str]:
        yield from self.left.symbols()
        yield from self.right.symbols()

    def substituted(self, values: Mapping[str, Number]) -> Any:
        """The same, with numbers in the place of some symbols."""
        return type(self)(self.relation, self.left.substituted(values), self.right.substituted(values))


class Condition(_Pair):
    """A comparison of two expressions."""

    __slots__ = ()

    def __init__(self, relation: str, left: Expression, right: Expression) -> None:
        if left.constant is not None and right.constant is None:  # numbers stand on the right
            relation = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}.get(relation, relation)
            left, right = right, left
        super().__init__(relation, left, right)

    def evaluate(self, values: Mapping[str, Number]) -> bool:
        return _RELATIONS[self.relation](self.left.evaluate(values), self.right.evaluate(values))

    def known(self, least: Mapping[str, int]) -> bool | None:
        """Whether it holds for all values that are at least those of `least`; None if it may or may not."""
        difference = self.left.minus(self.right)
        if difference.constant is not None:
            return _RELATIONS[self.relation](difference.constant, 0)
        low, high = difference.bounds(least)
        if low is not None and (low > 0 or low == 0 and self.relation in ("<", ">=")):
            return self.relation in ("!=", ">", ">=")
        if high is not None and (high < 0 or high == 0 and self.relation in (">", "<=")):
            return self.relation in ("!=", "<", "<=")
        return None

    def negated(self) -> Condition:
        return Condition(_OPPOSITE[self.relation], self.left, self.right)

    def __str__(self) -> str:
        if self.relation in ("==", "!="):
            return f"{'Eq' if self.relation == '==' else 'Ne'}({self.left}, {self.right})"
        return f"{self.left} {self.relation} {self.right}"


class Junction(_Pair):
    """Two conditions, of which both ("&") or one ("|") must hold."""

    __slots__ = ()

    def evaluate(self, values: Mapping[str, Number]) -> bool:
        both = self.left.evaluate(values), self.right.evaluate(values)
        return all(both) if self.relation == "&" else any(both)

    def known(self, least: Mapping[str, int]) -> bool | None:
        both = self.left.known(least), self.right.known(least)
        deciding = self.relation == "|"
        if deciding in both:
            return deciding
        return None if None in both else not deciding

    def negated(self) -> Junction:
        return Junction("|" if self.relation == "&" else "&", self.left.negated(), self.right.negated())

    def __str__(self) -> str:
        return f"({self.left}) {self.relation} ({self.right})"
