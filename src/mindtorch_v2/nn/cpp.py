"""Modules written in C++ (`torch::python::bind_module`) as Modules of Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mindtorch_v2.nn.modules.module import Module

__all__ = ["ModuleWrapper"]


class ModuleWrapper(Module):
    """A Module that shows one of C++: its parameters, buffers and children are that one's, its methods are called there.

    Tensors are the same objects on both sides. Children have no methods of their own in Python but those of every Module.
    """

    def __init__(self, cpp_module: Any) -> None:
        super().__init__()
        self.cpp_module = cpp_module
        self._parameters.update(cpp_module.named_parameters(False))
        self._buffers.update(cpp_module.named_buffers(False))
        self._modules.update((name, ModuleWrapper(child)) for name, child in cpp_module.named_children())
        for name in dir(cpp_module):
            if not name.startswith("_") and not hasattr(Module, name):
                setattr(self, name, getattr(cpp_module, name))

    def train(self, mode: bool = True) -> Any:
        """Training or evaluation, in C++ too."""
        self.cpp_module.train(mode)
        return super().train(mode)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The C++ module's."""
        return self.cpp_module.forward(*args, **kwargs)

    def _apply(self, fn: Callable[[Any], Any], recurse: bool = True) -> Any:
        """Move the tensors, which stay the objects that C++ holds."""
        for tensor in (*self.parameters(recurse), *self.buffers(recurse)):
            tensor.data = fn(tensor.data)
            if tensor.grad is not None:
                tensor.grad = fn(tensor.grad)
        return self

    def __repr__(self) -> str:
        return str(self.cpp_module)
