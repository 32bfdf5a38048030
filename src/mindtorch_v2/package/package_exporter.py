"""Writing a package: the records, and what becomes of each module that the code and the pickles need."""

from __future__ import annotations

import contextlib
import importlib.machinery
import io
import linecache
import os
import platform
import sys
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from types import ModuleType, TracebackType
from typing import IO, Any, Self

import mindtorch_v2 as torch
from mindtorch_v2.serialization import _locations as locations
from mindtorch_v2.serialization._archive import ArchiveWriter
from mindtorch_v2.serialization._pickler import stored
from mindtorch_v2.serialization._records import VERSION, folder_of, is_path
from mindtorch_v2.serialization._replacing import replacing
from mindtorch_v2.utils.hooks import RemovableHandle

from . import _mock
from ._digraph import DiGraph
from ._mangling import demangle, is_mangled
from ._package_pickler import PackagePickler
from ._stdlib import is_stdlib_module
from .find_file_dependencies import find_files_source_depends_on
from .glob_group import GlobGroup, GlobPattern
from .importer import Importer, OrderedImporter, sys_importer

__all__ = ["EmptyMatchError", "PackageExporter", "PackagingError", "PackagingErrorReason"]

_gate_torchscript_serialization = True
_DISALLOWED_MODULES = ["sys", "io"]  # of the standard library, not taken from the environment unasked
_MOCKED = """\
from _mock import MockedObject

def __getattr__(attr: str):
    return MockedObject(__name__ + '.' + attr, _suppress_err=True)
"""

ActionHook = Callable[["PackageExporter", str], None]


class _ModuleProviderAction(Enum):
    INTERN = 1
    EXTERN = 2
    MOCK = 3
    DENY = 4
    REPACKAGED_MOCK_MODULE = 5  # the source of the mocked objects, in a package of a package
    SKIP = 6


class PackagingErrorReason(Enum):
    """Why a module cannot be packaged; the values are the texts of errors.

    >>> from mindtorch_v2.package.package_exporter import PackagingErrorReason
    >>> [reason.name for reason in PackagingErrorReason][:3]
    ['IS_EXTENSION_MODULE', 'NO_DUNDER_FILE', 'SOURCE_FILE_NOT_FOUND']
    """

    IS_EXTENSION_MODULE = "Module is a C extension module. torch.package supports Python modules only."
    NO_DUNDER_FILE = "Module had no __file__ defined."
    SOURCE_FILE_NOT_FOUND = "Module had a __file__, but we could not find it in your filesystem."
    DEPENDENCY_RESOLUTION_FAILED = "Dependency resolution failed."
    NO_ACTION = "Module did not match against any action pattern. Extern, mock, or intern it."
    DENIED = "Module was denied by a pattern."
    MOCKED_BUT_STILL_USED = (
        "Module was mocked out, but is still being used in the package. "
        "Please intern or extern the mocked modules if objects are supposed to be in the package."
    )


@dataclass
class _PatternInfo:
    action: _ModuleProviderAction
    allow_empty: bool
    was_matched: bool = False


class EmptyMatchError(Exception):
    """Raised at the end for a pattern that matched no module, where it was to match one.

    >>> import io
    >>> try:
    ...     with torch.package.PackageExporter(io.BytesIO()) as exporter:
    ...         exporter.intern("never.*", allow_empty=False)
    ... except torch.package.EmptyMatchError as error:
    ...     print(type(error).__name__)
    EmptyMatchError
    """


