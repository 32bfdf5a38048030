"""Calls: which function, method or class is called, and who knows what to do then.

Owns no state. Torch functions are nodes of the graph, functions in Python run as their instrumented copies, and tables say of
code in C what it does.
"""

from __future__ import annotations

import functools
import types
from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch
from mindtorch_v2._capture import _known
from mindtorch_v2._capture._guard_kinds import is_constant
from mindtorch_v2._capture._methods import BoundSlot, TensorMethod
from mindtorch_v2._capture._sources import Attribute, look_up
from mindtorch_v2._core.torch_dispatch import overload_of
from mindtorch_v2._sizes.recorded import RecordedNumber, RecordedSize

if TYPE_CHECKING:
    from mindtorch_v2._capture._recording import Recorder


__all__ = ["Calls"]

_OPERATORS = (
    type(torch.relu),
    type(torch.Tensor.view),
    torch._ops.OpOverload,
    torch._ops.OpOverloadPacket,
)


class Calls:
    """Part of a recorder: calls."""

    def __init__(self, trace: Recorder) -> None:
        self.trace = trace
        self.graph = trace.graph
        self.sources = trace.sources

    def call(self, f: Any, /, *args: Any, **kwargs: Any) -> Any:
        """`f(*args, **kwargs)`."""
        self.trace.alive()
        kind = type(f)
        if kind is types.FunctionType or kind is torch._C.Overridable:
            if self.trace.functions.is_made(f):
                return f(*args, **kwargs)
            handler = self.trace.functions.marked(f) or _known.functions().get(f)
            if handler is not None:
                return handler(self.trace, *args, **kwargs)
            if f in _known.leaves():
                return self.leaf(f, args, kwargs)
            return self.trace.functions.call(f if kind is types.FunctionType else f._function, args, kwargs)
        if kind is types.MethodType:
            return self.call(f.__func__, f.__self__, *args, **kwargs)
        if kind is TensorMethod:
            return self.trace.tensors.method(f.tensor, f.name, args, kwargs)
        if kind is BoundSlot:
            return self.slot(f.descriptor, f.obj, args, kwargs)
        if kind is torch._C.Operator:  # within a method of a class in C++
            return self._operator(overload_of(f), args, kwargs)
        if kind in _OPERATORS:
            return self._operator(f, args, kwargs)
        if isinstance(f, type):
            return self.trace.instances.make(f, args, kwargs)
        if kind in (types.BuiltinFunctionType, types.MethodWrapperType):
            return self._builtin(f, args, kwargs)
        if kind in (types.MethodDescriptorType, types.WrapperDescriptorType):
            if not args:
                return f()
            if isinstance(args[0], torch.Tensor):
                return self.trace.tensors.method(args[0], f.__name__, args[1:], kwargs)
            return self.slot(f, args[0], args[1:], kwargs)
        if kind is functools.partial:
            source = self.sources.source_of(f)
            if source is None:
                return self.call(f.func, *f.args, *args, **{**f.keywords, **kwargs})
            function, before, keywords = (
                self.sources.wrap(getattr(f, n), self.sources.source(Attribute, source, n))
                for n in ("func", "args", "keywords")
            )
            return self.call(function, *before, *args, **{**self.trace.iteration.mapping(keywords), **kwargs})
        if kind is functools._lru_cache_wrapper:
            return _known.cached(self.trace, f, args, kwargs)
        handler = _known.object_handler(f)
        if handler is not None:
            return handler(self.trace, f, *args, **kwargs)
        method = look_up(kind, "__call__")
        if method is None:
            raise TypeError(f"{kind.__name__!r} object is not callable")
        if type(method) is not types.FunctionType:
            self.trace.refuse(f"a call of a {kind.__name__} cannot be captured", "call")
        self.sources.type_attribute(kind, "__call__")
        return self.call(method, f, *args, **kwargs)

    def leaf(self, f: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """A call of a torch function: a node of the graph."""
        args, kwargs = self.prepared(args, kwargs)
        return self.graph.record("call_function", f, args, kwargs)

    def prepared(self, args: Any, kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments of a call that code in C looks into."""
        return tuple(self.trace.values.deep(a) for a in args), {
            key: self.trace.values.deep(value) for key, value in kwargs.items()
        }

    def _operator(self, f: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """A call of an operator: a function, a method or an entry of torch.ops."""
        if type(f) is type(torch.Tensor.view):
            return self.trace.tensors.method(args[0], f.__name__, args[1:], kwargs)
        if kwargs.get("out") is not None and self.graph.has_dynamic:
            self.trace.refuse("out= with dynamic sizes", "dynamic")
        return self.leaf(f, args, kwargs)

    def _builtin(self, f: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """A call of a function in C, of a module or bound to an object."""
        handler = (
            _known.builtins_table().get(f) if f.__self__ is None or isinstance(f.__self__, types.ModuleType) else None
        )
        if handler is not None:
            return handler(self.trace, *args, **kwargs)
        owner = f.__self__
        if owner is None or isinstance(owner, types.ModuleType):
            if f in _known.leaves():
                return self.leaf(f, args, kwargs)
            return _known.pure_call(self.trace, f, args, kwargs)
        if isinstance(owner, type):
            return _known.class_method(self.trace, f, owner, args, kwargs)
        descriptor = look_up(type(owner), f.__name__)
        if descriptor is None:
            self.trace.refuse(f"{f.__qualname__} cannot be captured", "call")
        return self.slot(descriptor, owner, args, kwargs)

    def slot(self, descriptor: Any, obj: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """A call of a method in C of an object that is no tensor."""
        name = descriptor.__name__
        if descriptor.__objclass__ is object:
            return self._object_method(name, obj, args, kwargs)
        if isinstance(obj, (RecordedSize, RecordedNumber)):
            return getattr(obj, name)(*args, **kwargs)
        obj = self.trace.writes.current(obj)
        source = self.sources.source_of(obj)
        if source is not None:
            return _known.outside_method(self.trace, obj, name, source, args, kwargs)
        if is_constant(obj):
            return _known.constant_method(self.trace, obj, descriptor, args, kwargs)
        if isinstance(obj, BaseException):
            return descriptor(obj, *args, **kwargs)
        if self.trace.values.is_native(obj):
            return _known.native_method(self.trace, obj, descriptor, args, kwargs)
        if isinstance(obj, type) and name in ("mro", "__subclasses__"):
            return descriptor(obj)
        handler = _known.method_handler(obj, name)
        if handler is None:
            self.trace.refuse(f"{type(obj).__name__}.{name}() cannot be captured", "call")
        return handler(self.trace, obj, *args, **kwargs)

    def _object_method(self, name, obj, args, kwargs):
        if name == "__getattribute__":
            return self.trace.attributes.plain_get(obj, *args)
        if name == "__setattr__":
            return self.trace.attributes.plain_set(obj, *args)
        if name == "__delattr__":
            return self.trace.attributes.delete(obj, *args)
        if name in ("__init__", "__init_subclass__"):
            return None
        if name == "__eq__":
            return self.trace.comparisons.same(obj, args[0]) or NotImplemented
        if name == "__ne__":
            return not self.trace.comparisons.same(obj, args[0])
        self.trace.refuse(f"object.{name}() cannot be captured", "call")
        return None
