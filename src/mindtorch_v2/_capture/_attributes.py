"""Attributes of objects that are no tensors: `obj.name`, its assignment and its deletion.

Owns no state: what is found outside is a source with its guards, and what is written outside is kept by the writes.
"""

from __future__ import annotations

import collections
import enum
import functools
import threading
import types
import weakref
from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch
from mindtorch_v2._capture._guard_kinds import is_constant
from mindtorch_v2._capture._methods import BoundSlot
from mindtorch_v2._capture._sources import Attribute, Dictionary, Item, OfClass, absent, look_up
from mindtorch_v2._capture._writes import instance_dict
from mindtorch_v2._core.torch_dispatch import no_modes
from mindtorch_v2._sizes.recorded import RecordedFloat, RecordedInt, RecordedSize

if TYPE_CHECKING:
    from mindtorch_v2._capture._recording import Recorder


__all__ = ["Attributes"]

_NATIVE_ATTRIBUTES = (
    *(type(None), bool, int, float, complex, str, bytes, range, slice, frozenset),
    *(torch.dtype, torch.device, torch.Size, torch.layout, torch.memory_format, RecordedInt, RecordedFloat),
)

# Classes in C that look their attributes up in ways of their own.
_OWN_LOOK_UP = (type(threading.local()), weakref.ProxyType, weakref.CallableProxyType)
_FIELD = type(vars(collections.namedtuple("Pair", "first"))["first"])


def _is_property(attribute: Any) -> bool:
    """Whether it is a property, or of a class of properties that reads and writes as they do."""
    kind = type(attribute)
    return isinstance(attribute, property) and all(
        look_up(kind, name) is property.__dict__[name] for name in ("__get__", "__set__")
    )


def _takes_set(attribute) -> bool:
    kind = type(attribute)
    return look_up(kind, "__set__") is not None or look_up(kind, "__delete__") is not None


