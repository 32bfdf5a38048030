"""`torch.library`: operators of the user's, in the same registry as the framework's own.

`Library` writes to a namespace as PyTorch's does; `custom_op` makes an operator of one Python function. The guide is
`docs/custom-operators.md`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, Never

from mindtorch_v2._dispatch.keys import DispatchKeySet, key_name
from mindtorch_v2._dispatch.schema import schema_of
from mindtorch_v2._library import fake
from mindtorch_v2._library.autograd import autograd_kernel, check_differentiable, refuse_keyword_tensors
from mindtorch_v2._library.definition import (
    AUTOCAST_KEYS,
    CustomOpDef,
    CustomOpHandle,
    autocast_kernel,
    custom_op,
    definitions,
)
from mindtorch_v2._library.fake import get_ctx
from mindtorch_v2._library.infer import infer_schema
from mindtorch_v2._library.names import find_handle, qualified, split_name
from mindtorch_v2._library.native_functions import from_ctypes, from_tvm_ffi
from mindtorch_v2._library.opcheck import OpCheckError, opcheck
from mindtorch_v2._library.registration import (
    ONLY_RECORDING,
    Library,
    define,
    fallthrough_kernel,
    fragment,
    impl,
    scoped_library,
)
from mindtorch_v2._ops import OpOverload, ops

__all__ = [
    "CustomOpDef",
    "CustomOpHandle",
    "Library",
    "OpCheckError",
    "custom_op",
    "define",
    "fallthrough_kernel",
    "from_ctypes",
    "from_tvm_ffi",
    "get_ctx",
    "get_kernel",
    "impl",
    "impl_abstract",
    "infer_schema",
    "opcheck",
    "register_autocast",
    "register_autograd",
    "register_fake",
    "register_kernel",
    "register_torch_dispatch",
    "register_vmap",
    "triton_op",
    "wrap_triton",
]


Operator = str | OpOverload | CustomOpDef
_scoped_library = scoped_library  # PyTorch's name of it


def _name_of(function: str, op: Operator) -> str:
    """The "ns::name" that an operator is registered under; ValueError for what is no operator."""
    if isinstance(op, CustomOpDef):
        return op._qualname
    if isinstance(op, OpOverload):
        return op.name()
    if isinstance(op, str):
        split_name(op)
        return op.removesuffix(".default")
    raise ValueError(f"{function}({op}): got unexpected type for op: {type(op)}")


def _definition(function: str, op: Operator) -> CustomOpDef | None:
    return op if isinstance(op, CustomOpDef) else definitions.get(_name_of(function, op))


def _existing(name: str) -> Any:
    """The operator of that name, with torch.ops' error if there is none."""
    namespace, short = split_name(name)
    packet = getattr(getattr(ops, namespace), short.partition(".")[0])
    return getattr(packet, short.partition(".")[2] or "default")._handle


def _library(name: str, lib: Library | None) -> Library:
    return lib or fragment(split_name(name)[0])


def register_kernel(
    op: Operator,
    device_types: str | Sequence[str] | None,
    func: Callable[..., Any] | None = None,
    /,
    *,
    lib: Library | None = None,
) -> Callable[[Callable[..., Any]], Callable[..., Any]] | None:
    """Register a kernel for device types of an operator (CustomOpDef, OpOverload or name); a decorator without `func`.

    `device_types` is one of "cpu", "npu", "cuda", a sequence of them, or None for every device.

    >>> torch.library.define("docs_kernel::double", "(Tensor x) -> Tensor")
    >>> @torch.library.register_kernel("docs_kernel::double", "cpu")
    ... def _(x):
    ...     return x * 2
    >>> torch.ops.docs_kernel.double(torch.ones(2))
    tensor([2., 2.])
    """
    name = _name_of("register_kernel", op)
    if func is None:
        return lambda func: register_kernel(op, device_types, func, lib=lib) or func
    definition = _definition("register_kernel", op)
    if definition is not None:
        definition.register_kernel(device_types)(func)
    else:
        impl(name, "default" if device_types is None else device_types, func, lib=lib)
    return None


def register_fake(
    op: Operator,
    func: Callable[..., Any] | None = None,
    /,
    *,
    lib: Library | None = None,
    _stacklevel: int = 1,
    allow_override: bool = True,
) -> Callable[..., Any]:
    """Register the function that makes an operator's results without data; a decorator without `func`.

    It serves the meta device. RuntimeError if there is one already and not `allow_override`, or if the operator is a
    composition (CompositeImplicitAutograd) and needs none.

    >>> torch.library.define("docs_fake::double", "(Tensor x) -> Tensor")
    >>> torch.library.impl("docs_fake::double", "cpu", lambda x: x * 2)
    >>> _ = torch.library.register_fake("docs_fake::double", lambda x: torch.empty_like(x))
    >>> torch.ops.docs_fake.double(torch.ones(2, 3, device="meta")).shape
    torch.Size([2, 3])
    """
    name = _name_of("register_fake", op)
    if func is None:
        return lambda func: register_fake(op, func, lib=lib, allow_override=allow_override)
    definition = _definition("register_fake", op)
    if definition is not None:
        definition.register_fake(func)
    else:
        fake.register_fake_for(_library(name, lib), name, func, allow_override)
    return func


