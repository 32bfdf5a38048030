"""Tests that could not fail, as far as that shows in their text: asserts of what is always true, results that nobody looks at,
code that is never reached, functions that nobody calls, errors that are swallowed.
"""

import ast
import itertools
import re
from collections import Counter
from pathlib import Path

import pytest

pytestmark = pytest.mark.no_torch

TESTS = Path(__file__).resolve().parents[1]
FILES = sorted(TESTS.rglob("*.py"))
# Functions whose result is the check.
ANSWERS = {"allclose", "equal", "isclose", "array_equal", "all", "any", "startswith", "endswith", "approx", "is_set"}
LAZY = {"map", "filter", "zip"}
# Equality and new values are what is checked there.
WITH_ITSELF = {"WeakIdRef(a) == WeakIdRef(a)", "torch.seed() != torch.seed()", "layer.weight is layer.weight"}


def _called(node: ast.AST) -> str:
    """The last part of a call's name."""
    function = node.func if isinstance(node, ast.Call) else None
    return getattr(function, "attr", getattr(function, "id", ""))


def _in_assert(test: ast.expr) -> str | None:
    if isinstance(test, ast.Tuple) and test.elts:
        return "a tuple is always true"
    if isinstance(test, ast.Constant) and test.value:
        return "a constant is always true"
    if isinstance(test, (ast.GeneratorExp, ast.Lambda)) or _called(test) in LAZY:
        return "what is not called or consumed is always true"
    if _called(test) == "approx":
        return "approx() compares nothing by itself"
    if isinstance(test, ast.Compare) and ast.unparse(test) not in WITH_ITSELF:
        sides = [ast.dump(side) for side in (test.left, *test.comparators)]
        if any(one == other for one, other in itertools.pairwise(sides)):
            return "compares a thing with itself"
    return None


def _in_statement(node: ast.AST) -> str | None:
    if isinstance(node, ast.Assert):
        return _in_assert(node.test)
    if isinstance(node, ast.Expr):
        if isinstance(node.value, (ast.GeneratorExp, ast.Lambda)) or _called(node.value) in LAZY:
            return "nobody consumes this"
        if isinstance(node.value, ast.Call) and _called(node.value) in ANSWERS:
            return "nobody looks at the answer"
    return None


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


def _any_error(node: ast.AST, text: str) -> str | None:
    """`pytest.raises(Exception)` says nothing, unless the error is looked at."""
    if _called(node) != "raises" or not isinstance(node, ast.Call) or not node.args:
        return None
    broad = ast.unparse(node.args[0]) in ("Exception", "BaseException")
    looked_at = "is compared" in text.splitlines()[node.lineno - 1]
    return "any error would do" if broad and not node.keywords and not looked_at else None


def _swallows(tree: ast.Module, text: str) -> list[tuple[int, str]]:
    """Errors that a test drops, without a comment beside it that says why that is no matter."""
    found, source = [], text.splitlines()
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef) or not function.name.startswith("test"):
            continue
        for handler in ast.walk(function):
            if isinstance(handler, ast.ExceptHandler) and all(
                isinstance(s, (ast.Pass, ast.Continue)) for s in handler.body
            ):
                if not any("  # " in line for line in source[handler.lineno - 1 : handler.body[0].end_lineno]):
                    found.append((handler.lineno, "an error is swallowed"))
    return found


def _never_called(tree: ast.Module, is_test: bool) -> list[tuple[int, str]]:
    """Functions inside of tests, and in files of tests, that nothing in the file names."""
    names = Counter(node.id for node in ast.walk(tree) if isinstance(node, ast.Name))
    names += Counter(node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute))
    names += Counter(
        argument.arg for node in ast.walk(tree) if isinstance(node, ast.arguments) for argument in node.args
    )
    strings = " ".join(
        node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )
    found = []
    for owner in ast.walk(tree) if is_test else ():
        if not isinstance(owner, (ast.Module, ast.FunctionDef)):
            continue
        for node in ast.walk(owner) if isinstance(owner, ast.FunctionDef) else owner.body:
            if not isinstance(node, ast.FunctionDef) or node is owner or node.decorator_list:
                continue
            public = node.name.startswith(("test", "pytest_", "__"))
            if (
                not public
                and not names[node.name]
                and not re.search(rf"\b{node.name}\b", strings)
                and not _of_class(tree, node)
            ):
                found.append((node.lineno, f"nobody calls {node.name}"))
    return found


def _of_class(tree: ast.Module, function: ast.FunctionDef) -> bool:
    return any(function in node.body for node in ast.walk(tree) if isinstance(node, ast.ClassDef))


def problems(text: str, name: str = "test_it.py") -> list[str]:
    """Lines of a file of tests that check nothing, with what is wrong."""
    tree = ast.parse(text)
    raising = [item for node in ast.walk(tree) if _raises(node) for item in node.body]  # type: ignore[attr-defined]
    found = [(node.lineno, what) for node in ast.walk(tree) if node not in raising and (what := _in_statement(node))]
    found += [each for node in ast.walk(tree) for each in _in_block(node)]
    found += [(node.lineno, what) for node in ast.walk(tree) if (what := _any_error(node, text))]
    found += _swallows(tree, text) + _never_called(tree, Path(name).name.startswith("test_"))
    return [f"{name}:{line}: {what}" for line, what in sorted(set(found))]


PLANTED = {
    "assert (f(), 'text')": "a tuple is always true",
    "assert True": "a constant is always true",
    "assert 'text'": "a constant is always true",
    "assert (x > 0 for x in y)": "not called or consumed",
    "assert lambda: f()": "not called or consumed",
    "assert map(f, y)": "not called or consumed",
    "assert pytest.approx(x)": "compares nothing",
    "assert x.tolist() == x.tolist()": "with itself",
    "assert 0 < x == x": "with itself",
    "(f(x) for x in y)": "nobody consumes",
    "map(f, y)": "nobody consumes",
    "torch.allclose(x, y)": "nobody looks",
    "all(x > 0 for x in y)": "nobody looks",
    "def test_f():\n    return\n    assert x": "never reached",
    "def test_f():\n    pytest.skip('')\n    assert x": "never reached",
    "with pytest.raises(ValueError, match='x'):\n    y = f()\n    assert y": "once the error is raised",
    "with pytest.raises(Exception):\n    f()": "any error would do",
    "def test_f():\n    try:\n        f()\n    except ValueError:\n        pass": "swallowed",
    "def test_f():\n    def program(x):\n        assert x\n    f()": "nobody calls program",
    "def check_it():\n    assert x": "nobody calls check_it",
}


@pytest.mark.parametrize(("text", "what"), PLANTED.items())
def test_a_planted_one_is_found(text: str, what: str) -> None:
    (found,) = problems(text)
    assert what in found


@pytest.mark.parametrize(
    "text",
    [
        "assert (f() == 1), 'text'",
        "assert x == pytest.approx(y)",
        "assert f(x) == f(y)",
        "with pytest.raises(ValueError, match='x'):\n    f()\nassert y",
        "def test_f():\n    if x:\n        return\n    assert y",
        "def test_f():\n    def program(x):\n        assert x\n    f(program)",
        "class Watch:\n    def close(self):\n        pass",
    ],
)
def test_a_check_that_can_fail_is_left_alone(text: str) -> None:
    assert problems(text) == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(TESTS)))
def test_checks_can_fail(path: Path) -> None:
    assert problems(path.read_text(encoding="utf-8"), str(path.relative_to(TESTS))) == []


def test_every_exception_is_needed() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in FILES if path != Path(__file__))
    assert [each for each in WITH_ITSELF if f"assert {each}" not in text] == []
