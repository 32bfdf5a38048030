"""Places in a source where a fault can be planted, and the syntax trees with it.

A fault is one small change of one node: another operator, a constant off by one, a keyword left out, a condition negated, a
statement removed, arguments swapped, another default. Texts, annotations, samples of rows and imports are left as they are.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

_OPERATORS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.And: ast.Or,
    ast.Or: ast.And,
}
_REMOVABLE = (ast.Assign, ast.AugAssign, ast.Expr, ast.Raise, ast.Delete, ast.For, ast.With, ast.Break, ast.Continue)
# Test data of rows, the frame that a warning names, a check that only a mistake of our own can fail, and a text.
_SKIPPED_KEYWORDS = ("samples", "bind", "stacklevel", "strict", "doc")
_SKIPPED_NAMES = ("__all__", "__slots__", "__module__", "__constants__")


class Site(NamedTuple):
    """One possible fault: where, in what, how."""

    line: int
    scope: str  # qualified name of the innermost function or class; "" at the top of the module
    scope_line: int  # where the function's code begins, decorators included; 0 outside of functions
    row: str  # the operator whose row this is in, outside of functions
    kind: str
    before: str
    after: str
    path: tuple[tuple[str, int | None], ...]  # fields from the module's tree down to the node
    variant: int

    @property
    def key(self) -> tuple[str, str, str]:
        """Scope and change: the same when lines move."""
        return self.scope or self.row, self.before, self.after


class _Change(NamedTuple):
    kind: str
    apply: Callable[[ast.AST], ast.AST]


def sites(text: str) -> list[Site]:
    """All faults that can be planted in a source text."""
    return list(_Finder(ast.parse(text)).sites())


def planted(text: str, site: Site, file: str) -> ast.Module:
    """The syntax tree of a source with one fault, ready to be compiled."""
    tree = ast.parse(text, file)
    parent: ast.AST = tree
    *above, (field, index) = site.path
    for name, place in above:
        value = getattr(parent, name)
        parent = value if place is None else value[place]
    value = getattr(parent, field)
    node = value if index is None else value[index]
    changed = _changes(node)[site.variant].apply(copy.deepcopy(node))
    ast.copy_location(changed, node)
    if index is None:
        setattr(parent, field, changed)
    else:
        value[index] = changed
    return ast.fix_missing_locations(tree)


def _changes(node: ast.AST) -> list[_Change]:
    """The faults of one node, in a fixed order."""
    found: list[_Change] = []
    if isinstance(node, (ast.BinOp, ast.AugAssign)) and type(node.op) in _OPERATORS and not _is_text(node):
        found.append(_Change("operator", _other_operator))
    if isinstance(node, ast.BoolOp):
        found.append(_Change("operator", _other_operator))
    if isinstance(node, ast.Compare) and type(node.ops[0]) in _OPERATORS:
        found.append(_Change("comparison", _other_comparison))
    if isinstance(node, ast.Constant):
        if isinstance(node.value, bool):
            found.append(_Change("constant", _other_truth))
        elif isinstance(node.value, (int, float)):
            found.append(_Change("constant", lambda node: _constant(node, lambda value: value + 1)))
            found.append(_Change("constant", lambda node: _constant(node, lambda value: value - 1)))
    if isinstance(node, ast.Call):
        named = [place for place, keyword in enumerate(node.keywords) if keyword.arg not in (None, *_SKIPPED_KEYWORDS)]
        if not _is_row(node):
            found += [_Change("keyword", partial(_without_keyword, place=place)) for place in named]
        if len(node.args) > 1 and not any(isinstance(each, ast.Starred) for each in node.args[:2]):
            if ast.dump(node.args[0]) != ast.dump(node.args[1]) and not _is_row(node) and not _any_order(node):
                found.append(_Change("arguments", _swapped))
    if isinstance(node, (ast.If, ast.While, ast.IfExp)):
        found.append(_Change("condition", _negated))
    if isinstance(node, _REMOVABLE) and not _is_row(getattr(node, "value", None)) and not _is_docstring(node):
        found.append(_Change("statement", lambda node: ast.Pass()))
    if isinstance(node, ast.Return) and node.value is not None and not _is_none(node.value):
        found.append(_Change("statement", lambda node: ast.Return(ast.Constant(None))))
    return found


def _other_operator(node: ast.AST) -> ast.AST:
    assert isinstance(node, (ast.BinOp, ast.AugAssign, ast.BoolOp))
    node.op = _OPERATORS[type(node.op)]()  # type: ignore[assignment]  # (the table gives a node of the same kind)
    return node


def _other_comparison(node: ast.AST) -> ast.AST:
    assert isinstance(node, ast.Compare)
    node.ops[0] = _OPERATORS[type(node.ops[0])]()  # type: ignore[call-overload]  # (the table gives a node of the same kind)
    return node


def _other_truth(node: ast.AST) -> ast.AST:
    assert isinstance(node, ast.Constant)
    node.value = not node.value
    return node


def _constant(node: ast.AST, change: Callable[[int | float], int | float]) -> ast.AST:
    assert isinstance(node, ast.Constant)
    assert isinstance(node.value, (int, float))
    node.value = change(node.value)
    return node


def _without_keyword(node: ast.AST, place: int) -> ast.AST:
    assert isinstance(node, ast.Call)
    del node.keywords[place]
    return node


def _swapped(node: ast.AST) -> ast.AST:
    assert isinstance(node, ast.Call)
    node.args[0], node.args[1] = node.args[1], node.args[0]
    return node


def _negated(node: ast.AST) -> ast.AST:
    assert isinstance(node, (ast.If, ast.While, ast.IfExp))
    test = node.test
    negated = isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)
    node.test = test.operand if negated and isinstance(test, ast.UnaryOp) else ast.UnaryOp(ast.Not(), test)
    return node


def _is_text(node: ast.BinOp | ast.AugAssign) -> bool:
    """Whether strings are put together."""
    parts = (node.left, node.right) if isinstance(node, ast.BinOp) else (node.value,)
    return any(isinstance(part, ast.JoinedStr) or isinstance(getattr(part, "value", None), str) for part in parts)


def _is_none(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_row(node: ast.AST | None) -> bool:
    """Whether this is a row of the operator table: op("schema", ...)."""
    return _row_name(node) != ""


def _any_order(node: ast.Call) -> bool:
    """Calls that mean the same with their arguments swapped, or nothing at all."""
    return isinstance(node.func, ast.Name) and node.func.id in (
        "isinstance",
        "issubclass",
        "getattr",
        "hasattr",
        "min",
        "max",
    )


def _row_name(node: ast.AST | None) -> str:
    """The operator of a row, with its overload: "add.Tensor"."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args:
        first = node.args[0]
        if isinstance(first, ast.Constant) and isinstance(first.value, str) and " -> " in first.value:
            return first.value.partition("(")[0]
    return ""


