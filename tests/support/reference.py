"""PyTorch as the measure: `pytest --reference` runs a test on PyTorch itself, `pytorch()` gives it for comparison.

A test that fails under `--reference` asks for something that PyTorch does not do.
"""

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from types import ModuleType

import pytest

_OURS, _THEIRS = "mindtorch_v2", "torch"


def pytorch() -> ModuleType:
    """The real PyTorch; skips the calling test where it is not installed."""
    theirs = pytest.importorskip(_THEIRS)
    if theirs is sys.modules.get(_OURS) and not _Alias.installed:
        pytest.skip("`torch` is ours in this process")
    return theirs


def is_reference() -> bool:
    """Whether this session runs on PyTorch itself."""
    return _Alias.installed


def use_as_ours() -> None:
    """From now on `import mindtorch_v2` and its submodules give PyTorch's."""
    _Alias.installed = True
    sys.meta_path.insert(0, _Alias())


class _Alias(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Find `mindtorch_v2.x` as `torch.x`."""

    installed = False

    def find_spec(self, name: str, path: object = None, target: object = None) -> importlib.machinery.ModuleSpec | None:
        if name == _OURS or name.startswith(f"{_OURS}."):
            return importlib.util.spec_from_loader(name, self)
        return None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return importlib.import_module(_THEIRS + spec.name.removeprefix(_OURS))

    def exec_module(self, module: ModuleType) -> None:
        """Nothing to run: the import of PyTorch's module ran it."""
