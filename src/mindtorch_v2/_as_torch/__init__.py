"""The switch that makes this package importable as `torch`.

Owns the import finder that resolves `torch` and `torch.*` to the very module objects of `mindtorch_v2` and
`mindtorch_v2.*`, and the distribution metadata that libraries ask `importlib.metadata` for.

Nothing happens until it is asked for: by `as_torch()`, by `python -m mindtorch_v2`, or by `MINDTORCH_AS_TORCH=1`
at interpreter start. In the last case this file runs before the package is imported, in every Python process of that
environment: so it imports nothing of the package and only what the interpreter has loaded already.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import CodeType, ModuleType
from typing import Any

import importlib
import importlib.machinery
import os
import sys

TORCH_VERSION = "2.13.0"
"""The PyTorch version whose behaviour this package has; what `torch.__version__` and the metadata say."""

VARIABLE = "MINDTORCH_AS_TORCH"
VERSION_VARIABLE = "MINDTORCH_TORCH_VERSION"
"""A version for the metadata alone, for packages that ask for another one than is told: `torch.__version__` stays."""
_PACKAGE = "mindtorch_v2"
# What PyTorch's distribution brings, and what stands for it.
_OWN = {"torch": _PACKAGE, "functorch": f"{_PACKAGE}._functorch.names"}
# Names beside torch that Ascend's programs import, and what stands for them where nothing of the name is installed. Libraries
# take the presence of torch_npu for that of its fused kernels, so that it has a switch of its own, MINDTORCH_AS_TORCH_NPU=1.
_COMPANIONS = {"torchair": "mindtorch_v2.torchair", "torch_npu": "mindtorch_v2.npu.torch_npu"}
_sought: list[
    str
] = []  # names whose modules are looked for at this moment, for which this package may have to be imported
# Modules of torch_npu that stand elsewhere here.
_ELSEWHERE = {"torch_npu.npu": "mindtorch_v2.npu", "torch_npu.dynamo.torchair": "mindtorch_v2.torchair"}
NPU_VARIABLE = "MINDTORCH_AS_TORCH_NPU"


def metadata_version() -> str:
    """The version that the metadata tells; ValueError if the variable holds none."""
    version = os.environ.get(VERSION_VARIABLE) or TORCH_VERSION
    if not all(part.isdecimal() for part in version.split(".")):
        raise ValueError(
            f"{VERSION_VARIABLE}: a version of numbers and dots was expected, {TORCH_VERSION}, got {version!r}"
        )
    return version


def distribution_metadata(version: str | None = None, name: str = "torch") -> str:
    """The core metadata (PEP 566) of the distribution `torch`, or of `torch_npu`, as text."""
    version = version or metadata_version()
    whose = "PyTorch" if name == "torch" else name
    return (
        "Metadata-Version: 2.1\n"
        f"Name: {name}\n"
        f"Version: {version}\n"
        f"Summary: The interface of {whose} {TORCH_VERSION}, provided by {_PACKAGE}\n"
        "Requires-Python: >=3.11\n"
    )


def is_torch() -> bool:
    """Whether the switch is on in this process."""
    return any(isinstance(finder, TorchFinder) for finder in sys.meta_path)


def as_torch() -> None:
    """Let `import torch` mean this package, in this process and in the Python processes that it starts.

    Raises RuntimeError if a real PyTorch is already imported: two of them in one process would each half work.
    Calling it again does nothing.
    """
    present = sys.modules.get("torch")
    if present is not None and present is not sys.modules.get(_PACKAGE):
        origin = getattr(present, "__file__", None) or "unknown origin"
        raise RuntimeError(
            f"as_torch(): another `torch` is already imported ({origin}); call as_torch() before the first import of "
            f"torch, or start the program with `python -m {_PACKAGE}`"
        )
    if not is_torch():
        sys.meta_path.insert(0, TorchFinder())
        if _PACKAGE in sys.modules:
            load_companion()
    os.environ[VARIABLE] = "1"


def autoloads() -> bool:
    """Whether `import torch` imports what back ends bring beside it: unless TORCH_DEVICE_BACKEND_AUTOLOAD=0 says no."""
    return os.environ.get("TORCH_DEVICE_BACKEND_AUTOLOAD", "1") == "1"


def load_companion() -> None:
    """Import our torch_npu at the end of `import torch`, where programs are to find it and `torch` means this package."""
    if "torch_npu" in _sought:  # it asked for this package itself: a second import of it within would make two of it
        return
    if is_torch() and autoloads() and _stands_in("torch_npu", _COMPANIONS["torch_npu"]):
        importlib.import_module("torch_npu")


def alias_loaded() -> None:
    """Make every module of ours that is loaded known by its second name too, where the switch is on.

    Programs look for `torch.nn.init` in `sys.modules`. And a module that were found and loaded again by that name would be
    put over what its package has under it: `torch.multiprocessing.spawn` is a function.
    """
    if not is_torch():
        return
    _watch_extension_modules()
    sys.modules[
        _PACKAGE
    ].__name__ = "torch"  # libraries compare it; what is imported by relative names goes by __package__
    below = _PACKAGE + "."
    for name, loaded in list(sys.modules.items()):
        if name.startswith(below):
            sys.modules.setdefault("torch" + name[len(_PACKAGE) :], loaded)
    _name_errors()
    _name_functions()


def _watch_extension_modules() -> None:
    """Let compiled modules that were made for PyTorch's stable ABI find what they ask for when they are imported."""
    loader = importlib.machinery.ExtensionFileLoader
    plain = loader.create_module
    if plain.__module__ == __name__:  # done before
        return

    def create_module(self: Any, spec: Any) -> Any:
        if spec.name.partition(".")[0] in sys.stdlib_module_names:  # ctypes among them, which the rest needs
            return plain(self, spec)
        loading = importlib.import_module(f"{_PACKAGE}._core.loading")
        loading.prepare_for(spec.origin)
        with loading.reporting_failures():
            return plain(self, spec)

    loader.create_module = create_module  # type: ignore[method-assign]  # (every loader of extension modules is to do it)


