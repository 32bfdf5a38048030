"""`__torch_function__`: classes and modes that take over calls of this package's functions."""

from __future__ import annotations

import contextlib
import functools
import inspect
import types as python_types
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any, Self

import mindtorch_v2 as torch
from mindtorch_v2._core import torch_dispatch as _torch_dispatch
from mindtorch_v2._core.absent_modules import absent_names
from mindtorch_v2._core.torch_function import (
    DisableTorchFunction,
    DisableTorchFunctionSubclass,
    EnableTorchFunction,
    _overrides,
    _pop,
    _pop_mode_temporarily,  # noqa: F401  (PyTorch has it here too)
    _push,
    _state,
    has_torch_function,
    redispatch_function,
)
from mindtorch_v2._core.torch_function import hand_over as handle_torch_function
from mindtorch_v2._ops import OpOverload, OpOverloadPacket

__all__ = [
    "BaseTorchFunctionMode",
    "DisableTorchFunction",
    "DisableTorchFunctionSubclass",
    "TorchFunctionMode",
    "enable_reentrant_dispatch",
    "get_default_nowrap_functions",
    "get_ignored_functions",
    "get_overridable_functions",
    "get_testing_overrides",
    "handle_torch_function",
    "has_torch_function",
    "has_torch_function_unary",
    "has_torch_function_variadic",
    "is_tensor_like",
    "is_tensor_method_or_property",
    "redispatch_function",
    "resolve_name",
    "wrap_torch_function",
]


