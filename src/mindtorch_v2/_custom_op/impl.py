"""Operators of the user's by the older interface: a function names the operator, and decorators add what it does.

Its pieces are those of `torch.library`: a schema, kernels for devices, one for tensors without values. Of its own it has
the form of its gradient: one function says what to keep, another gives a dict of gradients by the arguments' names.
"""

from __future__ import annotations

import collections
import inspect
import re
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2 import _C, library
from mindtorch_v2._dispatch.schema import parse_schema, schema_of
from mindtorch_v2._library.autograd import autograd_kernel
from mindtorch_v2._library.names import caller, handle_named
from mindtorch_v2.library import get_ctx
from mindtorch_v2.utils import _pytree

__all__ = ["CustomOp", "custom_op", "get_ctx"]

SUPPORTED_DEVICE_TYPE_TO_KEY = {"cpu": "CPU", "cuda": "CUDA"}
RESERVED_NS = {"prim", "prims", "aten", "at", "torch", "pytorch"}
_DIFFERENTIABLE_RESULTS = ("int", "SymInt", "bool", "float", "Tensor", "Tensor[]", "List[Tensor]")

global_registry: dict[str, CustomOp] = {}  # by "ns::name"


def _warn_deprecated() -> None:
    warnings.warn(
        "torch._custom_op is deprecated, please use the equivalent torch.library API instead.",
        DeprecationWarning,
        stacklevel=3,
    )


def parse_qualname(qualname: str) -> tuple[str, str]:
    """Namespace and name of "ns::name"; ValueError for a name without a namespace or with an overload."""
    names = qualname.split("::", 1)
    if len(names) != 2:
        raise ValueError(
            f"Expected there to be a namespace in {qualname}, i.e. The operator name should look something like ns::foo"
        )
    if "." in names[1]:
        raise ValueError(f"The torch.custom_ops APIs do not handle overloads. Got: {qualname}")
    return names[0], names[1]


def _check_namespace(namespace: str) -> None:
    if "." in namespace:
        raise ValueError(f"custom_op(..., ns='{namespace}'): expected a valid variable name")
    if namespace in RESERVED_NS:
        raise ValueError(f"custom_op(..., ns='{namespace}'): '{namespace}' is a reserved namespace, choose another one")


def _check_schema(text: str) -> Any:
    """The schema that a text states; AssertionError where it states none, ValueError where it is not functional."""
    try:
        schema = parse_schema(text, False)
    except RuntimeError as error:
        raise AssertionError(f"Invalid function schema: {text}") from error
    marked = [a for a in (*schema.arguments, *schema.returns) if a.alias_info is not None]
    if any(argument.name == "self" for argument in schema.arguments):
        raise ValueError(f"custom_op does not support arguments named 'self'. Please rename your argument. Got: {text}")
    if marked or not schema.returns:
        raise ValueError(
            "custom_op only supports functional operators (ops that do not mutate any inputs, do not return views of the "
            f"inputs, and has at least one return). Got the following non-functional schema: {text}"
        )
    return schema


def _check_signature(schema: Any, text: str, func: Callable[..., Any]) -> None:
    """ValueError where a function's arguments are not those of the schema that stands beside it."""
    signature = inspect.signature(func)
    parameters = signature.parameters.values()
    plain = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    prefix = "custom_op(..., manual_schema)(func): "
    if any(parameter.kind not in plain for parameter in parameters):
        raise ValueError(f"{prefix}positional-only args, varargs, and kwargs are not supported. Got {signature}")
    annotated = any(parameter.annotation is not inspect.Parameter.empty for parameter in parameters)
    if annotated or signature.return_annotation is not inspect.Signature.empty:
        raise ValueError(f"{prefix}a function with a manual schema has no type annotations. Got {signature}")
    for kind, keyword_only in zip(plain, (False, True), strict=True):
        ours = [parameter.name for parameter in parameters if parameter.kind == kind]
        if ours != [argument.name for argument in schema.arguments if argument.kwarg_only == keyword_only]:
            raise ValueError(
                f"{prefix}we expect `func`'s signature to match `manual_schema`. Signature: {signature}, schema: {text}"
            )
    if any(p.default is not inspect.Parameter.empty for p in parameters) or any(
        argument.has_default_value() for argument in schema.arguments
    ):
        raise ValueError(
            f"{prefix}neither func nor manual_schema should have default arguments. Signature: {signature}, schema: {text}"
        )


