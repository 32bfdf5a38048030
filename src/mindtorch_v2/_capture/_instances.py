"""Instances of classes that the program makes.

Owns no state: they are the program's own objects.
"""

from __future__ import annotations

import dataclasses
import enum
import types
from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch
from mindtorch_v2._capture import _known
from mindtorch_v2._capture._sources import Attribute, Item, look_up

if TYPE_CHECKING:
    from mindtorch_v2._capture._recording import Recorder


__all__ = ["Instances"]


# Which kind of field it is nothing public tells.
_CLASS_VARIABLE, _ONLY_INITIAL = dataclasses._FIELD_CLASSVAR, dataclasses._FIELD_INITVAR  # type: ignore[attr-defined]  # (private)


class Instances:
    """Part of a recorder: instances."""

    def __init__(self, trace: Recorder) -> None:
        self.trace = trace
        self.sources = trace.sources
        self.guards = trace.guards

    def make(self, cls: type, args: Any, kwargs: dict[str, Any]) -> Any:
        """`cls(*args, **kwargs)`."""
        handler = _known.classes().get(cls)
        if handler is not None:
            return handler(self.trace, *args, **kwargs)
        if isinstance(cls, enum.EnumMeta):
            return cls(*args, **kwargs)
        if cls.__module__ == "itertools":
            return cls(
                *(self.trace.iteration.over(a) if _iterable(a) else self.trace.functions.wrapped(a) for a in args),
                **kwargs,
            )
        meta_call = look_up(type(cls), "__call__")
        if type(meta_call) is types.FunctionType:
            self.sources.type_attribute(type(cls), "__call__")
            return self.trace.calls.call(meta_call, cls, *args, **kwargs)
        if issubclass(cls, torch.Tensor):
            self.trace.refuse(f"making a {cls.__name__} cannot be captured", "tensor_subclass")
        return self._make(cls, args, kwargs)

    def _make(self, cls: type, args: Any, kwargs: dict[str, Any]) -> Any:
        """`type.__call__(cls, ...)`."""
        new = self.sources.type_attribute(cls, "__new__")
        plain = new.__func__ if type(new) is staticmethod else new
        if type(plain) is types.FunctionType:
            if hasattr(cls, "_fields") and plain.__code__.co_filename.startswith("<"):
                obj = plain(cls, *args, **kwargs)
            else:
                obj = self.trace.calls.call(plain, cls, *args, **kwargs)
        elif plain is object.__new__:
            obj = object.__new__(cls)
        elif issubclass(cls, (dict, list, set)):
            obj = plain(cls)
        elif issubclass(cls, BaseException):
            obj = plain(cls, *args)
        elif issubclass(cls, tuple):
            obj = plain(cls, *([*self.trace.iteration.over(a)] for a in args))
        elif issubclass(cls, torch.autograd.Function):
            return plain(cls)  # its __init__ says that instances are deprecated, and nothing more
        else:
            self.trace.refuse(f"making a {cls.__name__} cannot be captured", "call")
        if type(obj) is not cls and not isinstance(obj, cls):
            return obj
        kind = type(obj)
        init = self.sources.type_attribute(kind, "__init__")
        if type(init) is types.FunctionType:
            if dataclasses.is_dataclass(kind) and init.__code__.co_filename.startswith("<"):
                self._dataclass_init(obj, kind, init, args, kwargs)
            else:
                self.trace.calls.call(init, obj, *args, **kwargs)
        elif init is not object.__init__:
            self.trace.calls.slot(init, obj, args, kwargs)
        return obj

    def _defaults(self, f):
        """The defaults of a function by parameter: values and where they stand."""
        code, found = f.__code__, {}
        self.guards.note("function", None, (f, code, f.__defaults__, f.__kwdefaults__))
        of = self.sources.constant_source(f, f.__qualname__)
        defaults = f.__defaults__ or ()
        first = code.co_argcount - len(defaults)
        where = self.sources.source(Attribute, of, "__defaults__")
        for i, value in enumerate(defaults):
            found[code.co_varnames[first + i]] = value, self.sources.source(Item, where, i, False)
        where = self.sources.source(Attribute, of, "__kwdefaults__")
        for name, value in (f.__kwdefaults__ or {}).items():
            found[name] = value, self.sources.source(Item, where, name)
        return found

    def _dataclass_init(self, obj, kind, init, args, kwargs):
        """Do what the `__init__` that `dataclass` makes does."""
        owner = next(base for base in kind.__mro__ if "__init__" in base.__dict__)
        fields = [f for f in owner.__dataclass_fields__.values() if f._field_type is not _CLASS_VARIABLE]
        names = [f.name for f in fields if f.init and not f.kw_only]
        if len(args) > len(names):
            raise TypeError(f"{kind.__name__}.__init__() takes {len(names) + 1} positional arguments")
        given = {**dict(zip(names, args)), **kwargs}
        defaults = self._defaults(init)
        initial = []
        frozen = owner.__dataclass_params__.frozen
        for field in fields:
            if field.init and field.name in given:
                value = given.pop(field.name)
            elif field.init and field.default is not dataclasses.MISSING:
                value = self.sources.wrap(*defaults[field.name])
            elif field.default is not dataclasses.MISSING:
                self.trace.refuse("a field of a dataclass with a default and without a parameter", "call")
            elif field.default_factory is not dataclasses.MISSING:
                value = self.trace.calls.call(field.default_factory)
            elif field.init:
                raise TypeError(f"{kind.__name__}.__init__() missing the argument {field.name!r}")
            else:
                continue
            if field._field_type is _ONLY_INITIAL:
                initial.append(value)
            elif frozen:
                object.__setattr__(obj, field.name, value)
            else:
                self.trace.attributes.set(value, obj, field.name)
        if given:
            raise TypeError(f"{kind.__name__}.__init__() got an unexpected keyword argument {next(iter(given))!r}")
        if look_up(kind, "__post_init__") is not None:
            self.trace.calls.call(self.trace.attributes.get(obj, "__post_init__"), *initial)


def _iterable(value) -> bool:
    return look_up(type(value), "__iter__") is not None
