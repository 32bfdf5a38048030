"""`Library`: operators and kernels of a namespace, by PyTorch's rules of who may define what."""

from __future__ import annotations

import contextlib
import os
import re
import threading
import warnings
import weakref
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from mindtorch_v2 import _C
from mindtorch_v2._core.torch_dispatch import overload_of, seen_call, without_defaults
from mindtorch_v2._dispatch.keys import DEVICE_KEYS, DispatchKeySet, key_name
from mindtorch_v2._dispatch.schema import parse_schema
from mindtorch_v2._dispatch.tags import Tag, as_tags, set_tags
from mindtorch_v2._ops import OpOverload, ops

from . import without_gradient
from .fake import register_fake_for
from .names import caller, find_handle, handle_named, qualified, split_name

__all__ = ["Library", "define", "fallthrough_kernel", "fragment", "impl", "scoped_library"]

# csrc/core/registry.h: PythonFlag
TAKES_OPERATOR, TAKES_KEYS, ONLY_RECORDING, RESULTS_ARE_NEW = 1, 2, 4, 8

_RESERVED = ("prim",)
# Marks of operators that a definition replaces: forms derived for want of it, and rows of ours for what other libraries register.
_YIELDING = ("functional_form_of", "until_a_library_defines")
_owners: dict[str, tuple] = {"aten": (lambda: True, "the operators of the framework")}
_alive: weakref.WeakSet = weakref.WeakSet()
# Libraries come from many threads, and one that is collected may be taken away within any call.
_alive_lock = threading.RLock()


def _living() -> list[Library]:
    with _alive_lock:
        return list(_alive)


def fallthrough_kernel() -> Any:
    """Registered as a kernel: the key is skipped. Never called.

    >>> with torch.library._scoped_library("docs_fall", "DEF") as library:
    ...     library.define("double(Tensor x) -> Tensor")
    ...     library.impl("double", lambda x: x * 2, "CPU")
    ...     library.impl("double", torch.library.fallthrough_kernel, "AutocastCPU")
    ...     with torch.autocast("cpu"):
    ...         print(torch.ops.docs_fall.double(torch.ones(2)))
    'double'
    tensor([2., 2.])
    """
    raise NotImplementedError("fallthrough_kernel() should never be called.")


def device_key(device_type: str) -> str:
    """The key of a device type's kernels; of every device type for None and "default"."""
    if device_type in ("default", None):
        return "CompositeExplicitAutograd"
    if device_type in DEVICE_KEYS:
        return DEVICE_KEYS[device_type]
    try:
        return key_name(device_type)
    except RuntimeError:
        return key_name(key_name_of_device(device_type))


def key_name_of_device(device_type: str) -> str:
    """The key of a device type that no tensor here can be on; RuntimeError for what is no device."""
    return _C.device(device_type).type.upper()


