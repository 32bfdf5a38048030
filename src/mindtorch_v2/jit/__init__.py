"""`torch.jit`: tracing records a run, scripting keeps the Python; archives of TorchScript are read and written.

`trace` gives a record of the calls of torch, see `_trace`. `script` returns what it is given, which then runs in Python with the
same results: the restricted language of TorchScript is a subset of Python, with Python's meaning. Modules without code are
TorchScript's own, see `_data_modules`.
"""

from collections.abc import Callable
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2._core.unavailable import unavailable_class
from mindtorch_v2.futures import Future
from mindtorch_v2.jit import _recursive, _state
from mindtorch_v2.jit._data_modules import EXPORTED, has_code, scripted_data
from mindtorch_v2.jit._errors import Error, warn_of_deprecation
from mindtorch_v2.jit._load import RecursiveScriptModule, load
from mindtorch_v2.jit._save import note_scripted, save
from mindtorch_v2.jit._trace import (
    ScriptFunction,
    ScriptModule,
    TopLevelTracedModule,
    TracedModule,
    TracerWarning,
    TracingCheckError,
    is_tracing,
    trace,
    trace_module,
)
from mindtorch_v2.jit._trace_graph import _get_trace_graph as _get_trace_graph

__all__ = [
    "CompilationUnit",
    "Error",
    "Final",
    "Future",
    "RecursiveScriptModule",
    "ScriptFunction",
    "ScriptModule",
    "TopLevelTracedModule",
    "TracedModule",
    "TracerWarning",
    "TracingCheckError",
    "annotate",
    "export",
    "fork",
    "freeze",
    "ignore",
    "interface",
    "is_scripting",
    "is_tracing",
    "isinstance",
    "load",
    "optimize_for_inference",
    "optimized_execution",
    "save",
    "script",
    "script_if_tracing",
    "script_method",
    "set_fusion_strategy",
    "trace",
    "trace_module",
    "unused",
    "wait",
]

_GRAPH_REMEDY = "run the Python function or Module itself"
_builtin_isinstance = isinstance

CompilationUnit = unavailable_class("torch.jit.CompilationUnit", _GRAPH_REMEDY)


