"""`torch.library`: operators of the user's, in the same registry as the framework's own.

`Library` writes to a namespace as PyTorch's does; `custom_op` makes an operator of one Python function.
"""

import contextlib
import warnings
import weakref

from mindtorch_v2 import _C
from mindtorch_v2._library import autograd_kernel, checked_kernel, find_handle, infer_schema, split_name
from mindtorch_v2._ops_namespace import OpOverload, ops

__all__ = [
    "CustomOpDef",
    "Library",
    "custom_op",
    "define",
    "fallthrough_kernel",
    "get_ctx",
    "impl",
    "infer_schema",
    "register_autograd",
    "register_fake",
    "register_kernel",
]

_DEVICE_KEYS = {"cpu": "CPU", "cuda": "CUDA", "npu": "NPU", "meta": "Meta"}
_RESERVED = ("prim",)
_definitions: dict[str, "CustomOpDef"] = {}
_owners: dict[str, "Library"] = {}


def fallthrough_kernel():
    """Registered as a kernel: the key is skipped. Never called."""
    raise NotImplementedError("fallthrough_kernel() should never be called.")


def get_ctx():
    """The context of the running fake implementation; None outside of one."""
    return None


class Library:
    """Operators and kernels of one namespace; they go when the Library does.

    `kind` "DEF" defines new operators (one Library of this kind for a namespace), "FRAGMENT" adds some to a namespace,
    "IMPL" only registers kernels. `dispatch_key` is the key of kernels registered without one.
    """

    def __init__(self, ns, kind, dispatch_key=""):
        if kind not in ("IMPL", "DEF", "FRAGMENT"):
            raise ValueError(f"Unsupported kind: {kind}")
        if ns in _RESERVED and kind in ("DEF", "FRAGMENT"):
            raise ValueError(f"{ns} is a reserved namespace. Please try creating a library with another name.")
        if kind == "DEF":
            owner = _owners.get(ns)
            if owner is not None and owner() is not None:
                raise RuntimeError(
                    f"Only a single TORCH_LIBRARY can be used to register the namespace {ns}; please put all of your "
                    "definitions in a single TORCH_LIBRARY block."
                )
            _owners[ns] = weakref.ref(self)
        self.ns = ns
        self.kind = kind
        self.dispatch_key = dispatch_key
        self._defined = []
        self._kernels = []
        self._waiting = {}

    def __repr__(self):
        return f"Library(kind={self.kind}, ns={self.ns}, dispatch_key={self.dispatch_key})>"

    def define(self, schema, alias_analysis="", *, tags=()):
        """Define an operator of this namespace by its schema, "name.overload(Tensor x) -> Tensor"; returns its name.

        Raises RuntimeError for a schema that does not parse or an operator that exists.
        """
        if alias_analysis not in ("", "FROM_SCHEMA", "CONSERVATIVE"):
            raise RuntimeError(f"Invalid alias_analysis type {alias_analysis}")
        if self.kind == "IMPL":
            raise RuntimeError(
                f"Library: cannot define {self.ns}::{schema.partition('(')[0]} in a library of kind IMPL"
            )
        handle = _C._define(self.ns, schema)
        self._defined.append(handle)
        getattr(ops, self.ns)._forget(handle.name)
        full = f"{handle.namespace}::{handle.name}" + (f".{handle.overload}" if handle.overload else "")
        for arguments in self._waiting.pop(full, ()):
            self._register(handle, *arguments)
        return full

    def impl(self, op_name, fn, dispatch_key="", *, with_keyset=False, allow_override=False):
        """Register `fn` as the kernel of an operator (by name or OpOverload) for a key.

        Without any key it is the operator's composition (CompositeImplicitAutograd). Registering before the operator
        is defined is legal. A second kernel for one key warns and takes over.
        """
        if not callable(fn):
            raise TypeError(f"Input function is required to be a callable but found type {type(fn)}")
        if with_keyset:
            raise NotImplementedError("Library.impl(with_keyset=True) is not implemented in mindtorch_v2")
        key = dispatch_key or self.dispatch_key or "CompositeImplicitAutograd"
        name = op_name.name() if isinstance(op_name, OpOverload) else op_name
        if "::" not in name:
            name = f"{self.ns}::{name}"
        elif name.partition("::")[0] != self.ns:
            raise RuntimeError(f"Library.impl: {name} is not in the namespace {self.ns} of this library")
        base, _, overload = name.partition(".")
        handle = _C._find_operator(base, "" if overload == "default" else overload)
        if handle is None:
            self._waiting.setdefault(name, []).append((fn, key, allow_override))
        else:
            self._register(handle, fn, key, allow_override)

    def _register(self, handle, fn, key, allow_override):
        if key in handle.kernels() and not allow_override:
            warnings.warn(
                f"Overriding a previously registered kernel for the same operator and the same dispatch key: "
                f"{handle.namespace}::{handle.name}, {key}",
                stacklevel=4,
            )
        handle.impl(key, None if fn is fallthrough_kernel else fn)
        self._kernels.append((handle, key))

    def fallback(self, fn, dispatch_key="", *, with_keyset=False):
        """Register a kernel for every operator without one; raises NotImplementedError."""
        raise NotImplementedError("Library.fallback is not implemented in mindtorch_v2")

    def _destroy(self):
        """Remove what this Library registered."""
        defined, self._defined = self._defined, []
        kernels, self._kernels = self._kernels, []
        for handle, key in kernels:
            if handle not in defined and key in handle.kernels():
                handle.unimpl(key)
        for handle in defined:
            getattr(ops, handle.namespace)._forget(handle.name)
            _C._erase_operator(handle)
        if self.kind == "DEF":
            _owners.pop(self.ns, None)


