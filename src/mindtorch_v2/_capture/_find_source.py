"""The syntax tree of a function that exists: found by its file and line, and checked to be the one that it was made of."""

from __future__ import annotations

import ast
import linecache
import os
import time
from collections.abc import Sequence
from inspect import CO_VARARGS, CO_VARKEYWORDS
from types import CodeType
from typing import Any

from mindtorch_v2._capture._result import Uncapturable

__all__ = ["file_of", "find"]

_STARTED = time.time()
_files: dict = {}


class _File:
    """A parsed file: its functions by first line, each with the classes and functions around it."""

    def __init__(self, name: str, lines: Sequence[str]) -> None:
        self.lines = lines
        self.tree = ast.parse("".join(lines), name)
        self.functions: dict[Any, Any] = {}
        self._collect(self.tree, None)
        self.codes: Any = None

    def _collect(self, node, class_name) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
                line = min([child.lineno, *(d.lineno for d in child.decorator_list)])
                self.functions.setdefault(line, []).append((child, class_name))
            elif isinstance(child, ast.Lambda):
                self.functions.setdefault(child.lineno, []).append((child, class_name))
            self._collect(child, child.name if isinstance(child, ast.ClassDef) else class_name)

    def has_code(self, name: str, code: CodeType) -> bool:
        """Whether the file gives this very code when it is compiled."""
        if self.codes is None:
            self.codes = set()
            self._add_codes(compile("".join(self.lines), name, "exec", dont_inherit=True))
        return code in self.codes

    def _add_codes(self, code):
        self.codes.add(code)
        for each in code.co_consts:
            if type(each) is type(code):
                self._add_codes(each)


def file_of(function: Any) -> str:
    """The name of the file that a function was compiled from; for frozen modules that of their source."""
    name = function.__code__.co_filename
    if name.startswith("<frozen "):
        return function.__globals__.get("__file__") or name
    return name


def _file(code, name, space):
    lines = linecache.getlines(name, space)
    if not lines:
        raise Uncapturable(f"the source of {code.co_qualname!r} is not available ({name})", "no_source")
    known = _files.get(name)
    if known is None or known.lines != lines:
        try:
            known = _files[name] = _File(name, lines)
        except SyntaxError as error:
            raise Uncapturable(f"the source of {code.co_qualname!r} cannot be parsed ({name})", "no_source") from error
    return known


def _is_of(node, code):
    """Whether a function's node can have given the code: its name, its parameters, and where its instructions stand."""
    arguments = node.args
    names = [a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
    names += [a.arg for a in (arguments.vararg, arguments.kwarg) if a is not None]
    starred = bool(code.co_flags & CO_VARARGS) + bool(code.co_flags & CO_VARKEYWORDS)
    expected = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount + starred]
    if len(names) != len(expected) or any(n != e and not e.endswith(n) for n, e in zip(names, expected)):
        return False
    if not isinstance(node, ast.Lambda):
        return node.name == code.co_name
    if code.co_name != "<lambda>":
        return False
    body = node.body
    begin, end = (body.lineno, body.col_offset), (body.end_lineno, body.end_col_offset)
    places = [
        (row, column)
        for row, _, column, _ in code.co_positions()
        if row is not None and column is not None and (row, column) != (node.lineno, 0)
    ]
    return all(begin <= place <= end for place in places)


def find(function: Any) -> Any:
    """`(node, name of the class that it stands in or None)` of a function; Uncapturable if its source is not there."""
    code = function.__code__
    name = file_of(function)
    file = _file(code, name, function.__globals__)
    found = [each for each in file.functions.get(code.co_firstlineno, ()) if _is_of(each[0], code)]
    if len(found) != 1:
        raise Uncapturable(f"the source of {code.co_qualname!r} is not where it says ({code.co_filename})", "no_source")
    if not file.has_code(name, code):
        # Tests are compiled with their assertions rewritten; then at least the file is not younger than the process.
        try:
            changed = os.stat(name).st_mtime > _STARTED
        except OSError:
            changed = False
        if changed:
            raise Uncapturable(f"{code.co_filename} has changed since {code.co_qualname!r} was made", "no_source")
    return found[0]
