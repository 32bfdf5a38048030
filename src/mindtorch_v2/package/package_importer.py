"""Importing out of a package: its modules, pickles and other records."""

from __future__ import annotations

import builtins
import importlib.machinery
import importlib.util
import inspect
import io
import linecache
import os
import weakref
from collections.abc import Callable, Mapping, Sequence
from types import CodeType, ModuleType
from typing import IO, Any, cast

from mindtorch_v2.serialization._records import PyTorchFileReader, is_path
from mindtorch_v2.serialization._zip_format import storage_loader

from ._directory_reader import DirectoryReader
from ._mangling import PackageMangler, demangle
from ._nodes import ExternNode, ModuleNode, PackageNode, PathNode
from ._package_unpickler import PackageUnpickler
from ._resources import PackageResourceReader
from .file_structure_representation import Directory, _create_directory_from_file_list
from .glob_group import GlobPattern
from .importer import Importer, environment_module, environment_name

__all__ = ["PackageImporter"]

# Given to any package: what pickles of NumPy's arrays and of Python's own classes name.
IMPLICIT_IMPORT_ALLOWLIST = ["numpy", "numpy.core", "numpy.core._multiarray_umath", "builtins"]
_STORAGE = ".data/{}.storage"


class PackageImporter(Importer):
    """Reader of a package that `PackageExporter` wrote: a path, a folder that it was unpacked into, or a file object.

    Each importer has modules of its own, which are in no way those of the environment or of another importer of the same names.
    Code in the package gets what the package holds; what it was exported to take from the environment (`extern_modules`) it
    takes from there, unless `module_allowed(name)` is false: then ImportError. `torch` means this package.

    Importing and unpickling run code of the package: open only packages of people you trust.

    RuntimeError for a file that is no archive.

    >>> import io
    >>> file = io.BytesIO()
    >>> with torch.package.PackageExporter(file) as exporter:
    ...     exporter.save_source_string("mine", "answer = 42")
    ...     exporter.save_text("notes", "first.txt", "two words")
    >>> _ = file.seek(0)
    >>> importer = torch.package.PackageImporter(file)
    >>> importer.import_module("mine").answer, importer.load_text("notes", "first.txt")
    (42, 'two words')
    """

    def __init__(
        self,
        file_or_buffer: str | os.PathLike[str] | IO[bytes] | PyTorchFileReader,
        module_allowed: Callable[[str], bool] = lambda module_name: True,
    ) -> None:
        _know_sources()
        self.zip_reader, self.filename = _opened(file_or_buffer)
        if is_path(file_or_buffer) and isinstance(self.zip_reader, PyTorchFileReader):
            weakref.finalize(self, self.zip_reader._close)
        self.root = PackageNode()
        self.modules: dict[str, Any] = {"torch_package_importer": self}
        self.extern_modules = self._read_extern()
        for name in self.extern_modules:
            if not module_allowed(name):
                raise ImportError(
                    f"package '{file_or_buffer}' needs the external module '{name}' but we disallowed that module"
                )
            self.root.add_extern(name)
        for record in self.zip_reader.get_all_records():
            if not record.startswith(".data/"):
                self.root.add_file(record)
        self.patched_builtins = {**builtins.__dict__, "__import__": self.__import__}
        self._mangler = PackageMangler()

    def import_module(self, name: str, package: str | None = None) -> Any:
        """A module of the package, its code run the first time; or of the environment, where the package says so.

        `package` is what a relative `name` counts from. ModuleNotFoundError for any other module.
        """
        name = self._mangler.demangle(name)
        return self._find(importlib.util.resolve_name(name, package) if name.startswith(".") else name)

    def load_binary(self, package: str, resource: str) -> bytes:
        """The bytes of a record; RuntimeError if there is none of that name."""
        return self.zip_reader.get_record(self._record(package, resource))

    def load_text(self, package: str, resource: str, encoding: str = "utf-8", errors: str = "strict") -> str:
        """The text of a record."""
        return self.load_binary(package, resource).decode(encoding, errors)

    def load_pickle(self, package: str, resource: str, map_location: Any = None) -> Any:
        """The object of a pickle; it runs the code that the pickle names. `map_location` is that of `torch.load`."""
        file = io.BytesIO(self.load_binary(package, resource))
        archive: Any = getattr(self.zip_reader, "_archive", self.zip_reader)
        storage, reduced = storage_loader(archive, map_location, record=_STORAGE), {}

        def persistent_load(pid: Any) -> Any:
            if isinstance(pid, tuple) and len(pid) == 4 and pid[0] == "reduce_package":
                _, number, function, arguments = pid
                if number not in reduced:
                    reduced[number] = function(self, *arguments)
                return reduced[number]
            if isinstance(pid, tuple) and len(pid) == 5:
                kind, storage_type, number, location, count = pid
                pid = (kind, storage_type, str(number), location, count)
            return storage(pid)

        return PackageUnpickler(self, file, persistent_load).load()

    def id(self) -> str:
        """The parent of this importer's modules, in their `__name__`; every importer has another."""
        return self._mangler.parent_name()

    def file_structure(self, *, include: GlobPattern = "**", exclude: GlobPattern = ()) -> Directory:
        """The records as a tree, those whose paths match."""
        return _create_directory_from_file_list(self.filename, self.zip_reader.get_all_records(), include, exclude)

    def python_version(self) -> str | None:
        """The version of the Python that wrote the package; None if it does not say."""
        name = ".data/python_version"
        return self.zip_reader.get_record(name).decode().strip() if self.zip_reader.has_record(name) else None

    def get_source(self, module_name: str) -> str:
        """The source text of a module in the package; "" of a package that has none."""
        node = self._node(demangle(module_name))
        source = node.source_file if isinstance(node, (ModuleNode, PackageNode)) else None
        return self._text(source) if source else ""

    def get_resource_reader(self, fullname: str) -> PackageResourceReader | None:
        """The reader that `importlib.resources` asks for a package's folder; None for what is no folder in it."""
        try:
            node = self._node(demangle(fullname))
        except ImportError:
            return None
        return PackageResourceReader(self, demangle(fullname)) if isinstance(node, PackageNode) else None

    def _read_extern(self) -> list[str]:
        return [name for name in self._text(".data/extern_modules").splitlines() if name]

    def _text(self, record: str) -> str:
        with io.TextIOWrapper(io.BytesIO(self.zip_reader.get_record(record)), "utf-8") as text:
            return text.read()  # with all ends of lines as \n

    def _record(self, package: str, resource: str) -> str:
        """The record of a file in a package; the package must be one."""
        folder, name = os.path.split(str(resource))
        if folder:
            raise ValueError(f"{resource!r} must be only a file name")
        name_of = getattr(package, "__name__", package)
        module = self.import_module(name_of)
        if module.__spec__.submodule_search_locations is None:
            raise TypeError(f"{module.__spec__.name!r} is not a package")
        return f"{demangle(name_of).replace('.', '/')}/{name}"

    # --- the import system

    def _node(self, name: str) -> PathNode:
        """The place of a module in the tree, or that of the environment's module that it is below."""
        node: PathNode = self.root
        for part in name.split("."):
            if isinstance(node, ExternNode):
                break
            children = node.children if isinstance(node, PackageNode) else {}
            if part not in children:
                raise ModuleNotFoundError(
                    f'No module named "{name}" in self-contained archive "{self.filename}" and the module is also not in the '
                    f"list of allowed external modules: {self.extern_modules}",
                    name=name,
                )
            node = children[part]
        return node

    def _find(self, name: str) -> Any:
        """The module of a full name, imported if it is not yet."""
        if name in self.modules:
            return self.modules[name]
        parent, _, last = name.rpartition(".")
        if parent:
            self._find(parent)
            if name in self.modules:  # the parent imported it
                return self.modules[name]
        module = self._load(name)
        if parent and not hasattr(self.modules[parent], last):
            setattr(self.modules[parent], last, module)
        return module

    def _load(self, name: str) -> ModuleType:
        try:
            node = self._node(name)
        except ModuleNotFoundError:
            if name not in IMPLICIT_IMPORT_ALLOWLIST:
                raise
            node = ExternNode()
        if isinstance(node, (ModuleNode, PackageNode)):
            return self._made(name, node.source_file, isinstance(node, PackageNode))
        self.modules[name] = module = environment_module(name)
        return module

    def _made(self, name: str, source_file: str | None, is_package: bool) -> ModuleType:
        """A module of the package, its code run."""
        spec = importlib.machinery.ModuleSpec(
            name,
            cast(Any, self),
            origin="<package_importer>",
            is_package=is_package,
        )
        module = importlib.util.module_from_spec(spec)
        module.__name__ = self._mangler.mangle(name)
        module.__file__ = self._mangler.mangle(source_file) if source_file else None
        module.__dict__.update(__cached__=None, __builtins__=self.patched_builtins, __torch_package__=True)
        _modules_of_packages[module.__name__] = module
        self.modules[name] = module
        if source_file is None:
            return module
        try:
            exec(self._compiled(source_file, cast(str, module.__file__), module.__dict__), module.__dict__)
        except BaseException:
            self.modules.pop(name, None)
            raise
        return self.modules[name]  # a module may put another object in its place

    def _compiled(self, record: str, filename: str, namespace: dict[str, Any]) -> CodeType:
        linecache.lazycache(filename, namespace)  # for tracebacks and inspect
        return compile(self._text(record), filename, "exec", dont_inherit=True)

    def __import__(
        self,
        name: str,
        globals: Mapping[str, Any] | None = None,
        locals: Mapping[str, Any] | None = None,
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> Any:
        """The work of the statement `import` in the package's code."""
        full = importlib.util.resolve_name("." * level + name, _package_of(globals or {})) if level else name
        module = self._find(full)
        if fromlist:
            return self._with_submodules(module, full, fromlist)
        if not level:
            return self._find(name.partition(".")[0])
        # Of a.b.c, imported as "..b.c" or the like, the part that the dots stand for, and one more.
        return self._find(full[: len(full) - len(name) + len(name.partition(".")[0])]) if name else module

    def _with_submodules(self, module: ModuleType, name: str, wanted: Sequence[str]) -> ModuleType:
        """The module, after those below it that `from module import ...` names are imported."""
        if not hasattr(module, "__path__"):
            return module
        for each in wanted:
            if each == "*":
                self._with_submodules(module, name, [one for one in getattr(module, "__all__", ()) if one != "*"])
            elif not hasattr(module, each):
                try:
                    self._find(f"{name}.{each}")
                except ModuleNotFoundError as error:
                    # `from` says itself that the module has no such name; what is missing further down is another matter.
                    if error.name not in (f"{name}.{each}", environment_name(f"{name}.{each}")):
                        raise
        return module


def _opened(file: Any) -> tuple[Any, str]:
    """The reader of a package's records, and what the package is called."""
    if isinstance(file, PyTorchFileReader):
        return file, "<pytorch_file_reader>"
    if is_path(file):
        path = os.fspath(file)
        return (DirectoryReader(path) if os.path.isdir(path) else PyTorchFileReader(path)), path
    return PyTorchFileReader(file), "<binary>"


def _package_of(namespace: Mapping[str, Any]) -> str:
    """The package that relative imports of a module's code count from."""
    package = namespace.get("__package__")
    if package is None:
        package = demangle(namespace["__name__"])
        if "__path__" not in namespace:
            package = package.rpartition(".")[0]
    return package


# `inspect` looks for the file of a class in `sys.modules`, where modules of packages are not.
_modules_of_packages: weakref.WeakValueDictionary[str, ModuleType] = weakref.WeakValueDictionary()
_getfile = inspect.getfile


def _getfile_in_packages(object: Any) -> str:
    if inspect.isclass(object):
        module = _modules_of_packages.get(object.__module__)
        if module is not None and module.__file__:
            return module.__file__
    return _getfile(object)


def _know_sources() -> None:
    """Let `inspect` find the sources of classes that come from packages."""
    inspect.getfile = _getfile_in_packages