class Library:
    """Operators and kernels of one namespace; they go when the Library does, and what they covered counts again.

    Args:
        ns: the namespace. `Library("_", "IMPL")` registers fallbacks for every operator.
        kind: "DEF" defines the operators of a namespace (one Library of this kind each), "FRAGMENT" adds some, "IMPL"
            only registers kernels.
        dispatch_key: the key of kernels that are registered without one.

    Raises ValueError for an unknown kind or a reserved namespace, RuntimeError for a second "DEF".

    >>> library = torch.library.Library("library_example", "DEF")
    >>> library.define("twice(Tensor x) -> Tensor")
    'twice'
    >>> library.impl("twice", lambda x: x * 2, "CPU")
    >>> torch.ops.library_example.twice(torch.ones(2))
    tensor([2., 2.])
    """

    def __init__(self, ns: str, kind: Any, dispatch_key: str = "") -> None:
        if kind not in ("IMPL", "DEF", "FRAGMENT"):
            raise ValueError(f"Unsupported kind: {kind}")
        if not isinstance(ns, str) or not re.fullmatch(r"[A-Za-z_]\w*", ns):
            raise ValueError(f"a namespace is an identifier, got {ns!r}")
        if ns in _RESERVED and kind in ("DEF", "FRAGMENT"):
            raise ValueError(f"{ns} is a reserved namespace. Please try creating a library with another name.")
        self._where = self._site()
        if kind == "DEF":
            owner, where = _owners.get(ns, (None, None))
            if owner is not None and owner() is not None:
                raise RuntimeError(
                    f"Only a single TORCH_LIBRARY can be used to register the namespace {ns}; please put all of your "
                    "definitions in a single TORCH_LIBRARY block.  If you were trying to specify implementations, consider "
                    "using TORCH_LIBRARY_IMPL (which can be duplicated).  If you really intended to define operators for a "
                    "single namespace in a distributed way, you can use TORCH_LIBRARY_FRAGMENT to explicitly indicate "
                    f"this.  Previous registration of TORCH_LIBRARY was registered at {where}; latest registration was "
                    f"registered at {self._where}"
                )
            _owners[ns] = (weakref.ref(self), self._where)
        self.ns = ns
        self.kind = kind
        self.dispatch_key = key_name(dispatch_key) if dispatch_key else ""
        self._defined: list[Any] = []
        self._kernels: list[Any] = []
        self._taken_back: list[Any] = []
        self._waiting: dict[Any, Any] = {}
        self._destroyed = False
        with _alive_lock:
            _alive.add(self)
        self._finalizer = weakref.finalize(
            self, _take_away, ns if kind == "DEF" else None, self._defined, self._kernels, self._taken_back
        )
        self._finalizer.atexit = False

    def __repr__(self) -> str:
        return f"Library(kind={self.kind}, ns={self.ns}, dispatch_key={self.dispatch_key})>"

    def _site(self) -> str:
        """Where the registration that is being made stands."""
        return caller()

    def _check_alive(self) -> None:
        if self._destroyed:
            raise AssertionError("Library object has been destroyed")

    def define(self, schema: str, alias_analysis: str = "", *, tags: Any = ()) -> Any:
        """Define an operator by its schema, "name.overload(Tensor x) -> Tensor"; returns its name without the overload.

        Raises RuntimeError for a schema that does not parse, an operator that exists, another namespace than the
        library's, or a library of kind "IMPL"; ValueError for a schema that contradicts its tags.
        """
        self._check_alive()
        if alias_analysis not in ("", "FROM_SCHEMA", "CONSERVATIVE"):
            raise RuntimeError(f"Invalid alias_analysis type {alias_analysis}")
        if not isinstance(schema, str):
            raise TypeError(f"a schema is a string such as 'name(Tensor x) -> Tensor', got {type(schema).__name__}")
        block = f"TORCH_LIBRARY_{self.kind}" if self.kind != "DEF" else "TORCH_LIBRARY"
        where = f"(Error occurred while processing {block} block at {self._where})"
        parsed = parse_schema(schema, False)
        namespace, _, name = parsed.name.rpartition("::")
        if self.kind == "IMPL":
            raise RuntimeError(
                f'def("{parsed.name}"): Cannot define an operator inside of a TORCH_LIBRARY_IMPL block.  All def()s should be '
                f"placed in the (unique) TORCH_LIBRARY block for their namespace.  {where}"
            )
        if namespace and namespace != self.ns:
            raise RuntimeError(
                f"Explicitly provided namespace ({namespace}) in schema string does not match namespace of enclosing {block} "
                f"block ({self.ns}).  Move this definition to the (unique) TORCH_LIBRARY block corresponding to this "
                f"namespace (and consider deleting the namespace from your schema string.)  {where}"
            )
        tags = as_tags(tags)
        _check_tags(schema, parsed, tags)
        if os.environ.get("MINDTORCH_CHECK_MUTATION", "0") not in ("", "0"):
            _warn_of_returned_arguments(self.ns, parsed)
        overload = f".{parsed.overload_name}" if parsed.overload_name else ""
        full = f"{self.ns}::{name}{overload}"
        existing = handle_named(full)
        if existing is not None and not existing.__dict__.keys().isdisjoint(_YIELDING):
            _C._erase_operator(existing)
            existing = None
        site = self._site()
        if existing is not None:
            raise RuntimeError(
                f"Tried to register an operator ({self.ns}::{str(parsed).removeprefix(self.ns + '::')}) with the same name "
                "and overload name multiple times. Each overload's schema should only be registered with a single call to "
                f"def(). Duplicate registration: registered at {site}. Original registration: registered at "
                f"{existing.__dict__.get('origin', 'the framework itself')}"
            )
        without_gradient.install()
        handle = _C._define(self.ns, schema, True)
        handle.__dict__.update(origin=site, kernel_origins={})
        set_tags(handle, tags)
        self._defined.append(handle)
        getattr(ops, self.ns)._forget(name)
        for arguments in self._waiting.pop(full, ()):
            self._register(handle, *arguments)
        for library in _living():
            if library is not self and full in library._waiting:
                for arguments in library._waiting.pop(full):
                    library._register(handle, *arguments)
        return parsed.name

    def impl(
        self,
        op_name: Any,
        fn: Callable | None = None,
        dispatch_key: Any = "",
        *,
        with_keyset: bool = False,
        allow_override: bool = True,
    ) -> Any:
        """Register `fn` as the kernel of an operator (by name or OpOverload) for a key; a decorator without `fn`.

        Without any key it is the operator's composition (CompositeImplicitAutograd). Registering before the operator is
        defined is legal. A second kernel for one key warns and takes over, or is a RuntimeError if not
        `allow_override`. With `with_keyset` the kernel gets the call's DispatchKeySet first, to `redispatch` with.
        """
        self._check_alive()
        if fn is None:
            return lambda fn: (
                self.impl(op_name, fn, dispatch_key, with_keyset=with_keyset, allow_override=allow_override) or fn
            )
        if not callable(fn) and not isinstance(fn, _C.CompiledKernel):
            raise TypeError(f"Input function is required to be a callable but found type {type(fn)}")
        key = key_name(dispatch_key) if dispatch_key else self.dispatch_key or "CompositeImplicitAutograd"
        name = op_name.name() if isinstance(op_name, OpOverload) else op_name
        if not isinstance(name, str):
            raise RuntimeError(
                f"impl should be passed either a name or an OpOverload object as the first argument, got {name}"
            )
        if "::" not in name:
            name = f"{self.ns}::{name}"
        elif name.partition("::")[0] != self.ns:
            raise RuntimeError(
                f"Explicitly provided namespace ({name.partition('::')[0]}) in operator name does not match namespace of "
                f"enclosing library block ({self.ns}): {name}"
            )
        name = name.removesuffix(".default")
        handle = handle_named(name)
        flags = TAKES_KEYS if with_keyset else 0
        if handle is None:
            self._waiting.setdefault(name, []).append((fn, key, allow_override, flags))
        else:
            self._register(handle, fn, key, allow_override, flags)
        return None

    def _register(self, handle, fn, key, allow_override=True, flags=0, quiet=False) -> None:
        kernels = handle.kernels()
        site = self._site()
        if key in kernels and not quiet:
            if not allow_override:
                raise RuntimeError(
                    f"This is not allowed since there's already a kernel registered from python overriding {handle.name}'s "
                    f"behavior for {key} dispatch key and {handle.namespace} namespace."
                )
            warnings.warn(
                "Overriding a previously registered kernel for the same operator and the same dispatch key\n"
                f"  operator: {handle.schema}\n    registered at {handle.__dict__.get('origin', 'the framework itself')}\n"
                f"  dispatch key: {key}\n  previous kernel: {_origin_of(handle, key)}\n"
                f"       new kernel: registered at {site}",
                stacklevel=4,
            )
        if key == "Meta" and "CompositeImplicitAutograd" in kernels and fn is not fallthrough_kernel:
            raise RuntimeError(
                f"We should not register a meta kernel directly to the operator '{handle.name}', because it has a "
                "CompositeImplicitAutograd kernel in core. Instead we should let the operator decompose, and ensure that we "
                "have meta kernels for the base ops that it decomposes into."
            )
        kernel = _with_keys(fn) if flags & TAKES_KEYS else fn
        registration = handle.impl(key, None if fn is fallthrough_kernel else kernel, flags)
        handle.__dict__.setdefault("kernel_origins", {})[registration] = f"registered at {site}"
        self._kernels.append(_Kernel(handle, key, registration, fn, flags))
        if fn is not fallthrough_kernel and not key.startswith("Composite"):
            for number_form in _seen_as(handle):
                self._kernels.append(_call_instead(number_form, overload_of(handle), key))

    def fallback(self, fn: Callable, dispatch_key: Any = "", *, with_keyset: bool = False) -> None:
        """Register a kernel for every operator that has none for the key: `fn(op, *args, **kwargs)`.

        `fallthrough_kernel` skips the key. Only on `Library("_", "IMPL")`.
        """
        self._check_alive()
        key = key_name(dispatch_key) if dispatch_key else self.dispatch_key
        if self.ns != "_":
            raise RuntimeError(
                'Fallback can only be registered using library fragment on the global namespace "_" but it is '
                f"{self.ns}"
            )
        if not key:
            raise RuntimeError("A fallback needs a dispatch key: Library('_', 'IMPL').fallback(fn, 'CPU')")
        if not callable(fn) and not isinstance(fn, _C.CompiledKernel):
            raise TypeError(f"Input function is required to be a callable but found type {type(fn)}")
        if fn is fallthrough_kernel:
            registration = _C._set_fallback(key, None)
        elif isinstance(fn, _C.CompiledKernel):
            registration = _C._set_fallback(key, fn)
        elif with_keyset:
            registration = _C._set_fallback(
                key,
                lambda handle, keys, *args, **kwargs: fn(DispatchKeySet(keys), overload_of(handle), *args, **kwargs),
                TAKES_OPERATOR | TAKES_KEYS,
            )
        else:
            registration = _C._set_fallback(
                key, lambda handle, *args, **kwargs: _without_defaults(fn, handle, args, kwargs), TAKES_OPERATOR
            )
        self._taken_back.append(lambda: _C._erase_fallback(key, registration))

    def _register_fake(self, op_name, fn, _stacklevel=1, *, allow_override=True) -> None:
        register_fake_for(self, op_name, fn, allow_override)

    def _register_torch_dispatch_rule(self, op_name, torch_dispatch_class, fn) -> None:
        self._add_torch_dispatch_rule(find_handle(f"{self.ns}::{op_name}"), torch_dispatch_class, fn)

    def _add_torch_dispatch_rule(self, handle, torch_dispatch_class, fn) -> None:
        rules = handle.__dict__.setdefault("torch_dispatch_rules", {})
        if torch_dispatch_class in rules:
            raise RuntimeError(
                f"{torch_dispatch_class} already has a `__torch_dispatch__` rule registered for {qualified(handle)}"
            )
        rules[torch_dispatch_class] = fn
        self._taken_back.append(lambda: rules.pop(torch_dispatch_class))

    def _add_vmap_rule(self, handle, fn) -> None:
        rules = handle.__dict__.setdefault("vmap_rules", [])
        entry = (fn,)  # equal functions are entries of their own
        rules.append(entry)
        self._taken_back.append(lambda: rules.pop(next(n for n, rule in enumerate(rules) if rule is entry)))

    @property
    def m(self) -> Library:
        """The library itself, as what is deleted to take its registrations back: `del library.m`."""
        return self

    @m.deleter
    def m(self) -> None:
        self._destroy()

    def _destroy(self) -> None:
        """Remove what this Library registered; using it afterwards is an AssertionError."""
        self._destroyed = True
        self._finalizer()


