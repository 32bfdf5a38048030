"""Statements about sizes changed as the error of an export suggests."""

from __future__ import annotations

import re
from typing import Any

from mindtorch_v2._core.errors import UserError
from mindtorch_v2._sizes.dims import Dim
from mindtorch_v2.utils import _pytree as pytree

__all__ = ["refine_dynamic_shapes_from_suggested_fixes"]

_DIM = re.compile(r"(\w+) = Dim\('\w+'(?:, min=(\d+))?(?:, max=(\d+))?\)")
_LINEAR = re.compile(r"(\w+) = (?:(\d+)\*)?([A-Za-z_]\w*)(?: ([+-]) (\d+))?")


def refine_dynamic_shapes_from_suggested_fixes(
    msg: str, dynamic_shapes: dict[str, Any] | tuple[Any, ...] | list[Any]
) -> Any:
    """`dynamic_shapes` with the fixes that stand in the text of an error behind "Suggested fixes:".

    A fix gives a `Dim` other bounds, makes it a number, or says how it follows from another (`dy = 2*dx + 1`). UserError if the
    text has none, AssertionError for names that nothing has.

    >>> from mindtorch_v2.export.dynamic_shapes import refine_dynamic_shapes_from_suggested_fixes
    >>> rows, columns = torch.export.dims("rows", "columns")
    >>> text = "Suggested fixes:\\n  rows = Dim('rows', max=6)\\n  columns = 2*rows"
    >>> refine_dynamic_shapes_from_suggested_fixes(text, {"x": (rows, columns)})
    {'x': (Dim('rows', min=0, max=6), 2*rows)}
    """
    _, found, text = msg.partition("Suggested fixes:")
    if not found:
        raise UserError(
            "Suggested fixes not found in error message given to refine_dynamic_shapes_from_suggested_fixes()"
        )
    named: dict[str, Any] = {}
    for leaf in pytree.tree_leaves(dynamic_shapes):
        if isinstance(leaf, Dim):
            named.setdefault(leaf.__name__, leaf)
            named.setdefault(leaf.root.__name__, leaf.root)
    fixes = _fixes([line.strip() for line in text.strip().split("\n")], named)
    made: dict[str, Any] = {}

    def fixed(leaf: Any) -> Any:
        if not isinstance(leaf, Dim):
            return leaf
        if leaf.__name__ in fixes:
            return fixes[leaf.__name__]
        if leaf.root is not leaf and leaf.root.__name__ in fixes:
            if leaf.__name__ not in made:
                made[leaf.__name__] = _linear(fixes[leaf.root.__name__], leaf._factor, leaf._start)
            return made[leaf.__name__]
        return leaf

    return pytree.tree_map(fixed, dynamic_shapes)


def _fixes(lines: list[str], named: dict[str, Any]) -> dict[str, Any]:
    """A `Dim` or a number for each name that the lines fix."""
    fixes: dict[str, Any] = {}
    linear: dict[str, re.Match[str]] = {}
    for line in lines:
        name, _, value = line.partition(" = ")
        if match := _DIM.fullmatch(line):
            least, most = (None if each is None else int(each) for each in match.group(2, 3))
            fixes[name] = Dim(name, min=least, max=most)
        elif value.isdigit():
            fixes[name] = int(value)
        elif match := _LINEAR.fullmatch(line):
            linear[name] = match
        else:
            raise AssertionError(f"{line!r} is no fix: expected a Dim, a number, or a line such as 'dy = 2*dx + 1'")
    roots = {match[3] for match in linear.values()}
    for name in (*fixes, *linear):
        if name not in named and name not in roots:
            raise AssertionError(f"shape_fixes key {name!r} not found in name_to_dim or roots")
    derived: dict[str, Any] = {}
    for name, match in linear.items():
        root = fixes.get(match[3], named.get(match[3]))
        if root is None:
            raise AssertionError(f"symbol.name {match[3]!r} not found in name_to_dim")
        expression = match[0].partition(" = ")[2]
        start = 0 if match[5] is None else int(match[4] + match[5])
        fixes[name] = derived.setdefault(expression, _linear(root, int(match[2] or 1), start))
    return fixes


def _linear(root: Any, factor: int, start: int) -> Any:
    """`factor * root + start`, the root itself where that is the same."""
    size = root if factor == 1 else factor * root
    return size if start == 0 else size + start
