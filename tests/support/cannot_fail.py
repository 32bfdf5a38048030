"""Find tests that could not fail, as far as that shows in their text: asserts of what is always true, results that nobody
looks at, code that is never reached, functions that nobody calls, errors that are swallowed, tests without any check.
"""

from __future__ import annotations

import ast
import itertools
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import mindtorch_v2 as torch

__all__ = ["WITH_ITSELF", "File", "checking", "problems"]

# Functions whose result is the check.
ANSWERS = {"allclose", "equal", "isclose", "array_equal", "all", "any", "startswith", "endswith", "approx", "is_set"}
SAME = {"allclose", "equal", "isclose", "array_equal", "assert_close", "assert_allclose", "assert_array_equal"}
LAZY = {"map", "filter", "zip"}
# Functions that raise if what they are given is wrong.
CHECKS = {"raises", "warns", "deprecated_call", "fail", "check_returncode", "gradcheck", "gradgradcheck", "opcheck"}
METHODS = {
    name for kind in (torch.Tensor, str, list, dict, set, Path) for name in dir(kind) if callable(getattr(kind, name))
}
# Equality and new values are what is checked there.
WITH_ITSELF = {"WeakIdRef(a) == WeakIdRef(a)", "torch.seed() != torch.seed()", "layer.weight is layer.weight"}
_MATCHES_ALL = {"", ".", ".*", ".+", "^", "$"}


class File:
    """A file of tests, parsed once: its text, its tree, the tree's nodes in one list."""

    def __init__(self, text: str, name: str = "test_it.py") -> None:
        self.name, self.lines = name, text.splitlines()
        self.tree = ast.parse(text)
        self.nodes = list(ast.walk(self.tree))
        self.functions = [node for node in self.nodes if isinstance(node, ast.FunctionDef)]

    def has_comment(self, first: int, last: int) -> bool:
        """Whether a comment stands at the end of one of these lines."""
        return any("  # " in line for line in self.lines[first - 1 : last])


def _called(node: ast.AST) -> str:
    """The last part of a call's name."""
    function = node.func if isinstance(node, ast.Call) else None
    return getattr(function, "attr", getattr(function, "id", ""))


def _same(one: ast.AST, other: ast.AST) -> bool:
    return ast.dump(one) == ast.dump(other)


# ---- what is always true ----


def _settled(test: ast.expr) -> tuple[bool, str] | None:
    """The truth of an expression whatever the program does, and why it is that; None where it depends."""
    if isinstance(test, (ast.Tuple, ast.List, ast.Set)):
        if any(not isinstance(each, ast.Starred) for each in test.elts):
            return True, f"a {type(test).__name__.lower()} is always true"
        return None if test.elts else (False, "nothing is in it")
    if isinstance(test, ast.Dict):
        return bool(test.keys), "a dict is always true"
    if isinstance(test, ast.Constant):
        return bool(test.value), "a constant is always true"
    if isinstance(test, ast.JoinedStr):
        return True, "a text is always true"
    if isinstance(test, (ast.GeneratorExp, ast.Lambda)) or _called(test) in LAZY:
        return True, "what is not called or consumed is always true"
    if isinstance(test, ast.Attribute) and test.attr in METHODS:
        return True, "a method that is not called is always true"
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = _settled(test.operand)
        return inner and (not inner[0], "not of what is always false")
    if isinstance(test, ast.BoolOp):
        decisive = isinstance(test.op, ast.Or)
        settled = [found for each in test.values if (found := _settled(each))]
        deciding = [each for each in settled if each[0] is decisive]
        if deciding or len(settled) == len(test.values):
            return decisive if deciding else not decisive, (deciding or settled)[0][1]
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        return _settled_comparison(test.left, test.ops[0], test.comparators[0])
    if isinstance(test, ast.Call) and len(test.args) in (1, 2):
        return _settled_call(_called(test), test.args)
    return None


def _settled_comparison(left: ast.expr, op: ast.cmpop, right: ast.expr) -> tuple[bool, str] | None:
    number = right.value if isinstance(right, ast.Constant) else None
    if _called(left) == "len" and (isinstance(op, ast.GtE) and number == 0):
        return True, "no length is below 0"
    if isinstance(op, ast.LtE) and _called(right) == "len" and isinstance(left, ast.Constant) and left.value == 0:
        return True, "no length is below 0"
    if isinstance(op, ast.IsNot) and number is None and isinstance(left, (ast.Compare, ast.JoinedStr)):
        return True, "a comparison is never None"
    if isinstance(op, ast.In) and isinstance(left, ast.Constant) and left.value == "":
        return True, "the empty text is in every text"
    return None