@contextlib.contextmanager
def _scoped_library(*args, **kwargs):
    library = Library(*args, **kwargs)
    try:
        yield library
    finally:
        library._destroy()


_kept: dict[str, Library] = {}


def _fragment(namespace):
    """The Library of this module for a namespace; it stays as long as the process."""
    if namespace not in _kept:
        _kept[namespace] = Library(namespace, "FRAGMENT")
    return _kept[namespace]


def define(qualname, schema, *, lib=None, tags=()):
    """Define the operator "ns::name" with `schema`, "(Tensor x) -> Tensor"."""
    if not isinstance(qualname, str):
        raise ValueError(f"define(qualname, schema): expected qualname to be instance of str, got {type(qualname)}")
    namespace, name = split_name(qualname)
    (lib or _fragment(namespace)).define(name + schema, tags=tags)


def impl(qualname, types, func=None, *, lib=None):
    """Register `func` as the kernel for device types ("cpu", "cuda", "npu", "default") or a dispatch key; a decorator
    without `func`.
    """
    if func is None:
        return lambda func: impl(qualname, types, func, lib=lib) or func
    namespace, _ = split_name(qualname)
    library = lib or _fragment(namespace)
    for kind in (types,) if isinstance(types, str) else types:
        library.impl(qualname, func, _key_of(kind))
    return None


def _key_of(kind):
    return "CompositeExplicitAutograd" if kind in ("default", None) else _DEVICE_KEYS.get(kind, kind)


class CustomOpDef:
    """An operator made of a Python function: calling it dispatches. Made by `custom_op`."""

    def __init__(self, namespace, name, schema, fn):
        self._namespace = namespace
        self._name = name
        self._schema = schema
        self._init_fn = fn
        self._backward = None
        self._setup_context = None
        self._disabled = set()
        self._lib = _fragment(namespace)
        self.__name__ = getattr(fn, "__name__", name)
        self.__doc__ = fn.__doc__
        previous = _definitions.get(self._qualname)
        if previous is not None:
            self._lib._defined.remove(previous._handle)
            _C._erase_operator(previous._handle)
        self._lib.define(name + schema)
        self._handle = find_handle(self._qualname)
        self._opoverload = getattr(getattr(ops, namespace), name).default
        self._register_autograd_kernel()
        if not any(result["type"].startswith("Tensor") for result in self._handle.returns):
            self._lib.impl(name, lambda *args, **kwargs: None, "Meta")
        _definitions[self._qualname] = self

    @property
    def _qualname(self):
        return f"{self._namespace}::{self._name}"

    def __repr__(self):
        return f"<CustomOpDef({self._qualname})>"

    def __call__(self, *args, **kwargs):
        return self._handle(*args, **kwargs)

    def register_kernel(self, device_types, fn=None, /):
        """Register the kernel for one or several device types, or for every one with None; a decorator without `fn`."""
        if fn is None:
            return lambda fn: self.register_kernel(device_types, fn)
        kinds = (device_types,) if device_types is None or isinstance(device_types, str) else device_types
        kernel = checked_kernel(self._qualname, fn)
        for kind in kinds:
            self._lib.impl(self._name, self._switchable(kind, kernel), _key_of(kind), allow_override=True)
        return fn

    def _switchable(self, kind, kernel):
        original = checked_kernel(self._qualname, self._init_fn)

        def run(*args, **kwargs):
            return (original if kind in self._disabled else kernel)(*args, **kwargs)

        return run

    @contextlib.contextmanager
    def set_kernel_enabled(self, device_type, enabled=True):
        """A context in which the kernel of a device type is used, or else the original function."""
        before = device_type in self._disabled
        (self._disabled.discard if enabled else self._disabled.add)(device_type)
        try:
            yield
        finally:
            (self._disabled.add if before else self._disabled.discard)(device_type)

    def register_fake(self, fn, /):
        """Register the function that makes results without data: the kernel of the meta device."""
        self._lib.impl(self._name, fn, "Meta", allow_override=True)
        return fn

    def register_autograd(self, backward, /, *, setup_context=None):
        """Register the derivative: `backward(ctx, *grads)` returns a gradient for each argument."""
        if any(argument["is_write"] for argument in self._handle.arguments):
            raise RuntimeError(
                f"Cannot register autograd formula for non-functional operator {self} with schema {self._handle.schema}. "
                "Please create a functional operator and register an autograd formula for that."
            )
        self._backward = backward
        self._setup_context = setup_context
        self._register_autograd_kernel()

    def register_vmap(self, func=None, /):
        """Register the batching rule; raises NotImplementedError: `vmap` runs slice by slice and asks for none."""
        raise NotImplementedError("CustomOpDef.register_vmap is not implemented in mindtorch_v2")

    def _register_autograd_kernel(self):
        if self._handle.mutates:
            return
        kernel = autograd_kernel(self._handle, self._qualname.replace("::", "."), self._backward, self._setup_context)
        self._lib.impl(self._name, kernel, "Autograd", allow_override=True)


