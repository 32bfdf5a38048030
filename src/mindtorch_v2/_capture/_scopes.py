"""Scopes of a function's source: which names it binds itself, and which it declares to be another's."""

from __future__ import annotations

import ast
from typing import Any

__all__ = ["FUNCTIONS", "Scope"]

FUNCTIONS = (ast.FunctionDef, ast.Lambda, ast.AsyncFunctionDef)
"""Nodes with parameters and a body of their own."""


def _names_of(target: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(target) if isinstance(n, ast.Name) and isinstance(n.ctx, (ast.Store, ast.Del))}


class Scope(ast.NodeVisitor):
    """The names that a function binds itself, and those that it declares to be another's."""

    def __init__(self, node: Any) -> None:
        self.node = node
        self.names: set[str] = set()
        self.globals: set[str] = set()
        self.nonlocals: set[str] = set()
        self.inside = 0
        if isinstance(node, FUNCTIONS):
            for a in ast.walk(node.args):
                if isinstance(a, ast.arg):
                    self.names.add(a.arg)
            for each in node.body if isinstance(node.body, list) else [node.body]:
                self.visit(each)
        else:
            for generator in node.generators:
                self.names |= _names_of(generator.target)
        self.names -= self.globals | self.nonlocals

    def visit_Name(self, node: Any) -> None:
        if not isinstance(node.ctx, ast.Load) and not self.inside:
            self.names.add(node.id)

    def visit_NamedExpr(self, node: Any) -> None:
        self.names.add(node.target.id)
        self.visit(node.value)

    def _definition(self, node) -> None:
        self.names.add(node.name)
        for each in (*node.decorator_list, *getattr(node, "bases", ())):
            self.visit(each)
        if isinstance(node, FUNCTIONS):
            for default in (*node.args.defaults, *node.args.kw_defaults):
                if default is not None:
                    self.visit(default)

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = _definition

    def visit_Lambda(self, node: Any) -> None:
        for default in (*node.args.defaults, *node.args.kw_defaults):
            if default is not None:
                self.visit(default)

    def _comprehension(self, node) -> None:
        # Its targets are its own; a walrus in it binds here.
        self.inside += 1
        self.generic_visit(node)
        self.inside -= 1

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension

    def visit_ExceptHandler(self, node: Any) -> None:
        if node.name:
            self.names.add(node.name)
        self.generic_visit(node)

    def _import(self, node) -> None:
        for alias in node.names:
            self.names.add(alias.asname or alias.name.partition(".")[0])

    visit_Import = visit_ImportFrom = _import

    def visit_Global(self, node: Any) -> None:
        self.globals.update(node.names)

    def visit_Nonlocal(self, node: Any) -> None:
        self.nonlocals.update(node.names)

    def _pattern(self, node) -> None:
        if node.name:
            self.names.add(node.name)
        self.generic_visit(node)

    visit_MatchAs = visit_MatchStar = _pattern

    def visit_MatchMapping(self, node: Any) -> None:
        if node.rest:
            self.names.add(node.rest)
        self.generic_visit(node)
