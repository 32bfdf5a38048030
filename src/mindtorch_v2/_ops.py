"""`torch.ops`: every registered operator by namespace, name and overload.

`torch.ops.aten.add` is a packet, `torch.ops.aten.add.Tensor` one of its overloads; calling a packet takes the first
overload, in the order of registration, whose schema fits the arguments.
"""

from __future__ import annotations

import enum
import os
import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from mindtorch_v2 import _C
from mindtorch_v2._core.above import above
from mindtorch_v2._core.loading import load_shared_library
from mindtorch_v2._dispatch.keys import DispatchKey, DispatchKeySet, key_name
from mindtorch_v2._dispatch.schema import schema_of
from mindtorch_v2._dispatch.tags import tags_of_schema
from mindtorch_v2._operators.table import aliases_of, row_of

__all__ = ["DispatchKey", "HigherOrderOperator", "OpOverload", "OpOverloadPacket", "classes", "ops"]


class HigherOrderOperator:
    """An operator that takes functions, in Python: a kernel for each dispatch key that concerns it.

    A subclass is instantiated once, with the operator's name. A call goes to the kernel of the highest key among those of its
    tensors and of the thread; `fallthrough` leaves a key out. Raises NotImplementedError where no key has a kernel.
    """

    def __init__(self, name: str, *, cacheable: bool = False) -> None:
        if type(self) is HigherOrderOperator:
            raise RuntimeError("Direct instantiation of HigherOrderOperator is not allowed. Please subclass it.")
        self._name = self.__name__ = name
        self.namespace = "higher_order"
        self._cacheable = cacheable
        self.py_kernels: dict[Any, Callable[..., Any]] = {}
        self._fallthrough: set[str] = set()
        setattr(ops.higher_order, name, self)

    def py_impl(self, key: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """A decorator: the function is the kernel of a dispatch key."""

        def register(function: Callable[..., Any]) -> Callable[..., Any]:
            # Kinds of transforms, and classes, are keys of their own, which are kept for those who look them up.
            other = isinstance(key, (type, enum.Enum)) and not isinstance(key, DispatchKey)
            self.py_kernels[key if other else key_name(key)] = function
            return function

        return register

    def fallthrough(self, key: Any) -> None:
        """Leave a key out: what stands below it answers."""
        self._fallthrough.add(key_name(key))

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        bits = DispatchKeySet()
        for value in (*args, *kwargs.values()):
            for each in value if isinstance(value, (list, tuple)) else (value,):
                if isinstance(each, _C.TensorBase):
                    bits = bits | DispatchKeySet(_C._dispatch_key_bits(each))
        include, exclude = _C._tls_keys()
        names = [key.name for key in (bits | DispatchKeySet(include)) - DispatchKeySet(exclude)]
        for name in reversed(names):
            kernel = self.py_kernels.get(key_name(name))
            if kernel is not None and key_name(name) not in self._fallthrough:
                return kernel(*args, **kwargs)
        composite = self.py_kernels.get("CompositeExplicitAutograd") or self.py_kernels.get("CompositeImplicitAutograd")
        if composite is None:
            raise NotImplementedError(
                f"{self._name}: no kernel for the keys {names}; there are some for {list(self.py_kernels)}"
            )
        return composite(*args, **kwargs)

    def name(self) -> str:
        """The operator's name."""
        return self._name

    def __repr__(self) -> str:
        return self._name


@_C._call_fast
class OpOverload(_C.OperatorCallable):
    """One operator with one schema.

    >>> torch.ops.aten.add.Tensor.name(), torch.ops.aten.add.Tensor(torch.ones(2), torch.ones(2), alpha=3)
    ('aten::add.Tensor', tensor([4., 4.]))
    """

    def __init__(self, packet: OpOverloadPacket, handle: Any) -> None:
        self._handle = self._op = handle
        self._set_operators((handle,))
        self._overloadpacket = packet
        self._packet = packet
        self._overloadname = handle.overload or "default"
        self._opname = packet.__name__
        self._qualified_op_name = packet._qualified_op_name
        self.namespace: str = handle.namespace
        self.__name__ = f"{packet.__name__}.{self._overloadname}"
        self.__qualname__ = self.__name__
        self.__module__ = packet.__module__
        self.__doc__ = handle.__doc__

    def __repr__(self) -> str:
        return f"<OpOverload(op='{self.namespace}.{self._overloadpacket.__name__}', overload='{self._overloadname}')>"

    def __str__(self) -> str:
        return f"{self.namespace}.{self.__name__}"

    def __hash__(self) -> int:
        return hash(self._handle)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OpOverload) and self._handle is other._handle

    def __deepcopy__(self, memo: Any = None) -> OpOverload:
        return self

    @property
    def overloadpacket(self) -> OpOverloadPacket:
        return self._overloadpacket

    @property
    def _schema(self) -> Any:
        return schema_of(self._handle)

    @property
    def _namespace(self) -> str:
        return self.namespace

    @property
    def _name(self) -> str:
        return self.name()

    @property
    def _defined_in_python(self) -> bool:
        return "origin" in self._handle.__dict__  # by torch.library

    @property
    def op(self) -> Callable[..., Any]:
        """The callable that a call runs."""
        handle: Callable[..., Any] = self._handle
        return handle

    @property
    def tags(self) -> list[Any]:
        """The torch.Tag values that it was defined with; the framework's say of what form they are, too."""
        handle = self._handle
        stated = handle.__dict__.get("tags", ())
        return list(stated) if row_of(handle) is None else [*stated, *tags_of_schema(handle)]

    @property
    def is_view(self) -> bool:
        return bool(self._handle.is_view)

    def name(self) -> str:
        """The qualified name, as in "aten::add.Tensor"."""
        suffix = "" if self._overloadname == "default" else f".{self._overloadname}"
        return f"{self._overloadpacket._qualified_op_name}{suffix}"

    def redispatch(self, keyset: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Run the kernel of the highest key of `keyset`."""
        return self._handle.redispatch(int(keyset), *args, **kwargs)

    def has_kernel_for_dispatch_key(self, key: Any) -> bool:
        """Whether a kernel is registered for exactly this key."""
        return key_name(key) in self._handle.kernels()

    def has_kernel_for_any_dispatch_key(self, keys: Iterable[Any]) -> bool:
        """Whether a kernel is registered for one of these keys."""
        return any(self.has_kernel_for_dispatch_key(key) for key in keys)

    def decompose(self, *args: Any, **kwargs: Any) -> Any:
        """The result by the operator's composition; NotImplemented if it has none."""
        body = self._handle.kernels().get("CompositeImplicitAutograd")
        if not callable(body):  # one kernel here, and for PyTorch others together
            above.install_parts()
            body = self._handle.kernels().get("PythonDispatcher")
        return body(*args, **kwargs) if callable(body) else NotImplemented

    def py_impl(self, key: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Register the decorated function as the kernel for a key."""

        def register(fn: Callable[..., Any]) -> Callable[..., Any]:
            self._handle.impl(key_name(key), fn)
            return fn

        return register


@_C._call_fast
class OpOverloadPacket(_C.OperatorCallable):
    """The overloads of one operator.

    >>> torch.ops.aten.add.overloads()[0], torch.ops.aten.add(torch.ones(2), 1)
    ('Tensor', tensor([2., 2.]))
    """

    def __init__(self, namespace: str, name: str, handles: Sequence[Any]) -> None:
        self._qualified_op_name = f"{namespace}::{name}"
        self._handles = tuple(sorted(handles, key=lambda handle: handle.sequence))
        self._set_operators(self._handles)
        self.__name__ = name
        self.__module__ = f"torch._ops.{namespace}"

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self._qualified_op_name.replace('::', '.')}')>"

    def __str__(self) -> str:
        return self._qualified_op_name.replace("::", ".")

    def __hash__(self) -> int:
        return hash(self._qualified_op_name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OpOverloadPacket) and self._qualified_op_name == other._qualified_op_name

    def __deepcopy__(self, memo: Any = None) -> OpOverloadPacket:
        return self

    def overloads(self) -> list[str]:
        """The names of the overloads; one without a name is "default"."""
        return [handle.overload or "default" for handle in self._handles]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        for handle in self._handles:
            if (handle.overload or "default") == name:
                overload = self.__dict__[name] = OpOverload(self, handle)  # which is found without this function
                return overload
        raise AttributeError(f"The underlying op of '{self}' has no overload name '{name}'")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.overloads()]

    def __iter__(self) -> Iterator[str]:
        return iter(self.overloads())

    @property
    def op(self) -> Callable[..., Any]:
        """The callable that a call runs, as a function."""

        def op(*args: Any, **kwargs: Any) -> Any:
            return self(*args, **kwargs)

        op.__name__, op.__module__ = self.__name__, self.__module__
        return op


class _OpNamespace(types.ModuleType):
    """The operators of one namespace; packets are made when first asked for."""

    def __init__(self, name: str) -> None:
        super().__init__(f"torch.ops.{name}")
        self.name = name

    def __getattr__(self, op_name: str) -> Any:
        if op_name in ("__file__", "__path__", "__wrapped__"):
            raise AttributeError(op_name)
        handles = self._named(op_name)
        if not handles and above.companion_operators(self.name):
            if op_name in self.__dict__:
                return self.__dict__[op_name]
            handles = self._named(op_name)
        handles = handles or self._functional_forms(op_name)
        if not handles:
            raise AttributeError(f"'_OpNamespace' '{self.name}' object has no attribute '{op_name}'")
        packet = OpOverloadPacket(self.name, op_name, handles)
        setattr(self, op_name, packet)
        return packet

    def _named(self, op_name: str) -> list[Any]:
        here = [handle for handle in _C._all_operators() if handle.namespace == self.name]
        # Further names of an operator, as aten::arctan2 of aten::atan2, are packets of their own here as in PyTorch.
        return [handle for handle in here if handle.name == op_name] or [
            handle for handle in here if op_name in aliases_of(handle)
        ]

    def _functional_forms(self, op_name: str) -> list[Any]:
        """The functional form that a name asks for, of a user's or a device's operator that writes."""
        stem = op_name.removesuffix("_functional")
        if stem == op_name or self.name in ("aten", "prim", "prims"):
            return []
        for handle in [*self._named(stem), *self._named(f"{stem}_")]:
            if handle.mutates:
                above.functional_form(handle)
        return self._named(op_name)

    def __dir__(self) -> list[str]:
        # As PyTorch: the packets that somebody has asked for.
        return sorted(name for name in self.__dict__ if not name.startswith("__"))

    def _forget(self, op_name: str) -> None:
        self.__dict__.pop(op_name, None)


class _Ops(types.ModuleType):
    """The namespaces of operators."""

    __file__ = "_ops.py"

    def __init__(self) -> None:
        super().__init__("torch.ops", self.__class__.__doc__)
        self.loaded_libraries: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        namespace = _OpNamespace(name)
        setattr(self, name, namespace)
        return namespace

    def load_library(self, path: str | os.PathLike[str]) -> None:
        """Load a shared library whose static initialisers register operators; raises OSError if it cannot be loaded."""
        path = os.path.realpath(path)
        try:
            load_shared_library(path)
        except OSError as error:
            raise OSError(f"Could not load this library: {path}") from error
        self.loaded_libraries.add(path)


class _ClassNamespace(types.ModuleType):
    """The custom classes of one namespace, which libraries in C++ register."""

    def __init__(self, name: str) -> None:
        super().__init__(f"torch.classes.{name}")
        self.name = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise RuntimeError(
            f"Tried to instantiate class '{self.name}.{name}', but it does not exist! Ensure that it is "
            "registered via torch::class_"
        )


class _Classes(types.ModuleType):
    """The namespaces of custom classes."""

    __file__ = "_classes.py"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        namespace = _ClassNamespace(name)
        setattr(self, name, namespace)
        return namespace

    def load_library(self, path: str) -> None:
        """Load a shared library that registers classes, as `torch.ops.load_library` does."""
        ops.load_library(path)

    @property
    def loaded_libraries(self) -> set[str]:
        """Paths of the libraries that were loaded."""
        return ops.loaded_libraries


ops = _Ops()
classes = _Classes("torch.classes")
