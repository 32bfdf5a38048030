"""Back ends by name."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

from mindtorch_v2._dynamo.exc import InvalidBackend

__all__ = ["get_default_backend", "list_backends", "lookup_backend", "register_backend", "set_default_backend"]

_backends: dict = {}
_tags: dict = {}
# Names that are registered when they are asked for: the module that does it.
_LOADED_ON_DEMAND = {
    "eager": "mindtorch_v2._dynamo.backends.debugging",
    "aot_eager": "mindtorch_v2._dynamo.backends.debugging",
    "aot_eager_decomp_partition": "mindtorch_v2._dynamo.backends.debugging",
    "ge": "mindtorch_v2._backends.ge.torch_compile",
    "inductor": "mindtorch_v2._dynamo.backends.inductor",
}


_default: list[Any] = ["inductor"]


def get_default_backend() -> Any:
    """The back end of `torch.compile` where none is named.

    >>> torch.compiler.get_default_backend()
    'inductor'
    """
    return _default[0]


def set_default_backend(backend: Any) -> None:
    """Let `backend`, a name or a callable, be that of `torch.compile` where none is named; None for "inductor" again.

    InvalidBackend (a RuntimeError) for an unknown name.

    >>> torch.compiler.set_default_backend("eager")
    >>> torch.compile(torch.sin)(torch.zeros(1))
    tensor([0.])
    >>> torch.compiler.set_default_backend(None)
    """
    lookup_backend(backend or "inductor")
    _default[0] = backend or "inductor"


def register_backend(compiler_fn: Any = None, name: str | None = None, tags: Sequence[str] = ()) -> Any:
    """Give a back end a name, its own if none is given; usable as a decorator. Returns it.

    A back end is called with a GraphModule and example inputs and returns a callable with the graph's inputs and flat
    tuple of outputs. AssertionError if the name is taken.

    >>> @torch._dynamo.register_backend(name="documented_example")
    ... def as_it_is(graph_module, example_inputs):
    ...     return graph_module.forward
    >>> torch.compile(torch.sin, backend="documented_example")(torch.zeros(1))
    tensor([0.])
    """
    if compiler_fn is None:
        return lambda function: register_backend(function, name, tags)
    if not callable(compiler_fn):
        raise AssertionError(f"register_backend(): a back end is callable, this is a {type(compiler_fn).__name__}")
    name = name or compiler_fn.__name__
    if name in _backends:
        raise AssertionError(f"duplicate name: {name}")
    _backends[name] = compiler_fn
    _tags[name] = frozenset(tags)
    return compiler_fn


def lookup_backend(compiler_fn: Any) -> Any:
    """The back end of a name; callables as they are. InvalidBackend for an unknown name."""
    if not isinstance(compiler_fn, str):
        return compiler_fn
    if compiler_fn not in _backends and compiler_fn in _LOADED_ON_DEMAND:
        importlib.import_module(_LOADED_ON_DEMAND[compiler_fn])
    if compiler_fn not in _backends:
        raise InvalidBackend(compiler_fn)
    return _backends[compiler_fn]


def list_backends(exclude_tags: Sequence[str] | None = ("debug", "experimental")) -> list:
    """The names of the back ends without any of these tags, sorted.

    >>> torch._dynamo.list_backends(None)
    ['aot_eager', 'aot_eager_decomp_partition', ...'eager', ...'inductor'...]
    """
    for name in _LOADED_ON_DEMAND:
        lookup_backend(name)
    excluded = set(exclude_tags or ())
    return sorted(name for name in _backends if not excluded & _tags[name])
