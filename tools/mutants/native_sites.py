"""Places in a C++ source where a fault can be planted: the same kinds as in Python, found in its tokens.

clang-format lays the sources out, which tells operators that look alike apart: a comparison or a product has a space on
either side, a template's bracket or a pointer's star has not. Comments, texts, preprocessor lines, registrations and what
stands outside of functions are left as they are. A fault that does not compile is none: see native.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_OPERATORS = {
    "+": "-", "-": "+", "*": "/", "/": "*", "%": "*", "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==",
    "&&": "||", "||": "&&", "&": "|", "|": "&", "<<": ">>", ">>": "<<", "+=": "-=", "-=": "+=", "*=": "/=", "/=": "*=",
}  # fmt: skip
_NOT_CODE = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|^[ \t]*#(?:\\\n|[^\n])*',
    re.S | re.M,
)
_OPERATOR = re.compile(r"(?<=[\w)\]] )([-+*/%<>&|]|<=|>=|==|!=|&&|\|\||<<|>>|\+=|-=|\*=|/=)(?= \S)")
_NUMBER = re.compile(r"(?<![\w.<])(?:\d+\.\d*(?:e-?\d+)?f?|\d+(?:e-?\d+)?)(?![\w.>'])")
_CONDITION = re.compile(r"\b(?:if|while) \(")
_NAME = r"[A-Za-z_]\w*(?:(?:\.|->|::)\w+)*(?:\[\w+\])?"
_ARGUMENTS = re.compile(rf"\b(\w+)(?:<[\w:]+>)?\(({_NAME}), ({_NAME})(?=[,)])")
_STATEMENT = re.compile(rf"^ +((?:{_NAME}(?:\(.*\)| [-+*/|&]?= .*)|{_NAME}\+\+|\+\+{_NAME}|break|continue);)$")
_BEGINS = re.compile(r"[;{})]$|else$|:$")
_KEYWORDS = ("if", "while", "for", "switch", "return", "sizeof", "catch", "max", "min", "decltype", "static_assert")


class NativeSite(NamedTuple):
    """One possible fault: the characters from `start` to `end` of the text become `after`."""

    line: int
    kind: str
    before: str
    after: str
    start: int
    end: int


def native_sites(text: str) -> list[NativeSite]:
    """All faults that can be planted in a source text, in its order."""
    code = _code(text)
    found: list[NativeSite] = []
    number, position, last = 0, 0, ";"
    inside = True
    for line in code.splitlines(keepends=True):
        number += 1
        if not line.startswith((" ", "}", "{")) and line.strip():
            inside = not line.startswith(("KERNELS", "template", "namespace", "using", "struct", "enum", "constexpr"))
        if inside and line.startswith("    ") and not re.search(r"static_assert|constexpr|template|using ", line):
            found += _of_line(text, code, number, position, line.rstrip(), bool(_BEGINS.search(last)))
        last = line.strip() or last
        position += len(line)
    return found


def planted(text: str, site: NativeSite) -> str:
    """The source text with one fault."""
    return text[: site.start] + site.after + text[site.end :]


def operators(text: str) -> set[str]:
    """The names that a source registers kernels under, without overloads and underscores at the ends."""
    _, _, block = text.partition("\nKERNELS")
    return {name.partition(".")[0].strip("_") for name in re.findall(r'"([\w.]+)"', block)}


def _code(text: str) -> str:
    """The text with what is no code blanked out, every character in its place."""
    return _NOT_CODE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)


def _of_line(text: str, code: str, number: int, position: int, line: str, begins: bool) -> Iterator[NativeSite]:
    def site(kind: str, start: int, end: int, after: str) -> NativeSite:
        start, end = position + start, position + end
        return NativeSite(number, kind, text[start:end], after, start, end)

    for match in _OPERATOR.finditer(line):
        kind = "comparison" if match[1] in ("<", "<=", ">", ">=", "==", "!=") else "operator"
        yield site(kind, *match.span(1), _OPERATORS[match[1]])
    for match in _NUMBER.finditer(line):
        yield site("constant", *match.span(), f"({match[0]} + 1)")
        yield site("constant", *match.span(), f"({match[0]} - 1)")
    for match in _CONDITION.finditer(line):
        start = match.end()
        end = _closing(code, position + start) - position
        if 0 < end:
            yield site("condition", start, end, f"!({text[position + start : position + end]})")
    for match in _ARGUMENTS.finditer(line):
        if match[1] not in _KEYWORDS and match[2] != match[3]:
            yield site("arguments", match.start(2), match.end(3), f"{match[3]}, {match[2]}")
    statement = _STATEMENT.match(line)
    if statement and begins and not statement[1].startswith(("return", "MT_CHECK_UNREACHABLE")):
        yield site("statement", *statement.span(1), ";")


def _closing(code: str, start: int) -> int:
    """Where the bracket closes that was opened before `start`; -1 if it does not."""
    depth = 1
    for place in range(start, len(code)):
        depth += {"(": 1, ")": -1}.get(code[place], 0)
        if depth == 0:
            return place
    return -1
