"""Functions that `torch::jit::Module` of C++ calls for a Module of TorchScript (mindtorch/jit.h).

Bytes cross as text, each as the character of its number, as those of `_cpp_archive` do.
"""

from __future__ import annotations

import copy
import io
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2 import jit

__all__ = [
    "attribute",
    "call",
    "copied",
    "deep_copy",
    "frozen",
    "has_attribute",
    "is_module",
    "load_bytes",
    "load_path",
    "members",
    "methods",
    "moved",
    "register_buffer",
    "register_module",
    "register_parameter",
    "save_to_path",
    "saved",
    "set_attribute",
    "train",
]


def load_path(path: str, device: Any, extra: dict[str, str]) -> tuple[Any, dict[str, str]]:
    """Return the Module of a file, and of the records that `extra` names those that the file has."""
    return _loaded(path, device, extra)


def load_bytes(text: str, device: Any, extra: dict[str, str]) -> tuple[Any, dict[str, str]]:
    """Return what `load_path` gives, of the bytes of a file."""
    return _loaded(io.BytesIO(text.encode("latin-1")), device, extra)


def _loaded(file: Any, device: Any, extra: dict[str, str]) -> tuple[Any, dict[str, str]]:
    records: dict[str, Any] = dict(extra)
    module = jit.load(file, device, records)
    return module, {name: value.decode() if isinstance(value, bytes) else value for name, value in records.items()}


def save_to_path(module: Any, path: str, extra: dict[str, str]) -> None:
    """Write it with further records, see `torch.jit.save`."""
    jit.save(module, path, extra)


def saved(module: Any, extra: dict[str, str]) -> str:
    """Return the bytes that `save_to_path` writes."""
    file = io.BytesIO()
    jit.save(module, file, extra)
    return file.getvalue().decode("latin-1")


def is_module(value: Any) -> bool:
    """Whether it is a Module of TorchScript."""
    return isinstance(value, jit.ScriptModule)


def _source(module: Any) -> Any:
    return getattr(type(module), "_source", None)  # a traced Module has records in its place


def methods(module: Any) -> list[str]:
    """Return the names of its methods."""
    source = _source(module)
    return list(vars(module).get("_records", ())) if source is None else source.methods


def call(module: Any, name: str, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    """Return what a method gives."""
    return getattr(module, name)(*arguments, **keywords)


def _own_attributes(module: Any) -> dict[str, Any]:
    source = _source(module)
    others = {} if source is None else {name: value for name, value in vars(module).items() if name in source.fields}
    return {**module._parameters, **module._buffers, "training": module.training, **others, **module._modules}


def members(module: Any, kind: str, recurse: bool) -> list[tuple[str, Any]]:
    """Return the names and values of its `kind`: "parameters", "buffers", "children", "modules" or "attributes"."""
    if kind == "parameters":
        return list(module.named_parameters(recurse=recurse, remove_duplicate=False))
    if kind == "buffers":
        return list(module.named_buffers(recurse=recurse, remove_duplicate=False))
    if kind == "children":
        return list(module._modules.items())
    if kind == "modules":
        return list(module.named_modules(remove_duplicate=False))
    found: list[tuple[str, Any]] = []
    for name, value in _own_attributes(module).items():
        found.append((name, value))
        if recurse and isinstance(value, torch.nn.Module):
            found += [(f"{name}.{inner}", item) for inner, item in members(value, kind, recurse)]
    return found


def has_attribute(module: Any, name: str) -> bool:
    """Whether it has a parameter, buffer, Module or other attribute of that name."""
    return name in _own_attributes(module)


def attribute(module: Any, name: str) -> Any:
    """Return an attribute or constant; AttributeError if it has none of that name."""
    source = _source(module)
    found = {**(source.constants if source is not None else {}), **_own_attributes(module)}
    if name not in found:
        raise AttributeError(f"{_name(module)} does not have a field with name '{name}'")
    return found[name]


def set_attribute(module: Any, name: str, value: Any) -> None:
    """Set an attribute that is there; AttributeError if it has none of that name."""
    if not has_attribute(module, name):
        raise AttributeError(f"{_name(module)} does not have a field with name '{name}'")
    if module._parameters.get(name) is not None:
        register_parameter(module, name, value)
    else:
        setattr(module, name, value)


def register_parameter(module: Any, name: str, value: torch.Tensor) -> None:
    """Make a tensor a parameter of it."""
    module.register_parameter(name, torch.nn.Parameter(value, requires_grad=value.requires_grad))


def register_buffer(module: Any, name: str, value: torch.Tensor) -> None:
    """Make a tensor a buffer of it."""
    module.register_buffer(name, value)


def register_module(module: Any, name: str, value: Any) -> None:
    """Make a Module a part of it."""
    module.register_module(name, value)


def moved(module: Any, device: Any, dtype: Any, non_blocking: bool) -> None:
    """Move it to a device, its floating-point tensors to a dtype; either may be None."""
    module.to(device=device, dtype=dtype, non_blocking=non_blocking)


def train(module: Any, on: bool) -> None:
    """Set the mode of it and of the Modules in it."""
    module.train(on)


def copied(module: Any, deep: bool) -> Any:
    """Return a Module with the same tensors, and the same Modules or, if `deep`, copies of them."""
    new = object.__new__(type(module))
    new.__dict__.update(vars(module))
    for members in ("_parameters", "_buffers", "_modules"):
        new.__dict__[members] = dict(vars(module)[members])
    if deep:
        new._modules.update((name, copied(each, deep)) for name, each in module._modules.items())
    return new


def deep_copy(module: Any) -> Any:
    """Return a Module with tensors of its own."""
    return copy.deepcopy(module)


def frozen(module: Any) -> Any:
    """Return what `torch.jit.freeze` gives."""
    return jit.freeze(module)


def _name(module: Any) -> str:
    return getattr(module, "original_name", type(module).__name__)
