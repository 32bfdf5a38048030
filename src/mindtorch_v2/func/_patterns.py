"""Patterns such as "b (h w) ... -> ... b h w", read and checked."""

from __future__ import annotations

import keyword
import warnings
from collections.abc import Collection, Mapping
from typing import Any

__all__ = ["AnonymousAxis", "ParsedExpression", "parse_pattern", "validate_rearrange_expressions"]

_ellipsis = "\u2026"  # one character for "...", so that it is a name among others


class AnonymousAxis:
    """A dimension that is given by its size, of which no two are the same."""

    def __init__(self, value: str) -> None:
        self.value = int(value)
        if self.value < 1:
            raise ValueError(f"Anonymous axis should have positive length, not {self.value}")

    def __repr__(self) -> str:
        return f"{self.value}-axis"


class ParsedExpression:
    """One side of a pattern: `composition` is a list of dimensions, each a list of names, or the sign for an ellipsis.

    >>> from mindtorch_v2.func._patterns import ParsedExpression
    >>> ParsedExpression("b (h w) 1").composition
    [['b'], ['h', 'w'], []]
    """

    def __init__(self, expression: str, *, allow_underscore: bool = False, allow_duplicates: bool = False) -> None:
        self.has_ellipsis = False
        self.has_ellipsis_parenthesized: bool | None = None
        self.identifiers: set[str | AnonymousAxis] = set()
        self.has_non_unitary_anonymous_axes = False
        self.composition: list[list[str | AnonymousAxis] | str] = []
        self._allowed = (allow_underscore, allow_duplicates)
        if _ellipsis in expression:
            raise ValueError(f"{_ellipsis!r} is not an allowed character: write '...'")
        if expression.count("...") > 1 or "." in expression.replace("...", ""):
            raise ValueError("Expression may contain dots only inside ellipsis (...); only one ellipsis for tensor ")
        for sign in expression.replace("...", ""):
            if not (sign.isalnum() or sign in "_() "):
                raise ValueError(f"Unknown character '{sign}'")
        group: list[str | AnonymousAxis] | None = None
        for word in _words(expression.replace("...", _ellipsis)):
            if word == "(":
                if group is not None:
                    raise ValueError("Axis composition is one-level (brackets inside brackets not allowed)")
                group = []
            elif word == ")":
                if group is None:
                    raise ValueError("Brackets are not balanced")
                self.composition.append(group)
                group = None
            else:
                self._add(word, group)
        if group is not None:
            raise ValueError(f"Imbalanced parentheses in expression: '{expression}'")

    def _add(self, word: str, group: list[str | AnonymousAxis] | None) -> None:
        axis: str | AnonymousAxis = word
        if word == _ellipsis:
            self.has_ellipsis, self.has_ellipsis_parenthesized = True, group is not None
            self.identifiers.add(word)
            if group is None:
                self.composition.append(word)
            else:
                group.append(word)
            return
        if word.isdecimal():
            if int(word) == 1:
                if group is None:
                    self.composition.append([])
                return
            axis = AnonymousAxis(word)
            self.has_non_unitary_anonymous_axes = True
        else:
            fits, why = self.check_axis_name_return_reason(word, self._allowed[0])
            if not fits:
                raise ValueError(f"Invalid axis identifier: {word}\n{why}")
            if word in self.identifiers and not self._allowed[1]:
                raise ValueError(f"Indexing expression contains duplicate dimension '{word}'")
        self.identifiers.add(axis)
        if group is None:
            self.composition.append([axis])
        else:
            group.append(axis)

    @staticmethod
    def check_axis_name_return_reason(name: str, allow_underscore: bool = False) -> tuple[bool, str]:
        """Whether a dimension may have that name, and why not."""
        if not name.isidentifier():
            return False, "not a valid python identifier"
        if name[0] == "_" or name[-1] == "_":
            if name == "_" and allow_underscore:
                return True, ""
            return False, "axis name should should not start or end with underscore"
        if keyword.iskeyword(name):
            warnings.warn(
                f"It is discouraged to use axes names that are keywords: {name}", RuntimeWarning, stacklevel=2
            )
        if name == "axis":
            warnings.warn("It is discouraged to use 'axis' as an axis name", FutureWarning, stacklevel=2)
        return True, ""

    @staticmethod
    def check_axis_name(name: str) -> bool:
        """Whether a dimension may have that name."""
        return ParsedExpression.check_axis_name_return_reason(name)[0]


def _words(expression: str) -> list[str]:
    for sign in "()":
        expression = expression.replace(sign, f" {sign} ")
    return expression.split()


def parse_pattern(pattern: str, axes_lengths: Mapping[str, int]) -> tuple[ParsedExpression, ParsedExpression]:
    """Both sides of a pattern; ValueError for one that says nothing.

    >>> from mindtorch_v2.func._patterns import parse_pattern
    >>> [side.composition for side in parse_pattern("a b -> (b a)", {})]
    [[['a'], ['b']], [['b', 'a']]]
    """
    sides = pattern.split("->")
    if len(sides) != 2:
        raise ValueError("Pattern must contain a single '->' separator")
    if _ellipsis in axes_lengths:
        raise ValueError(f"'{_ellipsis}' is not an allowed axis identifier")
    left, right = map(ParsedExpression, sides)
    if right.has_ellipsis and not left.has_ellipsis:
        raise ValueError(f"Ellipsis found in right side, but not left side of a pattern {pattern}")
    if left.has_ellipsis_parenthesized:
        raise ValueError(f"Ellipsis is parenthesis in the left side is not allowed: {pattern}")
    return left, right


def validate_rearrange_expressions(
    left: ParsedExpression, right: ParsedExpression, axes_lengths: Mapping[str, Any]
) -> None:
    """Raise ValueError where two sides of a pattern do not have the same names, TypeError for sizes that are no integers."""
    for length in axes_lengths.values():
        if type(length) is not int:
            raise TypeError(f"rearrange axis lengths must be integers, got: {type(length)}")
    if left.has_non_unitary_anonymous_axes or right.has_non_unitary_anonymous_axes:
        raise ValueError("rearrange pattern does not allow non-unitary anonymous axes")
    _no_others(left.identifiers ^ right.identifiers, "only on one side of rearrange expression (should be on both)")
    _no_others(axes_lengths.keys() - left.identifiers, "not found in rearrange expression")


def _no_others(names: Collection[Any], where: str) -> None:
    if names:
        raise ValueError(f"Identifiers {where}: {set(names)}")
