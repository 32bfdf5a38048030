"""Parameters and buffers: the tensor subclasses that `Module` recognises by type."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Self

import mindtorch_v2 as torch

if TYPE_CHECKING:
    from mindtorch_v2.types import Device


__all__ = [
    "Parameter",
    "UninitializedParameter",
    "is_lazy",
    "Buffer",
    "UninitializedBuffer",
    "UninitializedTensorMixin",
]

_disabled_torch_function_impl = torch._C._disabled_torch_function_impl


class _ParameterMeta(type(torch.Tensor)):  # type: ignore[misc]  # (a metaclass that is found at run time)
    """Let a tensor of a user's subclass count as a parameter through its `_is_param` mark."""

    def __instancecheck__(cls, instance: object) -> bool:
        if super().__instancecheck__(instance):
            return True
        return cls is Parameter and isinstance(instance, torch.Tensor) and getattr(instance, "_is_param", False)


class Parameter(torch.Tensor, metaclass=_ParameterMeta):
    """A tensor that a `Module` registers among its parameters when it is assigned as an attribute.

    Args:
        data: the values, any shape and dtype; shares storage with the given tensor.
        requires_grad: whether gradients are wanted (also under `no_grad`, which does not affect it).

    >>> import mindtorch_v2 as torch
    >>> torch.nn.Parameter(torch.zeros(2)).requires_grad
    True
    """

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Self:
        if data is None:
            data = torch.empty(0)
        if type(data) is torch.Tensor or type(data) is Parameter:
            return cls._make_subclass(cls, data, requires_grad)
        # A subclass keeps its own type; the mark is what makes it a parameter.
        t = data.detach().requires_grad_(requires_grad)
        if type(t) is not type(data):
            raise RuntimeError(
                f"Creating a Parameter from an instance of type {type(data).__name__} "
                "requires that detach() returns an instance of the same type, but return "
                f"type {type(t).__name__} was found instead. To use the type as a "
                "Parameter, please correct the detach() semantics defined by "
                "its __torch_dispatch__() implementation."
            )
        t._is_param = True
        return t

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        if id(self) in memo:
            return memo[id(self)]
        result = type(self)(self.data.clone(memory_format=torch.preserve_format), self.requires_grad)
        memo[id(self)] = result
        return result

    def __repr__(self) -> str:  # type: ignore[override]  # (without the text of the elements, as in PyTorch)
        return "Parameter containing:\n" + super().__repr__()

    def __reduce_ex__(self, proto: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        state = torch._utils._get_obj_state(self)
        # Backward hooks are not saved; the empty dict keeps PyTorch's file format.
        hooks: OrderedDict[Any, Any] = OrderedDict()
        if not state:
            return torch._utils._rebuild_parameter, (self.data, self.requires_grad, hooks)
        return torch._utils._rebuild_parameter_with_state, (self.data, self.requires_grad, hooks, state)

    __torch_function__ = _disabled_torch_function_impl


# The core takes this very class for a plain tensor: no `__torch_function__` to ask.
torch._C._set_parameter_type(Parameter)


class UninitializedTensorMixin:
    """The base of lazy parameters and buffers: no shape and no data until `materialize`.

    >>> parameter = torch.nn.UninitializedParameter()
    >>> parameter.materialize((2, 3))
    >>> parameter.shape, type(parameter).__name__
    (torch.Size([2, 3]), 'Parameter')
    """

    _allowed_methods = [
        torch.Tensor.__hash__,
        torch.Tensor.size,
        torch.Tensor.copy_,
        torch.Tensor.is_complex,
        torch.Tensor.is_floating_point,
        torch.Tensor.half,
        torch.Tensor.float,
        torch.Tensor.double,
        torch.Tensor.char,
        torch.Tensor.short,
        torch.Tensor.int,
        torch.Tensor.long,
        torch.Tensor.cuda,
        torch.Tensor.cpu,
        torch.Tensor.to,
        torch.Tensor.get_device,
    ]

    if TYPE_CHECKING:
        # Of the parameter or buffer that it is mixed into.
        cls_to_become: Any
        data: Any
        requires_grad: Any

    def materialize(self, shape: Sequence[int], device: Device | None = None, dtype: torch.dtype | None = None) -> None:
        """Allocate data of `shape` and turn this object into a plain parameter or buffer, in place."""
        if device is None:
            device = self.data.device
        if dtype is None:
            dtype = self.data.dtype
        self.data = torch.empty(shape, device=device, dtype=dtype)
        self.__class__ = self.cls_to_become
        # A buffer's marks end with its registration; without them it is pickled as the plain tensor that it is.
        for mark in ("persistent", "_is_buffer"):
            self.__dict__.pop(mark, None)

    @property
    def shape(self) -> Any:
        raise RuntimeError(
            "Can't access the shape of an uninitialized parameter or buffer. "
            "This error usually happens in `load_state_dict` when trying to load "
            "an uninitialized parameter into an initialized one. "
            "Call `forward` to initialize the parameters before accessing their attributes."
        )

    def share_memory_(self) -> Any:
        raise RuntimeError(
            "Can't share memory on an uninitialized parameter or buffer. "
            "Call `forward` to initialize the parameters before calling "
            "`module.share_memory()`."
        )

    def __repr__(self) -> str:
        return f"<{self.__class__.__name__}>"

    def __reduce_ex__(self, proto: Any) -> Any:
        return self.__class__, (self.requires_grad,)

    @classmethod
    def __torch_function__(
        cls, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        # Property getters arrive as bound slot wrappers; they may read what needs no data.
        if func in cls._allowed_methods or func.__class__.__name__ == "method-wrapper":
            return super().__torch_function__(func, types, args, kwargs or {})  # type: ignore[misc]  # (of the tensor that it is mixed into)
        raise ValueError(
            f"Attempted to use an uninitialized parameter in {func}. "
            "This error happens when you are using a `LazyModule` or "
            f"explicitly manipulating `torch.nn.parameter.{cls.__name__}` "
            "objects. When using LazyModules Call `forward` with a dummy batch "
            "to initialize the parameters before calling torch functions"
        )


def is_lazy(param: torch.Tensor | None) -> bool:
    """Whether `param` is a parameter or buffer that has no data yet.

    >>> from mindtorch_v2.nn.parameter import is_lazy
    >>> is_lazy(torch.nn.LazyLinear(3).weight), is_lazy(torch.nn.Linear(2, 3).weight)
    (True, False)
    """
    return isinstance(param, UninitializedTensorMixin)


class UninitializedParameter(UninitializedTensorMixin, Parameter):  # type: ignore[misc]  # (both bases say what a tensor's attributes are)
    """A parameter without data, of unknown shape; `materialize` makes it a `Parameter`.

    `device` and `dtype` are those that the data will have.

    >>> torch.nn.LazyLinear(3).weight.__class__.__name__
    'UninitializedParameter'
    """

    cls_to_become = Parameter

    def __new__(
        cls, requires_grad: bool = True, device: Device | None = None, dtype: torch.dtype | None = None
    ) -> Self:
        data = torch.empty(0, device=device, dtype=dtype)
        return cls._make_subclass(cls, data, requires_grad)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        if id(self) in memo:
            return memo[id(self)]
        result = type(self)(self.requires_grad, self.data.device, self.data.dtype)
        memo[id(self)] = result
        return result


class _BufferMeta(type(torch.Tensor)):  # type: ignore[misc]  # (a metaclass that is found at run time)
    """Let a tensor of a user's subclass count as a buffer through its `_is_buffer` mark."""

    def __instancecheck__(cls, instance: object) -> bool:
        if super().__instancecheck__(instance):
            return True
        return cls is Buffer and isinstance(instance, torch.Tensor) and getattr(instance, "_is_buffer", False)


class Buffer(torch.Tensor, metaclass=_BufferMeta):
    """A tensor that a `Module` registers among its buffers when it is assigned as an attribute.

    Args:
        data: the values, any shape and dtype.
        persistent: whether the buffer is part of the module's state dict.

    >>> layer = torch.nn.Module()
    >>> layer.mean = torch.nn.Buffer(torch.zeros(2))
    >>> list(layer.state_dict())
    ['mean']
    """

    def __new__(cls, data: Any = None, *, persistent: bool = True) -> Self:
        if data is None:
            data = torch.empty(0)
        t = data.detach().requires_grad_(data.requires_grad)
        t.persistent = persistent
        t._is_buffer = True
        return t

    __torch_function__ = _disabled_torch_function_impl


class UninitializedBuffer(UninitializedTensorMixin, torch.Tensor):  # type: ignore[misc]  # (both bases say what a tensor's attributes are)
    """A buffer without data, of unknown shape; `materialize` makes it a plain tensor.

    >>> torch.nn.LazyBatchNorm1d().running_mean.__class__.__name__
    'UninitializedBuffer'
    """

    cls_to_become = torch.Tensor

    def __new__(
        cls,
        requires_grad: bool = False,
        device: Device | None = None,
        dtype: torch.dtype | None = None,
        persistent: bool = True,
    ) -> Self:
        data = torch.empty(0, device=device, dtype=dtype)
        ret = cls._make_subclass(cls, data, requires_grad)
        ret.persistent = persistent
        ret._is_buffer = True
        return ret