def custom_op(name, fn=None, /, *, mutates_args, device_types=None, schema=None, tags=None):
    """Make a function the operator "ns::name"; a decorator without `fn`. Returns a CustomOpDef.

    The schema is that of the annotations (see `infer_schema`) unless given. `mutates_args` names the tensors that are
    written to; results must not share memory with the arguments. With `device_types` the function is the kernel of
    these devices only.
    """
    if fn is None:
        return lambda fn: custom_op(
            name, fn, mutates_args=mutates_args, device_types=device_types, schema=schema, tags=tags
        )
    namespace, short = split_name(name)
    text = infer_schema(fn, mutates_args=mutates_args) if schema is None else schema
    definition = CustomOpDef(namespace, short, text, fn)
    if schema is not None:
        _check_mutations(definition._handle, mutates_args)
    definition.register_kernel(device_types)(fn)
    return definition


def _check_mutations(handle, mutates_args):
    written = {argument["name"] for argument in handle.arguments if argument["is_write"]}
    if mutates_args != "unknown" and written != set(mutates_args):
        raise ValueError(
            f"Attempted to create a custom op with `mutates_args={mutates_args}` and `schema={handle.schema}. The schema "
            f"suggests that the op mutates {written} which is different from what was provided to us in `mutates_args`. "
            "Please make these consistent."
        )


def _definition(op):
    if isinstance(op, CustomOpDef):
        return op
    name = op.name() if isinstance(op, OpOverload) else op
    return _definitions.get(name)


def _name(op):
    return op.name() if isinstance(op, OpOverload) else op


def register_kernel(op, device_types, func=None, /, *, lib=None):
    """Register a kernel for device types of an operator (CustomOpDef, OpOverload or name); a decorator without `func`."""
    if func is None:
        return lambda func: register_kernel(op, device_types, func, lib=lib) or func
    definition = _definition(op)
    if definition is not None:
        definition.register_kernel(device_types)(func)
    else:
        impl(_name(op), "default" if device_types is None else device_types, func, lib=lib)
    return None


def register_fake(op, func=None, /, *, lib=None, _stacklevel=1, allow_override=False):
    """Register the function that makes an operator's results without data; a decorator without `func`."""
    if func is None:
        return lambda func: register_fake(op, func, lib=lib)
    definition = _definition(op)
    if definition is not None:
        definition.register_fake(func)
    else:
        name = _name(op)
        (lib or _fragment(split_name(name)[0])).impl(name, func, "Meta", allow_override=allow_override)
    return func


def register_autograd(op, backward, /, *, setup_context=None, lib=None):
    """Register the derivative of an operator: `backward(ctx, *grads)`, with `setup_context(ctx, inputs, output)`."""
    definition = _definition(op)
    if definition is not None:
        definition.register_autograd(backward, setup_context=setup_context)
        return
    name = _name(op)
    handle = find_handle(name)
    kernel = autograd_kernel(handle, name.replace("::", "."), backward, setup_context)
    (lib or _fragment(split_name(name)[0])).impl(name, kernel, "Autograd", allow_override=True)