def _name_errors() -> None:
    """Let the errors of the native core be shown by the name that programs know: `torch._C._LinAlgError`."""
    for error in vars(sys.modules[f"{_PACKAGE}._C"]).values():
        if isinstance(error, type) and issubclass(error, Exception) and error.__module__.startswith(_PACKAGE):
            error.__module__ = "torch" + error.__module__[len(_PACKAGE) :]


_IN_C = ("dsmm", "gradient", "istft")  # beside those that PyTorch has in torch.functional
# Where functions of `torch` are that PyTorch has in C or in that module itself.
_WRITTEN = {f"{_PACKAGE}.{name}" for name in ("_namespace", "_operators.properties", "_sizes.numbers")}


def _name_functions() -> None:
    """Let functions say the module that programs know them by: `torch.add.__module__` is "torch"."""
    package = sys.modules[_PACKAGE]
    native: type = vars(sys.modules[f"{_PACKAGE}._C"])["Function"]
    for value in vars(package).values():
        if type(value) is native and value.__module__ == f"{_PACKAGE}._C":
            value.__module__ = "torch"
        elif callable(value) and not isinstance(value, type) and getattr(value, "__module__", None) in _WRITTEN:
            value.__module__ = "torch"
    for part in ("_C._nn", "_C._linalg", "_C._fft", "_C._special", "functional", "nn.functional", "nn.init"):
        name = f"{_PACKAGE}.{part}"
        for value in vars(sys.modules[name]).values() if name in sys.modules else ():
            if getattr(value, "__module__", None) == name and callable(value):
                value.__module__ = f"torch.{part}" if value.__name__ not in _IN_C else "torch"


class TorchFinder:
    """Find `torch`, `torch.*` and `functorch` as aliases, and the distribution `torch`; `torchair`, and `torch_npu` with a distribution
    where it is asked for, if nobody else has them."""

    def find_spec(self, fullname: str, path: Any = None, target: ModuleType | None = None) -> Any:
        root = fullname.partition(".")[0]
        own_root = _OWN.get(root) or _COMPANIONS.get(root)
        if own_root is None or (root not in _OWN and not _stands_in(root, own_root)):
            if fullname == "torch_npu" and _is_import(sys._getframe(1)) and not _is_installed(fullname):
                raise ModuleNotFoundError(
                    f"No module named 'torch_npu'. This package has one, for programs that are to run on an NPU: set {NPU_VARIABLE}=1 "
                    "before Python starts. (It is not found without, since libraries take it for fused kernels that are there.)",
                    name=fullname,
                )
            return None
        own_name = _own_name(fullname, root, own_root)
        _sought.append(fullname)
        try:
            spec: Any = _own_spec(own_name)
        finally:
            _sought.remove(fullname)
        if spec is None:  # the import system then says that it is missing, by the name that was asked for
            return None
        loader: Any = AliasLoader(own_name, spec.loader)
        alias = importlib.machinery.ModuleSpec(fullname, loader, origin=spec.origin, is_package=_is_package(spec))
        if _is_package(spec):
            alias.submodule_search_locations = spec.submodule_search_locations
        alias.has_location = spec.has_location
        return alias

    def invalidate_caches(self) -> None:
        pass

    def find_distributions(self, context: Any) -> Iterator[Any]:
        name = getattr(context, "name", None)
        wanted = ("torch", "torch_npu") if name is None else (name.lower().replace("-", "_"),)
        found = []
        if "torch" in wanted:
            found.append(_distribution("torch", distribution_metadata()))
        if "torch_npu" in wanted and _stands_in(
            "torch_npu", _COMPANIONS["torch_npu"]
        ):  # diffusers asks for its version
            found.append(_distribution("torch_npu", distribution_metadata(name="torch_npu")))
        return iter(found)


