"""How objects are called in generated code: qualified names in PyTorch's spelling, and names that do not collide."""

from __future__ import annotations

import builtins
import functools
import inspect
import keyword
import math
import re
import types
from collections.abc import Callable
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2 import _C
from mindtorch_v2.utils import _pytree as pytree

_OURS = "mindtorch_v2"


def torch_name(module: str) -> str:
    """A module's dotted name as programs know it: this package is `torch` to them."""
    if module == f"{_OURS}._namespace":
        return "torch"
    return "torch" + module[len(_OURS) :] if module == _OURS or module.startswith(_OURS + ".") else module


@functools.cache
def _operator_functions():
    """The functions of the operator table, by identity -> where PyTorch has them."""
    found = {}
    for name, function in vars(_C._nn).items():
        found[id(function)] = f"torch._C._nn.{name}"
    for place in ("linalg", "special", "fft"):
        for name, function in vars(getattr(torch, place)).items():
            if isinstance(function, _C.Function):
                found[id(function)] = f"torch._C._{place}.{place}_{name}"
    for name, function in vars(torch).items():
        if isinstance(function, _C.Function):
            found[id(function)] = f"torch.{name}"
    return found


def _lambda_name(function):
    try:
        return inspect.getsource(function).split("=")[0].strip()
    except (OSError, TypeError) as error:
        raise RuntimeError("Unable to represent lambda") from error


def qualified_name(function: Callable[..., Any]) -> str:
    """The dotted name under which a callable is found, "torch.relu"; of a builtin only its name.

    Raises RuntimeError for what has no module.
    """
    name = function.__name__
    if getattr(builtins, name, None) is function:
        return name
    if isinstance(function, torch._ops.HigherOrderOperator):
        return f"torch.ops.higher_order.{name}"
    if isinstance(function, _C.Function):
        found = _operator_functions().get(id(function))
        if found is not None:
            return found
    if inspect.isroutine(function) and getattr(torch.Tensor, name, None) is function:
        return f"torch.Tensor.{name}"
    if name == "<lambda>":
        name = _lambda_name(function)
    module = getattr(function, "__module__", None)
    if module is None:
        for guess in (torch, torch.nn.functional):
            if getattr(guess, name, None) is function:
                module = guess.__name__
                break
        else:
            raise RuntimeError(f"cannot find module for {function}")
    return f"{torch_name(module)}.{name}".replace("torch._ops.", "torch.ops.", 1)


def node_name_of(function: Callable[..., Any]) -> str:
    """The name of a node that calls `function`: the name that PyTorch's function has ("linalg_inv")."""
    if isinstance(function, _C.Function):
        return qualified_name(function).rpartition(".")[2]
    return function.__name__


def type_text(annotation: Any) -> str:
    """An annotation in code."""
    if isinstance(annotation, type) and not isinstance(annotation, types.GenericAlias):
        if annotation.__module__ == "builtins":
            return annotation.__qualname__
        return f"{torch_name(annotation.__module__)}.{annotation.__qualname__}"
    if annotation is ...:
        return "..."
    return (
        annotation.__name__ if isinstance(annotation, types.FunctionType) else repr(annotation).replace(_OURS, "torch")
    )


def from_torch(value: Any) -> Any:
    """Whether generated code reaches a value through the name `torch`."""
    module = getattr(value, "__module__", None)
    if module is not None:
        module = torch_name(module)
        if module.startswith(("torch._dynamo.", "torch._inductor.")):
            return False
        return module == "torch" or module.startswith("torch.")
    name = getattr(value, "__name__", None)
    if name is None or name == "torch" or value is torch:
        return False
    return any(getattr(place, name, None) is value for place in (torch, torch.nn.functional))


def snake_case(name: str) -> str:
    """`nameLikeThis` -> `name_like_this`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


# What each graph's code may name without further ado: name -> (statement that makes it, object).
BUILTINS: dict = {}
_TAKEN = {word: object() for word in keyword.kwlist} | dict(vars(builtins))


def register_builtin(name: str, statement: str, value: Any) -> None:
    """Let all generated code name `value`; `statement` makes it where the code is saved."""
    BUILTINS[name] = (statement, value)
    _TAKEN[name] = value


def _register_builtins() -> None:
    from . import _pytree as fx_pytree  # names the classes of results, which are made late

    register_builtin("inf", "from math import inf", math.inf)
    register_builtin("nan", "from math import nan", math.nan)
    register_builtin("NoneType", "NoneType = type(None)", type(None))
    register_builtin("torch", "import torch", torch)
    register_builtin("device", "from torch import device", torch.device)
    register_builtin("fx_pytree", "import torch.fx._pytree as fx_pytree", fx_pytree)
    register_builtin("pytree", "import torch.utils._pytree as pytree", pytree)


_register_builtins()

_NUMBERED = re.compile(r"([a-zA-Z_][0-9a-zA-Z_]*?)(?:_(\d+))?")


class Namespace:
    """Give names to objects: valid, each once, and none that hides a builtin."""

    def __init__(self) -> None:
        self._names: dict[Any, Any] = {}  # object -> name
        self._used: set[Any] = set()
        self._last: dict[Any, Any] = {}  # base -> the greatest number given to it

    def create_name(self, candidate: str, obj: Any) -> str:
        """The name of `obj`, made of `candidate` if it has none yet. With None for `obj`, a new name each time."""
        if obj is not None and obj in self._names:
            return self._names[obj]
        parts: Any = _NUMBERED.fullmatch(candidate)
        if parts is None:
            candidate = re.sub("[^0-9a-zA-Z_]+", "_", candidate) or "_unnamed"
            candidate = f"_{candidate}" if candidate[0].isdigit() else candidate
            parts = _NUMBERED.fullmatch(candidate)
        base, number = parts.groups()
        if number is None or candidate in self._used:
            count = self._last.get(base, 0)
            if _TAKEN.get(candidate, obj) is not obj:
                count += 1
                candidate = f"{base}_{count}"
        else:
            count = int(number)
        while candidate in self._used:
            count += 1
            candidate = f"{base}_{count}"
        self._used.add(candidate)
        self._last[base] = count
        if obj is not None:
            self._names[obj] = candidate
        return candidate

    def associate_name_with_obj(self, name: str, obj: Any) -> None:
        """Say that `obj` has this name; AssertionError if it has one."""
        if self._names.setdefault(obj, name) is not name:
            raise AssertionError("obj is already associated")

    def _rename_object(self, obj, name) -> None:
        if obj not in self._names:
            raise AssertionError(f"Object {obj} is not in _obj_to_name")
        self._names[obj] = name
        self._used.add(name)
