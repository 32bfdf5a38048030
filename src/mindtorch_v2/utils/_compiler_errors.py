"""The errors of a compiler's output for a person to read: first of all, each behind the line of their own code that led to it."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

__all__ = ["errors_first"]

_ERROR = re.compile(r"\b(?:fatal )?error\b:|undefined reference")
_PLACE = re.compile(r"^(?P<path>[^\s:][^:\n]*):\d+:")
# GCC's way to a template's error stands above it, clang's below.
_LED_HERE = re.compile(r"required (?:from|by)\b|in instantiation of .* requested here")
_SPACE = r"(?P<space>(?:at|torch|c10|mindtorch)(?:::\w+)*)"
_UNKNOWN = [
    re.compile(pattern)
    for pattern in (
        rf"error: [‘'](?P<name>\w+)[’'] is not a member of [‘']{_SPACE}[’']",
        rf"error: [‘'](?:const )?(?:class |struct )?{_SPACE}[’'] has no member named [‘'](?P<name>\w+)[’']",
        r"error: [‘'](?P<name>(?:at|torch|c10)(?:::\w+)+)[’'] has not been declared",
        r"error: [‘'](?P<name>(?:AT|TORCH|STD_TORCH|THO|C10)_\w+)[’'] was not declared",
        rf"error: no (?:type|member|template) named '(?P<name>\w+)' in (?:namespace )?'(?:const )?{_SPACE}'",
        r"error: use of undeclared identifier '(?P<name>(?:AT|TORCH|STD_TORCH|THO|C10)_\w+)'",
    )
]
_MOST = 8  # errors at the top


def errors_first(output: str, folder: str | os.PathLike[str] = ".", headers: Sequence[str] = ()) -> str:
    """The output with its first errors at the top, each behind the user's line, and the names that our headers lack.

    The compiler ran in `folder`; lines in `headers`, which are folders too, are not the user's.
    """
    lines = output.splitlines()
    foreign = ("/usr/", *(os.path.join(os.path.abspath(path), "") for path in headers))

    def is_users(line: str) -> bool:
        found = _PLACE.match(line)
        return found is not None and not os.path.abspath(os.path.join(folder, found["path"])).startswith(foreign)

    def way(part: list[str]) -> list[str]:
        """The last of the user's lines that a compiler names on its way to an error in a header."""
        return [line.strip() for line in part if _LED_HERE.search(line) and is_users(line)][-1:]

    places = [i for i, line in enumerate(lines) if _ERROR.search(line)]
    head: dict[str, None] = {}
    for nth, i in enumerate(places[:_MOST]):
        before = places[nth - 1] + 1 if nth else 0
        behind = places[nth + 1] if nth + 1 < len(places) else len(lines)
        if not is_users(lines[i]):
            head.update(dict.fromkeys(way(lines[before:i]) or way(lines[i + 1 : behind])))
        head[lines[i]] = None
    head.update(dict.fromkeys(_absent_names(lines[i] for i in places)))
    return "\n".join([*head, "", output]) if head else output


def _absent_names(errors):
    for error in errors:
        for pattern in _UNKNOWN:
            if found := pattern.search(error):
                parts = found.groupdict()
                name = "::".join(filter(None, (parts.get("space"), parts["name"])))
                yield f"mindtorch_v2's C++ headers have no {name}; docs/cpp-operators.md lists what there is"
                break
