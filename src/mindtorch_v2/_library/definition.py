"""`custom_op`: an operator made of a Python function, and what is registered for it afterwards."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Sequence
from typing import Any, overload

from mindtorch_v2 import _C
from mindtorch_v2._dispatch.keys import excluded
from mindtorch_v2._dispatch.schema import parse_schema, schema_of
from mindtorch_v2._dispatch.tags import Tag, as_tags
from mindtorch_v2._ops import ops
from mindtorch_v2._tensor import Tensor

from . import fake
from .autograd import autograd_kernel, check_differentiable, refuse_keyword_tensors
from .infer import infer_schema
from .names import handle_named, split_name
from .registration import ONLY_RECORDING, RESULTS_ARE_NEW, device_key, fragment

__all__ = ["AUTOCAST_KEYS", "CustomOpDef", "CustomOpHandle", "autocast_kernel", "custom_op", "definitions"]

_log = logging.getLogger("torch._library.custom_ops")

definitions: dict[str, CustomOpDef] = {}
"""The operators made by `custom_op`, by "ns::name"."""

AUTOCAST_KEYS = {"cpu": "AutocastCPU", "cuda": "AutocastCUDA", "npu": "AutocastNPU"}


@_C._call_fast
class CustomOpDef(_C.OperatorCallable):
    """An operator made of a Python function: calling it dispatches. Made by `torch.library.custom_op`.

    >>> @torch.library.custom_op("docs::triple", mutates_args=())
    ... def triple(x: torch.Tensor) -> torch.Tensor:
    ...     return x * 3
    >>> type(triple).__name__, triple(torch.ones(2)), torch.ops.docs.triple.default._schema
    ('CustomOpDef', tensor([3., 3.]), docs::triple(Tensor x) -> Tensor)
    """

    _handle: Any

    def __init__(
        self, namespace: str, name: str, schema: str, fn: Callable[..., Any], tags: Sequence[Tag] = ()
    ) -> None:
        self._namespace = namespace
        self._name = name
        self._schema = schema
        self._init_fn = fn
        self._backward: Any = None
        self._setup_context: Any = None
        self._disabled: set[Any] = set()
        self._kernels: dict[Any, Any] = {}
        self._fake: Any = None
        self._vmap: Any = None
        self._autocast: dict[Any, Any] = {}
        self._lib = fragment(namespace)
        self.__name__ = getattr(fn, "__name__", name)
        self.__doc__ = fn.__doc__
        self.__wrapped__ = fn
        previous = definitions.get(self._qualname)
        if previous is not None and previous._handle in self._lib._defined:
            self._lib._defined.remove(previous._handle)
            _C._erase_operator(previous._handle)
        self._lib.define(name + schema, tags=(Tag.pt2_compliant_tag, *tags))
        self._handle = handle_named(self._qualname)
        self._set_operators((self._handle,))
        packet, _, overload = name.partition(".")
        self._opoverload = getattr(getattr(getattr(ops, namespace), packet), overload or "default")
        self._register_autograd_kernel()
        if schema_of(self._handle).returns:
            self._lib._register(self._handle, fake.no_fake(self), "Meta", quiet=True)
        else:
            self._lib._register(self._handle, lambda *args, **kwargs: None, "Meta", quiet=True)
        self._register_backend_select()
        definitions[self._qualname] = self

    def _register_backend_select(self) -> None:
        """Without tensors the device argument says which kernel runs."""
        arguments = schema_of(self._handle).arguments
        if any("Tensor" in str(argument.type) for argument in arguments):
            return
        places = [number for number, argument in enumerate(arguments) if "Device" in str(argument.type)]
        if not places:
            return
        place, name = places[0], arguments[places[0]].name

        def select(*args: Any, **kwargs: Any) -> Any:
            given = args[place] if place < len(args) else kwargs.get(name, arguments[place].default_value)
            device = _C.device(given if given is not None else "cpu").type
            key = device_key(device)
            kernels = self._handle.kernels()
            chosen = key in kernels and (key != "Meta" or fake.has_fake(self._handle))
            if not chosen and "CompositeExplicitAutograd" not in kernels:
                raise RuntimeError(
                    f"{self._name} does not have a kernel registered for {device}. Please use register_kernel to do so."
                )
            return self._handle.redispatch(_C._key_bit(key), *args, **kwargs)

        self._lib._register(self._handle, select, "BackendSelect", quiet=True)

    @property
    def _qualname(self) -> str:
        return f"{self._namespace}::{self._name}"

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._qualname})>"

    def register_kernel(self, device_types: Any, fn: Callable | None = None, /) -> Any:
        """Register the kernel for one or several device types, or for every one with None; a decorator without `fn`.

        Results must be new: none may be an argument, a view of one, or given twice.
        """
        if fn is None:
            return lambda fn: self.register_kernel(device_types, fn)
        if not callable(fn):
            raise TypeError(f"register_kernel(...): expected a callable, got {type(fn)}")
        kinds = (device_types,) if device_types is None or isinstance(device_types, str) else tuple(device_types)
        for kind in kinds:
            key = device_key(kind)
            self._kernels[kind] = fn
            self._lib._register(self._handle, fn, key, flags=RESULTS_ARE_NEW, quiet=True)
        return fn

    @contextlib.contextmanager
    def set_kernel_enabled(self, device_type: str, enabled: bool = True) -> Any:
        """A context in which the kernel of a device type is used, or else the original function.

        Where that changes nothing, the logger `torch._library.custom_ops` says so.
        """
        if device_type not in self._kernels or enabled != (device_type in self._disabled):
            state = "already enabled" if enabled else "already disabled"
            known = state if device_type in self._kernels else "no kernel was registered for this device type"
            _log.warning("set_kernel_enabled(%r, %s) of %s: %s", device_type, enabled, self._qualname, known)
            yield
            return
        wanted = self._kernels[device_type] if enabled else self._init_fn
        key, change, back = device_key(device_type), self._disabled.discard, self._disabled.add
        if not enabled:
            change, back = back, change
        registration = self._handle.impl(key, wanted, RESULTS_ARE_NEW)
        change(device_type)
        try:
            yield
        finally:
            back(device_type)
            self._handle.unimpl(key, registration)

    def register_fake(self, fn: Callable[..., Any], /) -> Callable[..., Any]:
        """Register the function that makes results without data: the kernel of the meta device. Returns `fn`."""
        fake.register_fake_for(self._lib, self._qualname, fn)
        self._fake = fn
        return fn

    def register_autograd(
        self, backward: Callable[..., Any], /, *, setup_context: Callable[..., Any] | None = None
    ) -> None:
        """Register the derivative: `backward(ctx, *grads)` returns a gradient for each argument.

        `setup_context(ctx, inputs, output)` saves what it needs: tensors with `ctx.save_for_backward`, the rest as
        attributes of `ctx`. Raises RuntimeError for an operator that writes to its arguments.
        """
        check_differentiable(self._handle, self)
        for given in (backward, *(() if setup_context is None else (setup_context,))):
            if not callable(given):
                raise TypeError(f"register_autograd(...): expected a callable, got {type(given)}")
        self._backward = backward
        self._setup_context = setup_context
        self._register_autograd_kernel()

    def _register_autograd_kernel(self) -> None:
        kernel = autograd_kernel(self._handle, self._backward, self._setup_context)
        self._lib._register(self._handle, kernel, "Autograd", flags=ONLY_RECORDING, quiet=True)

    def register_vmap(self, func: Callable[..., Any] | None = None, /) -> Callable[..., Any]:
        """Register the batching rule `func(info, in_dims, *args) -> (output, out_dims)`; a decorator without `func`."""
        if func is None:
            return self.register_vmap
        if not callable(func):
            raise TypeError(f"register_vmap(...): expected a callable, got {type(func)}")
        self._vmap = func
        self._lib._add_vmap_rule(self._handle, func)
        return func

    def register_autocast(self, device_type: str, cast_inputs: Any) -> Callable[..., Any]:
        """Under autocast on `device_type`, cast the floating inputs on it to the dtype `cast_inputs`."""
        kernel = autocast_kernel(self._handle, device_type, cast_inputs)
        self._autocast[device_type] = cast_inputs
        self._lib._register(self._handle, kernel, AUTOCAST_KEYS[device_type], quiet=True)
        return kernel

    def register_torch_dispatch(
        self, torch_dispatch_class: type, fn: Callable[..., Any] | None = None, /
    ) -> Callable[..., Any]:
        """Register how a mode or a tensor subclass with `__torch_dispatch__` treats this operator."""
        if fn is None:
            return lambda fn: self.register_torch_dispatch(torch_dispatch_class, fn)
        self._handle.__dict__.setdefault("torch_dispatch_rules", {})[torch_dispatch_class] = fn
        return fn


def autocast_kernel(handle: Any, device_type: str, cast_inputs: Any) -> Callable[..., Any]:
    """The kernel of a device's autocast key: cast, then call below autocast."""
    if not isinstance(device_type, str):
        raise ValueError(f"Expected device_type of type `str`, got: `{type(device_type)}`")
    if device_type not in AUTOCAST_KEYS:
        raise ValueError(f"Device type '{device_type}' does not support autocast.")
    if not isinstance(cast_inputs, _C.dtype):
        raise ValueError(f"register_autocast(...): expected cast_inputs to be a torch.dtype, got {cast_inputs!r}")
    key = AUTOCAST_KEYS[device_type]

    def cast(value: Any) -> Any:
        if isinstance(value, Tensor):
            wanted = (
                value.device.type == device_type
                and value.is_floating_point()
                and value.dtype is not _C._dtypes["float64"]
            )
            return value.to(cast_inputs) if wanted else value
        if isinstance(value, (list, tuple)):
            return type(value)(map(cast, value))
        return value

    def kernel(*args: Any, **kwargs: Any) -> Any:
        with excluded(key):
            return handle(*map(cast, args), **{name: cast(value) for name, value in kwargs.items()})

    return kernel