def impl_abstract(
    qualname: str, func: Callable[..., Any] | None = None, *, lib: Library | None = None, _stacklevel: int = 1
) -> Callable[..., Any]:
    """The former name of `register_fake`.

    >>> import warnings
    >>> torch.library.define("docs_abstract::double", "(Tensor x) -> Tensor")
    >>> torch.library.impl("docs_abstract::double", "cpu", lambda x: x * 2)
    >>> with warnings.catch_warnings(action="ignore"):
    ...     _ = torch.library.impl_abstract("docs_abstract::double", lambda x: torch.empty_like(x))
    >>> torch.ops.docs_abstract.double(torch.ones(2, device="meta")).shape
    torch.Size([2])
    """
    warnings.warn(
        "`torch.library.impl_abstract` was renamed to `torch.library.register_fake`. Please use that instead; we will remove "
        "`torch.library.impl_abstract` in a future version of PyTorch.",
        FutureWarning,
        stacklevel=2,
    )
    return register_fake(qualname, func, lib=lib)


def register_autograd(
    op: Operator,
    backward: Callable[..., Any],
    /,
    *,
    setup_context: Callable[..., Any] | None = None,
    lib: Library | None = None,
) -> None:
    """Register the derivative of an operator: `backward(ctx, *grads)`, with `setup_context(ctx, inputs, output)`.

    RuntimeError for an operator that writes to its arguments.

    >>> torch.library.define("docs_autograd::double", "(Tensor x) -> Tensor")
    >>> torch.library.impl("docs_autograd::double", "cpu", lambda x: x * 2)
    >>> torch.library.register_autograd("docs_autograd::double", lambda ctx, grad: grad * 2)
    >>> x = torch.ones(2, requires_grad=True)
    >>> torch.ops.docs_autograd.double(x).sum().backward()
    >>> x.grad
    tensor([2., 2.])
    """
    name = _name_of("register_autograd", op)
    definition = _definition("register_autograd", op)
    if definition is not None:
        definition.register_autograd(backward, setup_context=setup_context)
        return
    handle = _existing(name)
    check_differentiable(handle, name)
    refuse_keyword_tensors(schema_of(handle), "register_autograd")
    kernel = autograd_kernel(handle, backward, setup_context)
    _library(name, lib)._register(handle, kernel, "Autograd", flags=ONLY_RECORDING, quiet=True)


def register_autocast(
    op: Operator, device_type: str, cast_inputs: Any, /, *, lib: Library | None = None
) -> Callable[..., Any]:
    """Under autocast on `device_type`, cast the operator's floating inputs to the dtype `cast_inputs`.

    >>> torch.library.define("docs_autocast::double", "(Tensor x) -> Tensor")
    >>> torch.library.impl("docs_autocast::double", "cpu", lambda x: x * 2)
    >>> _ = torch.library.register_autocast("docs_autocast::double", "cpu", torch.bfloat16)
    >>> with torch.autocast("cpu"):
    ...     torch.ops.docs_autocast.double(torch.ones(2)).dtype
    torch.bfloat16
    """
    name = _name_of("register_autocast", op)
    definition = _definition("register_autocast", op)
    if definition is not None:
        return definition.register_autocast(device_type, cast_inputs)
    handle = _existing(name)
    kernel = autocast_kernel(handle, device_type, cast_inputs)
    _library(name, lib)._register(handle, kernel, AUTOCAST_KEYS[device_type], quiet=True)
    return kernel


def register_vmap(
    op: Operator, func: Callable[..., Any] | None = None, /, *, lib: Library | None = None
) -> Callable[[Callable[..., Any]], Callable[..., Any]] | None:
    """Register the batching rule `func(info, in_dims, *args) -> (output, out_dims)`; a decorator without `func`.

    >>> torch.library.define("docs_vmap::double", "(Tensor x) -> Tensor")
    >>> torch.library.impl("docs_vmap::double", "cpu", lambda x: x * 2)
    >>> _ = torch.library.register_vmap("docs_vmap::double", lambda info, in_dims, x: (x * 2, in_dims[0]))
    >>> torch.vmap(torch.ops.docs_vmap.double)(torch.ones(2, 3)).shape
    torch.Size([2, 3])
    """
    name = _name_of("register_vmap", op)
    if func is None:
        return lambda func: register_vmap(op, func, lib=lib) or func
    definition = _definition("register_vmap", op)
    if definition is not None:
        definition.register_vmap(func)
    else:
        handle = _existing(name)
        refuse_keyword_tensors(schema_of(handle), "register_vmap")
        _library(name, lib)._add_vmap_rule(handle, func)
    return None


