"""Every public module says what it exports, and has it."""

import importlib
import pathlib
import pkgutil
import subprocess
import sys

import pytest

import mindtorch_v2

SOURCE = pathlib.Path(mindtorch_v2.__file__).parent
NEEDS_TENSORBOARD = {
    f"mindtorch_v2.utils.tensorboard{part}"
    for part in ("", "._embedding", "._graph", "._media", "._onnx_graph", ".summary", ".writer")
}
REFUSES_IMPORT = {"mindtorch_v2.__main__", *NEEDS_TENSORBOARD}


def _public_modules():
    for info in pkgutil.walk_packages([str(SOURCE)], "mindtorch_v2."):
        # The core's shared libraries lie beside the modules.
        hidden = any(part.startswith(("_", "libmindtorch")) for part in info.name.split(".")[1:])
        if not hidden and info.name not in REFUSES_IMPORT:
            yield info.name


@pytest.mark.parametrize("name", sorted(_public_modules()))
def test_exported_names_exist(name):
    module = importlib.import_module(name)
    exported = getattr(module, "__all__", None)
    if exported is None:
        return
    assert len(set(exported)) == len(exported), "a name is exported twice"
    missing = [each for each in exported if not hasattr(module, each)]
    assert not missing


@pytest.mark.parametrize("name", sorted(_public_modules()))
def test_module_says_what_it_owns(name):
    assert importlib.import_module(name).__doc__


def test_lazy_modules_exist():
    for name in mindtorch_v2._namespace.LAZY_MODULES:
        assert getattr(mindtorch_v2, name) is importlib.import_module(f"mindtorch_v2.{name}")


def test_lazy_names_exist():
    missing = [name for name in mindtorch_v2._namespace.LAZY_NAMES if not hasattr(mindtorch_v2, name)]
    assert not missing


def test_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'torch' has no attribute 'no_such_name'"):
        mindtorch_v2.no_such_name


def test_absent_accelerators_are_absent_as_attributes():
    """Libraries ask `hasattr(torch, "hpu")` and the like: that must not raise another error."""
    assert not hasattr(mindtorch_v2, "hpu")


def test_import_loads_little():
    """Public parts that few programs need are loaded when first asked for."""
    code = "import sys, mindtorch_v2; print(*sorted(m for m in sys.modules if m.startswith('mindtorch_v2.')))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    for name in ("distributions", "fx", "testing", "utils.data", "library", "_dynamo", "onnx"):
        assert f"mindtorch_v2.{name}" not in loaded


# Imports everything in a fresh process; prints each public name of a package that an import has given another value, and
# each that its `__init__` takes from a module and that is the submodule of that name in the end.
_ORDER = """
import ast, importlib, pathlib, sys, types
import mindtorch_v2
source = pathlib.Path(mindtorch_v2.__file__).parent
names = sorted(
    ".".join(("mindtorch_v2", *path.relative_to(source).with_suffix("").parts)).removesuffix(".__init__")
    for path in source.rglob("*.py")
    if path.name != "__main__.py"
)
names = [name for name in names if name not in sys.argv[1:]]
packages = [name for name in names if (source.joinpath(*name.split(".")[1:]) / "__init__.py").exists()]
before = {}
for name in packages:
    package = importlib.import_module(name)
    for public in dir(package):
        if not public.startswith("_"):
            before[name, public] = getattr(package, public)
for name in names:
    importlib.import_module(name)
for (name, public), value in before.items():
    if getattr(sys.modules[name], public) is not value:
        print(f"{name}.{public} has become {getattr(sys.modules[name], public)}")
for name in packages:
    package = sys.modules[name]
    for node in ast.parse(pathlib.Path(package.__file__).read_text()).body:
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                own = alias.asname or alias.name
                found = getattr(package, own, None)
                if isinstance(found, types.ModuleType) and found is sys.modules.get(f"{name}.{own}"):
                    origin = sys.modules.get(f"{name}.{node.module}") if node.level else sys.modules.get(node.module)
                    if isinstance(origin, types.ModuleType) and origin is not package and not (
                        isinstance(getattr(origin, alias.name, None), types.ModuleType)
                    ):
                        print(f"{name}.{own} is the submodule, not what {node.module} defines")
print("checked", len(before))
"""


def test_importing_submodules_changes_no_public_name():
    command = [sys.executable, "-W", "ignore", "-c", _ORDER, *REFUSES_IMPORT]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    *changed, last = done.stdout.splitlines()
    assert last.startswith("checked ")
    assert not changed
