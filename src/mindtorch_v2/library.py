"""`torch.library`: operators of the user's, in the same registry as the framework's own.

`Library` writes to a namespace as PyTorch's does; `custom_op` makes an operator of one Python function. The guide is
`docs/custom-operators.md`.
"""

import warnings

from mindtorch_v2._dispatch.keys import DispatchKeySet, key_name
from mindtorch_v2._library import fake
from mindtorch_v2._library.autograd import autograd_kernel, check_differentiable
from mindtorch_v2._library.definition import AUTOCAST_KEYS, CustomOpDef, autocast_kernel, custom_op, definitions
from mindtorch_v2._library.fake import get_ctx
from mindtorch_v2._library.infer import infer_schema
from mindtorch_v2._library.names import find_handle, qualified, split_name
from mindtorch_v2._library.opcheck import OpCheckError, opcheck
from mindtorch_v2._library.registration import ONLY_RECORDING, Library, define, fallthrough_kernel, fragment, impl
from mindtorch_v2._library.registration import scoped_library as _scoped_library  # noqa: F401  (public under this name)
from mindtorch_v2._ops_namespace import OpOverload, ops

__all__ = [
    "CustomOpDef",
    "Library",
    "OpCheckError",
    "custom_op",
    "define",
    "fallthrough_kernel",
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


def _name_of(function, op):
    """The "ns::name" that an operator is registered under; ValueError for what is no operator."""
    if isinstance(op, CustomOpDef):
        return op._qualname
    if isinstance(op, OpOverload):
        return op.name()
    if isinstance(op, str):
        split_name(op)
        return op.removesuffix(".default")
    raise ValueError(f"{function}({op}): got unexpected type for op: {type(op)}")


def _definition(function, op):
    return op if isinstance(op, CustomOpDef) else definitions.get(_name_of(function, op))


def _existing(name):
    """The operator of that name, with torch.ops' error if there is none."""
    namespace, short = split_name(name)
    packet = getattr(getattr(ops, namespace), short.partition(".")[0])
    return getattr(packet, short.partition(".")[2] or "default")._handle


def _library(name, lib):
    return lib or fragment(split_name(name)[0])


def register_kernel(op, device_types, func=None, /, *, lib=None):
    """Register a kernel for device types of an operator (CustomOpDef, OpOverload or name); a decorator without `func`.

    `device_types` is one of "cpu", "npu", "cuda", a sequence of them, or None for every device.
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


def register_fake(op, func=None, /, *, lib=None, _stacklevel=1, allow_override=True):
    """Register the function that makes an operator's results without data; a decorator without `func`.

    It serves the meta device. RuntimeError if there is one already and not `allow_override`, or if the operator is a
    composition (CompositeImplicitAutograd) and needs none.
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


def impl_abstract(qualname, func=None, *, lib=None, _stacklevel=1):
    """The former name of `register_fake`."""
    warnings.warn(
        "`torch.library.impl_abstract` was renamed to `torch.library.register_fake`. Please use that instead; we will remove "
        "`torch.library.impl_abstract` in a future version of PyTorch.",
        FutureWarning,
        stacklevel=2,
    )
    return register_fake(qualname, func, lib=lib)


def register_autograd(op, backward, /, *, setup_context=None, lib=None):
    """Register the derivative of an operator: `backward(ctx, *grads)`, with `setup_context(ctx, inputs, output)`.

    RuntimeError for an operator that writes to its arguments.
    """
    name = _name_of("register_autograd", op)
    definition = _definition("register_autograd", op)
    if definition is not None:
        definition.register_autograd(backward, setup_context=setup_context)
        return
    handle = _existing(name)
    check_differentiable(handle, name)
    kernel = autograd_kernel(handle, backward, setup_context)
    _library(name, lib)._register(handle, kernel, "Autograd", flags=ONLY_RECORDING, quiet=True)


def register_autocast(op, device_type, cast_inputs, /, *, lib=None):
    """Under autocast on `device_type`, cast the operator's floating inputs to the dtype `cast_inputs`."""
    name = _name_of("register_autocast", op)
    definition = _definition("register_autocast", op)
    if definition is not None:
        return definition.register_autocast(device_type, cast_inputs)
    handle = _existing(name)
    kernel = autocast_kernel(handle, device_type, cast_inputs)
    _library(name, lib)._register(handle, kernel, AUTOCAST_KEYS[device_type], quiet=True)
    return kernel


def register_vmap(op, func=None, /, *, lib=None):
    """Register the batching rule `func(info, in_dims, *args) -> (output, out_dims)`; a decorator without `func`."""
    name = _name_of("register_vmap", op)
    if func is None:
        return lambda func: register_vmap(op, func, lib=lib) or func
    definition = _definition("register_vmap", op)
    if definition is not None:
        definition.register_vmap(func)
    else:
        _existing(name).__dict__["vmap_rule"] = func
    return None


def register_torch_dispatch(op, torch_dispatch_class, func=None, /, *, lib=None):
    """Register how a mode or a subclass with `__torch_dispatch__` treats an operator; a decorator without `func`."""
    name = _name_of("register_torch_dispatch", op)
    if func is None:
        return lambda func: register_torch_dispatch(op, torch_dispatch_class, func, lib=lib)
    _existing(name).__dict__.setdefault("torch_dispatch_rules", {})[torch_dispatch_class] = func
    return func


class _KernelFunction:
    """One kernel of an operator; see `get_kernel`."""

    def __init__(self, handle, key):
        self._handle = handle
        self._key = key
        self._python = handle.kernels().get(key)

    @property
    def op_handle(self):
        """The operator that the kernel belongs to."""
        return self._handle

    def __repr__(self):
        return f"SafeKernelFunction(debug='{self._handle.__dict__.get('kernel_origins', {}).get(self._key, '')}')"

    def call_boxed(self, keyset, /, *args, **kwargs):
        """Call the kernel; `keyset` is what it would redispatch with."""
        if callable(self._python):
            return self._python(*args, **kwargs)
        return self._handle.redispatch(int(DispatchKeySet(self._key)), *args, **kwargs)


def get_kernel(op, dispatch_key):
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


def triton_op(name, fn=None, /, *, mutates_args, schema=None):
    """Operators of Triton kernels: NotImplementedError, Triton is not part of this framework."""
    raise NotImplementedError(
        f"torch.library.triton_op({name!r}): mindtorch_v2 runs no Triton kernels. Make the operator with "
        "torch.library.custom_op, and register a kernel for each device with register_kernel."
    )


def wrap_triton(triton_kernel, /):
    """Triton kernels in graphs: NotImplementedError, Triton is not part of this framework."""
    raise NotImplementedError(
        "torch.library.wrap_triton: mindtorch_v2 runs no Triton kernels. Call the kernel inside of an operator made with "
        "torch.library.custom_op."
    )
