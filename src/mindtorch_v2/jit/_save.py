"""`torch.jit.save`: traced Modules and functions, Modules of data, and loaded ones, as archives that PyTorch's `torch.jit.load` reads."""

from __future__ import annotations

import contextlib
import os
import pickle
import sys
import weakref
from collections.abc import Sequence
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2.fx import Node
from mindtorch_v2.jit._load import RecursiveScriptModule
from mindtorch_v2.jit._script_text import attribute_type, function_text, identifier, type_text
from mindtorch_v2.jit._trace import ScriptFunction, TopLevelTracedModule, TracedModule
from mindtorch_v2.nn.modules.module import _EXPLAINED
from mindtorch_v2.serialization import _replacing
from mindtorch_v2.serialization._archive import ArchiveWriter
from mindtorch_v2.serialization._pickler import Pickler
from mindtorch_v2.serialization._zip_format import pickled, write_storages
from mindtorch_v2.utils import _pytree as pytree

__all__ = ["Held", "Writer", "note_scripted", "other_attributes", "save"]

_VERSION = b"3\n"
_NO_CONSTANTS = b"\x80\x02)."  # the pickle of ()


_NOT_HELD = (
    "what torch.jit.script gives keeps its Python here, which no file can hold; trace it (torch.jit.trace), export it "
    "(torch.export.save), or save its state_dict with torch.save"
)
_scripted: weakref.WeakValueDictionary[int, torch.nn.Module] = weakref.WeakValueDictionary()  # by id: some have no hash


def note_scripted(module: torch.nn.Module) -> None:
    """Let a Module that `torch.jit.script` gives back as it is say why it has no `save`."""
    _scripted[id(module)] = module


def _why_not_saved(module: torch.nn.Module) -> str:
    return f": {_NOT_HELD}" if _scripted.get(id(module)) is module else ""


_EXPLAINED.update(save=_why_not_saved, save_to_buffer=_why_not_saved)


def save(m: Any, f: Any, _extra_files: dict[str, Any] | None = None) -> None:
    """Write a traced Module or function, one that `torch.jit.load` gave, or a scripted one of data, to a path or a binary file.

    The file is an archive of TorchScript, which PyTorch's `torch.jit.load` reads too: the operators that a run with the example calls,
    as text, with parameters and buffers. Sizes of the example that the program asks for are asked for again. `_extra_files` are further
    records by name.

    NotImplementedError for a Module with code that `torch.jit.script` gave: it keeps its Python here, which no file can hold.

    >>> import io
    >>> file = io.BytesIO()
    >>> torch.jit.save(torch.jit.trace(torch.nn.Linear(2, 1), torch.ones(3, 2)), file)
    >>> _ = file.seek(0)
    >>> torch.jit.load(file)(torch.ones(5, 2)).shape
    torch.Size([5, 1])
    """
    texts, root = _program(m)
    target: Any = f
    is_path = isinstance(f, (str, os.PathLike))
    with _replacing.replacing(target) if is_path else contextlib.nullcontext(target) as file:
        folder = os.path.basename(os.fspath(f)).partition(".")[0] if is_path else "archive"
        archive = ArchiveWriter(file, folder or "archive")
        for name, content in (_extra_files or {}).items():
            archive.write(f"extra/{name}", content.encode() if isinstance(content, str) else content)
        data, storages = pickled(root, 2, _ScriptPickler)
        archive.write("data.pkl", data)
        archive.write("byteorder", sys.byteorder.encode())
        write_storages(archive, storages)
        for name, text in texts.items():
            archive.write(name, text.encode())
        archive.write("constants.pkl", _NO_CONSTANTS)
        archive.write("version", _VERSION)
        archive.close()
        if hasattr(file, "flush"):
            file.flush()


def _program(m: Any) -> tuple[dict[str, str], Held]:
    """The sources of an archive by the names of their files, and the object that its pickle holds."""
    if isinstance(m, RecursiveScriptModule):
        sources = m._source.sources
        if sources.constants:
            raise NotImplementedError(
                "torch.jit.save: a loaded Module whose code has constants of its own cannot be saved again"
            )
        return dict(sources.texts), _loaded(m, {})
    if isinstance(m, TopLevelTracedModule):
        return Writer().module(m, m._records)
    if isinstance(m, ScriptFunction):
        return Writer().function(m)
    if isinstance(m, torch.nn.Module) or callable(m):
        raise NotImplementedError(f"torch.jit.save: {_NOT_HELD}")
    raise TypeError(f"torch.jit.save: expected a traced Module or function, got {type(m).__name__}")