class PackagingError(Exception):
    """Raised at the end for modules that cannot be packaged: its text lists them by reason.

    >>> import io
    >>> try:
    ...     with torch.package.PackageExporter(io.BytesIO()) as exporter:
    ...         exporter.save_source_string("mine", "import numpy")
    ... except torch.package.PackagingError as error:
    ...     print(type(error).__name__, "numpy" in str(error))
    PackagingError True
    """

    def __init__(self, dependency_graph: DiGraph, debug: bool = False) -> None:
        broken: dict[PackagingErrorReason, list[str]] = defaultdict(list)
        for name, attributes in dependency_graph.nodes.items():
            if attributes.get("error") is not None:
                broken[attributes["error"]].append(name)
        text = io.StringIO()
        text.write("\n")
        for reason, names in broken.items():
            text.write(f"* {reason.value}\n")
            for name in names:
                text.write(f"    {name}\n")
                context = dependency_graph.nodes[name].get("error_context")
                if context is not None:
                    text.write(f"      Context: {context}\n")
                if name in _DISALLOWED_MODULES:
                    text.write(
                        "      Note: While we usually use modules in the python standard library from the local environment, "
                        f"`{name}` has a lot of system level access and therefore can pose a security risk. We heavily recommend "
                        f"removing `{name}` from your packaged code. However, if that is not possible, add it to the extern list "
                        f'by calling PackageExporter.extern("`{name}`")\n'
                    )
                if debug:
                    text.write(f"      Needed by: {', '.join(dependency_graph.predecessors(name)) or 'nothing'}\n")
        if not debug:
            text.write(
                "\nSet debug=True when invoking PackageExporter for a visualization of where broken modules are coming from!\n"
            )
        self.dependency_graph = dependency_graph
        super().__init__(text.getvalue())


