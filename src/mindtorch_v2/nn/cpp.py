"""Modules written in C++ (`torch::python::bind_module`) as Modules of Python."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from mindtorch_v2.nn.modules.module import Module

__all__ = ["ModuleWrapper"]


class _Shown(Mapping):
    """Tensors or children of a module of C++ by their names, as they are now."""

    def __init__(self, items: Callable[[], Any]) -> None:
        self._items = items

    def __getitem__(self, name: str) -> Any:
        return dict(self._items())[name]

    def __iter__(self) -> Iterator[str]:
        return (name for name, _ in self._items())

    def __len__(self) -> int:
        return len(self._items())


class _Named(list):
    """Pairs of names and values, which are found by name too: torch::OrderedDict."""

    def __contains__(self, name: object) -> bool:
        return any(name == known for known, _ in self)

    def __getitem__(self, place: Any) -> Any:
        return dict(self)[place] if isinstance(place, str) else super().__getitem__(place)


class ModuleWrapper(Module):
    """A Module that shows one of C++: its parameters, buffers and children are that one's, its methods are called there.

    Tensors are the same objects on both sides. Children have no methods of their own in Python but those of every Module.
    What Modules of Python give one after the other is a list here, as in C++.
    """

    def __init__(self, cpp_module: Any) -> None:
        super().__init__()
        self.cpp_module = cpp_module
        self._wrapped: dict[str, ModuleWrapper] = {}  # before what asks for it
        self._parameters: Any = _Shown(lambda: cpp_module.named_parameters(False))
        self._buffers: Any = _Shown(lambda: cpp_module.named_buffers(False))
        self._modules: Any = _Shown(self._children)
        for name in dir(cpp_module):
            if not name.startswith("_") and not hasattr(ModuleWrapper, name):
                setattr(self, name, getattr(cpp_module, name))

    def _children(self):
        """The children, each with the wrapper that it had before."""
        for name, child in self.cpp_module.named_children():
            if name not in self._wrapped or self._wrapped[name].cpp_module is not child:
                self._wrapped[name] = ModuleWrapper(child)
        return list(self._wrapped.items())

    def train(self, mode: bool = True) -> Any:
        """Training or evaluation, in C++ too."""
        self.cpp_module.train(mode)
        return super().train(mode)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The C++ module's."""
        return self.cpp_module.forward(*args, **kwargs)

    def clone(self) -> Any:
        """A copy, whose tensors are its own."""
        return ModuleWrapper(self.cpp_module.clone())

    def parameters(self, *args: Any, **kwargs: Any) -> Any:
        """The parameters, a list."""
        return list(super().parameters(*args, **kwargs))

    def named_parameters(self, *args: Any, **kwargs: Any) -> Any:
        """The parameters with their names, a list."""
        return _Named(super().named_parameters(*args, **kwargs))

    def buffers(self, *args: Any, **kwargs: Any) -> Any:
        """The buffers, a list."""
        return list(super().buffers(*args, **kwargs))

    def named_buffers(self, *args: Any, **kwargs: Any) -> Any:
        """The buffers with their names, a list."""
        return _Named(super().named_buffers(*args, **kwargs))

    def modules(self, *args: Any, **kwargs: Any) -> Any:
        """This module and all below it, a list."""
        return list(super().modules(*args, **kwargs))

    def _apply(self, fn: Callable[[Any], Any], recurse: bool = True) -> Any:
        """Move the tensors, which stay the objects that C++ holds."""
        for tensor in (*self.parameters(recurse), *self.buffers(recurse)):
            tensor.data = fn(tensor.data)
            if tensor.grad is not None:
                tensor.grad = fn(tensor.grad)
        return self

    def __repr__(self) -> str:
        return str(self.cpp_module)