def _settled_call(name: str, args: list[ast.expr]) -> tuple[bool, str] | None:
    if name == "isinstance" and isinstance(args[-1], ast.Name) and args[-1].id == "object":
        return True, "everything is an object"
    if name in ("all", "any") and len(args) == 1:
        inner = args[0]
        over = inner.generators[0].iter if isinstance(inner, (ast.GeneratorExp, ast.ListComp)) else inner
        if isinstance(over, (ast.Tuple, ast.List)) and not over.elts:
            return name == "all", "all() of nothing is always true"
        if over is not inner:
            element = _settled(inner.elt)  # type: ignore[attr-defined]  # (over is another: a comprehension)
            return element if name == "all" and element and element[0] else None
    if name == "bool":
        return _settled(args[0])
    return None


def _implies(strong: ast.expr, weak: ast.expr) -> bool:
    """Whether `strong`, a comparison with `==` or `is`, leaves nothing to `weak`, which asks less of the same thing."""
    if not isinstance(strong, ast.Compare) or not isinstance(strong.ops[0], (ast.Eq, ast.Is)):
        return False
    thing, value = strong.left, strong.comparators[0]
    if _same(thing, weak):
        return True
    if isinstance(weak, ast.Call) and weak.args:  # callable(x), isinstance(x, ...), all(each for each in x)
        inner = weak.args[0]
        over = inner.generators[0].iter if isinstance(inner, (ast.GeneratorExp, ast.ListComp)) else inner
        return _called(weak) in ("callable", "isinstance", "bool", "str", "len", "all", "any") and (
            _same(thing, inner) or _same(thing, over) or _over_same(thing, over)
        )
    if isinstance(weak, ast.Compare) and len(weak.ops) == 1:
        left, right = weak.left, weak.comparators[0]
        if isinstance(left, ast.Call) and _called(left) == "len":
            if (
                isinstance(value, ast.Constant)
                and isinstance(right, ast.Constant)
                and isinstance(value.value, (str, bytes))
            ):
                return _same(left.args[0], thing) and len(value.value) == right.value
            return _same(left.args[0], thing) or _over_same(thing, left.args[0])
        if isinstance(weak.ops[0], ast.In) and isinstance(thing, ast.Subscript):
            return _same(left, value) and _same(thing.value, right)
    return False


def _over_same(thing: ast.expr, over: ast.expr) -> bool:
    """Whether `thing` is a list made of each item of `over`."""
    return isinstance(thing, ast.ListComp) and _same(thing.generators[0].iter, over) and not thing.generators[0].ifs


def _compares_with_itself(test: ast.expr) -> bool:
    sides: list[ast.expr] = []
    if isinstance(test, ast.Call) and _called(test) in SAME:
        sides = test.args[:2]
    elif isinstance(test, ast.Compare):
        sides = [test.left, *test.comparators]
    same = any(_same(one, other) for one, other in itertools.pairwise(sides))
    return same and ast.unparse(test) not in WITH_ITSELF


def _in_assert(test: ast.expr) -> Iterator[str]:
    settled = _settled(test)
    if settled and settled[0]:
        yield settled[1]
    if _called(test) == "approx":
        yield "approx() compares nothing by itself"
    if _compares_with_itself(test):
        yield "compares a thing with itself"
    if isinstance(test, ast.BoolOp):
        if isinstance(test.op, ast.And):
            for each in test.values:
                yield from _in_assert(each)
        elif any(_implies(strong, weak) for strong, weak in itertools.permutations(test.values, 2)):
            yield "the weaker half of the `or` decides"


# ---- statements ----