class AliasLoader:
    """Hand out the module `own_name` under a second name, untouched."""

    def __init__(self, own_name: str, own_loader: Any) -> None:
        self.own_name = own_name
        self.own_loader = own_loader
        self._spec: Any = None

    def create_module(self, spec: Any) -> ModuleType:
        module = importlib.import_module(self.own_name)
        self._spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        # The import system has just put the alias' spec on the module, which relative imports would trip over.
        module.__spec__ = self._spec
        alias_loaded()

    # What runpy, inspect and pkgutil ask of a loader, under the module's own name.
    def get_code(self, fullname: str) -> CodeType:
        return self.own_loader.get_code(self.own_name)

    def get_source(self, fullname: str) -> str | None:
        return self.own_loader.get_source(self.own_name)

    def get_filename(self, fullname: str) -> str:
        return self.own_loader.get_filename(self.own_name)

    def is_package(self, fullname: str) -> bool:
        return self.own_loader.is_package(self.own_name)


def _is_import(frame) -> bool:
    """Whether the import system is looking for a module to load it, and not `importlib.util.find_spec` for a program."""
    while frame is not None and frame.f_code.co_name != "_find_and_load_unlocked":
        if frame.f_globals.get("__name__") not in ("importlib._bootstrap", "_frozen_importlib"):
            return False
        frame = frame.f_back
    return frame is not None


def _is_installed(root) -> bool:
    finders = [finder for finder in sys.meta_path if not isinstance(finder, TorchFinder)]
    return any(finder.find_spec(root, None) for finder in finders if hasattr(finder, "find_spec"))


def _stands_in(root, own_root) -> bool:
    """Whether a companion's name means ours: it is imported as ours, or nothing of the name is installed."""
    present = sys.modules.get(root)
    if present is not None:
        return present is sys.modules.get(own_root)
    if root == "torch_npu" and os.environ.get(NPU_VARIABLE) != "1":
        return False
    return not _is_installed(root)


def _own_name(fullname, root, own_root) -> str:
    """The name that a module has here."""
    for theirs, ours in _ELSEWHERE.items():
        if fullname == theirs or fullname.startswith(theirs + "."):
            return ours + fullname[len(theirs) :]
    return own_root + fullname[len(root) :]


def _own_spec(own_name):
    """The spec of one of our modules without importing it (its parents are imported), or None."""
    module = sys.modules.get(own_name)
    if module is not None:
        return module.__spec__
    parent = own_name.rpartition(".")[0]
    path = importlib.import_module(parent).__dict__.get("__path__") if parent else None
    if parent and path is None:
        return None
    for finder in sys.meta_path:
        spec = None if isinstance(finder, TorchFinder) else finder.find_spec(own_name, path)
        if spec is not None:
            return spec
    return None


def _is_package(spec) -> bool:
    return spec.submodule_search_locations is not None


def _distribution(name: str, metadata: str) -> Any:
    # Imported here: it costs more than all of the rest, and few processes ask.
    import importlib.metadata
    import pathlib

    class TorchDistribution(importlib.metadata.Distribution):
        """The distribution `torch`, or `torch_npu`, as this package presents it."""

        _files = {"METADATA": metadata, "top_level.txt": f"{name}\n", "INSTALLER": f"{_PACKAGE}\n"}

        def read_text(self, filename: str) -> str | None:
            return self._files.get(filename)

        def locate_file(self, path: Any) -> Any:
            return pathlib.Path(__file__).resolve().parent.parent / path

    return TorchDistribution()
