"""Reads: what a program gets of objects that were there before, with a guard for each; and writes to them."""

from __future__ import annotations

import collections
import enum
import functools
import operator
import threading
import types
import weakref
from collections.abc import Callable
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2._capture._guard_kinds import is_constant
from mindtorch_v2._capture._recording import Recorder
from mindtorch_v2._capture._sources import Attribute, Dictionary, Item, OfClass, absent, look_up
from mindtorch_v2._capture._writes import instance_dict
from mindtorch_v2._sizes.recorded import RecordedFloat, RecordedInt, RecordedNumber, RecordedSize

__all__ = ["BoundSlot", "Reader", "TensorMethod"]

_NATIVE_ATTRIBUTES = (
    *(type(None), bool, int, float, complex, str, bytes, range, slice, frozenset),
    *(torch.dtype, torch.device, torch.Size, torch.layout, torch.memory_format, RecordedInt, RecordedFloat),
)
# Classes in C that look their attributes up in ways of their own.
_OWN_LOOK_UP = (type(threading.local()), weakref.ProxyType, weakref.CallableProxyType)
_FIELD = type(vars(collections.namedtuple("Pair", "first"))["first"])
_TENSOR_FACTS = frozenset(
    "dtype device requires_grad is_leaf layout ndim is_cpu is_cuda is_hpu is_ipu is_maia is_meta is_mkldnn is_mps is_mtia "
    "is_nested is_npu is_quantized is_sparse is_sparse_csr is_vulkan is_xla is_xpu itemsize".split()
)
_TENSOR_PROPERTIES = frozenset("H T mH mT real imag data".split())


class TensorMethod:
    """A method of a tensor, not called yet."""

    __slots__ = ("name", "tensor")

    def __init__(self, tensor: Any, name: str) -> None:
        self.tensor, self.name = tensor, name


class BoundSlot:
    """A method in C of an object, as `super()` finds it."""

    __slots__ = ("descriptor", "obj")

    def __init__(self, descriptor: Callable[..., Any], obj: Any) -> None:
        self.descriptor, self.obj = descriptor, obj


def _takes_set(attribute) -> bool:
    kind = type(attribute)
    return look_up(kind, "__set__") is not None or look_up(kind, "__delete__") is not None