def custom_op(qualname: str, manual_schema: str | None = None) -> Callable[[Callable[..., Any]], CustomOp]:
    """A decorator that defines the operator "ns::name" from a function's annotations, or from a schema."""
    _warn_deprecated()

    def inner(func: Callable[..., Any]) -> CustomOp:
        if not inspect.isfunction(func):
            raise ValueError(f"custom_op(...)(func): Expected `func` to be a Python function, got: {type(func)}")
        namespace, name = parse_qualname(qualname)
        _check_namespace(namespace)
        if func.__name__ != name:
            raise ValueError(
                f"custom_op(qualname='{qualname}', ...)(func): expected `func` to have name '{name}' but got "
                f"'{func.__name__}'. Please either change the name of `func` or the qualname"
            )
        text = name + (library.infer_schema(func, mutates_args=()) if manual_schema is None else manual_schema)
        schema = _check_schema(text)
        if manual_schema is not None:
            _check_signature(schema, text, func)
        lib = library.Library(namespace, "FRAGMENT")
        lib.define(text)
        made = CustomOp(lib, namespace, schema, name, handle_named(qualname), _private_access=True)
        made.__name__, made.__module__, made.__doc__ = func.__name__, func.__module__, func.__doc__
        handle = made._ophandle
        made._impl_through("autograd", made._autograd_or_refusal, "Autograd")
        if not any("Tensor" in str(argument.type) for argument in schema_of(handle).arguments):
            lib.impl(name, made._refuse_without_tensors, "BackendSelect")
        return made

    return inner