class Held:
    """An object of the archive: the path of its class, and its state, of a Module its attributes."""

    def __init__(self, path: str, state: Any) -> None:
        self.path, self.state = path, state


class _ScriptPickler(Pickler):
    """Write objects of the archive's classes by the names of these."""

    dispatch = Pickler.dispatch.copy()

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._compiled: dict[int, Held] = {}

    def save(self, obj: Any, save_persistent_id: bool = True) -> None:
        """Write an object; a parameter is a tensor in files, one of a class in C++ is what its `__getstate__` gives."""
        if isinstance(obj, torch.nn.Parameter):
            obj = obj.detach().requires_grad_(obj.requires_grad)
        elif isinstance(obj, torch._C.CompiledObject):
            held = self._compiled.get(id(obj))
            if held is None:
                _, (_, state) = obj.__reduce__()  # which says what is wrong with a class that has no __getstate__
                held = self._compiled[id(obj)] = Held(type_text(obj), state)
            obj = held
        super().save(obj, save_persistent_id)

    def _save_held(self, held: Held) -> None:
        module, _, name = held.path.rpartition(".")
        self.write(pickle.GLOBAL + f"{module}\n{name}\n".encode() + pickle.EMPTY_TUPLE + pickle.NEWOBJ)
        self.save(held.state)
        self.write(pickle.BUILD)
        self.memoize(held)  # as PyTorch does, which knows no object before it has its state

    dispatch[Held] = _save_held  # type: ignore[assignment]  # (called as unbound functions)


def _loaded(module: RecursiveScriptModule, known: dict[int, Held]) -> Held:
    if id(module) not in known:
        state: dict[str, Any] = {}
        known[id(module)] = Held(module._source.name, state)
        own = {name: value for name, value in module.__dict__.items() if name in module._source.fields}
        state.update({**module._parameters, **module._buffers, **own, "training": module.training})
        state.update((name, _loaded(each, known)) for name, each in module._modules.items())
    return known[id(module)]


_OF_EVERY_MODULE = frozenset(
    {*vars(torch.nn.Module()), "_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks"}
)


def other_attributes(module: torch.nn.Module) -> dict[str, Any]:
    """Attributes that a program gave a Module beside parameters, buffers and Modules."""
    return {name: value for name, value in vars(module).items() if name not in _OF_EVERY_MODULE}


