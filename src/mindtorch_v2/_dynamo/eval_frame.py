"""The results of `torch.compile`: functions and `OptimizedModule`s that call their originals through graphs."""

from __future__ import annotations

import copy
import functools
import inspect
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Self

import mindtorch_v2 as torch
from mindtorch_v2._dynamo import _control
from mindtorch_v2._dynamo.compiled import CompiledFunction
from mindtorch_v2._dynamo.utils import counters

if TYPE_CHECKING:
    from mindtorch_v2.fx.graph_module import GraphModule


__all__ = ["OptimizedModule", "compiled_callable", "disable", "explain", "innermost_fn"]


def innermost_fn(fn: Any) -> Any:
    """The function that was given to `torch.compile` or `disable`, through any number of them."""
    while hasattr(fn, "_torchdynamo_orig_callable"):
        fn = fn._torchdynamo_orig_callable
    return fn


def compiled_callable(function: Any, **settings: Any) -> OptimizedModule | Callable[..., Any]:
    """`function` (a function, method or other callable, or a Module), called through graphs."""
    if isinstance(function, torch.nn.Module):
        return OptimizedModule(function, settings)
    function = innermost_fn(function)
    if inspect.isclass(function):
        raise TypeError(
            f"torch.compile(): a class cannot be compiled ({function.__name__}): compile its instances' methods"
        )
    compiled = CompiledFunction(function, **settings)

    def call(*args: Any, **kwargs: Any) -> Any:
        return compiled(args, kwargs)

    functools.update_wrapper(call, function)
    marked: Any = call
    marked._torchdynamo_orig_callable = function
    marked._compiled = compiled
    marked.get_compiler_config = lambda: dict(settings)
    return call


def is_dynamo_supported() -> bool:
    """Whether functions are captured on this machine: yes, on each that the package runs on."""
    return True


def check_if_dynamo_supported() -> None:
    """Nothing: RuntimeError where functions could not be captured."""


class OptimizedModule(torch.nn.Module):
    """The Module `mod`, its only child `_orig_mod`, called through graphs; other attributes are the child's.

    The names of its state begin with `_orig_mod.`. Hooks of the child are part of what is compiled, its own are not.
    It can be copied and pickled (if the back end is a name, or can be), without its graphs.
    """

    def __init__(self, mod: Any, settings: dict[str, Any] | None = None) -> None:
        super().__init__()
        self._modules["_orig_mod"] = mod
        self._settings = dict(settings or {"backend": "inductor"})
        self._start()

    def _start(self) -> None:
        compiled = CompiledFunction(self._orig_mod, **self._settings)
        self.__dict__["_compiled"] = compiled

    def forward(self, *args: Any, **kwargs: Any) -> torch.Tensor | OrderedDict:
        return self._compiled(args, kwargs)

    def __reduce__(self) -> tuple:
        return _made_again, (self._orig_mod, self._settings)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return type(self)(copy.deepcopy(self._orig_mod, memo), self._settings)

    @property
    def _torchdynamo_orig_callable(self):
        return self._orig_mod

    @property
    def training(self) -> bool:
        """Whether the child is in training mode."""
        return self._orig_mod.training

    @training.setter
    def training(self, value: Any) -> None:
        if "_orig_mod" in self.__dict__.get("_modules", ()):
            self._orig_mod.training = value

    def __getattr__(self, name: str) -> Any:
        if name == "_orig_mod":
            return self._modules["_orig_mod"]
        return getattr(self._orig_mod, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "_orig_mod":
            self._modules["_orig_mod"] = value
            self._start()
        elif (
            name in type(self).__dict__ or name in self.__dict__ or "_orig_mod" not in self.__dict__.get("_modules", ())
        ):
            super().__setattr__(name, value)
        elif name == "_settings":
            self.__dict__[name] = value
        else:
            setattr(self._orig_mod, name, value)

    def __delattr__(self, name: str) -> None:
        if name in self.__dict__:
            super().__delattr__(name)
        else:
            delattr(self._orig_mod, name)

    def __dir__(self) -> list:
        return sorted({*super().__dir__(), *dir(self._orig_mod)})

    def __len__(self) -> int:
        return len(self._orig_mod)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._orig_mod)

    def __getitem__(self, key: Any) -> Any:
        return self._orig_mod[key]


