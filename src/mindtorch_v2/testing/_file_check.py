"""`FileCheck`: expectations about a text, in the order in which they were said."""

from __future__ import annotations

import itertools
import re
from typing import NamedTuple

__all__ = ["FileCheck"]


class _Expectation(NamedTuple):
    kind: str
    text: str
    times: int = 1
    exactly: bool = False

    @property
    def pattern(self) -> re.Pattern[str]:
        return re.compile(self.text if self.kind == "regex" else re.escape(self.text))


_LINES = re.compile(r"^\s*#\s*CHECK(?:-([A-Z-]+?))?(?:-(\d+))?(-EXACTLY)?:\s?(.*)$", re.MULTILINE)
_KINDS = {None: "check", "SOURCE-HIGHLIGHTED": "highlighted", "COUNT-EXACTLY": "count"}


def _stated(kind: str | None, count: str | None, exactly: str | None, text: str) -> _Expectation:
    """The expectation that a line of a file states."""
    name = _KINDS.get(kind) or str(kind).lower()
    text = text.strip() if name != "check" else text.rstrip()
    if name not in ("check", "regex", "same", "next", "count", "dag", "not", "highlighted"):
        raise RuntimeError(f"FileCheck: CHECK-{kind} is none of its kinds of lines")
    if name == "count":
        return _Expectation("count", text, int(count or 1), exactly is not None or kind == "COUNT-EXACTLY")
    return _Expectation(name, text)


class FileCheck:
    """Expectations of what stands in a text and what does not; each `check` is looked for behind the one before.

    >>> FileCheck().check("first").check_not("third").check("second").run("first, then second")
    """

    def __init__(self) -> None:
        self._expectations: list[_Expectation] = []

    def _and(self, expectation: _Expectation) -> FileCheck:
        self._expectations.append(expectation)
        return self

    def check(self, test_string: str) -> FileCheck:
        """Something that stands behind what was found before."""
        return self._and(_Expectation("check", test_string))

    def check_regex(self, test_string: str) -> FileCheck:
        """The same, for a regular expression."""
        return self._and(_Expectation("regex", test_string))

    def check_same(self, test_string: str) -> FileCheck:
        """Something on the line of what was found before."""
        return self._and(_Expectation("same", test_string))

    def check_next(self, test_string: str) -> FileCheck:
        """Something on the line after that of what was found before."""
        return self._and(_Expectation("next", test_string))

    def check_count(self, test_string: str, count: int, exactly: bool = False) -> FileCheck:
        """Something that stands there so many times, and with `exactly` not once more."""
        return self._and(_Expectation("count", test_string, count, exactly))

    def check_dag(self, test_string: str) -> FileCheck:
        """Something that stands anywhere behind, in any order with the neighbouring expectations of this kind."""
        return self._and(_Expectation("dag", test_string))

    def check_not(self, test_string: str) -> FileCheck:
        """Something that does not stand between what was found before and what is found next."""
        return self._and(_Expectation("not", test_string))

    def check_source_highlighted(self, test_string: str) -> FileCheck:
        """Something under which a line of `~` stands."""
        return self._and(_Expectation("highlighted", test_string))

    def run(self, test_string: str, *text: str) -> None:
        """Hold a text against all of it: RuntimeError names the first expectation that does not hold.

        Of two texts the first holds expectations, a line each: `# CHECK: ...`, `# CHECK-NOT: ...`, `# CHECK-COUNT-2: ...`.
        """
        if text:
            for line in _LINES.finditer(test_string):
                self._and(_stated(*line.groups()))
            (test_string,) = text
        place = 0
        forbidden: list[_Expectation] = []
        for kind, group in itertools.groupby(
            self._expectations, lambda each: each.kind if each.kind in ("not", "dag") else ""
        ):
            if kind == "not":
                forbidden = list(group)
                continue
            # Those of any order are found from one place on; the others each from where the one before ends.
            for together in [list(group)] if kind == "dag" else [[each] for each in group]:
                found = [_find(test_string, each, place) for each in together]
                self._hold_absent(test_string, forbidden, place, min(begin for begin, _ in found))
                place, forbidden = max(end for _, end in found), []
        self._hold_absent(test_string, forbidden, place, len(test_string))

    @staticmethod
    def _hold_absent(text: str, forbidden: list[_Expectation], begin: int, end: int) -> None:
        for each in forbidden:
            if each.pattern.search(text, begin, end):
                raise RuntimeError(f'Expected to not find "{each.text}" but found it\n{text[begin:end]}')


def _find(text: str, expectation: _Expectation, place: int) -> tuple[int, int]:
    """Where it stands from `place` on: (begin, end)."""
    begin = end = place
    for _ in range(expectation.times):
        match = expectation.pattern.search(text, end)
        if match is None:
            raise RuntimeError(
                f'Expected to find "{expectation.text}" but did not find it\nSearched string:\n{text[place:]}'
            )
        begin, end = match.span()
    lines = text.count("\n", place, begin)
    if expectation.kind == "same" and lines != 0:
        raise RuntimeError(
            f'Expected to find "{expectation.text}" on the same line, but it is {lines} lines later\n{text}'
        )
    if expectation.kind == "next" and lines != 1:
        raise RuntimeError(
            f'Expected to find "{expectation.text}" on the next line, but it is {lines} lines later\n{text}'
        )
    if expectation.kind == "count" and expectation.exactly and expectation.pattern.search(text, end):
        raise RuntimeError(
            f'Expected to find "{expectation.text}" {expectation.times} times, but it is there more often\n{text}'
        )
    if expectation.kind == "highlighted":
        column = begin - (text.rfind("\n", 0, begin) + 1)
        below = text[end:].partition("\n")[2].partition("\n")[0]
        if below[column : column + end - begin] != "~" * (end - begin):
            raise RuntimeError(f'Expected to find "{expectation.text}" highlighted but it is not.\n{text}')
    return begin, end