def register_torch_dispatch(
    op: Operator, torch_dispatch_class: type, func: Callable[..., Any] | None = None, /, *, lib: Library | None = None
) -> Callable[..., Any]:
    """Register how a mode or a subclass with `__torch_dispatch__` treats an operator; a decorator without `func`.

    >>> from mindtorch_v2.utils._python_dispatch import TorchDispatchMode
    >>> class Quiet(TorchDispatchMode):
    ...     def __torch_dispatch__(self, func, types, args=(), kwargs=None):
    ...         return func(*args, **(kwargs or {}))
    >>> torch.library.define("docs_mode::double", "(Tensor x) -> Tensor")
    >>> torch.library.impl("docs_mode::double", "cpu", lambda x: x * 2)
    >>> rule = lambda mode, func, types, args, kwargs: args[0] * 20
    >>> _ = torch.library.register_torch_dispatch("docs_mode::double", Quiet, rule)
    >>> with Quiet():
    ...     torch.ops.docs_mode.double(torch.ones(2))
    tensor([20., 20.])
    """
    name = _name_of("register_torch_dispatch", op)
    if func is None:
        return lambda func: register_torch_dispatch(op, torch_dispatch_class, func, lib=lib)
    definition = _definition("register_torch_dispatch", op)
    if definition is not None:
        return definition.register_torch_dispatch(torch_dispatch_class, func)
    _library(name, lib)._add_torch_dispatch_rule(_existing(name), torch_dispatch_class, func)
    return func


class _KernelFunction:
    """One kernel of an operator; see `get_kernel`."""

    def __init__(self, handle: Any, key: str) -> None:
        self._handle = handle
        self._key = key
        self._registration = handle.registration(key)
        self._origin = handle.__dict__.get("kernel_origins", {}).get(self._registration, "")

    @property
    def op_handle(self) -> Any:
        """The operator that the kernel belongs to."""
        return self._handle

    def __repr__(self) -> str:
        return f"SafeKernelFunction(debug='{self._origin}')"

    def call_boxed(self, keyset: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Call the kernel; `keyset` is what it would redispatch with. RuntimeError once its Library has gone."""
        if not self._registration:  # derived from the operator's row
            return self._handle.redispatch(int(DispatchKeySet(self._key)), *args, **kwargs)
        if not self._handle.is_registered(self._registration):
            raise RuntimeError(f"SafeKernelFunction has been invalidated {self._origin}")
        return self._handle.call_kernel(self._registration, int(keyset), *args, **kwargs)


def get_kernel(op: Operator, dispatch_key: Any) -> _KernelFunction:
    """The kernel that a key runs now, to call even after another one takes its place: `kernel.call_boxed(keyset, *args)`.

    ValueError for an unknown key; RuntimeError if the operator does not exist or has no kernel for the key.

    >>> kernel = torch.library.get_kernel("aten::sin", "CPU")
    >>> kernel.call_boxed(torch._C.DispatchKeySet(torch._C.DispatchKey.CPU), torch.zeros(1))
    tensor([0.])
    """
    name = _name_of("get_kernel", op)
    handle = find_handle(name)
    try:
        key = key_name(dispatch_key)
    except RuntimeError as error:
        raise ValueError(f"Invalid dispatch key: {dispatch_key}") from error
    if not handle.has_kernel(key):
        raise RuntimeError(f"no kernel for {dispatch_key} for {qualified(handle)}")
    return _KernelFunction(handle, key)


def triton_op(
    name: str, fn: Callable[..., Any] | None = None, /, *, mutates_args: Any, schema: str | None = None
) -> Never:
    """Operators of Triton kernels: NotImplementedError, Triton is not part of this framework."""
    raise NotImplementedError(
        f"torch.library.triton_op({name!r}): mindtorch_v2 runs no Triton kernels. Make the operator with "
        "torch.library.custom_op, and register a kernel for each device with register_kernel."
    )


def wrap_triton(triton_kernel: Any, /) -> Never:
    """Triton kernels in graphs: NotImplementedError, Triton is not part of this framework."""
    raise NotImplementedError(
        "torch.library.wrap_triton: mindtorch_v2 runs no Triton kernels. Call the kernel inside of an operator made with "
        "torch.library.custom_op."
    )
