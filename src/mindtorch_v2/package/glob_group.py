"""Patterns of modules' names."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TypeAlias

GlobPattern: TypeAlias = str | Iterable[str]


class GlobGroup:
    """Names that match a pattern of `include` and none of `exclude`.

    `*` stands for any characters within one part of a name, `**`, alone between separators, for any number of parts, none among
    them. ValueError for `**` beside other characters.

    >>> GlobGroup("models.**", exclude="models.tests.*").matches("models.heads.linear")
    True
    """

    def __init__(self, include: GlobPattern, *, exclude: GlobPattern = (), separator: str = ".") -> None:
        self._text = f"GlobGroup(include={include}, exclude={exclude})"
        self.include = [_expression(each, separator) for each in _listed(include)]
        self.exclude = [_expression(each, separator) for each in _listed(exclude)]
        self.separator = separator

    def __str__(self) -> str:
        return self._text

    __repr__ = __str__

    def matches(self, candidate: str) -> bool:
        """Whether a name is in the group."""
        name = self.separator + candidate
        return any(each.fullmatch(name) for each in self.include) and not any(
            each.fullmatch(name) for each in self.exclude
        )


def _listed(patterns):
    return [patterns] if isinstance(patterns, str) else patterns


def _expression(pattern, separator):
    """The regular expression of a pattern, for names with a separator before them."""
    mark = re.escape(separator)

    def part(text):
        if text == "**":
            return f"({mark}[^{mark}]+)*"
        if "**" in text:
            raise ValueError("** can only appear as an entire path segment")
        return mark + f"[^{mark}]*".join(re.escape(piece) for piece in text.split("*"))

    return re.compile("".join(part(text) for text in pattern.split(separator)))
