"""Modules that hold data alone, scripted: where there is no code to compile, they are TorchScript's, and can be saved."""

from __future__ import annotations

import types
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2.jit._load import RecursiveScriptModule, sources_of
from mindtorch_v2.jit._save import Held, Writer, other_attributes
from mindtorch_v2.jit._script_source import Sources

__all__ = ["EXPORTED", "has_code", "scripted_data"]

EXPORTED = "_torchscript_modifier"  # PyTorch's name: what `torch.jit.export` leaves on a method


def has_code(module: torch.nn.Module) -> bool:
    """Whether a Module or one in it has a `forward`, or a method marked by `torch.jit.export`; those of torch.nn count as such."""
    return any("forward" in vars(each) or _defines_code(type(each)) for each in module.modules())


def _defines_code(kind: type[torch.nn.Module]) -> bool:
    if kind is torch.nn.Module:
        return False
    if kind.forward is not torch.nn.Module.forward or kind.__module__.partition(".")[0] in ("mindtorch_v2", "torch"):
        return True
    methods = (each for base in kind.__mro__ for each in vars(base).values() if isinstance(each, types.FunctionType))
    return any(hasattr(each, EXPORTED) for each in methods)


def scripted_data(module: torch.nn.Module) -> RecursiveScriptModule:
    """The scripted form of a Module without code: it has the same parameters, buffers and attributes."""
    texts, root = Writer().module(module, {})
    return _made(module, root, sources_of(texts), {})


def _made(module: torch.nn.Module, held: Held, sources: Sources, known: dict[int, Any]) -> RecursiveScriptModule:
    if id(module) not in known:
        made = known[id(module)] = sources.find(held.path)()
        children = {
            name: _made(each, held.state[name], sources, known)
            for name, each in module._modules.items()
            if each is not None
        }
        made.__setstate__({**held.state, **children})
        made._non_persistent_buffers_set.update(module._non_persistent_buffers_set)
        vars(made).update((name, value) for name, value in other_attributes(module).items() if name not in held.state)
    return known[id(module)]
