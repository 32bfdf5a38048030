"""From where modules come, and under which names: the environment, packages, several of them in order."""

from __future__ import annotations

import importlib
import pickle
from abc import ABC, abstractmethod
from types import ModuleType
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2.serialization._pickler import public_name

from ._mangling import demangle, is_mangled

__all__ = ["Importer", "ObjMismatchError", "ObjNotFoundError", "OrderedImporter", "sys_importer"]

_ENVIRONMENT = "the current Python environment"


class ObjNotFoundError(Exception):
    """Raised where no importer has an object under its name.

    >>> try:
    ...     torch.package.sys_importer.get_name(len, "no_such_name")
    ... except torch.package.ObjNotFoundError as error:
    ...     print(type(error).__name__)
    ObjNotFoundError
    """


class ObjMismatchError(Exception):
    """Raised where an importer has another object under an object's name.

    >>> import io
    >>> file = io.BytesIO()
    >>> with torch.package.PackageExporter(file) as exporter:
    ...     exporter.save_source_string("mine", "class Thing: pass")
    >>> _ = file.seek(0)
    >>> first = torch.package.PackageImporter(file)
    >>> _ = file.seek(0)
    >>> other = torch.package.PackageImporter(file)
    >>> try:
    ...     first.get_name(other.import_module("mine").Thing)
    ... except torch.package.ObjMismatchError as error:
    ...     print(type(error).__name__)
    ObjMismatchError
    """


def environment_name(name: str) -> str:
    """The full name under which the environment has a module: `torch` and what is below it mean this package."""
    return torch.__package__ + name.removeprefix("torch") if name.partition(".")[0] == "torch" else name


def environment_module(name: str) -> ModuleType:
    """The environment's module of a name; ModuleNotFoundError without one."""
    return importlib.import_module(environment_name(name))


class Importer(ABC):
    """Source of modules by their names and of names by their objects. A class of one's own defines `import_module`.

    >>> from types import ModuleType
    >>> class Fixed(torch.package.Importer):
    ...     def import_module(self, name):
    ...         module = ModuleType(name)
    ...         module.answer = 42
    ...         return module
    >>> Fixed().import_module("anything").answer
    42
    """

    modules: dict[str, ModuleType]

    @abstractmethod
    def import_module(self, module_name: str) -> ModuleType:
        """The module of a name; ModuleNotFoundError if this importer has none."""

    def get_name(self, obj: Any, name: str | None = None) -> tuple[str, str]:
        """Module and qualified name under which this importer has an object, for a pickle.

        ObjNotFoundError if it is not there, ObjMismatchError if another object is.

        >>> import mindtorch_v2 as torch
        >>> torch.package.sys_importer.get_name(torch.float32)
        ('torch', 'float32')
        """
        own = public_name(obj, name)
        if own is not None:
            return own
        name = name or getattr(obj, "__qualname__", None) or obj.__name__
        module_name = self.whichmodule(obj, name)
        module_name = demangle(module_name)
        try:
            found: Any = self.import_module(module_name)
            for part in name.split("."):
                found = getattr(found, part)
        except (ImportError, KeyError, AttributeError):
            raise ObjNotFoundError(f"{obj} was not found as {module_name}.{name}") from None
        if found is obj:
            return module_name, name
        theirs, its_importer = _origin(self.whichmodule(obj, name))
        ours, our_importer = _origin(getattr(found, "__module__", None) or module_name)
        raise ObjMismatchError(
            f"\n\nThe object provided is from '{demangle(self.whichmodule(obj, name))}', which is coming from {theirs}.\n"
            f"However, when we import '{demangle(getattr(found, '__module__', None) or module_name)}', it's coming from {ours}.\n"
            f"To fix this, make sure this 'PackageExporter's importer lists '{its_importer}' before '{our_importer}'."
        )

    def whichmodule(self, obj: Any, name: str) -> str:
        """The name of the module that an object comes from, searched among this importer's; "__main__" if in none."""
        module_name = getattr(obj, "__module__", None)
        if module_name is not None:
            return module_name
        for module_name, module in self.modules.copy().items():
            if module_name == "__main__" or not isinstance(module, ModuleType):
                continue
            found: Any = module
            for part in name.split("."):
                found = getattr(found, part, None)
            if found is obj:
                return module_name
        return "__main__"


def _origin(module_name: str) -> tuple[str, str]:
    """Where a module of a name came from, in words, and what its importer is called."""
    if not is_mangled(module_name):
        return _ENVIRONMENT, "sys_importer"
    parent = module_name.partition(".")[0]
    return f"the importer for package '{parent}'", parent


class _SysImporter(Importer):
    """The modules of the environment."""

    def import_module(self, module_name: str) -> ModuleType:
        return environment_module(module_name)

    def whichmodule(self, obj: Any, name: str) -> str:
        return pickle.whichmodule(obj, name)  # type: ignore[attr-defined]  # (not in the stubs of the library)


sys_importer = _SysImporter()


class OrderedImporter(Importer):
    """Several importers: a module comes from the first that has it.

    >>> importer = torch.package.OrderedImporter(torch.package.sys_importer)
    >>> importer.import_module("math").floor(2.5)
    2
    """

    def __init__(self, *args: Importer) -> None:
        self._importers = list(args)

    def import_module(self, module_name: str) -> ModuleType:
        """The first importer's module that is more than an empty package around others."""
        last: ModuleNotFoundError | None = None
        for importer in self._importers:
            if not isinstance(importer, Importer):
                raise TypeError(
                    f"{importer} is not a Importer. All importers in OrderedImporter must inherit from Importer."
                )
            try:
                module = importer.import_module(module_name)
            except ModuleNotFoundError as error:
                last = error
                continue
            if not _is_empty(module):
                return module
        raise last or ModuleNotFoundError(module_name)

    def get_name(self, obj: Any, name: str | None = None) -> tuple[str, str]:
        """The name under which the first importer has an object that has it as that very object."""
        for importer in self._importers:
            try:
                return importer.get_name(obj, name)
            except ObjNotFoundError:
                if importer is self._importers[-1]:
                    raise
        raise ObjNotFoundError(f"{obj} was not found: there is no importer")

    def whichmodule(self, obj: Any, name: str) -> str:
        """The first importer's answer that is not "__main__"."""
        names = (importer.whichmodule(obj, name) for importer in self._importers)
        return next((module for module in names if module != "__main__"), "__main__")


def _is_empty(module: ModuleType) -> bool:
    """Whether a package's module is there for those below it alone, without a source of its own."""
    return (
        getattr(module, "__torch_package__", False) and getattr(module, "__path__", None) == [] and not module.__file__
    )