def fork(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Future:
    """Call `func` and return a Future of the result: outside TorchScript it runs at once, in PyTorch too.

    >>> torch.jit.wait(torch.jit.fork(torch.neg, torch.ones(2)))
    tensor([-1., -1.])
    """
    future: Future = Future()
    future.set_result(func(*args, **kwargs))
    return future


def wait(future: Future) -> Any:
    """The result of a Future, waited for.

    >>> future = torch.futures.Future()
    >>> future.set_result(3)
    >>> torch.jit.wait(future)
    3
    """
    return future.wait()


_fork, _wait = fork, wait


class _FinalType:
    """`Final[T]` marks an attribute that a scripted module never changes; the annotation is `T` itself."""

    def __getitem__(self, item: Any) -> Any:
        return item


Final = _FinalType()


def script(obj: Any, optimize: Any = None, _frames_up: int = 0, _rcb: Any = None, example_inputs: Any = None) -> Any:
    """Return `obj` (a function, class or Module): it runs in Python.

    A Module without code, its own or that of Modules in it, becomes a `RecursiveScriptModule`, which `torch.jit.save` takes.

    >>> torch.jit.script(torch.nn.Linear(2, 3))(torch.ones(1, 2)).shape
    torch.Size([1, 3])
    """
    warn_of_deprecation("script")
    if _builtin_isinstance(obj, torch.nn.Module):
        if not has_code(obj):
            return scripted_data(obj)
        note_scripted(obj)
    return obj


def freeze(mod: Any, preserved_attrs: list[str] | None = None, optimize_numerics: bool = True) -> Any:
    """Return `mod`, a traced or scripted Module in evaluation mode: its parameters stay what they are.

    RuntimeError in training mode, or if `mod` is no Module.

    >>> torch.jit.freeze(torch.jit.script(torch.nn.Linear(2, 3).eval()))(torch.ones(1, 2)).shape
    torch.Size([1, 3])
    """
    if not _builtin_isinstance(mod, torch.nn.Module):
        raise RuntimeError(
            "Freezing expects a ScriptModule as input. Please use torch.jit.script or torch.jit.trace to script your "
            "'nn.Module'."
        )
    if mod.training:
        raise RuntimeError(
            "Freezing is currently only implemented for modules in eval mode. Please call .eval() on your module before "
            "freezing."
        )
    return mod


def optimize_for_inference(mod: Any, other_methods: Any = None) -> Any:
    """Return `freeze(mod)`; there is nothing more to do for a record.

    >>> traced = torch.jit.trace(torch.nn.ReLU().eval(), torch.ones(2))
    >>> torch.jit.optimize_for_inference(traced)(torch.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """
    return freeze(mod.eval())


def script_method(fn: Callable[..., Any]) -> Any:
    """Return `fn`: it runs in Python.

    >>> @torch.jit.script_method
    ... def double(self, x):
    ...     return x * 2
    >>> double(None, torch.ones(2))
    tensor([2., 2.])
    """
    return fn


def script_if_tracing(fn: Callable[..., Any]) -> Any:
    """Return `fn`: it is recorded as it runs.

    >>> torch.jit.script_if_tracing(torch.exp)(torch.zeros(1))
    tensor([1.])
    """
    return fn


_script_if_tracing = script_if_tracing


def is_scripting() -> bool:
    """Whether the running code is scripted: False.

    >>> torch.jit.is_scripting()
    False
    """
    return False


def export(fn: Callable[..., Any]) -> Any:
    """Mark a method as an entry point of a scripted module; returns it.

    >>> class Model(torch.nn.Module):
    ...     @torch.jit.export
    ...     def twice(self, x):
    ...         return x * 2
    >>> Model().twice(torch.ones(2))
    tensor([2., 2.])
    """
    setattr(fn, EXPORTED, "export")
    return fn


def unused(fn: Callable[..., Any]) -> Any:
    """Mark a method that a scripted module must not contain; returns it.

    >>> class Model(torch.nn.Module):
    ...     @torch.jit.unused
    ...     def report(self):
    ...         return "only in Python"
    >>> Model().report()
    'only in Python'
    """
    return fn


def ignore(drop: bool | Callable[..., Any] = False, **kwargs: Any) -> Any:
    """Mark a method that a scripted module calls in Python; a decorator, with or without arguments.

    >>> class Model(torch.nn.Module):
    ...     @torch.jit.ignore
    ...     def note(self, text: str) -> None:
    ...         print("seen:", text)
    >>> Model().note("first batch")
    seen: first batch
    """
    if callable(drop):
        return drop
    return lambda fn: fn


def _overload(func):
    """Mark a signature of the function of that name that is defined afterwards; returns `func`."""
    return func


def _overload_method(func):
    """Mark a signature of the method of that name that is defined afterwards; returns `func`."""
    return func


def interface(obj: Any) -> Any:
    """Mark a class as an interface of scripted modules; returns it.

    >>> @torch.jit.interface
    ... class Shape:
    ...     def area(self) -> float:
    ...         pass
    >>> Shape.__name__
    'Shape'
    """
    return obj


def annotate(the_type: Any, the_value: Any) -> Any:
    """Return `the_value`; `the_type` is for a script's type checker.

    >>> torch.jit.annotate(int, 3)
    3
    """
    return the_value


def isinstance(obj: Any, target_type: Any) -> Any:
    """Whether `obj` is of the container or plain type `target_type`, element types not looked at.

    >>> torch.jit.isinstance([1, 2], list[int])
    True
    """
    origin = getattr(target_type, "__origin__", None)
    return _builtin_isinstance(obj, origin or target_type)


def set_fusion_strategy(strategy: Any) -> Any:
    """Set how scripts are fused; returns the strategy, there is nothing to fuse.

    >>> torch.jit.set_fusion_strategy([("STATIC", 2), ("DYNAMIC", 10)])
    [('STATIC', 2), ('DYNAMIC', 10)]
    """
    return strategy


class optimized_execution:
    """A context in which scripts are optimised or not; there are none.

    >>> traced = torch.jit.trace(torch.nn.ReLU(), torch.ones(2))
    >>> with torch.jit.optimized_execution(False):
    ...     traced(torch.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """

    def __init__(self, should_optimize: bool) -> None:
        self.should_optimize = should_optimize

    def __enter__(self) -> None:
        return None

    def __exit__(self, *exception: Any) -> None:
        return None
