"""Names of PyTorch that are here to be imported: they can be handed on and tested for, and raise when they are used.

Libraries and test suites import far more than they use. `absent_names.jsonl` lists what PyTorch 2.13 has and this package has
not, with a kind each: its first line is a list of modules, and the line after it for each is what is absent of that module.
`tools/make_name_lists.py` makes it of PyTorch's names, and says there what the kinds are.

A function or class of the list raises NotImplementedError when it is called, an object whatever is done to it; a constant has
PyTorch's value, and what PyTorch defines in another module is taken from there. Private names that are not listed are missing, as an
AttributeError says.
"""

from __future__ import annotations

import enum
import functools
import importlib
import importlib.abc
import importlib.machinery
import json
import pathlib
import sys
import types
from collections.abc import Callable, Sequence
from typing import Any

from mindtorch_v2 import _C
from mindtorch_v2._core.unavailable import mark, unavailable_class, unavailable_function, unavailable_object

_PACKAGE = "mindtorch_v2"
_LIST = pathlib.Path(__file__).parent / "absent_names.jsonl"

# Modules that PyTorch's packages have loaded, and ours when they are asked for.
_ASKED_FOR = frozenset(
    f"torch.{name}"
    for name in (
        "autograd.profiler_legacy distributed.constants distributed.rpc distributed.rpc.backend_registry "
        "distributed.rpc.constants distributed.rpc.functions distributed.rpc.internal distributed.rpc.options "
        "distributed.rpc.server_process_global_profiler fx.operator_schemas fx.passes fx.passes.infra "
        "fx.passes.infra.pass_base fx.passes.infra.pass_manager fx.passes.reinplace fx.passes.split_module fx.passes.utils "
        "fx.passes.utils.common fx.passes.utils.matcher_utils jit.annotations monitor nn.common_types onnx.symbolic_helper"
    ).split()
)

# What is here of modules that are otherwise absent, by PyTorch's names, asked for when they are imported.
PARTS: dict[str, Callable[[], dict[str, Any]]] = {}


@functools.cache
def _modules() -> dict[str, int]:
    """The modules of the list, by PyTorch's names, and their places in it."""
    with _LIST.open() as lines:
        return {name: place for place, name in enumerate(json.loads(next(lines)))}


@functools.cache
def _lines() -> list[str]:
    return _LIST.read_text().splitlines()[1:]


@functools.cache
def absent_names(module: str) -> dict[str, Any]:
    """Names that are absent of PyTorch's module `module`, each with its kind. "*" stands for the module itself."""
    place = _modules().get(module)
    return {} if place is None else json.loads(_lines()[place])


def absent_modules() -> list[str]:
    """PyTorch's names of the modules that are here to be imported, and nothing more."""
    return sorted(name for name in _modules() if "*" in absent_names(name))


@functools.cache
def _packages() -> frozenset[str]:
    return frozenset(name.rpartition(".")[0] for name in {*_modules(), *_ASKED_FOR})


