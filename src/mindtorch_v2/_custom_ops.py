"""`torch._custom_ops`: operators of the user's by PyTorch's first interface. `torch.library` is its successor.

>>> from mindtorch_v2 import _custom_ops
>>> def twice(x: torch.Tensor) -> torch.Tensor:
...     raise NotImplementedError
>>> _custom_ops.custom_op("older_example::twice")(twice) is twice
True
>>> _ = _custom_ops.impl("older_example::twice", func=lambda x: x * 2)
>>> torch.ops.older_example.twice(torch.ones(2))
tensor([2., 2.])
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterable
from typing import Any

from mindtorch_v2 import library
from mindtorch_v2._custom_op import impl as _impl
from mindtorch_v2._library.registration import fragment
from mindtorch_v2.library import get_ctx

__all__ = ["custom_op", "get_ctx", "impl", "impl_abstract", "impl_backward", "impl_save_for_backward"]


def _with(found: Callable[[], Callable[..., Any]], func: Callable[..., Any] | None) -> Any:
    def inner(func: Callable[..., Any]) -> Callable[..., Any]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            found()(func)
        return func

    return inner if func is None else inner(func)


def custom_op(qualname: str, func_or_schema: Any = None) -> Any:
    """Define the operator "ns::name" from a function's annotations, as a decorator, or from a schema."""
    namespace, name = _impl.parse_qualname(qualname)
    _impl._check_namespace(namespace)
    if isinstance(func_or_schema, str):
        schema = _impl._check_schema(name + func_or_schema)
        if schema is not None:
            fragment(namespace)

        def from_schema(func: Callable[..., Any] | None = None) -> Callable[..., Any] | None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)
                lib = library.Library(namespace, "FRAGMENT")
                lib.define(name + func_or_schema)
                op = _impl.custom_op_from_existing(_impl.get_op(qualname))
                op._lib = lib
                op._impl_through("autograd", op._autograd_or_refusal, "Autograd")
            return func

        return from_schema()

    def from_function(func: Callable[..., Any]) -> Callable[..., Any]:
        if not inspect.isfunction(func):
            raise ValueError(f"custom_op(...)(func): Expected `func` to be a Python function, got: {type(func)}")
        _with(lambda: _impl.custom_op(qualname), func)
        return func

    return from_function if func_or_schema is None else from_function(func_or_schema)


def impl(
    qualname: str, *, device_types: str | Iterable[str] = ("cpu", "cuda"), func: Callable[..., Any] | None = None
) -> Any:
    """Kernel of operator `qualname` for some devices; a decorator without `func`."""
    return _with(lambda: _impl._find_custom_op(qualname, also_check_torch_library=True).impl(device_types), func)


def impl_abstract(qualname: str, *, func: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """Kernel that says what operator `qualname` gives for tensors without values, as `torch.library.register_fake`; a decorator without `func`."""
    return library.register_fake(qualname, func)


def impl_save_for_backward(qualname: str, *, func: Callable[..., Any] | None = None) -> Any:
    """Register what the gradient of operator `qualname` needs, as `f(inputs, output)`; a decorator without `func`."""
    return _with(lambda: _impl._find_custom_op(qualname, also_check_torch_library=True).impl_save_for_backward(), func)


def impl_backward(
    qualname: str, output_differentiability: Any = None, *, func: Callable[..., Any] | None = None
) -> Any:
    """The gradient of operator `qualname`, as `f(ctx, saved, *grads)` that gives a dict; a decorator without `func`."""
    return _with(
        lambda: _impl._find_custom_op(qualname, also_check_torch_library=True).impl_backward(output_differentiability),
        func,
    )


def _destroy(qualname: str) -> None:
    """Take an operator away, for tests."""
    _impl._find_custom_op(qualname)._destroy()
