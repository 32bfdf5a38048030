"""The instrumented copy of a function: the same statements, in which reads, calls, tests and writes go through a trace.

In the copy `__mt_h` is the recorder, `__mt_calls` and the like are its parts, and `__mt_f` is the function's own view of it,
which knows its global variables and cells.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from mindtorch_v2._capture._find_source import file_of, find
from mindtorch_v2._capture._result import Uncapturable
from mindtorch_v2._capture._scopes import FUNCTIONS, Scope

__all__ = ["DECIDED_BY_FORM", "PARTS", "WITHIN_COPIES", "instrument"]

PARTS = ("attributes", "blocks", "calls", "comparisons", "functions", "items", "iteration", "operators", "texts")
"""The parts of a recorder that copies ask by name."""

_FACTORY = "__mt_factory"
WITHIN_COPIES = f"{_FACTORY}.<locals>."
"""The text in the qualified names of all codes of instrumented copies, and of no others."""

DECIDED_BY_FORM = {
    each.__name__: each for each in (AttributeError, ImportError, ModuleNotFoundError, NameError, NotImplementedError)
}
"""Errors that an operator raises, if at all, by what its arguments are like, whatever their values."""

_BINARY = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "truediv",
    ast.FloorDiv: "floordiv",
    ast.Mod: "mod",
    ast.Pow: "pow",
    ast.MatMult: "matmul",
    ast.LShift: "lshift",
    ast.RShift: "rshift",
    ast.BitAnd: "and_",
    ast.BitOr: "or_",
    ast.BitXor: "xor",
}
_UNARY = {ast.USub: "neg", ast.UAdd: "pos", ast.Invert: "invert"}
_COMPARE = {
    ast.Lt: "lt",
    ast.LtE: "le",
    ast.Gt: "gt",
    ast.GtE: "ge",
    ast.Eq: "eq",
    ast.NotEq: "ne",
    ast.Is: "is",
    ast.IsNot: "is_not",
    ast.In: "in",
    ast.NotIn: "not_in",
}
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_PLAIN_CLASSES = (bool, bytes, dict, float, int, list, str, tuple)
_PLAIN_NAMES = tuple(kind.__name__ for kind in _PLAIN_CLASSES)


def _classes_of(classes) -> list:
    """The names in the head of a handler; None for what is no name."""
    if isinstance(classes, ast.Tuple):
        return [name for each in classes.elts for name in _classes_of(each)]
    return [classes.id if isinstance(classes, ast.Name) else None]


def _load(name):
    return ast.Name(name, ast.Load())


def _method(which, name, *args):
    return ast.Call(ast.Attribute(_load(which), name, ast.Load()), list(args), [])


def _h(path, *args):
    """A call of a method of a part of the recorder."""
    part, _, name = path.partition(".")
    return _method(f"__mt_{part}", name, *args)


def _lambda(body):
    arguments = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
    return ast.Lambda(arguments, body)


class _Rewriter(ast.NodeTransformer):
    def __init__(self, root: ast.AST, free: frozenset[str], class_name: str | None) -> None:
        self.root, self.free, self.class_name = root, free, class_name
        self.scopes: list[Any] = []
        self.count = 0

    # ---- names ----

    def mangled(self, name: str) -> Any:
        if self.class_name and name.startswith("__") and not name.endswith("__"):
            stripped = self.class_name.lstrip("_")
            return f"_{stripped}{name}" if stripped else name
        return name

    def kind_of(self, name: str) -> str:
        """ "local", "free" (a cell of the function) or "global"."""
        for scope in reversed(self.scopes):
            if name in scope.globals:
                return "global"
            if name in scope.names:
                return "local"
        return "free" if self.mangled(name) in self.free else "global"

    def temporary(self) -> Any:
        self.count += 1
        name = f"__mt_t{self.count}"
        return name

    def visit_Name(self, node: Any) -> Any:
        if not isinstance(node.ctx, ast.Load):
            return node
        kind = self.kind_of(node.id)
        if kind == "local":
            return node
        return self.at(
            node,
            _method("__mt_f", "read_cell" if kind == "free" else "read_global", ast.Constant(self.mangled(node.id))),
        )

    def at(self, node: Any, made: ast.AST) -> Any:
        for each in ast.walk(made):
            if not hasattr(each, "lineno"):
                ast.copy_location(each, node)
        return made

    # ---- expressions ----

    def visit_Attribute(self, node: Any) -> Any:
        obj = self.visit(node.value)
        return self.at(node, _h("attributes.get", obj, ast.Constant(self.mangled(node.attr))))

    def visit_Subscript(self, node: Any) -> Any:
        return self.at(node, _h("items.get", self.visit(node.value), self.visit(node.slice)))

    def visit_Slice(self, node: Any) -> Any:
        parts = [ast.Constant(None) if p is None else self.visit(p) for p in (node.lower, node.upper, node.step)]
        return self.at(node, _h("items.slice_of", *parts))

    def visit_Call(self, node: Any) -> Any:
        if (
            isinstance(node.func, ast.Name)
            and node.func.id == "super"
            and not node.args
            and not node.keywords
            and self.kind_of("super") == "global"
        ):
            if "__class__" not in self.free:
                return self.at(node, self.refusal("super() outside of a class", "super"))
            scope = next(s for s in reversed(self.scopes) if isinstance(s.node, FUNCTIONS))
            arguments = scope.node.args
            first = [*arguments.posonlyargs, *arguments.args]
            if not first:
                return self.at(node, self.refusal("super() in a function without parameters", "super"))
            args = [_method("__mt_f", "read_cell", ast.Constant("__class__")), _load(first[0].arg)]
            return self.at(node, _h("calls.call", _method("__mt_f", "read_global", ast.Constant("super")), *args))
        args = [self.visit(a) for a in node.args]
        keywords = []
        for keyword in node.keywords:
            value = self.visit(keyword.value)
            keywords.append(
                ast.keyword(keyword.arg, value if keyword.arg else self.at(node, _h("iteration.mapping", value)))
            )
        made = ast.Call(
            self.at(node, ast.Attribute(_load("__mt_calls"), "call", ast.Load())),
            [self.visit(node.func), *args],
            keywords,
        )
        return ast.copy_location(made, node)

    def visit_Starred(self, node: Any) -> Any:
        if isinstance(node.ctx, ast.Load):
            return self.at(node, ast.Starred(_h("iteration.over", self.visit(node.value)), ast.Load()))
        return self.generic_visit(node)

    def visit_Dict(self, node: Any) -> Any:
        keys = [None if key is None else self.visit(key) for key in node.keys]
        values = [self.visit(value) for value in node.values]
        values = [self.at(node, _h("iteration.mapping", v)) if k is None else v for k, v in zip(keys, values)]
        return ast.copy_location(ast.Dict(keys, values), node)

    def visit_BinOp(self, node: Any) -> Any:
        name = ast.Constant(_BINARY[type(node.op)])
        return self.at(node, _h("operators.binary", name, self.visit(node.left), self.visit(node.right)))

    def visit_UnaryOp(self, node: Any) -> Any:
        if isinstance(node.op, ast.Not):
            return ast.copy_location(ast.UnaryOp(ast.Not(), self.test(node.operand)), node)
        return self.at(node, _h("operators.unary", ast.Constant(_UNARY[type(node.op)]), self.visit(node.operand)))

    def visit_Compare(self, node: Any) -> Any:
        names = [ast.Constant(_COMPARE[type(op)]) for op in node.ops]
        left = self.visit(node.left)
        rights = [self.visit(right) for right in node.comparators]
        if len(rights) == 1:
            return self.at(node, _h("comparisons.compare", names[0], left, rights[0]))
        parts = [part for name, right in zip(names, rights) for part in (name, _lambda(right))]
        return self.at(node, _h("comparisons.chain", left, *parts))

    def visit_BoolOp(self, node: Any) -> Any:
        values = [self.visit(value) for value in node.values]
        values[:-1] = [self.at(node, _h("comparisons.tested", value)) for value in values[:-1]]
        return ast.copy_location(ast.BoolOp(node.op, values), node)

    def test(self, node: Any) -> Any:
        if isinstance(node, ast.Compare) and all(isinstance(op, (ast.Is, ast.IsNot)) for op in node.ops):
            return self.visit(node)
        return self.at(node, _h("comparisons.truth", self.visit(node)))

    def visit_IfExp(self, node: Any) -> Any:
        made = ast.IfExp(self.test(node.test), self.visit(node.body), self.visit(node.orelse))
        return ast.copy_location(made, node)

    def visit_FormattedValue(self, node: Any) -> Any:
        spec = ast.Constant("") if node.format_spec is None else self.visit(node.format_spec)
        made = _h("texts.of", self.visit(node.value), ast.Constant(node.conversion), spec)
        return self.at(node, ast.FormattedValue(made, -1, None))

    def visit_NamedExpr(self, node: Any) -> Any:
        if self.kind_of(node.target.id) != "local":
            return self.at(node, self.refusal(f"assignment to {node.target.id!r}", "write"))
        return ast.copy_location(ast.NamedExpr(node.target, self.visit(node.value)), node)

    def visit_Await(self, node: Any) -> Any:
        return self.at(node, self.refusal("await", "async"))

    def visit_YieldFrom(self, node: Any) -> Any:
        return ast.copy_location(ast.YieldFrom(self.at(node, _h("iteration.over", self.visit(node.value)))), node)

    def _comprehension(self, node):
        # The first iterable belongs to the scope around.
        first = self.visit(node.generators[0].iter)
        scope = Scope(node)
        self.scopes.append(scope)
        generators = []
        for index, each in enumerate(node.generators):
            if each.is_async:
                raise Uncapturable("an asynchronous comprehension", "async")
            iterable = first if index == 0 else self.visit(each.iter)
            generators.append(
                ast.comprehension(
                    each.target, self.iterable(each.target, iterable, node), [self.test(i) for i in each.ifs], 0
                )
            )
            self.only_names(each.target)
        if isinstance(node, ast.DictComp):
            made = ast.DictComp(self.visit(node.key), self.visit(node.value), generators)
        else:
            made = type(node)(self.visit(node.elt), generators)
        self.scopes.pop()
        return self.at(node, ast.copy_location(made, node))

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension

    def only_names(self, target: Any) -> None:
        if any(isinstance(n, (ast.Attribute, ast.Subscript)) for n in ast.walk(target)):
            raise Uncapturable("a comprehension that assigns to an attribute or an item", "write")

    def iterable(self, target: Any, iterable: ast.expr, node: Any) -> Any:
        if isinstance(target, (ast.Tuple, ast.List)):
            return self.at(node, _h("iteration.over_unpacked", iterable, self.pattern(target)))
        return self.at(node, _h("iteration.over", iterable))

    def pattern(self, target: Any) -> Any:
        """A constant of the target's form: None for a name, a tuple for a tuple."""
        if isinstance(target, (ast.Tuple, ast.List)):
            return ast.Tuple([self.pattern(each) for each in target.elts], ast.Load())
        return ast.Constant(None)

    def refusal(self, what: str, kind: Any) -> Any:
        return _method("__mt_h", "refuse", ast.Constant(f"{what} cannot be captured"), ast.Constant(kind))

    # ---- functions ----

    def arguments(self, arguments: Any) -> None:
        for each in ast.walk(arguments):
            if isinstance(each, ast.arg):
                each.annotation = None
        arguments.defaults = [self.visit(d) for d in arguments.defaults]
        arguments.kw_defaults = [None if d is None else self.visit(d) for d in arguments.kw_defaults]

    def body(self, node: Any) -> Any:
        scope = Scope(node)
        self.scopes.append(scope)
        if isinstance(node, ast.Lambda):
            node.body = self.visit(node.body)
        else:
            node.body = self.block(node.body)
        self.scopes.pop()

    def visit_Lambda(self, node: Any) -> Any:
        self.arguments(node.args)
        self.body(node)
        return self.at(node, _h("functions.made", node))

    def visit_FunctionDef(self, node: Any) -> list:
        self.arguments(node.args)
        decorators = [self.visit(d) for d in node.decorator_list]
        node.decorator_list, node.returns = [], None
        self.body(node)
        value = self.at(node, _h("functions.made", _load(node.name)))
        for decorator in reversed(decorators):
            value = self.at(node, _h("calls.call", decorator, value))
        return [node, *self.assign(ast.Name(node.name, ast.Store()), value, node)]

    def visit_AsyncFunctionDef(self, node: Any) -> Any:
        return self.statement(node, self.refusal("an asynchronous function", "async"))

    def visit_ClassDef(self, node: Any) -> Any:
        return self.statement(node, self.refusal("the definition of a class", "class_definition"))

    def block(self, statements: Sequence[ast.stmt]) -> Any:
        made = []
        for statement in statements:
            result = self.visit(statement)
            if isinstance(result, list):
                made += result
            elif result is not None:
                made.append(result)
        return made or [ast.copy_location(ast.Pass(), statements[0])] if statements else made

    # ---- statements ----

    def statement(self, node: Any, expression: ast.expr) -> Any:
        return self.at(node, ast.Expr(expression))

    def assign(self, target: Any, value: Any, node: Any) -> Any:
        """Statements that assign the value of an expression to a target."""
        if isinstance(target, ast.Name):
            kind = self.kind_of(target.id)
            if kind == "local":
                return [self.at(node, ast.Assign([ast.Name(target.id, ast.Store())], value))]
            store = _method(
                "__mt_f",
                "write_cell" if kind == "free" else "write_global",
                value,
                ast.Constant(self.mangled(target.id)),
            )
            return [self.statement(node, store)]
        if isinstance(target, ast.Attribute):
            name = ast.Constant(self.mangled(target.attr))
            return [self.statement(node, _h("attributes.set", value, self.visit(target.value), name))]
        if isinstance(target, ast.Subscript):
            return [self.statement(node, _h("items.set", value, self.visit(target.value), self.visit(target.slice)))]
        if isinstance(target, ast.Starred):
            return self.assign(target.value, value, node)
        names: list[str] = []
        elements: list[ast.expr] = []
        after: list[Any] = []
        for element in target.elts:
            name = self.temporary()
            names.append(name)
            inner = ast.Name(name, ast.Store())
            elements.append(ast.Starred(inner, ast.Store()) if isinstance(element, ast.Starred) else inner)
            after += self.assign(element, self.at(node, _load(name)), node)
        unpack = ast.Assign([ast.Tuple(elements, ast.Store())], _h("iteration.over", value))
        return [self.at(node, unpack), *after]

    def visit_Assign(self, node: Any) -> Any:
        value = self.visit(node.value)
        if len(node.targets) == 1:
            return self.assign(node.targets[0], value, node)
        name = self.temporary()
        made = [self.at(node, ast.Assign([ast.Name(name, ast.Store())], value))]
        for target in node.targets:
            made += self.assign(target, self.at(node, _load(name)), node)
        return made

    def visit_AnnAssign(self, node: Any) -> Any:
        return None if node.value is None else self.assign(node.target, self.visit(node.value), node)

    def visit_AugAssign(self, node: Any) -> Any:
        name, value = ast.Constant(_BINARY[type(node.op)]), self.visit(node.value)
        target = node.target
        if isinstance(target, ast.Name):
            before = self.visit(ast.copy_location(ast.Name(target.id, ast.Load()), node))
            return self.assign(target, self.at(node, _h("operators.augmented", name, before, value)), node)
        obj = self.temporary()
        made = [self.at(node, ast.Assign([ast.Name(obj, ast.Store())], self.visit(target.value)))]
        if isinstance(target, ast.Attribute):
            attr = ast.Constant(self.mangled(target.attr))
            after = _h("operators.augmented", name, _h("attributes.get", _load(obj), attr), value)
            return [*made, self.statement(node, _h("attributes.set", after, _load(obj), attr))]
        key = self.temporary()
        made.append(self.at(node, ast.Assign([ast.Name(key, ast.Store())], self.visit(target.slice))))
        after = _h("operators.augmented", name, _h("items.get", _load(obj), _load(key)), value)
        return [*made, self.statement(node, _h("items.set", after, _load(obj), _load(key)))]

    def visit_Delete(self, node: Any) -> Any:
        made = []
        for target in node.targets:
            if isinstance(target, ast.Attribute):
                call = _h("attributes.delete", self.visit(target.value), ast.Constant(self.mangled(target.attr)))
                made.append(self.statement(node, call))
            elif isinstance(target, ast.Subscript):
                made.append(
                    self.statement(node, _h("items.delete", self.visit(target.value), self.visit(target.slice)))
                )
            elif isinstance(target, ast.Name) and self.kind_of(target.id) == "local":
                made.append(ast.copy_location(ast.Delete([target]), node))
            else:
                made.append(self.statement(node, self.refusal("this del statement", "write")))
        return made

    def visit_For(self, node: Any) -> Any:
        iterable = self.visit(node.iter)
        simple = isinstance(node.target, ast.Name) and self.kind_of(node.target.id) == "local"
        if simple:
            target, before = node.target, []
        else:
            name = self.temporary()
            target = ast.copy_location(ast.Name(name, ast.Store()), node)
            before = self.assign(node.target, self.at(node, _load(name)), node)
        made = ast.For(
            target,
            self.at(node, _h("iteration.over", iterable)),
            before + self.block(node.body),
            self.block(node.orelse),
        )
        return ast.copy_location(made, node)

    def visit_AsyncFor(self, node: Any) -> Any:
        return self.statement(node, self.refusal("an asynchronous loop", "async"))

    def visit_AsyncWith(self, node: Any) -> Any:
        return self.statement(node, self.refusal("an asynchronous context", "async"))

    def visit_While(self, node: Any) -> Any:
        return ast.copy_location(ast.While(self.test(node.test), self.block(node.body), self.block(node.orelse)), node)

    def visit_If(self, node: Any) -> Any:
        return ast.copy_location(ast.If(self.test(node.test), self.block(node.body), self.block(node.orelse)), node)

    def visit_Assert(self, node: Any) -> Any:
        message = None if node.msg is None else self.visit(node.msg)
        return ast.copy_location(ast.Assert(self.test(node.test), message), node)

    def visit_With(self, node: Any) -> Any:
        items, before = [], []
        item, *others = node.items
        if others:
            inner = ast.copy_location(ast.With(others, node.body), node)
            return self.visit_With(ast.copy_location(ast.With([item], [inner]), node))
        context = self.at(node, _h("blocks.context", self.visit(item.context_expr)))
        if item.optional_vars is None:
            items.append(ast.withitem(context, None))
        else:
            name = self.temporary()
            items.append(ast.withitem(context, self.at(node, ast.Name(name, ast.Store()))))
            before = self.assign(item.optional_vars, self.at(node, _load(name)), node)
        return ast.copy_location(ast.With(items, before + self.block(node.body)), node)

    def visit_Try(self, node: Any) -> Any:
        node.body = self.block(node.body)
        # Handlers that end by raising again catch nothing.
        if any(not isinstance(h.body[-1], ast.Raise) or h.body[-1].exc is not None for h in node.handlers):
            names = [name for handler in node.handlers for name in _classes_of(handler.type)]
            known = names if all(name in DECIDED_BY_FORM for name in names) else []
            classes = ast.Tuple([self.visit(self.at(node, _load(name))) for name in known], ast.Load())
            trying = ast.With([ast.withitem(_h("blocks.trying", classes), None)], node.body)
            node.body = [self.at(node, trying)]
        for handler in node.handlers:
            if handler.type is not None:
                handler.type = self.visit(handler.type)
            handler.body = [self.statement(handler, _h("blocks.caught")), *self.block(handler.body)]
        node.orelse, node.finalbody = self.block(node.orelse), self.block(node.finalbody)
        return node

    def visit_TryStar(self, node: Any) -> Any:
        return self.statement(node, self.refusal("except*", "try_star"))

    def visit_Import(self, node: Any) -> Any:
        made = []
        for alias in node.names:
            call = _method("__mt_f", "imported", ast.Constant(alias.name), ast.Constant(bool(alias.asname)))
            name = ast.Name(alias.asname or alias.name.partition(".")[0], ast.Store())
            made += self.assign(name, self.at(node, call), node)
        return made

    def visit_ImportFrom(self, node: Any) -> Any:
        made = []
        for alias in node.names:
            args = [ast.Constant(node.module or ""), ast.Constant(alias.name), ast.Constant(node.level)]
            call = self.at(node, _method("__mt_f", "imported_from", *args))
            made += self.assign(ast.Name(alias.asname or alias.name, ast.Store()), call, node)
        return made

    def visit_Global(self, node: Any) -> None:
        return None

    def visit_Nonlocal(self, node: Any) -> Any:
        kept = [name for name in node.names if any(name in scope.names for scope in self.scopes[:-1])]
        return ast.copy_location(ast.Nonlocal(kept), node) if kept else None

    def visit_Match(self, node: Any) -> Any:
        for each in ast.walk(ast.Module([*(c.pattern for c in node.cases)], [])):
            plain_class = (
                isinstance(each, ast.MatchClass)
                and isinstance(each.cls, ast.Name)
                and each.cls.id in _PLAIN_NAMES
                and self.kind_of(each.cls.id) == "global"
                and not each.kwd_attrs
            )
            if isinstance(each, ast.MatchClass) and not plain_class:
                return self.statement(node, self.refusal("a class pattern", "match"))
            if isinstance(each, ast.MatchValue) and any(isinstance(n, ast.Attribute) for n in ast.walk(each)):
                return self.statement(node, self.refusal("a pattern with an attribute's value", "match"))
        node.subject = self.at(node, _h("blocks.subject", self.visit(node.subject)))
        for case in node.cases:
            if case.guard is not None:
                case.guard = self.test(case.guard)
            case.body = self.block(case.body)
        return node