def _made_again(mod, settings):
    return OptimizedModule(mod, settings)


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None, wrapping: bool = True) -> Any:
    """Keep `fn` (a function or a Module) out of graphs; a decorator, with or without arguments.

    What it calls is kept out as well; with `recursive=False` compiled functions inside it stay compiled.

    >>> torch.compiler.disable(torch.add)(1, 2)
    tensor(3)
    """
    if fn is None:
        return functools.partial(disable, recursive=recursive, reason=reason, wrapping=wrapping)
    if isinstance(fn, torch.nn.Module):
        fn.forward = disable(fn.forward, recursive, reason=reason)
        return fn
    if inspect.isclass(fn):
        if "__call__" in fn.__dict__:
            kind: Any = fn
            kind.__call__ = disable(kind.__call__, recursive, reason=reason)
        return fn
    original = innermost_fn(fn)
    if not callable(original):
        raise TypeError(f"disable(): expected a callable, got {type(original).__name__}")
    if not recursive:
        try:
            original._torchdynamo_disable = True
            original._torchdynamo_disable_msg = reason
        except AttributeError:  # bound methods and builtins have no room for marks
            return _marked(lambda *args, **kwargs: original(*args, **kwargs), original, reason)
        return original

    def uncompiled(*args: Any, **kwargs: Any) -> Any:
        with _control.disabled():
            return original(*args, **kwargs)

    return _marked(uncompiled, original, reason)


def _marked(function, original, reason):
    functools.update_wrapper(function, original)
    function._torchdynamo_orig_callable = original
    function._torchdynamo_disable = True
    function._torchdynamo_disable_msg = reason
    return function


class Explanation:
    """The findings of `explain`: graphs, their number and that of the breaks, and why there are any."""

    def __init__(
        self, graphs: Sequence[GraphModule], break_reasons: Sequence[str], op_count: int, out_guards: Sequence[str]
    ) -> None:
        self.graphs = graphs
        self.graph_count = len(graphs)
        self.break_reasons = break_reasons
        self.graph_break_count = len(break_reasons)
        self.op_count = op_count
        self.out_guards = out_guards
        self.ops_per_graph = [[n.target for n in g.graph.nodes if n.op == "call_function"] for g in graphs]

    def __str__(self) -> str:
        said = [
            f"Graph Count: {self.graph_count}",
            f"Graph Break Count: {self.graph_break_count}",
            f"Op Count: {self.op_count}",
        ]
        said.append("Break Reasons:")
        said += [f"  Break Reason {n}: {text}" for n, text in enumerate(self.break_reasons, 1)]
        return "\n".join(said) + "\n"


def explain(f: Callable[..., Any], *extra_args: Any, **extra_kwargs: Any) -> Callable[..., Any]:
    """`explain(f)(*args)` runs `f` compiled anew, and says how many graphs it has and what breaks it.

    >>> print(torch._dynamo.explain(lambda x: x.sin() + 1)(torch.ones(2)))
    Graph Count: 1
    Graph Break Count: 0
    Op Count: 2
    Break Reasons:
    <BLANKLINE>
    """

    def inner(*args: Any, **kwargs: Any) -> Any:
        graphs = []

        def keep(graph: GraphModule, examples: Sequence[torch.Tensor]) -> Callable[..., Any]:
            graphs.append(graph)
            return graph.forward

        before = dict(counters["graph_break"])
        compiled: Any = CompiledFunction(innermost_fn(f), backend=keep)
        compiled(args, kwargs)
        reasons = [r for r, n in counters["graph_break"].items() if n > before.get(r, 0)]
        count = sum("call" in node.op for graph in graphs for node in graph.graph.nodes)
        guards = [line for entry in compiled._entries for line in entry.capture.guards.lines]
        return Explanation(graphs, reasons, count, guards)

    return inner(*extra_args, **extra_kwargs) if extra_args or extra_kwargs else inner