def _shown(node: ast.AST) -> str:
    """The first line of a node's source."""
    lines = ast.unparse(ast.fix_missing_locations(copy.deepcopy(node))).splitlines()
    return lines[0] + (" ..." if len(lines) > 1 else "")


def _is_sample(node: ast.AST) -> bool:
    """A call of an operator for its derived tests, S(T(3, 4), 1), or a tensor of one, wherever it stands."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("S", "T")


def _is_type(node: ast.AST) -> bool:
    """Whether this names a kind of values for annotations: `Callable[...]`, `A | None`."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return any(isinstance(part, ast.Constant) and part.value is None for part in (node.left, node.right))
    return isinstance(node, ast.Subscript) and getattr(node.value, "id", "") in (
        "Callable",
        "Union",
        "Optional",
        "Literal",
    )


class _Finder:
    """Walk a module's tree with the function and the row that it is in."""

    def __init__(self, tree: ast.Module):
        self._tree = tree

    def sites(self) -> Iterator[Site]:
        """Each fault, in the order of the source."""
        yield from self._below(self._tree, (), "", 0, "")

    def _below(
        self, node: ast.AST, path: tuple[tuple[str, int | None], ...], scope: str, scope_line: int, row: str
    ) -> Iterator[Site]:
        for field, value in ast.iter_fields(node):
            if self._is_left(node, field):
                continue
            inside = (scope, scope_line)
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)) and field == "body":
                name = "<lambda>" if isinstance(node, ast.Lambda) else node.name
                decorators = getattr(node, "decorator_list", [])
                inside = (f"{scope}.{name}".lstrip("."), (decorators or [node])[0].lineno)
            elif isinstance(node, ast.ClassDef) and field == "body":
                inside = (f"{scope}.{node.name}".lstrip("."), scope_line)
            children = value if isinstance(value, list) else [value]
            for place, child in enumerate(children):
                if not isinstance(child, ast.AST) or _is_sample(child):
                    continue
                index = place if isinstance(value, list) else None
                here = (*path, (field, index))
                inner_row = _row_name(child) or row
                if not self._is_guard(child):
                    for variant, change in enumerate(_changes(child)):
                        after = change.apply(copy.deepcopy(child))
                        line = getattr(child, "lineno", 0)
                        yield Site(line, *inside, inner_row, change.kind, _shown(child), _shown(after), here, variant)
                    yield from self._below(child, here, *inside, inner_row)

    @staticmethod
    def _is_left(node: ast.AST, field: str) -> bool:
        """Annotations, bases of classes, samples."""
        if field in ("annotation", "returns", "bases", "type_comment"):
            return True
        return isinstance(node, ast.keyword) and field == "value" and node.arg in _SKIPPED_KEYWORDS

    @staticmethod
    def _is_guard(node: ast.AST) -> bool:
        """Whether it is read by tools or never runs: `if TYPE_CHECKING:`, overloads, `__all__`, `__slots__`, imports, type variables."""
        if isinstance(node, ast.FunctionDef) and any(
            getattr(each, "id", "") == "overload" for each in node.decorator_list
        ):
            return True
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            return True
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            return (
                node.targets[0].id in _SKIPPED_NAMES
                or (isinstance(node.value, ast.Call) and getattr(node.value.func, "id", "") in ("TypeVar", "ParamSpec"))
                or _is_type(node.value)
            )
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute):
            return node.targets[0].attr in ("__module__", "__doc__", "__qualname__")
        return isinstance(node, (ast.Import, ast.ImportFrom))