class Writer:
    """Make the classes of a traced Module or of one of data: each Module in it has one, the outermost traced one's has the methods."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self._held: dict[int, Held] = {}

    def module(self, module: torch.nn.Module, records: dict[str, Any]) -> tuple[dict[str, str], Held]:
        """The sources and the object of a Module with a method of each record; of one of data, attributes that TorchScript has types for."""
        root = self._held_of(module, records)
        return self.texts, root

    def function(self, function: ScriptFunction) -> tuple[dict[str, str], Held]:
        """The sources and the object of a function: a Module around it, as in PyTorch."""
        holder = torch.nn.Module()
        root = self._written("PlaceholderModule", holder, {"forward": function._record})
        return self.texts, root

    def _held_of(self, module: Any, records: dict[str, Any]) -> Held:
        if id(module) not in self._held:
            name = module.original_name if isinstance(module, TracedModule) else type(module).__name__
            self._held[id(module)] = self._written(name, module, records)
        return self._held[id(module)]

    def _written(self, name: str, module: Any, records: dict[str, Any]) -> Held:
        children = {key: self._held_of(each, {}) for key, each in module._modules.items() if each is not None}
        path = f"__torch__.___torch_mangle_{len(self.texts)}.{identifier(name)}"
        state: dict[str, Any] = {**module._parameters, **module._buffers}
        methods = []
        for method, record in records.items():
            text, constants = _method(method, path, module, record)
            methods.append(text)
            state.update(constants)
        kinds = {key: type_text(value) for key, value in state.items()}
        if not isinstance(module, TracedModule):
            for key, value in other_attributes(module).items():
                kind = attribute_type(value)
                if kind is not None:
                    kinds[key], state[key] = kind, value
        lines = [
            f"class {identifier(name)}(Module):",
            f"  __parameters__ = [{''.join(f'{chr(34)}{key}{chr(34)}, ' for key, p in module._parameters.items() if p is not None)}]",
            f"  __buffers__ = [{''.join(f'{chr(34)}{key}{chr(34)}, ' for key, b in module._buffers.items() if b is not None)}]",
            *(f"  {key} : {kind}" for key, kind in kinds.items()),
            "  training : bool",
            "  _is_full_backward_hook : Optional[bool]",
            *(f'  __annotations__["{key}"] = {child.path}' for key, child in children.items()),
        ]
        file = "code/" + path.rpartition(".")[0].replace(".", "/") + ".py"
        self.texts[file] = "\n".join(lines) + "\n" + "".join(methods)
        state |= {"training": module.training, "_is_full_backward_hook": None, **children}
        return Held(path, state)


class _Root:
    """The `self` of a record: what it closes over, and the Module."""

    def __init__(self, module: Any, constants: dict[str, torch.Tensor]) -> None:
        self._module, self._constants = module, constants

    def __getattr__(self, name: str) -> Any:
        return self._constants[name] if name in self._constants else getattr(self._module, name)


class _Caller(torch.nn.Module):
    """A Module that runs a record on a flat list of tensors, and gives a flat list of results."""

    def __init__(self, module: Any, record: Any, structure: Any) -> None:
        super().__init__()
        self.root = module if isinstance(module, TracedModule) else None
        for name, constant in record.constants.items():
            self.register_buffer(f"closed_over_{name}", constant, persistent=False)
        self._record, self._structure = record, structure
        self.results: list[Any] = []  # those of each run

    def forward(self, *tensors: torch.Tensor) -> Any:
        constants = {name: getattr(self, f"closed_over_{name}") for name in self._record.constants}
        arguments = pytree.tree_unflatten(list(tensors), self._structure)
        self.results.append(self._record.run(_Root(self.root, constants), **arguments))
        return tuple(pytree.tree_leaves(self.results[-1]))


def _method(name: str, path: str, module: Any, record: Any) -> tuple[str, dict[str, torch.Tensor]]:
    """The text of a record's method, and the tensors that it closes over, by the names of their attributes."""
    example = pytree.tree_map_only(torch.Tensor, lambda x: torch.zeros(x.shape, dtype=x.dtype), record.example)
    leaves, structure = pytree.tree_flatten(example)
    caller = _Caller(module, record, structure).train(module.training)
    sizes = tuple(dict.fromkeys(range(leaf.dim()), torch.export.Dim.AUTO) for leaf in leaves)
    program = torch.export.export(caller, tuple(leaves), dynamic_shapes={"tensors": sizes}, strict=False)
    specs = {spec.arg.name: spec for spec in program.graph_signature.input_specs}
    expressions: dict[Node, str] = {}
    constants: dict[str, torch.Tensor] = {}
    places = iter(_places(example))
    for node in program.graph.find_nodes(op="placeholder"):
        target = specs[node.name].target
        if target is None:
            expressions[node] = next(places)
        elif target.startswith("root."):
            expressions[node] = _expression(target.removeprefix("root."))
        else:
            attribute = f"_{name}_{identifier(target)}"
            held = program.state_dict.get(target)
            constants[attribute] = held if held is not None else program.constants[target]
            expressions[node] = f"self.{attribute}"
    result = caller.results[-1]
    form = pytree.tree_structure(result)
    text = function_text(
        name,
        path,
        program.graph,
        expressions,
        [(identifier(key), type_text(value)) for key, value in example.items()],
        lambda names: _built(pytree.tree_unflatten(list(names), form)),
        type_text(result),
    )
    return text, constants


def _expression(where: str) -> str:
    """How a source reads the parameter or buffer of a path."""
    text = "self"
    for part in where.split("."):
        text = f"{text}.{part}" if part.isidentifier() else f'getattr({text}, "{part}")'
    return text


def _places(example: dict[str, Any]) -> list[str]:
    """The expression of each tensor among the arguments."""

    def walk(value: Any, text: str) -> Sequence[str]:
        if isinstance(value, dict):
            return [each for key, item in value.items() for each in walk(item, f'{text}["{key}"]')]
        if isinstance(value, (list, tuple)):
            return [each for place, item in enumerate(value) for each in walk(item, f"{text}[{place}]")]
        return [text]

    return [each for name, value in example.items() for each in walk(value, identifier(name))]


def _built(value: Any) -> str:
    """The expression of a result of which each tensor is an expression."""
    if isinstance(value, dict):
        return "{" + ", ".join(f'"{key}": {_built(item)}' for key, item in value.items()) + "}"
    if isinstance(value, list):
        return f"[{', '.join(map(_built, value))}]"
    if isinstance(value, tuple):
        return f"({', '.join(map(_built, value))}{',' if len(value) == 1 else ''})"
    return value