def _without_defaults(fn: Callable, handle: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a fallback as PyTorch does: arguments that are their defaults are left out."""
    func = overload_of(handle)
    args, kwargs = without_defaults(func, args, kwargs)
    return fn(func, *args, **kwargs)


class _Kernel(NamedTuple):
    """One registration of a Library."""

    handle: _C.Operator
    key: str
    registration: int
    fn: Callable
    flags: int


def _seen_as(handle: _C.Operator) -> list[_C.Operator]:
    """The overloads for numbers that PyTorch's Python functions call as this one: `aten::mul.Scalar` of `aten::mul.Tensor`."""
    if handle.namespace != "aten":
        return []
    func = overload_of(handle)
    others = (getattr(func.overloadpacket, name)._handle for name in func.overloadpacket.overloads())
    return [other for other in others if other.__dict__.get("seen_as") == func._overloadname]


def _call_instead(handle: _C.Operator, func: OpOverload, key: str) -> _Kernel:
    """The overload for a number calls `func` for this key: who replaces a kernel of `mul.Tensor` means `x * 2` too."""

    def kernel(*args: Any, **kwargs: Any) -> Any:
        _, args, kwargs = seen_call(handle, args, kwargs)
        return func(*args, **kwargs)

    return _Kernel(handle, key, handle.impl(key, kernel, 0), kernel, 0)


def _origin_of(handle, key):
    """Where the kernel that counts for a key was registered, for messages."""
    return handle.__dict__.get("kernel_origins", {}).get(handle.registration(key), "no debug info")


def _take_away(owned, defined, kernels, taken_back) -> None:
    gone = {id(handle) for handle in defined}
    for handle in defined:
        getattr(ops, handle.namespace)._forget(handle.name)
        _C._erase_operator(handle)
    for kernel in kernels:
        if id(kernel.handle) not in gone:
            kernel.handle.unimpl(kernel.key, kernel.registration)
            kernel.handle.__dict__.get("kernel_origins", {}).pop(kernel.registration, None)
    kernels.clear()
    # Kernels of other libraries wait for the operator to be defined again.
    for library in _living() if gone else ():
        for kernel in library._kernels:
            if id(kernel.handle) in gone:
                library._waiting.setdefault(qualified(kernel.handle), []).append(
                    (kernel.fn, kernel.key, True, kernel.flags)
                )
        library._kernels[:] = [kernel for kernel in library._kernels if id(kernel.handle) not in gone]
    for take_back in reversed(taken_back):
        take_back()
    if owned:
        _owners.pop(owned, None)
    defined.clear()
    taken_back.clear()


def _with_keys(fn):
    return lambda keys, *args, **kwargs: fn(DispatchKeySet(keys), *args, **kwargs)


def _warn_of_returned_arguments(namespace, schema) -> None:
    """A written argument as a result: PyTorch makes no functional form of such an operator by itself."""
    for result in schema.returns:
        if result.alias_info is not None and result.alias_info.is_write:
            written = [a.name for a in schema.arguments if a.is_write]
            name = f"{namespace}::{schema.name.rpartition('::')[2]}"
            without = str(schema).rpartition(" -> ")[0].removeprefix(f"{namespace}::") + " -> ()"
            warnings.warn(
                f"{name}: the operator returns what it writes to ({', '.join(written)}). Here its functional form is "
                f"derived all the same; PyTorch derives none. Return nothing: {without}",
                stacklevel=4,
            )
            return


def _check_tags(text, schema, tags) -> None:
    if Tag.out in tags:
        positional = [a.name for a in schema.arguments if a.is_write and not a.kwarg_only]
        if positional:
            raise ValueError(
                "Schema tagged with torch.Tag.out requires all mutable arguments to be keyword-only (after the *). Found "
                f"mutable positional args: {positional}. Got: {text}"
            )
    if Tag.inplace in tags and not (schema.arguments and schema.arguments[0].is_write):
        raise ValueError(
            "Schema tagged with torch.Tag.inplace requires the first positional argument to be mutable (e.g., Tensor(a!)). "
            f"Got: {text}"
        )


@contextlib.contextmanager
def scoped_library(*args: Any, **kwargs: Any) -> Any:
    """A Library for the length of a `with` block."""
    library = Library(*args, **kwargs)
    try:
        yield library
    finally:
        library._destroy()


_kept: dict[str, Library] = {}


def fragment(namespace: str) -> Any:
    """The Library of functions that name none; it stays as long as the process."""
    if namespace not in _kept or _kept[namespace]._destroyed:
        _kept[namespace] = Library(namespace, "FRAGMENT")
    return _kept[namespace]


def define(
    qualname: str | Library,
    schema: str | None = None,
    alias_analysis: str = "",
    *,
    lib: Any = None,
    tags: Sequence[Any] = (),
) -> Any:
    """Define the operator "ns::name" with a schema without name, "(Tensor x) -> Tensor".

    Also the older form `define(library, "name(Tensor x) -> Tensor")`: what it returns is a decorator for the kernel.

    >>> torch.library.define("docs_define::double", "(Tensor x) -> Tensor")
    >>> torch.library.impl("docs_define::double", "cpu", lambda x: x * 2)
    >>> torch.ops.docs_define.double(torch.ones(2))
    tensor([2., 2.])
    """
    if isinstance(qualname, Library):
        given: Any = schema
        name = qualname.define(given, alias_analysis, tags=tags)
        return lambda fn: qualname.impl(name, fn) or fn
    if not isinstance(qualname, str):
        raise ValueError(f"define(qualname, schema): expected qualname to be instance of str, got {type(qualname)}")
    namespace, name = split_name(qualname)
    if not isinstance(schema, str) or not re.match(r"\s*\(.*\)\s*->", schema, re.S):
        raise ValueError(
            'define(qualname, schema, ...): expected schema to look like e.g. "(Tensor x) -> Tensor" but got '
            f'"{schema}"'
        )
    (lib or fragment(namespace)).define(name + schema, tags=tags)
    return None


def impl(qualname: str, types: Any, func: Callable | None = None, *, lib: Any = None) -> Any:
    """Register `func` as an operator's kernel for device types ("cpu", "cuda", "npu", "default"), or for a dispatch key.

    A decorator without `func`. Also the older form `impl(library, "name", key)`.

    >>> torch.library.define("impl_example::thrice", "(Tensor x) -> Tensor")
    >>> @torch.library.impl("impl_example::thrice", "CPU")
    ... def thrice(x):
    ...     return x * 3
    >>> torch.ops.impl_example.thrice(torch.ones(1))
    tensor([3.])
    """
    if isinstance(qualname, Library):
        return lambda fn: qualname.impl(types, fn, func or "") or fn
    keys = list(dict.fromkeys(device_key(kind) for kind in ((types,) if isinstance(types, str) else types)))
    if func is None:
        return lambda func: impl(qualname, types, func, lib=lib) or func
    namespace, _ = split_name(qualname)
    library = lib or fragment(namespace)
    for key in keys:
        library.impl(qualname, func, key)
    return None