def instrument(function: Any) -> Any:
    """A factory of the function's instrumented copy: `factory(trace, frame, *parts)` gives it, without defaults.

    `parts` are those of the recorder that `PARTS` names.

    Raises Uncapturable for a function without source, and for statements that cannot be captured.
    """
    code = function.__code__
    if code.co_flags & 0x280:
        raise Uncapturable(f"{code.co_qualname!r} is an asynchronous function", "async")
    node, class_name = find(function)
    # A copy: the tree in the cache stays as it is.
    node = _copied(node)
    rewriter = _Rewriter(node, frozenset(code.co_freevars), class_name)
    arguments = node.args
    # Defaults are read of the function as it is; here they say only which parameters have some.
    arguments.defaults = [ast.copy_location(ast.Constant(None), node) for _ in arguments.defaults]
    arguments.kw_defaults = [
        None if d is None else ast.copy_location(ast.Constant(None), node) for d in arguments.kw_defaults
    ]
    rewriter.arguments(arguments)
    rewriter.body(node)
    if isinstance(node, ast.Lambda):
        result = ast.Return(node)
        body: list[Any] = [ast.copy_location(result, node)]
    else:
        node.decorator_list, node.returns = [], None
        if hasattr(node, "type_params"):
            node.type_params = []
        body = [node, ast.copy_location(ast.Return(ast.copy_location(_load(node.name), node)), node)]
    parameters = [ast.arg(f"__mt_{name}") for name in ("h", "f", *PARTS)]
    factory = ast.FunctionDef(
        _FACTORY,
        ast.arguments(posonlyargs=[], args=parameters, kwonlyargs=[], kw_defaults=[], defaults=[]),
        body,
        [],
    )
    if hasattr(node, "type_params"):
        factory.type_params = []  # type: ignore[attr-defined]  # (new in Python 3.12)
    module = ast.fix_missing_locations(ast.Module([ast.copy_location(factory, node)], []))
    # No globals of the user's: a name that escaped the rewriting is an error, not an unguarded read.
    # What class patterns name is all that is read as a global variable.
    named = {kind.__name__: kind for kind in _PLAIN_CLASSES}
    space = {"__builtins__": named, "__name__": function.__globals__.get("__name__", "?")}
    exec(compile(module, file_of(function), "exec", dont_inherit=True), space)
    return space[_FACTORY]


def _copied(node):
    if isinstance(node, list):
        return [_copied(each) for each in node]
    if not isinstance(node, ast.AST):
        return node
    made = type(node)(**{name: _copied(value) for name, value in ast.iter_fields(node)})
    return ast.copy_location(made, node)
