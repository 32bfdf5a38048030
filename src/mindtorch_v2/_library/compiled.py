"""Registrations of libraries compiled in C++: the boundary (csrc/boundary) calls these functions.

Their operators, kernels, differentiable functions and classes go through the same `Library`, `autograd.Function` and
registry as those of Python programs.
"""

from __future__ import annotations

from typing import Any

from mindtorch_v2 import _C
from mindtorch_v2._core.autograd.function import Function
from mindtorch_v2._core.loading import load_failed
from mindtorch_v2._dispatch.tags import Tag
from mindtorch_v2._ops import classes

from . import own_generators
from .names import handle_named
from .registration import Library, fallthrough_kernel

__all__ = [
    "add_hook",
    "apply_function",
    "call_method",
    "class_named",
    "define",
    "define_class",
    "define_method",
    "fallback",
    "forget_library",
    "implement",
    "library",
    "load_failed",
    "node_name",
    "object_of_state",
    "remove_hook",
    "retain_grad",
]

_libraries: list = []


class _CompiledLibrary(Library):
    """A TORCH_LIBRARY block."""

    def __init__(self, namespace: str, kind: Any, key: str, where: str) -> None:
        self._place = where
        super().__init__(namespace, kind, key)

    def _site(self):
        return self._place


def library(kind: Any, namespace: str, key: str, where: str) -> Any:
    """The Library of a block; it stays until it is forgotten."""
    made = _CompiledLibrary(namespace, kind, key or "", where)
    _libraries.append(made)
    return made


def forget_library(library: Any) -> None:
    """Take back what a block registered."""
    if library in _libraries:
        _libraries.remove(library)
    library._destroy()


def define(library: Any, schema: str, tags: Any) -> Any:
    library.define(schema, tags=tuple(getattr(Tag, name) for name in tags))


def implement(library: Any, name: str, key: str, kernel: Any) -> Any:
    if (key or library.dispatch_key) == "CustomRNGKeyId" and kernel is not None:
        own_generators.register(library, name, kernel)
        return
    library.impl(name, fallthrough_kernel if kernel is None else kernel, key or "")


def fallback(library: Any, key: str, kernel: Any) -> Any:
    library.fallback(fallthrough_kernel if kernel is None else kernel, key or "")


# ---- differentiable functions ----

_functions: dict[str, type] = {}


def _forward(ctx, run, *tensors):
    ctx._run = run
    return run.forward(ctx)


def _backward(ctx, *grads):
    return (None, *ctx._run.backward(ctx, grads))


def apply_function(name: str, run: Any, tensors: Any) -> Any:
    """Apply a torch::autograd::Function; a tuple of what its forward gave. RuntimeError within vmap, grad and the like."""
    if _C._change_transforms(0) > 0 or any(
        isinstance(t, _C.TensorBase) and _C._batched_parts(t) is not None for t in tensors
    ):
        raise RuntimeError("cannot use C++ torch::autograd::Function with functorch transforms (vmap, grad, vjp, etc)")
    cls: Any = _functions.get(name)
    if cls is None:
        body = {"forward": staticmethod(_forward), "backward": staticmethod(_backward)}
        kind: Any = type(Function)
        cls = _functions[name] = kind(name, (Function,), body)
        cls._backward_cls.__name__ = cls._backward_cls.__qualname__ = name
    return cls.apply(run, *tensors)


# ---- tensors' hooks and nodes ----


_hooks: dict[str, Any] = {}


def add_hook(tensor: Any, name: str) -> None:
    """Call the operator `_mindtorch_hooks::name` with the tensor's gradient."""
    handle = handle_named(f"_mindtorch_hooks::{name}")
    _hooks[name] = tensor.register_hook(lambda grad: handle(grad))


def remove_hook(name: str) -> None:
    """Undo `add_hook`."""
    _hooks.pop(name).remove()


def retain_grad(tensor: Any) -> None:
    """Keep the gradient of a tensor that is no leaf."""
    tensor.retain_grad()


