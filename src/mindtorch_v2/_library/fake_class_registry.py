"""Fake classes: what stands for objects of a class in C++ where operators and methods run without data.

PyTorch's names. An object that stands for another lasts as long as one call: it is made of what the other one's
`__obj_flatten__` gives then.
"""

from __future__ import annotations

import functools
import inspect
from typing import Any

from mindtorch_v2 import _C
from mindtorch_v2._ops import classes
from mindtorch_v2._tensor import Tensor

from . import fake

__all__ = [
    "FakeScriptMethod",
    "FakeScriptObject",
    "deregister_fake_class",
    "find_fake_class",
    "has_fake_class",
    "register_fake_class",
]

_classes: dict[str, tuple[type, list]] = {}
_MADE_BY = "__obj_unflatten__"
_TOLD_BY = "__obj_flatten__"
_KEY = "CompositeImplicitAutograd"  # of every method of a class in C++
_TAKES_KEYS = 2  # csrc/core/registry.h: PythonFlag


class FakeScriptObject:
    """An object of a fake class in place of one of a class in C++: `fake_obj` is the former, `real_obj` the latter."""

    def __init__(self, wrapped_obj: Any, script_class_name: str, x: Any) -> None:
        self.wrapped_obj, self.script_class_name, self.real_obj = wrapped_obj, script_class_name, x

    @property
    def fake_obj(self) -> Any:
        """The object of the fake class."""
        return self.wrapped_obj

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or "wrapped_obj" not in self.__dict__:
            raise AttributeError(name)
        return getattr(self.wrapped_obj, name)

    def __len__(self) -> int:
        return len(self.wrapped_obj)

    def __getitem__(self, key: Any) -> Any:
        return self.wrapped_obj[key]


class FakeScriptMethod:
    """A method of an object that stands for another, as an object to call."""

    def __init__(self, self_fake_obj: FakeScriptObject, method_name: str) -> None:
        self.self_fake_obj, self.method_name = self_fake_obj, method_name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return getattr(self.self_fake_obj.fake_obj, self.method_name)(*args, **kwargs)


def _split(qualname: str) -> tuple[str, str]:
    namespace, mark, name = qualname.partition("::")
    if not (namespace and mark and name) or "::" in name:
        raise ValueError(f"expected the name of a class as 'namespace::name', got {qualname!r}")
    return namespace, name


def _replace(cls: type, handle: Any) -> int:
    """Let a method's operator ask the fake class where a tensor among its arguments has no data; the registration."""
    original = handle.registration(_KEY)

    def method(keys: int, real: Any, *args: Any, **kwargs: Any) -> Any:
        if any(_has_no_data(value) for value in (*args, *kwargs.values())):
            return getattr(_stand_in(cls, real).fake_obj, handle.name)(*args, **kwargs)
        return handle.call_kernel(original, keys, real, *args, **kwargs)

    return int(handle.impl(_KEY, method, _TAKES_KEYS))


def _has_no_data(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(_has_no_data(each) for each in value)
    return isinstance(value, Tensor) and (value.device.type == "meta" or hasattr(value, "fake_mode"))


def _stand_in(cls: type, real: Any) -> FakeScriptObject:
    made = getattr(cls, _MADE_BY)(real.__obj_flatten__())
    return FakeScriptObject(made, real._type().qualified_name(), real)


def register_fake_class(qualname: str, fake_class: type | None = None) -> Any:
    """Let objects of `fake_class` stand for those of the class `qualname` ("ns::Name") in C++ where there is no data.

    The class in C++ has a method `__obj_flatten__`, which gives its state as pairs of a name and a value; the fake class has a
    class method `__obj_unflatten__`, which makes an object of them, and the methods that are called with tensors. Without
    `fake_class` this is a decorator. RuntimeError for a fake class without `__obj_unflatten__`, and where the class in C++
    does not exist.

    >>> torch._library.register_fake_class("docs::Missing", int)
    Traceback (most recent call last):
        ...
    RuntimeError: <class 'int'> doesn't define a classmethod __obj_unflatten__, which makes an object of the fake class
    """

    def register(cls: type) -> type:
        namespace, name = _split(qualname)
        if not hasattr(cls, _MADE_BY):
            raise RuntimeError(
                f"{cls} doesn't define a classmethod {_MADE_BY}, which makes an object of the fake class"
            )
        if not isinstance(inspect.getattr_static(cls, _MADE_BY), classmethod):
            raise RuntimeError(f"{_MADE_BY} of {cls} is not a classmethod")
        real = getattr(getattr(classes, namespace), name)  # RuntimeError where there is none
        if not hasattr(real, _TOLD_BY):
            raise RuntimeError(f"torch.classes.{namespace}.{name} has no method {_TOLD_BY}, which tells its state")
        deregister_fake_class(qualname)
        kernels = []
        for handle in [h for h in _C._all_operators() if h.namespace == f"_classes_{namespace}_{name}"]:
            if callable(getattr(cls, handle.name, None)) and _takes_tensors(handle.schema):
                kernels.append((handle, _replace(cls, handle)))
        _classes[qualname] = cls, kernels
        fake.stand_ins[real._qualified] = functools.partial(_stand_in, cls)
        return cls

    return register if fake_class is None else register(fake_class)


def _takes_tensors(schema: str) -> bool:
    return "Tensor" in schema.partition("->")[0]


def has_fake_class(qualname: str) -> bool:
    """Whether the class "ns::Name", or "__torch__.torch.classes.ns.Name", has a fake class."""
    return _short(qualname) in _classes


def find_fake_class(qualname: str) -> type | None:
    """The fake class of "ns::Name", or of "__torch__.torch.classes.ns.Name"; None if it has none."""
    found = _classes.get(_short(qualname))
    return None if found is None else found[0]


def _short(qualname: str) -> str:
    return qualname.removeprefix("__torch__.torch.classes.").replace(".", "::")


def deregister_fake_class(qualname: str) -> Any:
    """Take back what `register_fake_class` did; the fake class, None if there was none."""
    found = _classes.pop(_short(qualname), None)
    if found is None:
        return None
    for handle, registration in found[1]:
        handle.unimpl(_KEY, registration)
    fake.stand_ins.pop(_short(qualname).replace("::", "."), None)
    return found[0]