class CustomOpHandle(CustomOpDef):
    """A custom operator made by a call, as the design document of custom operators has it; `custom_op` is the decorator.

    Args:
        qualname: "ns::name".
        schema: "(Tensor x) -> Tensor", with or without the name before it.
        impl_fn: the kernel for every device.
        mutates_args: the names of the tensors that are written to.

    >>> handle = torch.library.CustomOpHandle("handle_example::twice", "(Tensor x) -> Tensor", lambda x: x * 2)
    >>> handle(torch.ones(2))
    tensor([2., 2.])
    """

    def __init__(
        self, qualname: str, schema: str, impl_fn: Callable[..., Any], mutates_args: Sequence[str] | str = ()
    ) -> None:
        namespace, name = split_name(qualname)
        text = schema.strip().removeprefix(f"{namespace}::").removeprefix(name)
        _check_schema(text, name, mutates_args)
        super().__init__(namespace, name, text, impl_fn)
        self.register_kernel(None)(impl_fn)
        self._kernels.clear()


@overload
def custom_op(
    name: str,
    fn: None = None,
    /,
    *,
    mutates_args: Any,
    device_types: Any = None,
    schema: str | None = None,
    tags: Any = None,
) -> Callable[[Callable[..., Any]], CustomOpDef]: ...
@overload
def custom_op(
    name: str,
    fn: Callable[..., Any],
    /,
    *,
    mutates_args: Any,
    device_types: Any = None,
    schema: str | None = None,
    tags: Any = None,
) -> CustomOpDef: ...
def custom_op(
    name: str,
    fn: Callable[..., Any] | None = None,
    /,
    *,
    mutates_args: Any,
    device_types: Any = None,
    schema: str | None = None,
    tags: Any = None,
) -> Any:
    """Make a function the operator "ns::name"; a decorator without `fn`. Returns a CustomOpDef.

    Args:
        name: "namespace::name".
        fn: annotated as `infer_schema` reads it, unless `schema` is given.
        mutates_args: names of the tensors that are written to, or "unknown".
        device_types: the function is the kernel of these devices only; of every device without.
        schema: "(Tensor x, int k=1) -> Tensor", instead of the annotations.
        tags: a torch.Tag or several.

    Results must not share memory with arguments or each other. Raises ValueError for a name without exactly one
    namespace, for annotations without schema, or if `schema` and `mutates_args` disagree.

    >>> @torch.library.custom_op("custom_example::scaled_add", mutates_args=())
    ... def scaled_add(x: torch.Tensor, y: torch.Tensor, scale: float = 1.0) -> torch.Tensor:
    ...     return x + scale * y
    >>> scaled_add(torch.ones(2), torch.ones(2), scale=2.0)
    tensor([3., 3.])
    """

    def make(fn: Callable) -> Any:
        given = as_tags(tags)
        namespace, short = split_name(name)
        text = infer_schema(fn, mutates_args=mutates_args, tags=given) if schema is None else schema.strip()
        if schema is not None:
            _check_schema(text, short, mutates_args)
        _check_keyword_tensors(text, short, given)
        definition = CustomOpDef(namespace, short, text, fn, given)
        definition.register_kernel(device_types)(fn)
        definition._kernels.clear()
        return definition

    return make if fn is None else make(fn)


def _check_schema(text, name, mutates_args) -> None:
    if not text.startswith("("):
        raise ValueError(f'expected a schema without a name, e.g. "(Tensor x) -> Tensor", but got "{text}"')
    parsed = parse_schema(name + text, False)
    written = {argument.name for argument in parsed.arguments if argument.is_write}
    if mutates_args != "unknown" and written != set(mutates_args):
        raise ValueError(
            f"Attempted to create a custom op with `mutates_args={mutates_args}` and `schema={text}. The schema suggests that "
            f"the op mutates {written} which is different from what was provided to us in `mutates_args`. Please make these "
            "consistent."
        )


def _check_keyword_tensors(text, name, tags) -> None:
    if Tag.out not in tags:
        refuse_keyword_tensors(parse_schema(name + text, False), "custom_op")