class TorchFunctionMode:
    """A context in which each call of a function of this package goes to `__torch_function__(func, types, args, kwargs)`.

    Inside that method the mode is off, so it may call `func` itself. Modes nest: the innermost is asked first, and
    `func(...)` inside it goes to the next one out.

    >>> class Counting(torch.overrides.TorchFunctionMode):
    ...     calls = 0
    ...     def __torch_function__(self, func, types, args=(), kwargs=None):
    ...         self.calls += 1
    ...         return func(*args, **(kwargs or {}))
    >>> x = torch.ones(2)
    >>> with Counting() as mode:
    ...     _ = torch.add(x, 1).sum()
    >>> mode.calls
    2
    """

    def __init__(self) -> None:
        pass

    sees_attributes: bool = True  # getters, setters and deleters of attributes: `torch.Tensor.data.__get__`

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        raise NotImplementedError

    def __enter__(self) -> Self:
        _push(self)
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc_value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        _pop()

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> Any:
        """An instance made of the arguments, as a context manager."""
        return cls(*args, **kwargs)


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that calls each function as it is.

    >>> from mindtorch_v2.overrides import BaseTorchFunctionMode
    >>> with BaseTorchFunctionMode():
    ...     torch.add(torch.ones(1), 1)
    tensor([2.])
    """

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        return func(*args, **(kwargs or {}))


def _get_current_function_mode():
    return _state.modes[-1] if _state.modes else None


def _get_current_function_mode_stack() -> list:
    return list(_state.modes)


def _len_torch_function_stack() -> int:
    return len(_state.modes)


@contextlib.contextmanager
def _enable_torch_function() -> Iterator[None]:
    """A context in which classes and modes are asked, whatever was disabled around it."""
    guard = EnableTorchFunction()
    try:
        yield
    finally:
        del guard


@contextlib.contextmanager
def enable_reentrant_dispatch() -> Iterator[None]:
    """A context in which calls in a mode's or class' `__torch_dispatch__` record gradients, as outside of it.

    >>> with torch.overrides.enable_reentrant_dispatch():
    ...     torch.ones(2).sum()
    tensor(2.)
    """
    with _torch_dispatch.reentrant():
        yield


def has_torch_function_unary(arg: Any) -> bool:
    """`has_torch_function((arg,))`.

    >>> class Mine(torch.Tensor):
    ...     pass
    >>> from mindtorch_v2.overrides import has_torch_function_unary
    >>> has_torch_function_unary(torch.ones(1)), has_torch_function_unary(Mine([1.0]))
    (False, True)
    """
    return bool(_state.modes) or (not _state.subclasses_disabled and _overrides(arg))


def has_torch_function_variadic(*args: Any) -> bool:
    """`has_torch_function(args)`.

    >>> class Mine(torch.Tensor):
    ...     pass
    >>> torch.overrides.has_torch_function_variadic(torch.ones(1), Mine([1.0]))
    True
    """
    return has_torch_function(args)


def wrap_torch_function(dispatcher: Callable[..., Any]) -> Any:
    """A decorator for functions in Python: `dispatcher(*args, **kwargs)` gives the arguments that may take over.

    >>> from mindtorch_v2.overrides import wrap_torch_function
    >>> @wrap_torch_function(lambda x: (x,))
    ... def double(x):
    ...     return x * 2
    >>> class Mine:
    ...     @classmethod
    ...     def __torch_function__(cls, func, types, args=(), kwargs=None):
    ...         return f"{func.__name__} is mine"
    >>> double(3), double(Mine())
    (6, 'double is mine')
    """

    def decorate(func: Callable[..., Any]) -> Any:
        @functools.wraps(func)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            relevant_args = dispatcher(*args, **kwargs)
            if has_torch_function(relevant_args):
                return handle_torch_function(wrapped, relevant_args, *args, **kwargs)
            return func(*args, **kwargs)

        return wrapped

    return decorate


def is_tensor_like(inp: object) -> bool:
    """Whether `inp` is a Tensor or its class has `__torch_function__`.

    >>> torch.overrides.is_tensor_like(torch.ones(1)), torch.overrides.is_tensor_like(1.0)
    (True, False)
    """
    return type(inp) is torch.Tensor or hasattr(inp, "__torch_function__")


@functools.cache
def _tensor_methods() -> set:
    return {
        value for name in dir(torch.Tensor) if callable(value := getattr(torch.Tensor, name, None)) and _hashable(value)
    }


def _hashable(value) -> bool:
    return type(value).__hash__ is not None


def is_tensor_method_or_property(func: Callable[..., Any]) -> bool:
    """Whether `func` is a method of Tensor or the getter of one of its properties.

    >>> torch.overrides.is_tensor_method_or_property(torch.Tensor.add)
    True
    """
    return getattr(func, "__name__", None) == "__get__" or func in _tensor_methods()


def get_default_nowrap_functions() -> set[Callable[..., Any]]:
    """Getters whose results are not turned into the subclass of the tensor that they were asked of.

    >>> torch.Tensor.grad.__get__ in torch.overrides.get_default_nowrap_functions()
    True
    """
    tensor: Any = torch.Tensor
    return {tensor._base.__get__, tensor.grad.__get__, tensor._grad.__get__}


@functools.cache
def get_ignored_functions() -> set:
    """Public functions that take no tensor to override by: factories, settings and queries of types.

    >>> torch.typename in torch.overrides.get_ignored_functions()
    True
    """
    names = (
        "arange as_tensor autocast compile empty empty_permuted empty_strided enable_grad eye from_file from_numpy "
        "frombuffer full get_default_dtype inference_mode is_grad_enabled is_storage is_tensor linspace "
        "logspace manual_seed no_grad ones promote_types rand randint randn randperm range result_type save "
        "scalar_tensor seed set_default_device set_default_dtype set_grad_enabled set_num_threads set_printoptions "
        "tensor tril_indices triu_indices typename vander zeros"
    ).split()
    return {getattr(torch, name) for name in names if hasattr(torch, name)}


# Private functions that PyTorch has tests for.
_PRIVATE = "_assert_async _conj_copy _functional_assert_async _fused_rms_norm _native_batch_norm_legit _rowwise_prune"


@functools.cache
def get_overridable_functions() -> dict[Any, list[type]]:
    """The functions that can be overridden, by the namespace that they are found in.

    >>> torch.add in torch.overrides.get_overridable_functions()[torch]
    True
    """
    ignored = get_ignored_functions()
    found: dict[Any, Any] = {}
    for space in (
        torch,
        torch.functional,
        torch.nn.functional,
        torch.nn.init,
        torch.Tensor,
        torch.linalg,
        torch.fft,
        torch.special,
    ):
        absent = absent_names("torch") if space is torch else {}  # a class may have them though they are not here
        for name in (*dir(space), *(name for name, kind in absent.items() if kind == "function")):
            value = getattr(space, name, None)
            if space is torch.Tensor and inspect.isdatadescriptor(value) and name != "__dict__":
                value = value.__get__  # type: ignore[union-attr]  # (it has one)
            if not callable(value) or isinstance(value, type):
                continue
            if name.startswith("_") and space is not torch.Tensor:
                continue
            if isinstance(value, python_types.ModuleType) or not _hashable(value) or value in ignored:
                continue
            found.setdefault(space, []).append(value)
    return found


def _placeholder(function: Any) -> Any:
    """A function that takes what this one takes, as far as its signature can be told, and gives -1."""

    def placeholder(*args: Any, **kwargs: Any) -> int:
        return -1

    signature = _signature(function)
    if signature is not None:
        vars(placeholder)["__signature__"] = signature  # inspect reads it
    return placeholder


def _signature(function: Any) -> inspect.Signature | None:
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        pass
    wanted = getattr(function, "__name__", "")
    handles = [each for each in torch._C._all_operators() if each.namespace == "aten" and each.name == wanted]
    if not handles:
        return None
    schema = torch._C._get_schema("aten::" + handles[0].name, handles[0].overload)
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters, optional = [], False
    for argument in schema.arguments:
        optional = optional or argument.has_default_value() or argument.kwarg_only
        default = argument.default_value if optional else inspect.Parameter.empty
        name = {"self": "input", "from": "from_", "lambda": "lambda_"}.get(argument.name, argument.name)
        parameters.append(inspect.Parameter(name, kind, default=default))
    return inspect.Signature(parameters)


@functools.cache
def get_testing_overrides() -> dict[Any, Callable[..., int]]:
    """Functions that can be overridden -> one with the same parameters, which stands for what a class would do: it gives -1.

    >>> torch.overrides.get_testing_overrides()[torch.add](torch.ones(1), 2)
    -1
    """
    found = [function for functions in get_overridable_functions().values() for function in functions]
    if torch.distributed.is_available():
        found += [each for each in vars(torch.distributed).values() if isinstance(each, torch._C.Overridable)]
    found += [getattr(torch, name) for name in _PRIVATE.split()]
    found += [
        each
        for name, each in vars(torch).items()
        if name.startswith("_sym_") and isinstance(each, torch._C.Overridable)
    ]
    return {function: _placeholder(function) for function in found}


@functools.cache
def _names() -> dict:
    prefixes = {
        torch: "torch",
        torch.functional: "torch.functional",
        torch.nn.functional: "torch.nn.functional",
        torch.nn.init: "torch.nn.init",
        torch.Tensor: "torch.Tensor",
        torch.linalg: "torch.linalg",
        torch.fft: "torch.fft",
        torch.special: "torch.special",
    }
    found: dict[Any, str] = {}
    for space, prefix in prefixes.items():
        for name in dir(space):
            value = getattr(space, name, None)
            if space is torch.Tensor and inspect.isdatadescriptor(value) and name != "__dict__":
                for change in ("__get__", "__set__"):
                    found[getattr(value, change)] = f"{prefix}.{name}.{change}"
            elif callable(value) and _hashable(value) and not isinstance(value, (type, python_types.ModuleType)):
                found[value] = f"{prefix}.{name}"
    for name, kind in absent_names("torch").items():
        if kind == "function":
            found.setdefault(getattr(torch, name), f"torch.{name}")
    return found


def resolve_name(f: Callable[..., Any]) -> str | None:
    """The public name of a function, as in "torch.add" or "torch.Tensor.add", or None if it has none.

    >>> torch.overrides.resolve_name(torch.Tensor.add)
    'torch.Tensor.add'
    """
    if isinstance(f, (OpOverload, OpOverloadPacket)):
        return str(f)
    return _names().get(f)
