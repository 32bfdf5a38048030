"""`torch._refs`: in PyTorch, operators written in other operators, which its tests hold against the operators themselves.

Here each name is the public function itself, which is such a composition or a kernel: programs that call these get the same
values. What has no function of its own is the tensor's method, on a copy for what draws random numbers in place.
"""

from __future__ import annotations

import importlib
import inspect
import keyword as keywords
import types
from collections.abc import Callable
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2._operators.load import FUNCTIONS

__all__ = sorted(name for name in FUNCTIONS if not name.startswith(("_", "special_")))  # those are in `_refs.special`

_HANDED_ON: dict[str, Callable[..., Any]] = {}
_REVERSED: dict[str, Callable[..., Any]] = {
    "rpow": torch.pow,
    "rtruediv": torch.true_divide,
    "rfloordiv": torch.floor_divide,
}


def _signature(name: str) -> inspect.Signature | None:
    """That of the form of an operator which takes the most."""
    forms = getattr(torch.ops.aten, name, None)
    if forms is None:
        return None
    schemas = [getattr(forms, form)._schema for form in forms.overloads()]
    plain = [schema for schema in schemas if not any(each.is_out for each in schema.arguments)]
    longest = max(plain or schemas, key=lambda schema: len(schema.arguments))
    keyword, either = inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Signature(
        [
            inspect.Parameter(
                each.name,
                keyword if each.kwarg_only else either,
                default=each.default_value if each.has_default_value() else inspect.Parameter.empty,
            )
            for each in longest.arguments
            if each.name.isidentifier() and not keywords.iskeyword(each.name)
        ]
    )


def _handed_on(name: str, function: Any) -> Any:
    """A function of Python: programs read its signature."""
    if not callable(function):
        return function
    if name not in _HANDED_ON:

        def call(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs)

        signature = _signature(function.__name__)
        if signature is not None:
            vars(call)["__signature__"] = signature
        _HANDED_ON[name] = _named(call, name)
    return _HANDED_ON[name]


def _method(name: str) -> Callable[..., Any]:
    def call(a: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        return getattr(a, name)(*args, **kwargs)

    return _named(call, name)


def _drawn(name: str) -> Callable[..., Any]:
    def call(self: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
        return getattr(self.clone(), name + "_")(*args, **kwargs)

    return _named(call, name)


def _reversed(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def call(a: Any, b: Any) -> torch.Tensor:
        return function(b, a)

    return _named(call, name)


def _named(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    function.__name__ = function.__qualname__ = name
    return function


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: _reversed(name, function) for name, function in _REVERSED.items()},
    "swap_axes": torch.swapaxes,
    "zero": torch.zeros_like,
    "copy_to": lambda a, b, **kwargs: a.copy_(b, **kwargs),
    "trunc_divide": lambda a, b: torch.div(a, b, rounding_mode="trunc"),
    "T": lambda a: a.T,
}
globals().update(_FUNCTIONS)


def __getattr__(name: str) -> Any:
    """Any other is torch's own function, or the method of a tensor; one that only writes is called on a copy."""
    if name == "_conversions":
        return importlib.import_module("mindtorch_v2._refs._conversions")
    if name.startswith("_") and not name.startswith("__r"):
        raise AttributeError(f"module 'torch._refs' has no attribute '{name}'")
    if hasattr(torch, name):
        found = getattr(torch, name)
        return found if isinstance(found, (types.FunctionType, type)) else _handed_on(name, found)
    if callable(getattr(torch.Tensor, name, None)):
        return _method(name)
    if callable(getattr(torch.Tensor, name + "_", None)):
        return _drawn(name)
    raise AttributeError(f"module 'torch._refs' has no attribute '{name}'")