class Reader(Recorder):
    """The part of a trace that reads."""

    bin: Any
    call: Any
    is_native: Any
    numel: Any

    # ---- attributes ----

    def ga(self, obj: Any, name: str) -> Any:
        """`obj.name`."""
        self.alive()
        kind = type(obj)
        if isinstance(obj, torch.Tensor):
            return self.tensor_attribute(obj, name)
        if kind in _NATIVE_ATTRIBUTES or isinstance(obj, enum.Enum):
            return getattr(obj, name)
        if isinstance(obj, types.ModuleType):
            return self._module_attribute(obj, name)
        if isinstance(obj, type):
            return self._class_attribute(obj, name)
        if kind is super:
            return self._super_attribute(obj, name)
        if kind is types.MethodType and name not in ("__func__", "__self__"):
            return self.ga(obj.__func__, name)
        if kind is RecordedSize and name == "numel":
            return obj.numel
        if name == "__class__":
            return kind
        getter = look_up(kind, "__getattribute__")
        try:
            if type(getter) is types.FunctionType:
                self.sources.type_attribute(kind, "__getattribute__")
                return self.call(getter, obj, name)
            if type(getter) is not types.WrapperDescriptorType or getter.__objclass__ in _OWN_LOOK_UP:
                self.refuse(f"attributes of a {kind.__name__} cannot be captured", "attribute")
            return self.plain_attribute(obj, name)
        except AttributeError:
            fallback = look_up(kind, "__getattr__")
            if type(fallback) is not types.FunctionType:
                raise
            self.sources.type_attribute(kind, "__getattr__")
            if fallback is torch.nn.Module.__getattr__:
                return self._module_state(obj, name)
            return self.call(fallback, obj, name)

    def plain_attribute(self, obj: Any, name: str) -> Any:
        """`object.__getattribute__(obj, name)`."""
        kind, source = type(obj), self.sources.source_of(obj)
        attribute = self.sources.type_attribute(kind, name)
        if name == "__dict__":
            found = instance_dict(obj)
            if found is None:
                raise AttributeError(name)
            return found if source is None else self.sources.wrap(found, self.sources.source(Dictionary, source))
        if attribute is not absent and _takes_set(attribute):
            return self._descriptor(attribute, obj, name, source)
        values = instance_dict(obj)
        if values is not None:
            found = dict.get(values, name, absent)
            if source is None:
                if found is not absent:
                    return found
            else:
                written = self.writes.noted.get(id(values))
                if written is not None and name in written.values:
                    return written.values[name]
                where = self.sources.source(Dictionary, source)
                if found is not absent:
                    return self.sources.wrap(found, self.sources.source(Item, where, name))
                self.sources.guard("absent", where, name)
        if attribute is absent:
            raise AttributeError(f"{kind.__name__!r} object has no attribute {name!r}")
        return self._bind(attribute, obj, kind, self.sources.source(OfClass, kind, name))

    def _descriptor(self, attribute, obj, name, source):
        how = type(attribute)
        if isinstance(obj, tuple) and how is _FIELD:
            return attribute.__get__(obj)
        if how is property:
            if attribute.fget is None:
                raise AttributeError(f"property {name!r} has no getter")
            return self.call(attribute.fget, obj)
        if how in (types.MemberDescriptorType, types.GetSetDescriptorType):
            value = attribute.__get__(obj)
            return value if source is None else self.sources.wrap(value, self.sources.source(Attribute, source, name))
        getter = look_up(how, "__get__")
        if type(getter) is types.FunctionType:
            return self.call(getter, attribute, obj, type(obj))
        if how is types.DynamicClassAttribute:
            return self.call(attribute.fget, obj)
        self.refuse(f"the descriptor {name!r} cannot be captured", "descriptor")
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
            self.refuse("functools.partialmethod cannot be captured", "descriptor")
        getter = look_up(how, "__get__")
        if getter is None or isinstance(attribute, type):
            return self.sources.wrap(attribute, source)
        if type(getter) is types.FunctionType:
            self.sources.register(attribute, source)
            return self.call(getter, attribute, obj, kind)
        if how in (property, types.GetSetDescriptorType, types.MemberDescriptorType) and obj is None:
            return attribute
        if how is functools._lru_cache_wrapper:
            return attribute if obj is None else types.MethodType(attribute, obj)
        return self.sources.wrap(attribute, source)

    def _cached_property(self, attribute, obj):
        value = self.call(attribute.func, obj)
        self.sa(value, obj, attribute.attrname)
        return value

    def _module_state(self, obj, name):
        """The attribute that nn.Module finds for names that are no plain attributes."""
        source, values = self.sources.source_of(obj), instance_dict(obj)
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
                self.sources.guard("absent", where, name)
        raise AttributeError(f"'{type(obj).__name__}' object has no attribute '{name}'")

    def _module_attribute(self, module, name):
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
                    self.sources.guard("result", None, (getattr, (module, name), value))
                    return value
                self.refuse(f"the attribute {name!r} of the module {module.__name__} cannot be captured", "attribute")
        return self.sources.wrap(values[name], self.sources.source(Item, where, name))

    def _class_attribute(self, kind, name):
        meta = type(kind)
        if name in ("__name__", "__qualname__", "__mro__", "__bases__", "__module__", "__base__"):
            value = getattr(kind, name)
            self.sources.guard("result", None, (getattr, (kind, name), value))
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
            if type(of_meta) is property:
                return self.call(of_meta.fget, kind)
            if name == "__dict__":
                self.refuse("__dict__ of a class cannot be captured", "attribute")
            return self._bind(of_meta, kind, meta, self.sources.source(OfClass, meta, name))
        if attribute is absent:
            raise AttributeError(f"type object {kind.__name__!r} has no attribute {name!r}")
        if name == "__new__" and type(attribute) is staticmethod:
            return attribute.__func__
        return self._bind(attribute, None, kind, self.sources.source(OfClass, kind, name))

    def _super_attribute(self, obj, name):
        mine = obj.__self__
        kind = obj.__self_class__
        line = kind.__mro__
        for base in line[line.index(obj.__thisclass__) + 1 :]:
            if name in base.__dict__:
                attribute = base.__dict__[name]
                source = self.sources.source(OfClass, base, name)
                self.sources.guard("super", None, (obj.__thisclass__, kind, name, attribute))
                if mine is kind:
                    return self._bind(attribute, None, kind, source)
                if _takes_set(attribute):
                    return self._descriptor(attribute, mine, name, self.sources.source_of(mine))
                return self._bind(attribute, mine, kind, source)
        raise AttributeError(f"'super' object has no attribute {name!r}")

    # ---- attributes of tensors ----

    def tensor_attribute(self, tensor: Any, name: str) -> Any:
        """`tensor.name`: a fact, a recorded property, or a method."""
        if name == "shape":
            return self.graph.shape_of(tensor)
        if name == "ndim":
            return self.graph.fact(tensor, "dim")
        if name == "grad_fn":
            if tensor.grad_fn is not None:
                self.refuse("the grad_fn of a tensor", "autograd")
            return None
        if name in _TENSOR_FACTS:
            return getattr(tensor, name)
        if name == "__class__":
            return self.graph.real_class(tensor)
        place = self.graph.real_of.get(id(tensor))
        if name in _TENSOR_PROPERTIES:
            return self.graph.record("call_function", getattr, (tensor, name), {})
        if name == "nbytes":
            return self.bin("mul", self.numel(tensor), tensor.itemsize)
        if name == "grad":
            if place is None:
                return None
            _, source, real, _ = self.graph.inputs[place]
            return self.sources.wrap(real.grad, self.sources.source(Attribute, source, "grad"))
        written = self.writes.noted.get(id(tensor))
        if written is not None and name in written.values:
            return written.values[name]
        kind = self.graph.real_class(tensor)
        attribute = look_up(kind, name, absent)
        if attribute is absent:
            if place is None:
                raise AttributeError(f"'Tensor' object has no attribute '{name}'")
            _, source, real, _ = self.graph.inputs[place]
            where = self.sources.source(Dictionary, source)
            if name not in real.__dict__:
                self.sources.guard("absent", where, name)
                raise AttributeError(f"'{kind.__name__}' object has no attribute '{name}'")
            return self.sources.wrap(real.__dict__[name], self.sources.source(Item, where, name))
        if not callable(attribute):
            self.refuse(f"the attribute {name!r} of a tensor cannot be captured", "tensor_attribute")
        return TensorMethod(tensor, name)

    # ---- writes ----

    def sa(self, value: Any, obj: Any, name: str) -> None:
        """`obj.name = value`."""
        self.alive()
        kind = type(obj)
        if isinstance(obj, torch.Tensor):
            if name == "requires_grad" and id(obj) not in self.graph.real_of:
                self.graph.record("call_method", "requires_grad_", (obj, value), {})
                return
            if name in ("data", "grad", "requires_grad") or look_up(torch.Tensor, name) is not None:
                self.refuse(f"assignment to the attribute {name!r} of a tensor", "write")
            self.writes.written(obj, name, value)
            return
        if isinstance(obj, (type, types.ModuleType)):
            self.refuse(
                f"assignment to {name!r} of the {'class' if isinstance(obj, type) else 'module'} {obj.__name__}",
                "write",
            )
        setter = look_up(kind, "__setattr__")
        if type(setter) is types.FunctionType and not (
            setter is torch.nn.Module.__setattr__ and self.sources.source_of(obj) is not None
        ):
            self.sources.type_attribute(kind, "__setattr__")
            self.call(setter, obj, name, value)
        else:
            self.plain_set(obj, name, value)

    def plain_set(self, obj: Any, name: str, value: Any) -> None:
        """`object.__setattr__(obj, name, value)`."""
        kind = type(obj)
        attribute = self.sources.type_attribute(kind, name)
        if type(attribute) is property:
            if attribute.fset is None:
                raise AttributeError(f"property {name!r} of {kind.__name__!r} object has no setter")
            self.call(attribute.fset, obj, value)
        elif self.sources.source_of(obj) is not None:
            if isinstance(value, torch.Tensor) and self._holds(obj, name, value):
                return  # what `self.buffer += x` ends with
            if isinstance(obj, torch.nn.Module):
                self.writes.check_module_write(obj, name, value)
            self.writes.written(obj, name, value)
        elif (
            attribute is not absent
            and _takes_set(attribute)
            and type(look_up(type(attribute), "__set__")) is types.FunctionType
        ):
            self.call(look_up(type(attribute), "__set__"), attribute, obj, value)
        else:
            object.__setattr__(obj, name, value)

    def _holds(self, obj, name, value) -> bool:
        """Whether an attribute of an object outside is this tensor already."""
        values = instance_dict(obj) or {}
        places = (values, values.get("_buffers") or {}) if isinstance(obj, torch.nn.Module) else (values,)
        if id(values) in self.writes.noted or not any(isinstance(place.get(name), torch.Tensor) for place in places):
            return False
        return self.ga(obj, name) is value

    def da(self, obj: Any, name: str) -> None:
        """`del obj.name`."""
        self.alive()
        if self.sources.source_of(obj) is not None or isinstance(obj, (torch.Tensor, type, types.ModuleType)):
            self.refuse(f"del of the attribute {name!r} of an object outside", "write")
        deleter = look_up(type(obj), "__delattr__")
        if type(deleter) is types.FunctionType:
            self.call(deleter, obj, name)
        else:
            object.__delattr__(obj, name)

    # ---- items ----

    def gi(self, obj: Any, key: Any) -> Any:
        """`obj[key]`."""
        self.alive()
        kind = type(obj)
        if isinstance(obj, torch.Tensor):
            return self.graph.record("call_function", operator.getitem, (obj, self.deep(key)), {})
        if kind is RecordedSize:
            return RecordedSize(obj[key]) if isinstance(key, slice) else obj[key]
        if kind is torch.Size:
            return obj[key]
        source = self.sources.source_of(obj)
        if isinstance(obj, type):
            members: Any = obj
            if type(obj) is enum.EnumMeta:
                return members[key]
            return self.call(self.ga(obj, "__class_getitem__"), key) if kind is not type else members[key]
        getter = look_up(kind, "__getitem__")
        if type(getter) is types.FunctionType:
            self.sources.type_attribute(kind, "__getitem__")
            return self.call(getter, obj, key)
        if source is None:
            if isinstance(key, RecordedNumber):
                key = key.__index__()
            if kind in (list, tuple, dict, str, bytes, range, torch.Size) or self.is_native(obj):
                return getter(obj, key)
            self.refuse(f"an item of a {kind.__name__} cannot be captured", "item")
        return self._outside_item(obj, kind, source, key)

    def _outside_item(self, obj, kind, source, key):
        if isinstance(obj, (list, collections.deque)):
            if isinstance(key, slice):
                return [*self.it(obj)][key]
            if isinstance(obj, collections.deque):
                return [*self.it(obj)][key]
            self.sources.guard("length", source, len(obj))
            index = key.__index__()
            if not -len(obj) <= index < len(obj):
                raise IndexError("list index out of range")
            index %= len(obj)
            return self.sources.wrap(list.__getitem__(obj, index), self.sources.source(Item, source, index, False))
        if isinstance(obj, dict):
            self.check_key(key)
            written = self.writes.item_written(obj, key)
            if written is not None:
                return written[0]
            if dict.__contains__(obj, key):
                return self.sources.wrap(dict.__getitem__(obj, key), self.sources.source(Item, source, key))
            self.sources.guard("absent", source, key)
            missing = look_up(kind, "__missing__")
            if missing is not None:
                self.refuse(f"a missing item of a {kind.__name__}", "write")
            raise KeyError(key)
        self.refuse(f"an item of a {kind.__name__} cannot be captured", "item")
        return None

    def check_key(self, key: Any) -> None:
        """Refuse what is no constant and is not compared by identity as a key of a dictionary outside."""
        if is_constant(key) or isinstance(key, (type, types.FunctionType)):
            return
        source = self.sources.source_of(key)
        if source is None or look_up(type(key), "__eq__") is not object.__eq__:
            self.refuse("a key that is no constant", "item")
        self.sources.guard("identity", source, key)

    def si(self, value: Any, obj: Any, key: Any) -> None:
        """`obj[key] = value`."""
        self.alive()
        if isinstance(obj, torch.Tensor):
            self.graph.record("call_function", operator.setitem, (obj, self.deep(key), self.deep(value)), {})
            return
        if self.sources.source_of(obj) is not None:
            if type(obj) is not dict or not is_constant(key):
                self.refuse(f"assignment to an item of a {type(obj).__name__} outside", "write")
            self.writes.note(obj, obj, True).values[key] = value
            return
        setter = look_up(type(obj), "__setitem__")
        if type(setter) is types.FunctionType:
            self.sources.type_attribute(type(obj), "__setitem__")
            self.call(setter, obj, key, value)
        elif self.is_native(obj):
            setter(obj, key, value)
        else:
            self.refuse(f"assignment to an item of a {type(obj).__name__}", "write")

    def di(self, obj: Any, key: Any) -> None:
        """`del obj[key]`."""
        self.alive()
        deleter = look_up(type(obj), "__delitem__")
        if self.sources.source_of(obj) is not None or not self.is_native(obj):
            self.refuse(f"del of an item of a {type(obj).__name__} outside", "write")
        if type(deleter) is types.FunctionType:
            self.call(deleter, obj, key)
        else:
            deleter(obj, key)

    # ---- iteration ----

    def it(self, obj: Any) -> Any:
        """The iterable that a loop over `obj` runs over."""
        self.alive()
        kind = type(obj)
        if isinstance(obj, torch.Tensor):
            if obj.dim() == 0:
                raise TypeError("iteration over a 0-d tensor")
            if id(obj) in self.graph.tainted:
                self.graph.shape_of(obj)[0].__index__()
            return self.graph.record("call_method", "unbind", (obj, 0), {})
        if kind is RecordedSize:
            return obj
        source = self.sources.source_of(obj)
        if isinstance(obj, enum.EnumMeta):
            return iter(obj)
        iterate = look_up(kind, "__iter__")
        if type(iterate) is types.FunctionType:
            self.sources.type_attribute(kind, "__iter__")
            return self._python_iterator(self.call(iterate, obj))
        if source is not None:
            return self._outside_iterator(obj, kind, source)
        if iterate is None:
            if type(look_up(kind, "__getitem__")) is types.FunctionType:
                return self._by_index(obj)
            raise TypeError(f"{kind.__name__!r} object is not iterable")
        if isinstance(obj, type) or not (self.is_native(obj) or is_constant(obj)):
            self.refuse(f"a loop over a {kind.__name__} cannot be captured", "iteration")
        return obj

    def _python_iterator(self, iterator):
        step = look_up(type(iterator), "__next__")
        if type(step) is not types.FunctionType:
            return self.it(iterator)

        def run() -> Any:
            while True:
                try:
                    value = self.call(step, iterator)
                except StopIteration:
                    return
                yield value

        return run()

    def _by_index(self, obj):
        index = 0
        while True:
            try:
                value = self.gi(obj, index)
            except IndexError:
                return
            yield value
            index += 1

    def _outside_iterator(self, obj, kind, source):
        if isinstance(obj, (list, collections.deque)):
            self.sources.guard("length", source, len(obj))
            if isinstance(obj, collections.deque):
                self.refuse("a loop over a deque outside", "iteration")
            items = [(list.__getitem__(obj, i), self.sources.source(Item, source, i, False)) for i in range(len(obj))]
            return (self.sources.wrap(value, where) for value, where in items)
        if isinstance(obj, dict):
            return iter(self.keys(obj, source))
        if isinstance(obj, (set, frozenset)):
            order = tuple(obj)
            if not all(map(is_constant, order)):
                self.refuse("a loop over a set of objects", "iteration")
            self.sources.guard("keys", source, order)
            return iter(order)
        self.refuse(f"a loop over a {kind.__name__} outside cannot be captured", "iteration")
        return None

    def keys(self, obj: Any, source: Any) -> tuple[int | str, ...]:
        """The keys of a dictionary outside, guarded."""
        if id(obj) in self.writes.noted:
            self.refuse("the keys of a dictionary outside that was written to", "write")
        found = tuple(dict.keys(obj))
        if not all(is_constant(k) or isinstance(k, (type, types.FunctionType)) for k in found):
            self.refuse("a dictionary outside with keys that are no constants", "iteration")
        self.sources.guard("keys", source, found)
        return found

    def items(self, obj: Any, source: Any) -> list:
        """The items of a dictionary outside."""
        keys = self.keys(obj, source)
        return [
            (key, self.sources.wrap(dict.__getitem__(obj, key), self.sources.source(Item, source, key))) for key in keys
        ]

    def it_unpacked(self, obj: Any, pattern: Any) -> Any:
        """Like `it`, each item unpacked as a target of the pattern's form does."""
        return (self._unpacked(each, pattern) for each in self.it(obj))

    def _unpacked(self, value, pattern):
        if pattern is None:
            return value
        items = [*self.it(value)]
        if len(items) != len(pattern):
            return items
        return tuple(self._unpacked(item, part) for item, part in zip(items, pattern))

    def mapping(self, obj: Any) -> dict[str, Any]:
        """The dictionary that `**obj` gives."""
        self.alive()
        source = self.sources.source_of(obj)
        if isinstance(obj, dict):
            if (
                type(look_up(type(obj), "__getitem__")) is types.FunctionType
                or type(look_up(type(obj), "keys")) is types.FunctionType
            ):
                return {key: self.gi(obj, key) for key in self.it(self.call(self.ga(obj, "keys")))}
            return dict(self.items(obj, source)) if source is not None else dict(dict.items(obj))
        if isinstance(obj, types.MappingProxyType) and source is None:
            return dict(obj)
        return {key: self.gi(obj, key) for key in self.it(self.call(self.ga(obj, "keys")))}

    def deep(self, value: Any) -> Any:
        """`value` with every container from outside replaced by one of this trace, so that C code may read it.

        What holds nothing from outside stays the object that it is.
        """
        kind = type(value)
        source = self.sources.outside.get(id(value))
        if kind in (list, tuple):
            items: Any = [self.deep(each) for each in self.it(value)]
            if source is None and all(map(operator.is_, items, value)):
                return value
            return kind(items)
        if kind is dict:
            items = {key: self.deep(each) for key, each in self.mapping(value).items()}
            if source is None and all(map(operator.is_, items.values(), value.values())):
                return value
            return items
        if kind in (set, collections.OrderedDict) and source is not None:
            return kind(self.it(value)) if kind is set else kind(self.mapping(value))
        return value