def _in_statement(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Assert):
        yield from _in_assert(node.test)
    if isinstance(node, ast.Expr):
        if isinstance(node.value, (ast.GeneratorExp, ast.Lambda)) or _called(node.value) in LAZY:
            yield "nobody consumes this"
        compares = isinstance(node.value, (ast.Compare, ast.BoolOp, ast.UnaryOp))
        if compares or (isinstance(node.value, ast.Call) and _called(node.value) in ANSWERS):
            yield "nobody looks at the answer"
        if _compares_with_itself(node.value):
            yield "compares a thing with itself"
    if isinstance(node, (ast.If, ast.While)) and isinstance(node.test, ast.Constant) and not node.test.value:
        yield "is never reached"
    if isinstance(node, ast.For) and isinstance(node.iter, (ast.Tuple, ast.List)) and not node.iter.elts:
        yield "is never reached"


def _raises(node: ast.AST) -> bool:
    return isinstance(node, ast.With) and any(_called(item.context_expr) == "raises" for item in node.items)


def _in_block(node: ast.AST) -> list[tuple[int, str]]:
    """Statements behind the end of a block's run."""
    found = []
    for field in ("body", "orelse", "finalbody"):
        block = getattr(node, field, None)
        for one, after in itertools.pairwise(block if isinstance(block, list) else []):
            leaves = isinstance(one, (ast.Return, ast.Raise, ast.Break, ast.Continue))
            if leaves or (isinstance(one, ast.Expr) and _called(one.value) in ("skip", "fail", "xfail")):
                found.append((after.lineno, "is never reached"))
    if isinstance(node, ast.With) and _raises(node):
        inside = [step for statement in node.body for step in ast.walk(statement)]
        found += [
            (step.lineno, "is not reached once the error is raised") for step in inside if isinstance(step, ast.Assert)
        ]
    return found


# ---- errors ----


def _is_broad(kind: ast.expr | None, *more: str) -> bool:
    """Whether `except` of this catches any error at all, or one of `more`."""
    kinds = kind.elts if isinstance(kind, ast.Tuple) else [kind]
    return any(each is None or ast.unparse(each) in ("Exception", "BaseException", *more) for each in kinds)


def _any_error(file: File, node: ast.Call) -> str | None:
    """`pytest.raises(Exception)` says nothing, unless the error is looked at."""
    if _called(node) != "raises" or not node.args:
        return None
    texts = [word.value for word in node.keywords if word.arg == "match"]
    says = any(not (isinstance(text, ast.Constant) and text.value in _MATCHES_ALL) for text in texts)
    if texts and not says:
        return "any text would do"
    looked_at = "is compared" in file.lines[node.lineno - 1]
    return "any error would do" if _is_broad(node.args[0]) and not says and not looked_at else None


def _own(function: ast.FunctionDef) -> Iterator[ast.AST]:
    """The nodes of a function without those of the functions in it."""
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.Lambda, ast.ClassDef)):
            waiting += ast.iter_child_nodes(node)


def _swallows(file: File) -> list[tuple[int, str]]:
    """Errors that a test drops without a comment beside it that says why that is no matter, or that end it as if it passed."""
    found = []
    for function in file.functions:
        if not function.name.startswith("test"):
            continue
        for node in ast.walk(function):
            if isinstance(node, ast.ExceptHandler):
                drops = all(isinstance(step, (ast.Pass, ast.Continue)) for step in node.body)
                said = file.has_comment(node.lineno, node.body[-1].end_lineno or node.lineno)
                if drops and (_is_broad(node.type, "AssertionError") or not said):
                    found.append((node.lineno, "an error is swallowed"))
            elif _called(node) == "suppress" and isinstance(node, ast.Call):
                if any(map(_is_broad, node.args)) or not file.has_comment(node.lineno, node.lineno):
                    found.append((node.lineno, "an error is swallowed"))
        for node in _own(function):
            if isinstance(node, ast.ExceptHandler) and isinstance(node.body[-1], ast.Return):
                if not any(_is_check(step) for step in ast.walk(node)):
                    found.append((node.lineno, "an error ends the test as if it passed"))
    return found


# ---- functions ----