class PackageExporter:
    """Writer of a package to a path or into a file object. As a context manager it is closed at the end of the block.

    What is saved names modules, and each of them needs a word: `intern` takes its source into the package, with what that needs
    in turn; `extern` leaves it to the environment that loads the package; `mock` puts a stand-in there, which raises when it is
    used; `deny` makes it an error. Of several patterns the first that matches counts. `torch` and Python's standard library,
    but for `sys` and `io`, are left to the environment unasked.

    `importer`, or the first of several, gives the modules and says what objects are called; for what came out of a package it
    is that package's `PackageImporter`.

    A file at a path is complete or is not there: after an error what was there before still is.

    Raises at the end of the block, or from `close`: PackagingError for modules without a word, EmptyMatchError.

    >>> import io
    >>> file = io.BytesIO()
    >>> with torch.package.PackageExporter(file) as exporter:
    ...     exporter.save_source_string("mine", "answer = 42")
    ...     exporter.save_text("notes", "first.txt", "two words")
    >>> _ = file.seek(0)
    >>> torch.package.PackageImporter(file).import_module("mine").answer
    42
    """

    importer: Importer

    def __init__(
        self,
        f: str | os.PathLike[str] | IO[bytes],
        importer: Importer | Sequence[Importer] = sys_importer,
        debug: bool = False,
    ) -> None:
        self.debug = debug
        if isinstance(importer, Importer):
            self.importer = importer
        elif isinstance(importer, Sequence):
            self.importer = OrderedImporter(*importer)
        else:
            raise TypeError(
                f"importer arg should be an Importer or a sequence of Importers, got {type(importer)} instead."
            )
        self._file = contextlib.ExitStack()
        if is_path(f):
            self.buffer: IO[bytes] = self._file.enter_context(replacing(os.fspath(f)))  # type: ignore[arg-type]  # (a path)
        elif callable(getattr(f, "write", None)):
            self.buffer = f  # type: ignore[assignment]  # (a file object)
        else:
            raise TypeError(
                f"PackageExporter(): a path or a file object to write to was expected, got {type(f).__name__}"
            )
        self.zip_file = ArchiveWriter(self.buffer, folder_of(f))
        self.dependency_graph = DiGraph()
        self.patterns: dict[GlobGroup, _PatternInfo] = {}
        self._written: set[str] = set()
        self._storages: dict[Any, tuple[int, Any]] = {}
        self._reduced: dict[int, tuple[Any, tuple[Any, ...]]] = {}
        self._hooks: dict[_ModuleProviderAction, OrderedDict[int, ActionHook]] = defaultdict(OrderedDict)
        self._unique_id = 0
        self._closed = False

    # --- saving

    def save_source_file(self, module_name: str, file_or_directory: str, dependencies: bool = True) -> None:
        """Take a source file as the module of a name, or a folder with all sources in it as a package."""
        path = Path(file_or_directory)
        if not path.is_dir():
            self.save_source_string(module_name, path.read_text("utf-8"), path.name == "__init__.py", dependencies)
            return
        for source in sorted(path.rglob("*.py")):
            inner = source.relative_to(path).with_suffix("").parts
            is_package = inner[-1] == "__init__"
            name = ".".join([module_name, *(inner[:-1] if is_package else inner)])
            self.save_source_string(name, source.read_text("utf-8"), is_package, dependencies)

    def get_unique_id(self) -> str:
        """A number, as text, that this exporter gives once."""
        self._unique_id += 1
        return str(self._unique_id - 1)

    def save_source_string(
        self, module_name: str, src: str, is_package: bool = False, dependencies: bool = True
    ) -> None:
        """Take a text as the source of the module of a name. With `dependencies` what it imports is needed too."""
        self.dependency_graph.add_node(
            module_name, source=src, is_package=is_package, provided=True, action=_ModuleProviderAction.INTERN
        )
        if dependencies:
            self._need_imports_of(module_name, src, is_package)

    def save_module(self, module_name: str, dependencies: bool = True) -> None:
        """Take the source of a module that the importer has."""
        if not isinstance(module_name, str):
            raise TypeError("save_module() expects a string input, did you perhaps mean to pass `__name__`?")
        self._intern_module(module_name, dependencies)

    def save_pickle(
        self, package: str, resource: str, obj: Any, dependencies: bool = True, pickle_protocol: int = 3
    ) -> None:
        """Save an object, pickled; with `dependencies` the modules of its classes and functions are needed too.

        pickle.PicklingError for objects that the importer does not have under their names.
        """
        assert pickle_protocol in (3, 4), f"pickle_protocol must be 3 or 4, got {pickle_protocol}"
        record = self._filename(package, resource)
        data = io.BytesIO()
        pickler = PackagePickler(data, pickle_protocol, self._persistent_id, self.importer)
        pickler.dump(obj)
        if dependencies:
            node = f"<{package}.{resource}>"
            self.dependency_graph.add_node(node, action=_ModuleProviderAction.INTERN, provided=True, is_pickle=True)
            for module_name, names in pickler.globals_.items():
                self.dependency_graph.add_edge(node, module_name)
                self.add_dependency(module_name)
                if self.dependency_graph.nodes[module_name].get("action") is _ModuleProviderAction.MOCK:
                    self.dependency_graph.add_node(
                        module_name,
                        error=PackagingErrorReason.MOCKED_BUT_STILL_USED,
                        error_context=f"Objects used in {node}: {', '.join(names)}",
                    )
        self._write(record, data.getvalue())

    def save_text(self, package: str, resource: str, text: str) -> None:
        """Save a text, in UTF-8."""
        self.save_binary(package, resource, text.encode("utf-8"))

    def save_binary(self, package: str, resource: str, binary: bytes) -> None:
        """Save bytes."""
        self._write(self._filename(package, resource), binary)

    # --- a word for each module

    def intern(self, include: GlobPattern, *, exclude: GlobPattern = (), allow_empty: bool = True) -> None:
        """Take the sources of modules whose names match; EmptyMatchError at the end for none unless `allow_empty`."""
        self._add_pattern(_ModuleProviderAction.INTERN, include, exclude, allow_empty)

    def mock(self, include: GlobPattern, *, exclude: GlobPattern = (), allow_empty: bool = True) -> None:
        """Put stand-ins in the place of modules whose names match: they can be imported and raise when they are used."""
        self._add_pattern(_ModuleProviderAction.MOCK, include, exclude, allow_empty)

    def extern(self, include: GlobPattern, *, exclude: GlobPattern = (), allow_empty: bool = True) -> None:
        """Leave modules whose names match to the environment that loads the package."""
        self._add_pattern(_ModuleProviderAction.EXTERN, include, exclude, allow_empty)

    def deny(self, include: GlobPattern, *, exclude: GlobPattern = ()) -> None:
        """Make it an error that a module is needed whose name matches."""
        self._add_pattern(_ModuleProviderAction.DENY, include, exclude, True)

    def _add_pattern(self, action, include, exclude, allow_empty):
        self.patterns[GlobGroup(include, exclude=exclude)] = _PatternInfo(action, allow_empty)

    def register_extern_hook(self, hook: ActionHook) -> RemovableHandle:
        """Call `hook(exporter, name)` for each module that is left to the environment, when the package is closed."""
        return self._register(_ModuleProviderAction.EXTERN, hook)

    def register_mock_hook(self, hook: ActionHook) -> RemovableHandle:
        """Call `hook(exporter, name)` for each module with a stand-in, when the package is closed."""
        return self._register(_ModuleProviderAction.MOCK, hook)

    def register_intern_hook(self, hook: ActionHook) -> RemovableHandle:
        """Call `hook(exporter, name)` for each module in the package, when the package is closed."""
        return self._register(_ModuleProviderAction.INTERN, hook)

    def _register(self, action, hook):
        handle = RemovableHandle(self._hooks[action])
        self._hooks[action][handle.id] = hook
        return handle

    def add_dependency(self, module_name: str, dependencies: bool = True) -> None:
        """Let a module be needed, and do with it what the patterns say."""
        if self.dependency_graph.nodes.get(module_name, {}).get("provided"):
            return
        action = self._action(module_name)
        if action is _ModuleProviderAction.INTERN:
            self._intern_module(module_name, dependencies)
        elif action is None:
            self.dependency_graph.add_node(module_name, error=PackagingErrorReason.NO_ACTION)
        else:
            error = PackagingErrorReason.DENIED if action is _ModuleProviderAction.DENY else None
            self.dependency_graph.add_node(module_name, action=action, provided=True, error=error)

    def _action(self, module_name: str) -> _ModuleProviderAction | None:
        """The word on a module: what is to become of it."""
        if module_name == "torch_package_importer":  # the importer itself, when the package is loaded
            return _ModuleProviderAction.SKIP
        if module_name == "_mock":
            return _ModuleProviderAction.REPACKAGED_MOCK_MODULE
        if self._can_implicitly_extern(module_name):
            return _ModuleProviderAction.EXTERN
        for pattern, info in self.patterns.items():
            if pattern.matches(module_name):
                info.was_matched = True
                return info.action
        return None

    def _can_implicitly_extern(self, module_name: str) -> bool:
        top = module_name.partition(".")[0]
        return top == "torch" or (top not in _DISALLOWED_MODULES and is_stdlib_module(top))

    def _intern_module(self, module_name: str, dependencies: bool) -> None:
        module = self._import_module(module_name)
        module_name = demangle(module_name)
        is_package = hasattr(module, "__path__")
        source, reason, context = self._source_of(module)
        self.dependency_graph.add_node(
            module_name,
            action=_ModuleProviderAction.INTERN,
            is_package=is_package,
            source=source,
            error=reason,
            error_context=context,
            provided=True,
        )
        if dependencies and source is not None:
            self._need_imports_of(module_name, source, is_package)

    def _need_imports_of(self, module_name: str, source: str, is_package: bool) -> None:
        package = module_name if is_package else module_name.rpartition(".")[0]
        try:
            imports = find_files_source_depends_on(source, package)
        except (ValueError, SyntaxError, RecursionError) as error:  # said at the end, of all modules together
            self.dependency_graph.add_node(
                module_name, error=PackagingErrorReason.DEPENDENCY_RESOLUTION_FAILED, error_context=str(error)
            )
            return
        for needed in dict.fromkeys(self._modules_of(imports)):
            self.dependency_graph.add_edge(module_name, needed)
            self.add_dependency(needed)

    def _modules_of(self, imports: list[tuple[str, str | None]]) -> Iterator[str]:
        """The modules that imports bring: of `from a import b` that is a.b where there is such a module, else a."""
        for module_name, name in imports:
            if name is not None and self._module_exists(f"{module_name}.{name}"):
                yield f"{module_name}.{name}"
            elif self._module_exists(module_name):  # a name that nothing has is the code's own matter
                yield module_name

    def _import_module(self, module_name: str) -> ModuleType:
        try:
            return self.importer.import_module(module_name)
        except ModuleNotFoundError:
            if not is_mangled(module_name):
                raise
            raise ModuleNotFoundError(
                f"Module not found: '{module_name}'. Make sure the PackageImporter that created this module is present in "
                "`self.importer`"
            ) from None

    def _module_exists(self, module_name: str) -> bool:
        try:
            self._import_module(module_name)
        except Exception:  # noqa: BLE001  (of the module's own code too: it is no module then)
            return False
        return True

    def _source_of(self, module: ModuleType) -> tuple[str | None, PackagingErrorReason | None, str | None]:
        """The source text of a module; or why there is none, and a word on where it was looked for."""
        loader = getattr(getattr(module, "__spec__", None), "loader", None)
        file = getattr(module, "__file__", None)
        with contextlib.suppress(ImportError, OSError, AttributeError):
            source = loader.get_source(module.__spec__.name)  # type: ignore[union-attr]  # (where it has one)
            if source is not None:
                return source, None, None
        lines = linecache.getlines(file, module.__dict__) if file is not None and file.endswith(".py") else []
        if lines:
            return "".join(lines), None, None
        if file is None:
            return None, PackagingErrorReason.NO_DUNDER_FILE, None
        if file.endswith(tuple(importlib.machinery.EXTENSION_SUFFIXES)):
            return None, PackagingErrorReason.IS_EXTENSION_MODULE, None
        return None, PackagingErrorReason.SOURCE_FILE_NOT_FOUND, f"filename: {file}"

    # --- the archive

    def _persistent_id(self, obj: Any) -> tuple[Any, ...] | None:
        found = stored(obj)
        if found is not None:
            return self._stored(*found)
        reduce = getattr(type(obj), "__reduce_package__", None)
        if reduce is None:
            return None
        if _gate_torchscript_serialization and isinstance(obj, torch.jit.RecursiveScriptModule):
            raise Exception(
                "Serializing ScriptModules directly into a package is a beta feature. To use, set global "
                "`torch.package.package_exporter._gate_torchscript_serialization` to `False`."
            )
        if id(obj) not in self._reduced:
            self._reduced[id(obj)] = obj, ("reduce_package", len(self._reduced), *reduce(obj, self))
        return self._reduced[id(obj)][1]

    def _stored(self, untyped: Any, kind: Any, count: int, dtype: Any) -> tuple[Any, ...]:
        """The persistent id of a storage; its record is written the first time."""
        place = locations.location_tag(untyped)
        if untyped._cdata not in self._storages:
            number = len(self._storages)
            self._storages[untyped._cdata] = number, untyped  # kept, so that the key stays its own
            here = untyped if untyped.device.type == "cpu" else untyped.cpu()
            self._write(f".data/{number}.storage", memoryview(here) if here.nbytes() else b"")
        return "storage", kind, self._storages[untyped._cdata][0], place, count

    def _filename(self, package: str, resource: str) -> str:
        folder, name = os.path.split(str(resource))
        if folder:
            raise ValueError(f"{resource!r} must be only a file name")
        return f"{package.replace('.', '/')}/{name}"

    def _write(self, record: str, data: str | bytes | memoryview) -> None:
        if self._closed:
            raise RuntimeError(f"the package is closed: {record!r} cannot be written to it any more")
        if record in self._written:
            raise AssertionError(f"Tried to write file '{record}', but it already exists in this archive.")
        self._written.add(record)
        self.zip_file.write(record, data.encode("utf-8") if isinstance(data, str) else data)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc_value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if exc_type is None:
            self.close()
        else:
            self._closed = True
            self._file.__exit__(exc_type, exc_value, traceback)

    def close(self) -> None:
        """Write what the modules came to, and end the file. Nothing more can be saved then; closing again does nothing."""
        if self._closed:
            return
        try:
            self._check()
            externs = self._write_modules()
            self._write(".data/extern_modules", "".join(f"{name}\n" for name in externs))
            self._write(".data/python_version", platform.python_version())
            self._write(".data/version", VERSION)
            self._write("byteorder", sys.byteorder)
            self._closed = True
            self.zip_file.close()
        except BaseException:
            self.__exit__(*sys.exc_info())
            raise
        self._file.close()

    def _check(self) -> None:
        if any(attributes.get("error") is not None for attributes in self.dependency_graph.nodes.values()):
            raise PackagingError(self.dependency_graph, debug=self.debug)
        for pattern, info in self.patterns.items():
            if not info.allow_empty and not info.was_matched:
                raise EmptyMatchError(
                    f"Exporter did not match any modules to {pattern}, which was marked as allow_empty=False"
                )

    def _write_modules(self) -> list[str]:
        """Write the sources and the stand-ins; return the modules that are left to the environment."""
        externs = []
        for name, attributes in self.dependency_graph.nodes.items():
            action = attributes.get("action")
            for hook in list(self._hooks[action].values()) if action and not attributes.get("is_pickle") else ():
                hook(self, name)
            if action is _ModuleProviderAction.EXTERN:
                externs.append(name)
            elif action is _ModuleProviderAction.MOCK:
                self._write_mock_file()
                self._write_source(name, _MOCKED, hasattr(self._import_module(name), "__path__"))
            elif action is _ModuleProviderAction.REPACKAGED_MOCK_MODULE:
                self._write_mock_file()
            elif action is _ModuleProviderAction.INTERN and not attributes.get("is_pickle"):
                self._write_source(name, attributes["source"], attributes["is_package"])
        return externs

    def _write_mock_file(self) -> None:
        if "_mock.py" not in self._written:
            self._write("_mock.py", Path(_mock.__file__).read_text("utf-8"))

    def _write_source(self, module_name: str, source: str, is_package: bool) -> None:
        self._write(module_name.replace(".", "/") + ("/__init__.py" if is_package else ".py"), source)

    # --- what there is so far

    def dependency_graph_string(self) -> str:
        """Which module needs which, as a text in Graphviz' language."""
        return self.dependency_graph.to_dot()

    def _named(self, action: _ModuleProviderAction) -> list[str]:
        return sorted(
            name
            for name, attributes in self.dependency_graph.nodes.items()
            if attributes.get("action") is action and not attributes.get("is_pickle")
        )

    def externed_modules(self) -> list[str]:
        """The modules, by name, that are left to the environment."""
        return self._named(_ModuleProviderAction.EXTERN)

    def interned_modules(self) -> list[str]:
        """The modules, by name, whose sources the package has."""
        return self._named(_ModuleProviderAction.INTERN)

    def mocked_modules(self) -> list[str]:
        """The modules, by name, with a stand-in."""
        return self._named(_ModuleProviderAction.MOCK)

    def denied_modules(self) -> list[str]:
        """The modules, by name, that are needed and must not be."""
        return self._named(_ModuleProviderAction.DENY)

    def get_rdeps(self, module_name: str) -> list[str]:
        """The modules that need a module themselves."""
        return list(self.dependency_graph.predecessors(module_name)) if module_name in self.dependency_graph else []

    def all_paths(self, src: str, dst: str) -> str:
        """Through which modules one needs another, as a text in Graphviz' language."""
        return self.dependency_graph.all_paths(src, dst)
