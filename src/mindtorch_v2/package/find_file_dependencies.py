"""The modules that a source text imports."""

from __future__ import annotations

import ast
from typing import Any


def find_files_source_depends_on(src: str, package: str) -> list[tuple[str, str | None]]:
    """The imports of a source text in the package `package`: pairs of a module and, for `from module import name`, the name.

    Relative imports are resolved; calls of `__import__` with texts count. ValueError where an import leaves the top package,
    SyntaxError where the text is no Python.

    >>> find_files_source_depends_on("import os.path; from .b import c", "a")
    [('os.path', None), ('a.b', 'c')]
    """
    found: dict[tuple[str, str | None], None] = {}
    for node in ast.walk(ast.parse(src)):
        if isinstance(node, ast.Import):
            found.update(dict.fromkeys((alias.name, None) for alias in node.names))
        elif isinstance(node, ast.ImportFrom):
            module = _absolute(node.module or "", package, node.level)
            # `from m import *` needs all that m needs, which is m's own matter.
            found.update(dict.fromkeys((module, None if each.name == "*" else each.name) for each in node.names))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "__import__":
            found.update(dict.fromkeys(_of_call(node, package)))
    return list(found)


def _absolute(module, package, level):
    if not level:
        return module
    parts = package.split(".") if package else []
    if level > len(parts):
        raise ValueError("attempted relative import beyond top-level package")
    return ".".join([*parts[: len(parts) - level + 1], *([module] if module else [])])


def _of_call(node: ast.Call, package: str) -> list[tuple[str, str | None]]:
    """The imports of a call of `__import__`; none where its arguments are not written out."""
    given = dict(zip(("name", "globals", "locals", "fromlist", "level"), node.args, strict=False))
    given.update((each.arg, each.value) for each in node.keywords if each.arg)
    try:
        written: Any = {
            key: ast.literal_eval(value) for key, value in given.items() if key in ("name", "fromlist", "level")
        }
    except ValueError:
        return []
    name, names, level = written.get("name"), written.get("fromlist"), written.get("level", 0)
    if not isinstance(name, str) or not isinstance(level, int):
        return []
    module = _absolute(name, package, level)
    return [(module, each) for each in names or ()] or [(module, None)]