class AbsentModules(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Find and make modules that are absent; asked after all others, so that a module which exists is never covered."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The spec of a module that is absent, or of a package that holds one."""
        if not fullname.startswith(_PACKAGE + "."):
            return None
        name = _pytorch_name(fullname)
        if name not in _packages() and "*" not in absent_names(name):
            return None
        package, _, last = fullname.rpartition(".")
        covered = vars(sys.modules[package]).get(last) if package in sys.modules else None
        if covered is not None and not isinstance(covered, types.ModuleType):  # the module would be put over it
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> None:
        """Leave the making of the module to the import system."""

    def exec_module(self, module: types.ModuleType) -> None:
        """Let the module give its names."""
        name = _pytorch_name(module.__name__)
        mark(module, f"{name} is not implemented in mindtorch_v2")
        module.__doc__ = f"`{name}`, of which only names are here: using them raises NotImplementedError."
        public = [each for each in absent_names(name) if each[0] not in "_*"]
        module.__dict__.update(__all__=sorted(public), __path__=[])
        if name in PARTS:
            module.__dict__.update(PARTS[name]())
        complete(module)


class _Completion(importlib.abc.MetaPathFinder):
    """Let modules of the package give the names that are absent of them, from the moment they are loaded."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The spec that the other finders give, with a loader that completes the module."""
        name = _pytorch_name(fullname)
        if not fullname.startswith(_PACKAGE + ".") or (name not in _modules() and name not in _packages()):
            return None
        finders = (each for each in sys.meta_path if each is not self and not isinstance(each, AbsentModules))
        specs = (each.find_spec(fullname, path, target) for each in finders)
        spec = next((each for each in specs if each is not None), None)
        if spec is not None and spec.loader is not None:
            _complete_after(spec.loader)
        return spec


def _complete_after(loader: Any) -> None:
    execute = loader.exec_module

    def exec_module(module: types.ModuleType) -> None:
        execute(module)
        complete(module)

    loader.exec_module = exec_module


def complete(module: types.ModuleType) -> None:
    """Let a module give what is absent of it, after what it has or gives itself."""
    own = vars(module).get("__getattr__")
    if hasattr(own, "own"):
        return
    name = _pytorch_name(module.__name__)

    def __getattr__(each: str) -> Any:
        if f"{name}.{each}" in _ASKED_FOR:
            return importlib.import_module(_own_name(f"{name}.{each}"))
        kind = None if each.startswith("__") else absent_names(name).get(each)
        kind = kind or absent_names(f"{name}.{each}").get("*")
        if own is not None and kind is None:
            return own(each)
        if own is not None:
            try:
                return own(each)
            except AttributeError:
                pass
        return _value(name, each)

    if name in _packages():
        vars(module).setdefault("__path__", [])  # modules of PyTorch's are below it
    vars(__getattr__)["own"] = own
    vars(module)["__getattr__"] = __getattr__


@functools.cache
def _value(module: str, name: str) -> Any:
    """The object that stands for a name that is absent of a module: one for all who ask, and none that `dir()` shows."""
    where = f"{module}.{name}"
    kind = None if name.startswith("__") else absent_names(module).get(name)
    if isinstance(kind, list):
        return kind[0]
    if isinstance(kind, dict):
        members = enum.Enum(name, kind, module=_own_name(module))  # type: ignore[misc]  # (names by data)
        members.__doc__ = f"`{where}`: PyTorch's names and numbers ({', '.join(kind)}), which nothing here takes."
        return members
    if kind is None and "*" in absent_names(where):
        kind = "module"
    if kind is None:
        raise AttributeError(f"module '{module}' has no attribute '{name}'", name=name)
    what, _, elsewhere = kind.partition("=")
    try:
        if what == "module":
            return importlib.import_module(_own_name(elsewhere or where))
        if elsewhere:
            home, _, theirs = elsewhere.rpartition(".")
            return getattr(importlib.import_module(_own_name(home)), theirs)
    except (ImportError, AttributeError):  # it is in a module that nobody listed
        pass
    if what == "type":
        return Any
    if what == "function":
        function = unavailable_function(where)
        if module != "torch":
            return function
        function.__module__ = module
        return _C.Overridable(function)  # a class with such a function of its own is asked, as for those that are here
    if what in ("class", "exception"):
        return unavailable_class(where, bases=(RuntimeError,) if what == "exception" else ())
    return unavailable_object(where)


def _pytorch_name(fullname: str) -> str:
    return "torch" + fullname.removeprefix(_PACKAGE)


def _own_name(name: str) -> str:
    return _PACKAGE + name.removeprefix("torch")


def provide_absent_modules() -> None:
    """Let what is absent be found, below the native core too."""
    vars(_C).setdefault("__path__", [])
    if any(isinstance(finder, AbsentModules) for finder in sys.meta_path):
        return
    sys.meta_path.insert(0, _Completion())
    sys.meta_path.append(AbsentModules())
    for name in {*_modules(), *_packages()}:
        loaded = sys.modules.get(_own_name(name))
        if loaded is not None:
            complete(loaded)