class Attributes:
    """Part of a recorder: attributes."""

    def __init__(self, trace: Recorder) -> None:
        self.trace = trace
        self.graph = trace.graph
        self.sources = trace.sources
        self.guards = trace.guards
        self.writes = trace.writes

    def get(self, obj: Any, name: str) -> Any:
        """`obj.name`."""
        self.trace.alive()
        kind = type(obj)
        if isinstance(obj, torch.Tensor):
            return self.trace.tensors.attribute(obj, name)
        if kind in _NATIVE_ATTRIBUTES or isinstance(obj, enum.Enum):
            return getattr(obj, name)
        if isinstance(obj, types.ModuleType):
            return self._of_module(obj, name)
        if isinstance(obj, type):
            return self._of_class(obj, name)
        if kind is super:
            return self._of_super(obj, name)
        if kind is types.MethodType and name not in ("__func__", "__self__"):
            return self.get(obj.__func__, name)
        if kind is RecordedSize and name == "numel":
            return obj.numel
        if name == "__class__":
            return kind
        getter = look_up(kind, "__getattribute__")
        try:
            if type(getter) is types.FunctionType:
                self.sources.type_attribute(kind, "__getattribute__")
                return self.trace.calls.call(getter, obj, name)
            if type(getter) is not types.WrapperDescriptorType or getter.__objclass__ in _OWN_LOOK_UP:
                self.trace.refuse(f"attributes of a {kind.__name__} cannot be captured", "attribute")
            return self.plain_get(obj, name)
        except AttributeError:
            fallback = look_up(kind, "__getattr__")
            if type(fallback) is not types.FunctionType:
                raise
            self.sources.type_attribute(kind, "__getattr__")
            if fallback is torch.nn.Module.__getattr__:
                return self._module_state(obj, name)
            return self.trace.calls.call(fallback, obj, name)

    def plain_get(self, obj: Any, name: str) -> Any:
        """`object.__getattribute__(obj, name)`."""
        kind, source = type(obj), self.sources.source_of(obj)
        attribute = self.sources.type_attribute(kind, name)
        if name == "__dict__":
            found = instance_dict(obj)
            if found is None:
                raise AttributeError(name)
            return found if source is None else self.sources.wrap(found, self.sources.source(Dictionary, source))
        if attribute is not absent and _takes_set(attribute):
            return self._through_descriptor(attribute, obj, name, source)
        values = instance_dict(obj)
        if values is not None:
            found = dict.get(values, name, absent)
            if source is None:
                if found is not absent:
                    return found
            else:
                written = self.writes.to(values)
                if written is not None and name in written.values:
                    return written.values[name]
                where = self.sources.source(Dictionary, source)
                if found is not absent:
                    return self.sources.wrap(found, self.sources.source(Item, where, name))
                self.guards.note("absent", where, name)
        if attribute is absent:
            raise AttributeError(f"{kind.__name__!r} object has no attribute {name!r}")
        return self._bind(attribute, obj, kind, self.sources.source(OfClass, kind, name))

    def _through_descriptor(self, attribute, obj, name, source):
        how = type(attribute)
        if isinstance(obj, tuple) and how is _FIELD:
            return attribute.__get__(obj)
        if _is_property(attribute):
            if attribute.fget is None:
                raise AttributeError(f"property {name!r} has no getter")
            return self.trace.calls.call(attribute.fget, obj)
        if how in (types.MemberDescriptorType, types.GetSetDescriptorType):
            with no_modes():  # what was saved for backward is unpacked
                value = attribute.__get__(obj)
            return value if source is None else self.sources.wrap(value, self.sources.source(Attribute, source, name))
        getter = look_up(how, "__get__")
        if type(getter) is types.FunctionType:
            return self.trace.calls.call(getter, attribute, obj, type(obj))
        if how is types.DynamicClassAttribute:
            return self.trace.calls.call(attribute.fget, obj)
        self.trace.refuse(f"the descriptor {name!r} cannot be captured", "descriptor")
        return None

    def _bind(self, attribute, obj, kind, source):
        """A class's attribute as its instance (or, with None for `obj`, the class) has it."""
        how = type(attribute)
        if how is types.FunctionType:
            return attribute if obj is None else types.MethodType(attribute, obj)
        if how is staticmethod:
            return attribute.__func__
        if how is classmethod:
            return types.MethodType(attribute.__func__, kind)
        if how in (types.MethodDescriptorType, types.WrapperDescriptorType):
            return attribute if obj is None else BoundSlot(attribute, obj)
        if how in (types.ClassMethodDescriptorType, types.BuiltinFunctionType):
            return attribute.__get__(obj, kind) if how is types.ClassMethodDescriptorType else attribute
        if how is functools.cached_property:
            return self._cached_property(attribute, obj) if obj is not None else attribute
        if how is functools.partialmethod:
            self.trace.refuse("functools.partialmethod cannot be captured", "descriptor")
        getter = look_up(how, "__get__")
        if getter is None or isinstance(attribute, type):
            return self.sources.wrap(attribute, source)
        if type(getter) is types.FunctionType:
            self.sources.register(attribute, source)
            return self.trace.calls.call(getter, attribute, obj, kind)
        if how in (property, types.GetSetDescriptorType, types.MemberDescriptorType) and obj is None:
            return attribute
        if how is functools._lru_cache_wrapper:
            return attribute if obj is None else types.MethodType(attribute, obj)
        return self.sources.wrap(attribute, source)

    def _cached_property(self, attribute, obj):
        value = self.trace.calls.call(attribute.func, obj)
        self.set(value, obj, attribute.attrname)
        return value

    def _module_state(self, obj, name):
        """The attribute that nn.Module finds for names that are no plain attributes."""
        source, values = self.sources.source_of(obj), instance_dict(obj) or {}
        for registry in ("_parameters", "_buffers", "_modules"):
            found = values.get(registry)
            if found is None:
                continue
            if source is not None:
                where = self.sources.source(Item, self.sources.source(Dictionary, source), registry)
                found = self.sources.wrap(found, where)
            written = None if source is None else self.writes.item_written(found, name)
            if written is not None:
                return written[0]
            if name in found:
                return (
                    found[name]
                    if source is None
                    else self.sources.wrap(found[name], self.sources.source(Item, where, name))
                )
            if source is not None:
                self.guards.note("absent", where, name)
        raise AttributeError(f"'{type(obj).__name__}' object has no attribute '{name}'")

    def _of_module(self, module, name):
        if name == "__dict__":
            return self.sources.wrap(
                module.__dict__, self.sources.source(Dictionary, self.sources.constant_source(module, module.__name__))
            )
        where = self.sources.source(Dictionary, self.sources.constant_source(module, module.__name__))
        values = module.__dict__
        if name not in values:
            # A lazy module puts what it is asked for among its attributes.
            value = getattr(module, name)
            if name not in values:
                if is_constant(value) or isinstance(value, (type, types.FunctionType, types.ModuleType)):
                    self.guards.note("result", None, (getattr, (module, name), value))
                    return value
                self.trace.refuse(
                    f"the attribute {name!r} of the module {module.__name__} cannot be captured", "attribute"
                )
        return self.sources.wrap(values[name], self.sources.source(Item, where, name))

    def _of_class(self, kind, name):
        meta = type(kind)
        if name in ("__name__", "__qualname__", "__mro__", "__bases__", "__module__", "__base__"):
            value = getattr(kind, name)
            self.guards.note("result", None, (getattr, (kind, name), value))
            return value
        if name == "__class__":
            return meta
        if name == "__doc__":
            return kind.__doc__
        if isinstance(kind, enum.EnumMeta):
            return getattr(kind, name)
        attribute = self.sources.type_attribute(kind, name)
        of_meta = look_up(meta, name, absent)
        if of_meta is not absent and (_takes_set(of_meta) or attribute is absent):
            if _is_property(of_meta):
                return self.trace.calls.call(of_meta.fget, kind)
            if name == "__dict__":
                self.trace.refuse("__dict__ of a class cannot be captured", "attribute")
            return self._bind(of_meta, kind, meta, self.sources.source(OfClass, meta, name))
        if attribute is absent:
            raise AttributeError(f"type object {kind.__name__!r} has no attribute {name!r}")
        if name == "__new__" and type(attribute) is staticmethod:
            return attribute.__func__
        return self._bind(attribute, None, kind, self.sources.source(OfClass, kind, name))

    def _of_super(self, obj, name):
        mine = obj.__self__
        kind = obj.__self_class__
        line = kind.__mro__
        for base in line[line.index(obj.__thisclass__) + 1 :]:
            if name in base.__dict__:
                attribute = base.__dict__[name]
                source = self.sources.source(OfClass, base, name)
                self.guards.note("super", None, (obj.__thisclass__, kind, name, attribute))
                if mine is kind:
                    return self._bind(attribute, None, kind, source)
                if _takes_set(attribute):
                    return self._through_descriptor(attribute, mine, name, self.sources.source_of(mine))
                return self._bind(attribute, mine, kind, source)
        raise AttributeError(f"'super' object has no attribute {name!r}")

    def set(self, value: Any, obj: Any, name: str) -> None:
        """`obj.name = value`."""
        self.trace.alive()
        kind = type(obj)
        if isinstance(obj, torch.Tensor):
            if name == "requires_grad" and self.graph.input_of(obj) is None:
                self.graph.record("call_method", "requires_grad_", (obj, value), {})
                return
            if name in ("data", "grad", "requires_grad") or look_up(torch.Tensor, name) is not None:
                self.trace.refuse(f"assignment to the attribute {name!r} of a tensor", "write")
            self.writes.attribute(obj, name, value)
            return
        if isinstance(obj, (type, types.ModuleType)):
            self.trace.refuse(
                f"assignment to {name!r} of the {'class' if isinstance(obj, type) else 'module'} {obj.__name__}",
                "write",
            )
        setter = look_up(kind, "__setattr__")
        if type(setter) is types.FunctionType and not (
            setter is torch.nn.Module.__setattr__ and self.sources.source_of(obj) is not None
        ):
            self.sources.type_attribute(kind, "__setattr__")
            self.trace.calls.call(setter, obj, name, value)
        else:
            self.plain_set(obj, name, value)

    def plain_set(self, obj: Any, name: str, value: Any) -> None:
        """`object.__setattr__(obj, name, value)`."""
        kind = type(obj)
        attribute = self.sources.type_attribute(kind, name)
        if _is_property(attribute):
            if attribute.fset is None:
                raise AttributeError(f"property {name!r} of {kind.__name__!r} object has no setter")
            self.trace.calls.call(attribute.fset, obj, value)
        elif self.sources.source_of(obj) is not None:
            if isinstance(value, torch.Tensor) and self._holds(obj, name, value):
                return  # what `self.buffer += x` ends with
            if isinstance(obj, torch.nn.Module):
                self.writes.check_module_write(obj, name, value)
            self.writes.attribute(obj, name, value)
        elif (
            attribute is not absent
            and _takes_set(attribute)
            and type(look_up(type(attribute), "__set__")) is types.FunctionType
        ):
            self.trace.calls.call(look_up(type(attribute), "__set__"), attribute, obj, value)
        else:
            object.__setattr__(obj, name, value)

    def _holds(self, obj, name, value) -> bool:
        """Whether an attribute of an object outside is this tensor already."""
        values = instance_dict(obj) or {}
        places = (values, values.get("_buffers") or {}) if isinstance(obj, torch.nn.Module) else (values,)
        if self.writes.to(values) is not None or not any(isinstance(place.get(name), torch.Tensor) for place in places):
            return False
        return self.get(obj, name) is value

    def delete(self, obj: Any, name: str) -> None:
        """`del obj.name`."""
        self.trace.alive()
        if self.sources.source_of(obj) is not None or isinstance(obj, (torch.Tensor, type, types.ModuleType)):
            self.trace.refuse(f"del of the attribute {name!r} of an object outside", "write")
        deleter = look_up(type(obj), "__delattr__")
        if type(deleter) is types.FunctionType:
            self.trace.calls.call(deleter, obj, name)
        else:
            object.__delattr__(obj, name)