def _never_called(file: File) -> list[tuple[int, str]]:
    """Functions inside of tests, and in files of tests, that nothing in the file names."""
    if not Path(file.name).name.startswith("test_"):
        return []
    names = Counter(node.id for node in file.nodes if isinstance(node, ast.Name))
    names += Counter(node.attr for node in file.nodes if isinstance(node, ast.Attribute))
    names += Counter(argument.arg for node in file.nodes if isinstance(node, ast.arguments) for argument in node.args)
    strings = " ".join(
        node.value for node in file.nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )
    methods = {id(step) for node in file.nodes if isinstance(node, ast.ClassDef) for step in node.body}
    found = []
    owners: list[ast.Module | ast.FunctionDef] = [file.tree, *file.functions]
    for owner in owners:
        for node in ast.walk(owner) if isinstance(owner, ast.FunctionDef) else owner.body:
            if not isinstance(node, ast.FunctionDef) or node is owner or node.decorator_list or id(node) in methods:
                continue
            public = node.name.startswith(("test", "pytest_", "__"))
            if not public and not names[node.name] and not re.search(rf"\b{node.name}\b", strings):
                found.append((node.lineno, f"nobody calls {node.name}"))
    return found


def _is_check(node: ast.AST) -> bool:
    if isinstance(node, ast.Assert):
        return True
    if isinstance(node, ast.Raise):
        return node.exc is None or "AssertionError" in ast.unparse(node.exc)
    if isinstance(node, ast.Call):
        name = _called(node)
        return name in CHECKS or name.startswith(("assert", "verify")) or _fails_with_the_program(node)
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and "assert " in node.value  # a program


def _fails_with_the_program(call: ast.Call) -> bool:
    return any(word.arg == "check" and getattr(word.value, "value", None) is True for word in call.keywords)


class _Part:
    """A function, a class or a value of a module: whether it checks something, and which names it speaks of."""

    def __init__(self, name: str, node: ast.AST, public: bool) -> None:
        self.name, self.node, self.public = name, node, public
        nodes = list(ast.walk(node))
        self.checks = any(map(_is_check, nodes))
        self.names = {each.id for each in nodes if isinstance(each, ast.Name)}
        self.names |= {each.attr for each in nodes if isinstance(each, ast.Attribute)}
        self.names |= {each.arg for each in nodes if isinstance(each, ast.arg)}  # fixtures
        self.names.discard(name)


def _parts(file: File) -> list[_Part]:
    top = set(map(id, file.tree.body))
    shared = not Path(file.name).name.startswith("test_")
    found = [
        _Part(node.name, node, shared and id(node) in top)
        for node in file.nodes
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
    ]
    for node in file.tree.body:
        if isinstance(node, ast.Assign):
            found += [_Part(to.id, node.value, shared) for to in node.targets if isinstance(to, ast.Name)]
    return found


def _checking(parts: list[_Part], known: frozenset[str]) -> set[str]:
    """The names of the parts that check something, themselves or by what they name."""
    found = {part.name for part in parts if part.checks}
    while more := {part.name for part in parts if part.name not in found and part.names & (found | known)}:
        found |= more
    return found


def checking(files: list[File]) -> frozenset[str]:
    """The names of what files that hold no tests define and that checks something: helpers, fixtures, programs."""
    shared = [part for file in files for part in _parts(file) if part.public]
    return frozenset(_checking(shared, frozenset()))


def _without_check(file: File, helpers: frozenset[str]) -> list[tuple[int, str]]:
    parts = _parts(file)
    known = _checking(parts, helpers) | helpers
    places: list[ast.Module | ast.ClassDef] = [
        file.tree,
        *(node for node in file.tree.body if isinstance(node, ast.ClassDef)),
    ]
    tests = {id(node) for place in places for node in place.body}
    return [
        (part.node.lineno, "checks nothing")
        for part in parts
        if isinstance(part.node, ast.FunctionDef) and part.name.startswith("test_") and id(part.node) in tests
        if not part.checks and not part.names & known
    ]


def problems(file: File, helpers: frozenset[str] = frozenset()) -> list[str]:
    """Lines of a file of tests that check nothing, with what is wrong.

    `helpers` are names of functions in other files that check something, see `checking`.
    """
    raising = {id(item) for node in file.nodes if isinstance(node, ast.With) and _raises(node) for item in node.body}
    found = [
        (node.lineno, what)
        for node in file.nodes
        if isinstance(node, ast.stmt) and id(node) not in raising
        for what in _in_statement(node)
    ]
    found += [each for node in file.nodes for each in _in_block(node)]
    calls = [node for node in file.nodes if isinstance(node, ast.Call)]
    found += [(node.lineno, what) for node in calls if (what := _any_error(file, node))]
    found += _swallows(file) + _never_called(file) + _without_check(file, helpers)
    return [f"{file.name}:{line}: {what}" for line, what in sorted(set(found))]
