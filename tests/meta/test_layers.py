"""The layer rule of the design: each module imports only what is at its level or below, siblings never each other."""

import ast
import importlib.util
import pathlib
import sys

import pytest

pytestmark = pytest.mark.no_torch

ROOT = pathlib.Path(__file__).resolve().parents[2]


def _tool():
    spec = importlib.util.spec_from_file_location("layers", ROOT / "tools" / "layers.py")
    module = sys.modules["layers"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


layers = _tool()
MODULES = sorted(layers.modules())

# Cycles of imports that stay, as sets of modules, with the reason.
CYCLES = {}


def test_every_module_has_a_level_and_every_level_a_module():
    assert [module for module in MODULES if layers.level_of(module) is None] == []
    assert [
        name for name in layers.LEVELS if name not in (*MODULES, "_C") and not (layers.SOURCE / name).is_dir()
    ] == []
    assert set(layers.LEVELS.values()) == set(range(len(layers.TITLES)))


@pytest.mark.parametrize("module", MODULES)
def test_imports_point_downwards(module):
    wrong = [layers.wrong_with(each) for each in layers.imports(module) if not layers.is_excepted(each)]
    assert not any(wrong), "\n".join(filter(None, wrong))


def test_the_exceptions_are_needed():
    needed = {
        pair
        for module in MODULES
        for each in layers.imports(module)
        if layers.wrong_with(each)
        for pair in layers.EXCEPTIONS
        if f"{each.module}.".startswith(f"{pair[0]}.") and f"{each.target}.".startswith(f"{pair[1]}.")
    }
    assert set(layers.EXCEPTIONS) == needed


def test_no_imports_go_round():
    """Functions' imports included, and with the packages that an import runs; the assembled package is left out."""
    found = layers.cycles(layers.graph())
    assert [each for each in found if frozenset(each) not in CYCLES] == []
    assert [each for each in CYCLES if sorted(each) not in found] == []


def test_cycles_are_seen():
    assert layers.cycles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [["a", "b", "c"]]
    assert layers.cycles({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []
    assert layers.cycles({"a": {"b"}, "b": {"a"}, "c": {"d", "a"}, "d": {"c"}}) == [["a", "b"], ["c", "d"]]


@pytest.mark.parametrize("module", MODULES)
def test_nothing_imports_torch(module):
    for node in ast.walk(ast.parse(layers.modules()[module].read_text("utf-8"))):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []
        assert not any(name.split(".")[0] == "torch" for name in names), f"{module} imports torch"
