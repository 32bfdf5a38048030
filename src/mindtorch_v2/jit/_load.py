"""`torch.jit.load`: archives of TorchScript as Modules, with the code that the archive holds.

The pickle in it is read by the reader that runs nothing; the sources become functions of operators alone, see `_script_source`.
"""

from __future__ import annotations

import collections
import functools
import io
import os
from collections.abc import Callable, Sequence
from typing import Any, Self

import mindtorch_v2 as torch
from mindtorch_v2 import _weights_only_unpickler
from mindtorch_v2._library.compiled import object_of_state
from mindtorch_v2.jit._script_source import ClassSource, Sources
from mindtorch_v2.jit._trace import ScriptModule
from mindtorch_v2.serialization._archive import ArchiveReader
from mindtorch_v2.serialization._zip_format import check_version, storage_loader

__all__ = ["RecursiveScriptModule", "load", "sources_of"]


class _Declared:
    """The part that modules and other objects of an archive share: attributes and methods as their source says."""

    _source: ClassSource

    def _method(self, name: str) -> Callable[..., Any] | None:
        function = self._source.method(name)
        return None if function is None else functools.partial(function, self)


class ScriptObject(_Declared):
    """An object of a class that an archive holds, no Module."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        initialize = self._method("__init__")
        if initialize is not None:
            initialize(*args, **kwargs)

    def __setstate__(self, state: Any) -> None:
        _restore(self, state, self.__dict__.update)

    def __getattr__(self, name: str) -> Any:
        found = None if name.startswith("__") else self._method(name)
        if found is None:
            raise AttributeError(f"'{self._source.name}' object has no attribute '{name}'")
        return found


class RecursiveScriptModule(_Declared, ScriptModule):
    """A Module that `torch.jit.load` made: its methods are those of the archive.

    >>> import io
    >>> file = io.BytesIO()
    >>> torch.jit.save(torch.jit.trace(torch.nn.ReLU(), torch.ones(2)), file)
    >>> _ = file.seek(0)
    >>> loaded = torch.jit.load(file)
    >>> isinstance(loaded, torch.jit.RecursiveScriptModule), loaded(torch.tensor([-1.0, 2.0]))
    (True, tensor([0., 2.]))
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        if not hasattr(cls, "_source"):
            raise NotImplementedError("torch.jit.RecursiveScriptModule cannot be made; torch.jit.load gives them")
        made = super().__new__(cls)
        torch.nn.Module.__init__(made)
        return made

    def __init__(self) -> None:
        pass

    def __setstate__(self, state: Any) -> None:
        _restore(self, state, self._set)

    def _set(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            if name == "training":
                self.training = bool(value)
            elif isinstance(value, torch.nn.Module):
                self._modules[name] = value
            elif name in self._source.parameters:
                self._parameters[name] = _as_parameter(value)
            elif name in self._source.buffers:
                self._buffers[name] = value
            else:
                self.__dict__[name] = value

    @property
    def original_name(self) -> str:
        """The name of the class that was saved."""
        return self._source.name.rpartition(".")[2]

    @property
    def code(self) -> str:
        """The source of `forward`."""
        return self._source.text("forward")

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Run the archive's `forward`."""
        method = self._method("forward")
        if method is None:
            raise NotImplementedError(f'Module [{self.original_name}] is missing the required "forward" function')
        return method(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name in self._source.constants:
            return self._source.constants[name]
        found = None if name.startswith("__") else self._method(name)
        return found if found is not None else super().__getattr__(name)

    def extra_repr(self) -> str:
        return f"original_name={self.original_name}"


def _as_parameter(value: Any) -> Any:
    if value is None or isinstance(value, torch.nn.Parameter):
        return value
    return torch.nn.Parameter(value.detach(), requires_grad=value.requires_grad)


def _restore(made: Any, state: Any, update: Callable[[dict[str, Any]], Any]) -> None:
    """Give an object its state, by its own method if its class has one."""
    own = made._method("__setstate__")
    if own is not None:
        own(state)
    elif not isinstance(state, dict) or not all(isinstance(name, str) for name in state):
        raise RuntimeError(f"torch.jit.load: the state of {made._source.name} is no dictionary of names")
    else:
        update(state)


def _attribute(value: Any, name: str) -> Any:
    """An attribute, as sources read it: of the archive's objects, and of those of classes in C++."""
    if isinstance(value, torch._C.CompiledObject) and not name.startswith("_"):
        return getattr(value, name)
    if isinstance(value, tuple) and name in getattr(value, "_fields", ()):
        return getattr(value, name)
    if isinstance(value, RecursiveScriptModule) and name == "forward":
        return value._method("forward")
    if isinstance(value, (RecursiveScriptModule, ScriptObject)):
        return getattr(value, name) if name == "training" or name in value.__dict__ else value.__getattr__(name)
    raise RuntimeError(f"torch.jit.load: a source reads the attribute {name!r} of {type(value).__name__}")


def _assign(value: Any, name: str, new: Any) -> None:
    if not isinstance(value, _Declared) or name.startswith("__"):
        raise RuntimeError(f"torch.jit.load: a source sets the attribute {name!r} of {type(value).__name__}")
    setattr(value, name, new)


def _class_of(source: ClassSource) -> type:
    """The Python class of a class of the archive."""
    name = source.name.rpartition(".")[2]
    if source.is_tuple:
        try:
            return collections.namedtuple(name, source.fields)
        except ValueError as error:
            raise RuntimeError(f"torch.jit.load: {source.name} is no class of tuples: {error}") from None
    base: Any = RecursiveScriptModule if source.is_module else ScriptObject
    return type(name, (base,), {"_source": source, "__module__": source.name.rpartition(".")[0]})


def sources_of(texts: dict[str, str]) -> Sources:
    """The sources of an archive's texts, whose classes are Python's."""
    sources = Sources(texts, _attribute, _assign)
    sources.make = _class_of
    return sources


class _Unbuilt:
    """An object of a class in C++ until its state is read: `__setstate__` there makes another one, which takes its place."""

    made_of: Any
    unpickler: Any

    def __setstate__(self, state: Any) -> None:
        self.unpickler.stack[-1] = object_of_state(self.made_of, state)


def _untagged(value: Any, tag: str) -> Any:
    """A list or dict with the type that the program gave it, which is not looked at."""
    return value


def _listed(data: Sequence[Any]) -> list[Any]:
    return list(data)


_PICKLE = {
    "build_boollist": _listed,
    "build_doublelist": _listed,
    "build_intlist": _listed,
    "build_tensorlist": _listed,
    "restore_type_tag": _untagged,
}


class _Unpickler(_weights_only_unpickler.Unpickler):
    """Read an archive's pickle: classes are those of its sources."""

    functions = tuple(dict.fromkeys(_PICKLE.values()))

    def __init__(self, file: Any, sources: Sources) -> None:
        super().__init__(file, encoding="utf-8")
        self._sources = sources
        self._classes: set[Any] = set()

    def find_global(self, module: str, name: str) -> Any:
        """A class of the archive, a function that makes lists, or what any file may name."""
        if module == "__torch__" or module.startswith("__torch__."):
            found = self._sources.find(f"{module}.{name}")
            if isinstance(found, type) and issubclass(found, torch._C.CompiledObject):
                found = type(name, (_Unbuilt,), {"made_of": found, "unpickler": self})
            self._classes.add(found)
            return found
        if module == "torch.jit._pickle" and name in _PICKLE:
            return _PICKLE[name]
        return super().find_global(module, name)

    def _is_allowed_class(self, kind: Any) -> bool:
        return kind in self._classes or super()._is_allowed_class(kind)


def load(
    f: Any, map_location: Any = None, _extra_files: dict[str, Any] | None = None, _restore_shapes: bool = False
) -> Any:
    """Load a Module that `torch.jit.save`, here or in PyTorch, wrote to the path or binary file `f`.

    Its methods run the code that the file holds; while it is loaded, only a `__setstate__` of its classes runs. That code can call
    operators, as any program of a stranger that you start; it sees no Python. `map_location` is that of `torch.load`; `_extra_files` has names of records, whose bytes are filled in.

    ValueError for a path that is none, RuntimeError for what is no archive of TorchScript, or calls an operator that is missing here.

    >>> import io
    >>> file = io.BytesIO()
    >>> torch.jit.save(torch.jit.trace(torch.nn.ReLU(), torch.ones(2)), file)
    >>> _ = file.seek(0)
    >>> torch.jit.load(file)(torch.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """
    if isinstance(f, (str, os.PathLike)):
        if not os.path.exists(f):
            raise ValueError(f"The provided filename {f} does not exist")
        if os.path.isdir(f):
            raise ValueError(f"The provided filename {f} is a directory")
        with open(f, "rb") as file:
            return _read(file, map_location, _extra_files)
    return _read(f, map_location, _extra_files)


def _read(file: Any, map_location: Any, extra: dict[str, Any] | None) -> Any:
    archive = ArchiveReader(file)
    if not archive.has("constants.pkl"):
        raise RuntimeError(
            "torch.jit.load: the file is no archive of TorchScript (it has no constants.pkl); torch.load reads what torch.save wrote"
        )
    check_version(archive)

    texts = {
        name: archive.read_text(name) for name in archive.names() if name.startswith("code/") and name.endswith(".py")
    }
    sources = sources_of(texts)
    sources.constants = _unpickled(archive, "constants", sources, map_location)
    if not isinstance(sources.constants, tuple):
        raise RuntimeError("torch.jit.load: the constants of the archive are no tuple")
    made = _unpickled(archive, "data", sources, map_location)
    if not isinstance(made, RecursiveScriptModule):
        raise RuntimeError(f"torch.jit.load: the archive holds {type(made).__name__}, a Module was expected")
    _check_sources(made, sources)
    for name in extra or ():
        if not archive.has(f"extra/{name}"):
            continue
        extra[name] = archive.read(f"extra/{name}")  # type: ignore[index]  # (not None: it has the name)
    return made


def _check_sources(module: RecursiveScriptModule, sources: Sources) -> None:
    """Compile all that the Module can call, so that what is missing is known when the file is loaded."""
    for each in module.modules():
        for name in each._source.methods:
            each._source.method(name)
    sources.find_all()


def _unpickled(archive: ArchiveReader, name: str, sources: Sources, map_location: Any) -> Any:
    unpickler = _Unpickler(io.BytesIO(archive.read(f"{name}.pkl")), sources)
    unpickler.persistent_load = storage_loader(archive, map_location, None, f"{name}/{{}}")  # type: ignore[assignment, method-assign]  # (one for each file)
    return unpickler.load()
