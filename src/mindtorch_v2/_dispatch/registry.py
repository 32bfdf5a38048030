"""The registry of operators by the names of the design documents: schemas and kernels, by an operator's name and a key.

`torch.library` is the same for users, with ownership: what its `Library` registers goes with it. Here it stays.

    registry.register_schema("mylib::twice", "twice(Tensor x) -> Tensor")
    registry.register_kernel("mylib::twice", "CPU", lambda x: x * 2)
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from mindtorch_v2 import _C

from .keys import DEVICE_KEYS, DispatchKey, key_name

__all__ = ["register", "register_composite", "register_kernel", "register_op", "register_schema"]

_Function = TypeVar("_Function", bound=Callable[..., Any])
_MAIN_OVERLOADS = ("", "Tensor", "default", "int")
_DEVICE_KEYS = {**DEVICE_KEYS, "ascend": DEVICE_KEYS["npu"]}  # a design document's word


def _dispatch_key_from_string(name: str) -> Any:
    """The DispatchKey of that name, PyTorch's, ours or a design document's; RuntimeError if there is none.

    >>> from mindtorch_v2._dispatch.registry import _dispatch_key_from_string
    >>> _dispatch_key_from_string("PrivateUse1"), _dispatch_key_from_string("AutogradCPU")
    (<DispatchKey.PrivateUse1: ...>, <DispatchKey.AutogradCPU: ...>)
    """
    found = key_name(name)  # refuses what is no key, and what is no name
    return DispatchKey[found]


def find(name: str) -> Any:
    """The operator "ns::name.overload", "ns::name" or "name" (of `aten`).

    Without an overload it is the one that a plain call takes: `add` is `aten::add.Tensor`. KeyError if there is none.
    """
    base, _, overload = name.partition(".")
    qualified = base if "::" in base else f"aten::{base}"
    for wanted in (overload,) if overload else _MAIN_OVERLOADS:
        handle = _C._find_operator(qualified, "" if wanted == "default" else wanted)
        if handle is not None:
            return handle
    raise KeyError(
        f"no operator is called {name!r}: define it first with register_schema({name!r}, '{base}(Tensor x) -> Tensor'), "
        "and name the overload if it has one ('add.Scalar')"
    )


def register_schema(qualname: str, schema: str) -> None:
    """Define the operator "ns::name" by its schema, "name(Tensor x) -> Tensor" or "(Tensor x) -> Tensor".

    Raises ValueError for a name without a namespace, RuntimeError for a schema that does not parse or an operator that exists.
    """
    namespace, separator, name = qualname.partition("::")
    if not (separator and namespace and name):
        raise ValueError(f"register_schema: expected a name such as 'mylib::twice', got {qualname!r}")
    text = schema.strip()
    _C._define(namespace, name + text if text.startswith("(") else text.removeprefix(f"{namespace}::"), True)


def register_kernel(qualname: str, key: Any, fn: Callable[..., Any]) -> None:
    """Register the kernel of an operator for a key, a DispatchKey or its name; it takes the place of the one before.

    Raises KeyError for an unknown operator, RuntimeError for what is no key, TypeError for what cannot be called.
    """
    if not callable(fn):
        raise TypeError(f"register_kernel({qualname!r}): expected a function, got {type(fn).__name__}")
    handle = find(qualname)
    handle.impl(key_name(key), _with_defaults(handle, fn))


def _with_defaults(handle: Any, fn: Callable[..., Any]) -> Callable[..., Any]:
    """The function, called with those defaults of the schema that it asks for: calls leave them out at the end."""
    arguments = [argument for argument in handle.arguments if not argument["kwarg_only"]]
    try:
        parameters = inspect.signature(fn).parameters.values()
    except (TypeError, ValueError):  # compiled functions need not have one
        return fn
    asked = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and p.default is p.empty]
    if not any(argument["has_default"] for argument in arguments[: len(asked)]):
        return fn
    defaults = [argument["default"] for argument in arguments[: len(asked)]]

    @functools.wraps(fn)
    def kernel(*args: Any, **kwargs: Any) -> Any:
        return fn(*args, *defaults[len(args) :], **kwargs)

    return kernel


def register_op(name: str, key: Any) -> Callable[[_Function], _Function]:
    """A decorator: the function is the operator's kernel for the key.

    >>> from mindtorch_v2._dispatch.keys import DispatchKey
    >>> from mindtorch_v2._dispatch.registry import register_op, register_schema
    >>> register_schema("registry_example::plus_one", "plus_one(Tensor x) -> Tensor")
    >>> @register_op("registry_example::plus_one", DispatchKey.Backend_CPU)
    ... def plus_one_cpu(x):
    ...     return x + 1
    >>> torch.ops.registry_example.plus_one(torch.zeros(2))
    tensor([1., 1.])
    """

    def decorate(fn: _Function) -> _Function:
        register_kernel(name, key, fn)
        return fn

    return decorate


def register_composite(name: str) -> Callable[[_Function], _Function]:
    """A decorator: the function is what the operator is made of, on every device that has no kernel of its own for it."""
    return register_op(name, "CompositeExplicitAutograd")


def register(op: str, device: str, fn: Callable[..., Any], meta: Callable[..., Any] | None = None) -> None:
    """Register the kernel of an operator for a kind of device ("cpu", "npu", ...), and the function of its results' sizes.

    Raises ValueError for an unknown device; else as `register_kernel`.
    """
    if device not in _DEVICE_KEYS:
        raise ValueError(f"register({op!r}): expected a device of {', '.join(_DEVICE_KEYS)}, got {device!r}")
    register_kernel(op, _DEVICE_KEYS[device], fn)
    if meta is not None:
        register_kernel(op, "Meta", meta)
