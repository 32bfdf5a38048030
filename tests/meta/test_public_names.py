"""Every public module says what it exports, and has it."""

import importlib
import pathlib
import pkgutil
import subprocess
import sys

import pytest

import mindtorch_v2

SOURCE = pathlib.Path(mindtorch_v2.__file__).parent
REFUSES_IMPORT = {"mindtorch_v2.utils.tensorboard", "mindtorch_v2.__main__"}


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
        mindtorch_v2.no_such_name  # noqa: B018


def test_absent_accelerators_are_absent_as_attributes():
    """Libraries ask `hasattr(torch, "npu")` and the like: that must not raise another error."""
    assert not hasattr(mindtorch_v2, "npu")
    assert not hasattr(mindtorch_v2, "hpu")


def test_import_loads_little():
    """Public parts that few programs need are loaded when first asked for."""
    code = "import sys, mindtorch_v2; print(*sorted(m for m in sys.modules if m.startswith('mindtorch_v2.')))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    for name in ("distributions", "fx", "testing", "utils.data", "library", "_dynamo", "onnx"):
        assert f"mindtorch_v2.{name}" not in loaded
