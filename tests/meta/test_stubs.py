"""The type stubs are what the rows say, and name what is there."""

import ast
import importlib
import pathlib
import subprocess
import sys

import pytest

import mindtorch_v2

pytestmark = pytest.mark.no_torch

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "mindtorch_v2"


def _run(*arguments):
    return subprocess.run([sys.executable, *map(str, arguments)], capture_output=True, text=True, timeout=300)


def _defined(body):
    """The names that a stub's statements define."""
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, ast.AnnAssign):
            yield node.target.id
        elif isinstance(node, ast.ImportFrom):
            yield from (alias.asname for alias in node.names if alias.asname == alias.name)


def _body(file, within=None):
    body = ast.parse((SOURCE / file).read_text("utf-8")).body
    return next(n.body for n in body if isinstance(n, ast.ClassDef) and n.name == within) if within else body


def test_the_committed_stubs_are_what_the_tool_makes():
    done = _run(ROOT / "tools" / "make_stubs.py", "--check")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("file", "within", "owner"),
    [
        ("__init__.pyi", None, "mindtorch_v2"),
        ("_C.pyi", None, "mindtorch_v2._C"),
        ("_C.pyi", "TensorBase", "mindtorch_v2._C.TensorBase"),
        ("_C.pyi", "Generator", "mindtorch_v2._C.Generator"),
        ("_C.pyi", "dtype", "mindtorch_v2._C.dtype"),
        ("_C.pyi", "device", "mindtorch_v2._C.device"),
        ("_tensor.pyi", "Tensor", "mindtorch_v2.Tensor"),
        ("linalg.pyi", None, "mindtorch_v2.linalg"),
        ("special.pyi", None, "mindtorch_v2.special"),
        ("return_types.pyi", None, "mindtorch_v2.return_types"),
    ],
)
def test_what_a_stub_names_exists(file, within, owner):
    module, _, attribute = owner.partition(".")
    value = importlib.import_module(module)
    for part in filter(None, attribute.split(".")):
        value = getattr(value, part)
    names = set(_defined(_body(file, within))) - {"__getattr__"}
    assert names
    assert not [name for name in sorted(names) if not hasattr(value, name)]


def test_every_public_name_has_its_stub():
    named = set(_defined(_body("__init__.pyi")))
    assert {name for name in mindtorch_v2.__all__ if not name.startswith("_")} <= named
    named = set(_defined(_body("_tensor.pyi", "Tensor"))) | set(_defined(_body("_C.pyi", "TensorBase")))
    assert {name for name in dir(mindtorch_v2.Tensor) if not name.startswith("_")} <= named


def test_the_typed_program_runs():
    done = _run(ROOT / "tests" / "typing" / "program.py")
    assert done.returncode == 0, done.stderr
