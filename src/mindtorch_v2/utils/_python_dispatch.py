"""`__torch_dispatch__`: modes and subclasses that see every operator below autograd."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import mindtorch_v2 as torch
from mindtorch_v2 import _C
from mindtorch_v2._core import torch_dispatch as _torch_dispatch
from mindtorch_v2._core.above import above
from mindtorch_v2.utils import _pytree as pytree

if TYPE_CHECKING:
    from mindtorch_v2._ops import OpOverload


__all__ = [
    "BaseTorchDispatchMode",
    "TorchDispatchMode",
    "is_in_torch_dispatch_mode",
    "is_traceable_wrapper_subclass",
    "is_traceable_wrapper_subclass_type",
    "return_and_correct_aliasing",
    "transform_subclass",
]


class TorchDispatchMode:
    """A context in which each operator, below autograd, goes to `__torch_dispatch__(func, types, args, kwargs)`.

    `func` is an overload such as `torch.ops.aten.add.Tensor`. Inside that method the mode is off, so it may call `func`
    itself. Modes nest: the innermost is asked first, and `func(...)` inside it goes to the next one out.

    >>> class Names(torch.utils._python_dispatch.TorchDispatchMode):
    ...     def __torch_dispatch__(self, func, types, args=(), kwargs=None):
    ...         print(func)
    ...         return func(*args, **(kwargs or {}))
    >>> with Names():
    ...     _ = torch.ones(2) + 1
    aten.ones.default
    aten.add.Tensor
    """

    sees_parts: bool = True  # operators that PyTorch composes of others come as those, where they are one kernel here

    def __torch_dispatch__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        raise NotImplementedError

    def __enter__(self) -> Self:
        if self.sees_parts:
            above.install_parts()
        _torch_dispatch.push(self)
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc_value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        _torch_dispatch.pop()

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> Any:
        """An instance made of the arguments, as a context manager."""
        return cls(*args, **kwargs)

    @classmethod
    def is_infra_mode(cls) -> bool:
        return False


class BaseTorchDispatchMode(TorchDispatchMode):
    """A mode that calls each operator as it is."""

    def __torch_dispatch__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        return func(*args, **(kwargs or {}))


def _get_current_dispatch_mode():
    """The innermost mode, or None."""
    modes = _torch_dispatch.modes()
    return modes[-1] if modes else None


def _get_current_dispatch_mode_stack() -> list:
    """The modes, outermost first."""
    return list(_torch_dispatch.modes())


def is_in_torch_dispatch_mode(include_infra_modes: bool = True) -> bool:
    """Whether a mode is active; without `include_infra_modes` one that is no part of PyTorch's own machinery."""
    return any(include_infra_modes or not mode.is_infra_mode() for mode in _torch_dispatch.modes())


@contextlib.contextmanager
def _pop_mode_temporarily(k=None):
    with _torch_dispatch.popped() as mode:
        yield mode


@contextlib.contextmanager
def _disable_current_modes():
    with _torch_dispatch.no_modes() as modes:
        yield modes


def is_traceable_wrapper_subclass_type(t: type) -> bool:
    """Whether a class has both `__tensor_flatten__` and `__tensor_unflatten__`."""
    return issubclass(t, torch.Tensor) and hasattr(t, "__tensor_flatten__") and hasattr(t, "__tensor_unflatten__")


def is_traceable_wrapper_subclass(t: object) -> bool:
    """Whether `t` is a tensor that wraps others and can be taken apart."""
    return isinstance(t, torch.Tensor) and is_traceable_wrapper_subclass_type(type(t))


def transform_subclass(
    t: Any,
    callback: Callable[..., Any],
    outer_size: Sequence[int] | None = None,
    outer_stride: Sequence[int] | None = None,
) -> torch.Tensor:
    """`t` made again from its inner tensors, each put through `callback(name, tensor)`."""
    outer_size = t.size() if outer_size is None else outer_size
    outer_stride = t.stride() if outer_stride is None else outer_stride
    names, context = t.__tensor_flatten__()
    inner = {name: callback(name, getattr(t, name)) for name in names}
    made = type(t).__tensor_unflatten__(inner, context, outer_size, outer_stride)
    if made.shape != outer_size:
        raise AssertionError(f"expected {type(t)}.__tensor_unflatten__ to give size {outer_size}, got {made.shape}")
    return made


def _alias_sets(described) -> list:
    """For each argument or return of an operator the names of its alias set, and whether it is written."""
    return [({*each["alias"].split(" ")[0].strip("!").split("|")} - {""}, each["is_write"]) for each in described]


def return_and_correct_aliasing(
    func: OpOverload, args: Sequence[Any], kwargs: dict[Any, Any], out: torch.Tensor
) -> torch.Tensor:
    """Results that a wrapper subclass returns from `__torch_dispatch__`: those that alias as the operator's schema says.

    Where the operator writes to an argument and returns it, the argument itself is returned. Where it returns a view,
    the result shares the argument's storage, so that autograd knows it for one.
    """
    handle = func._handle
    arguments, returns = handle.arguments, handle.returns
    given = {a["name"]: v for a, v in zip(arguments, args)} | dict(kwargs or {})
    inputs = [given.get(a["name"]) for a in arguments]
    outs = list(out) if isinstance(out, (tuple, list)) and len(returns) > 1 else [out]
    sets_in, sets_out = _alias_sets(arguments), _alias_sets(returns)
    result = []
    for value, (names, written) in zip(outs, sets_out):
        source = next((v for v, (other, _) in zip(inputs, sets_in) if names & other), None) if names else None
        if source is not None and written:
            result.append(source)
            continue
        if source is not None and isinstance(source, torch.Tensor):
            for each in value if isinstance(value, (list, tuple)) else (value,):
                if isinstance(each, torch.Tensor) and isinstance(source, torch.Tensor) and each is not source:
                    _share_storage(each, source)
        result.append(value)
    if isinstance(out, (tuple, list)) and len(returns) > 1:
        return type(out)(result) if type(out) in (tuple, list) else tuple(result)
    return result[0] if result else out


def _share_storage(view, source) -> None:
    if type(view) is not type(source):
        raise AssertionError(
            f"expected a view of {type(source)} to be one too, got {type(view)}: __torch_dispatch__ must return its own class"
        )
    with _torch_dispatch.DisableTorchDispatch(), torch.no_grad():
        _C._find_operator("aten::set_", "source_Storage_storage_offset")(
            view, source.untyped_storage(), view.storage_offset(), view.shape, view.stride()
        )


def _map_tensors(function, tree):
    return pytree.tree_map_only(torch.Tensor, function, tree)