def call_method(owner: Any, name: str, *arguments: Any) -> Any:
    """The result of a method, by its name."""
    return getattr(owner, name)(*arguments)


def node_name(node: Any) -> str:
    """Name of a node of the graph."""
    return str(node.name())


# ---- classes ----


def class_named(qualified: str) -> Any:
    """The class "ns.Name" of a library in C++, and nothing else of that path; RuntimeError if there is none."""
    namespace, _, name = qualified.partition(".")
    found = getattr(getattr(classes, namespace, None), name, None)
    if not (isinstance(found, type) and issubclass(found, _C.CompiledObject)):
        raise RuntimeError(f"torch.classes.{qualified} is no class that a library registered")
    return found


def _method(cls, name):
    return handle_named(f"_classes_{cls._qualified.replace('.', '_')}::{name}")


def object_of_state(cls: Any, state: Any) -> Any:
    """The object of a class that its `__setstate__` makes; RuntimeError without one."""
    made = _method(cls, "__setstate__")
    if made is None:
        raise RuntimeError(f"torch.classes.{cls._qualified} has no __setstate__: its torch::class_ has no def_pickle")
    return made(state)


def _rebuild(qualified, state):
    return object_of_state(class_named(qualified), state)


class ClassType:
    """The type of an object of a class in C++."""

    def __init__(self, qualified: str) -> None:
        self._qualified = qualified

    def qualified_name(self) -> str:
        """The name with its namespaces."""
        return self._qualified

    def name(self) -> str:
        """The name of the class alone."""
        return self._qualified.rpartition(".")[2]


def define_class(library: Any, name: str, doc: str) -> Any:
    """Make a class of objects that C++ made, `torch.classes.ns.Name`; returns "ns.Name"."""

    def __new__(cls: Any, *args: Any, **kwargs: Any) -> Any:
        made = _method(cls, "__init__")
        if made is None:
            raise RuntimeError(f"torch.classes.{cls._qualified} has no constructor: its torch::class_ defines no init")
        return made(*args, **kwargs)

    def __reduce__(self: Any) -> Any:
        if _method(type(self), "__getstate__") is None:
            raise RuntimeError(
                f"Tried to serialize object __torch__.torch.classes.{self._qualified} which does not have a __getstate__ "
                "method defined!"
            )
        return _rebuild, (self._qualified, self.__getstate__())

    body = {
        "_type": lambda self: ClassType(f"__torch__.torch.classes.{self._qualified}"),
        "_has_method": lambda self, method: method in self._method_names(),
        "_get_method": lambda self, method: getattr(self, method),
        "_method_names": lambda self: [
            each for each, value in vars(type(self)).items() if callable(value) and each[0] != "_"
        ],
        "__new__": __new__,
        "__reduce__": __reduce__,
        "__doc__": doc or None,
        "__module__": f"torch.classes.{library.ns}",
        "_qualified": f"{library.ns}.{name}",
    }
    setattr(getattr(classes, library.ns), name, type(name, (_C.CompiledObject,), body))
    return body["_qualified"]


def define_method(library: Any, class_name: str, name: str, kind: Any, doc: str) -> Any:
    """A method ("m"), static method ("s"), property ("g" reads, "w" writes), constructor ("i") or unpickler ("p")."""
    cls = class_named(f"{library.ns}.{class_name}")
    handle = _method(cls, f"set_{name}" if kind == "w" else name)
    if kind == "m":

        def method(self: Any, *args: Any, **kwargs: Any) -> Any:
            return handle(self, *args, **kwargs)

        method.__name__, method.__doc__ = name, doc or None
        setattr(cls, name, method)
    elif kind == "s":
        setattr(cls, name, staticmethod(lambda *args, **kwargs: handle(*args, **kwargs)))
    elif kind == "g":

        def refuse(self: Any, value: Any) -> Any:
            raise RuntimeError("can't set attribute")

        setattr(cls, name, property(lambda self: handle(self), refuse, doc=doc or None))
    elif kind == "w":
        setattr(cls, name, getattr(cls, name).setter(lambda self, value: handle(self, value) and None))