class CustomOp:
    """An operator of the older interface. :func:`custom_op` makes them."""

    __name__: str

    def __init__(
        self, lib: Any, cpp_ns: str, schema: Any, operator_name: str, ophandle: Any, *, _private_access: bool = False
    ) -> None:
        _warn_deprecated()
        if not _private_access:
            raise RuntimeError(
                "The CustomOp constructor is private. Please use custom_op(...) to create a CustomOp object"
            )
        self._lib, self._cpp_ns, self._schema, self._opname, self._ophandle = (
            lib,
            cpp_ns,
            schema,
            operator_name,
            ophandle,
        )
        self._qualname = f"{cpp_ns}::{operator_name}"
        self._impls: dict[str, tuple[Callable[..., Any], str]] = {}  # the function, and where it was registered
        self._output_differentiability: list[bool] | None = None
        self._through_autograd = False
        global_registry[self._qualname] = self

    def __repr__(self) -> str:
        return f'<CustomOp(op="{self._qualname}")>'

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._ophandle(*args, **kwargs)

    def _destroy(self) -> None:
        """Take the operator away."""
        self._lib._destroy()
        global_registry.pop(self._qualname, None)

    def _has_impl(self, kind: str) -> bool:
        return kind in self._impls

    def _register_impl(self, kind: str, func: Callable[..., Any]) -> None:
        if kind in self._impls:
            raise RuntimeError(
                f"Attempting to register a {kind} impl for operator {self._qualname} that already has a {kind} impl "
                f"registered from Python at {self._impls[kind][1]}. This is not supported."
            )
        self._impls[kind] = (func, caller())

    def _impl_through(self, kind: str, kernel: Callable[..., Any], key: str) -> None:
        self._through_autograd = self._through_autograd or key == "Autograd"
        self._lib.impl(self._opname, kernel, key)

    def _refuse_without_tensors(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(
            f"{self}: There were no Tensor inputs to this operator (e.g. you passed an empty list of Tensors). If your operator "
            "is a factory function, please use CustomOp.impl_factory to register an implementation for it"
        )

    # ---- kernels ----

    def impl(self, device_types: str | Iterable[str], _stacklevel: int = 2) -> Callable[..., Any]:
        """A decorator: the kernel for some devices, "cpu" or "cuda"."""
        devices = [device_types] if isinstance(device_types, str) else list(device_types)
        for device in devices:
            if device not in SUPPORTED_DEVICE_TYPE_TO_KEY:
                raise ValueError(
                    f"CustomOp.impl(device_types=[{device}, ...]): we only support device_type in "
                    f"{list(SUPPORTED_DEVICE_TYPE_TO_KEY)}."
                )

        def inner(func: Callable[..., Any]) -> Callable[..., Any]:
            for device in dict.fromkeys(devices):
                key = SUPPORTED_DEVICE_TYPE_TO_KEY[device]
                if not self._has_impl(device) and _C._dispatch_has_computed_kernel_for_dispatch_key(
                    self._qualname, key
                ):
                    raise RuntimeError(
                        f"impl(..., device_types={device}): the operator {self._qualname} already has an implementation for "
                        "this device type via a pre-existing torch.library or TORCH_LIBRARY registration."
                    )
                self._register_impl(device, func)
                self._lib.impl(self._opname, func, key)
            return func

        return inner

    def impl_factory(self) -> Callable[..., Any]:
        """A decorator: the kernel of an operator that takes no tensors."""

        def inner(func: Callable[..., Any]) -> Callable[..., Any]:
            self._register_impl("factory", func)
            self._lib.impl(self._opname, func, "BackendSelect")
            return func

        return inner

    def impl_abstract(self, _stacklevel: int = 2) -> Callable[..., Any]:
        """A decorator: the kernel that says what tensors without values give."""

        def inner(func: Callable[..., Any]) -> Callable[..., Any]:
            self._register_impl("abstract", func)
            library.register_fake(self._qualname, func, lib=self._lib)
            return func

        return inner

    # ---- the gradient ----

    def impl_save_for_backward(self, _stacklevel: int = 2) -> Callable[..., Any]:
        """A decorator: `f(inputs, output)` gives what the gradient needs, tensors and others in any nesting."""
        return self._part_of_gradient("save_for_backward")

    def impl_backward(
        self, output_differentiability: list[bool] | None = None, _stacklevel: int = 2
    ) -> Callable[..., Any]:
        """A decorator: `f(ctx, saved, *grads)` gives a dict, the gradient of each argument that is a tensor or holds some."""
        flags = output_differentiability
        if flags is not None and not (
            isinstance(flags, list)
            and all(isinstance(flag, bool) for flag in flags)
            and len(flags) == len(self._schema.returns)
        ):
            raise RuntimeError(
                "impl_backward(output_differentiability): expected output_differentiability to be a list of bools with length "
                f"equal to the number of outputs of this CustomOp got: {flags}"
            )
        return self._part_of_gradient("backward", flags)

    def _part_of_gradient(self, kind: str, flags: list[bool] | None = None) -> Callable[..., Any]:
        def inner(func: Callable[..., Any]) -> None:
            self._check_can_have_gradient()
            if not self._through_autograd:
                self._impl_through("autograd", self._autograd_or_refusal, "Autograd")
            self._register_impl(kind, func)
            if kind == "backward":
                self._output_differentiability = flags

        return inner

    def _check_can_have_gradient(self) -> None:
        schema = schema_of(self._ophandle)

        def refuse(what: str) -> None:
            raise RuntimeError(
                f"Cannot use torch._custom_ops APIs to register backward formula for {what}. Got operator {self._qualname} "
                f"with schema: {schema}"
            )

        if schema.is_mutable:
            refuse("non-functional operator")
        if not schema.returns:
            refuse("operator with no returns")
        if any(result.alias_info is not None for result in schema.returns):
            refuse("operator that returns views")
        for result in schema.returns:
            if str(result.type) not in _DIFFERENTIABLE_RESULTS:
                refuse(f"operator with return not in {list(_DIFFERENTIABLE_RESULTS[:5])} (got {result.type})")
        if self._through_autograd:
            return
        for key in ("CompositeImplicitAutograd", "Autograd", "AutogradCPU", "AutogradCUDA"):
            if _C._dispatch_has_kernel_for_dispatch_key(self._qualname, key):
                already = (
                    "an implementation for this device type via a pre-existing registration to DispatchKey::"
                    if key == "CompositeImplicitAutograd"
                    else "an Autograd kernel registered to DispatchKey::"
                )
                raise RuntimeError(
                    f"impl_backward/impl_save_for_backward: the operator {self._qualname} already has {already}{key}. Please "
                    "either remove this registration or don't use the torch._custom_ops APIs"
                )

    def _autograd_or_refusal(self, *args: Any, **kwargs: Any) -> Any:
        parts = [kind for kind in ("save_for_backward", "backward") if kind in self._impls]
        if len(parts) == 1:
            missing = "backward" if parts[0] == "save_for_backward" else "save_for_backward"
            raise RuntimeError(
                f"We found a '{parts[0]}' registration for {self} at {self._impls[parts[0]][1]} but were unable to find a "
                f"'{missing}' registration. To register a gradient, give both by `impl_backward` and `impl_save_for_backward`."
            )
        if not parts:
            if torch.is_grad_enabled() and _pytree.tree_any(
                lambda x: isinstance(x, torch.Tensor) and x.requires_grad, (args, kwargs)
            ):
                raise RuntimeError("Autograd has not been implemented for operator")
            return self._ophandle.below_autograd(*args, **kwargs)
        return autograd_kernel(self._ophandle, self._backward, self._setup_context)(*args, **kwargs)

    def _named(self, inputs: Sequence[Any], keywords: dict[str, Any]) -> Any:
        names = [argument.name for argument in self._schema.arguments]
        return collections.namedtuple(f"{self._opname}_args", names)(*inputs, *keywords.values())

    def _setup_context(
        self, ctx: Any, inputs: Any, output: Any, keyword_only_inputs: dict[str, Any] | None = None
    ) -> None:
        given = self._named(inputs, keyword_only_inputs or {})
        saved = self._impls["save_for_backward"][0](given, output)
        leaves, ctx._form = _pytree.tree_flatten(saved)
        ctx.save_for_backward(*(leaf for leaf in leaves if isinstance(leaf, torch.Tensor)))
        ctx._others = [None if isinstance(leaf, torch.Tensor) else (leaf,) for leaf in leaves]
        ctx._given = _pytree.tree_map(type, tuple(given))
        results = output if isinstance(output, tuple) else (output,)
        without = []
        for place, wanted in enumerate(self._output_differentiability or ()):
            result = results[place]
            several = isinstance(result, (list, tuple))
            if wanted and not several and not isinstance(result, torch.Tensor):
                raise RuntimeError(
                    f"With output_differentiability={self._output_differentiability}. At idx {place}, we received an object of "
                    f"type {type(result)} that is not a Tensor, so it cannot have be marked as differentiable."
                )
            if not wanted:
                without += [r for r in (result if several else (result,)) if isinstance(r, torch.Tensor)]
        ctx.mark_non_differentiable(*without)

    def _backward(self, ctx: Any, *gradients: Any) -> Any:
        tensors = iter(ctx.saved_tensors)
        leaves = [next(tensors) if other is None else other[0] for other in ctx._others]
        saved = _pytree.tree_unflatten(leaves, ctx._form)
        function, place = self._impls["backward"]
        found = function(ctx, saved, *gradients)
        self._check_gradients(found, ctx._given, place)
        return tuple(found.get(argument.name) for argument in self._schema.arguments if not argument.kwarg_only)

    def _check_gradients(self, found: Any, given: Sequence[Any], place: str) -> None:
        def refuse(what: str) -> None:
            raise RuntimeError(f"In the backward function defined for {self} at {place} using the CustomOp API, {what}")

        if not isinstance(found, dict):
            refuse(f"expected the output of the backward function to be a dict but got {type(found)}")
        kinds = dict(zip((argument.name for argument in self._schema.arguments), given, strict=True))
        wanted = {argument.name for argument in self._schema.arguments if "Tensor" in str(argument.type)}
        if set(found) != wanted:
            refuse(
                f"expected the returned grad_input dict to have keys {wanted} but got {set(found)}. The backward function must "
                "return a gradient (can be None) for each arg to the CustomOp that may be a Tensor or Sequence[Tensor]. Args "
                "declared to be non-Tensor-like types should not appear in the grad_input dict"
            )
        for name, gradient in found.items():
            kind = kinds[name]
            if isinstance(kind, (list, tuple)):
                self._check_list(name, gradient, kind, refuse)
            elif gradient is None:
                continue
            elif not isinstance(gradient, torch.Tensor):
                refuse(
                    f"got object of type {type(gradient)} as the gradient for input '{name}', but expected the gradient to be "
                    "either None or a Tensor"
                )
            elif not issubclass(kind, torch.Tensor):
                refuse(
                    f"got a Tensor as the gradient for input '{name}' but expected None as the gradient because input '{name}' "
                    f"was not a Tensor (it was type {kind})."
                )

    @staticmethod
    def _check_list(name: str, gradient: Any, kinds: Sequence[Any], refuse: Callable[[str], None]) -> None:
        prefix = f"for input '{name}' expected the grad_input dict to hold a list of "
        if not isinstance(gradient, (list, tuple)):
            refuse(f"{prefix}gradients but got object of type {type(gradient)}.")
        if len(gradient) != len(kinds):
            refuse(f"{prefix}{len(kinds)} gradients but got {len(gradient)}")
        for place, each in enumerate(gradient):
            if each is not None and not isinstance(each, torch.Tensor):
                refuse(f"{prefix}None or Tensor gradients but got object of type {type(each)} at index {place}")


def custom_op_from_existing(op: Any) -> CustomOp:
    """The CustomOp of an operator that was defined elsewhere."""
    namespace = op.namespace
    name = re.sub(r"^.*::", "", op.name()).removesuffix(".default")
    lib = library.Library(namespace, "FRAGMENT")
    handle = handle_named(f"{namespace}::{name}")
    return CustomOp(lib, namespace, schema_of(handle), name, handle, _private_access=True)


def get_op(qualname: str) -> Any:
    """The operator of torch.ops by that name; ValueError where there is none."""
    namespace, name = parse_qualname(qualname)
    if handle_named(qualname) is None:
        raise ValueError(
            f"Could not find the operator {qualname}. Please make sure you have already registered the operator and (if "
            "registered from C++) loaded it via torch.ops.load_library."
        )
    return getattr(getattr(torch.ops, namespace), name).default


def _find_custom_op(qualname: str, also_check_torch_library: bool = False) -> CustomOp:
    if qualname in global_registry:
        return global_registry[qualname]
    if not also_check_torch_library:
        raise RuntimeError(f'Could not find custom op "{qualname}". Did you register it via the torch._custom_ops API?')
    return custom_op_from_existing(get_op(qualname))


def get_abstract_impl(qualname: str) -> Callable[..., Any] | None:
    """The kernel of an operator for tensors without values, or None."""
    found = global_registry.get(qualname)
    return found._impls["abstract"][0] if found is not None and found._has_impl("abstract") else None
