"""A compiled function: its graphs, each with the guards under which it is used, and what happens where none fits."""

from __future__ import annotations

import collections
import itertools
import linecache
import logging
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch
from mindtorch_v2._capture import Uncapturable, capture
from mindtorch_v2._core import torch_dispatch as _torch_dispatch
from mindtorch_v2._core.tracer import active, paused
from mindtorch_v2._deferred.calls import Region, Tree
from mindtorch_v2._deferred.steps import place_in_program
from mindtorch_v2._dynamo import _control, config, exc
from mindtorch_v2._dynamo.backends.registry import lookup_backend
from mindtorch_v2._dynamo.utils import counters
from mindtorch_v2._logging._internal import artifact, is_on

if TYPE_CHECKING:
    from mindtorch_v2._capture._result import Capture


__all__ = ["CompiledFunction", "forget_all"]

_log = logging.getLogger("torch._dynamo")
_numbers = itertools.count()
_all: weakref.WeakSet = weakref.WeakSet()
_compiling = threading.RLock()  # one program is captured at a time
_IN_VAIN = 8  # calls without any graph, after which this is said; a part becomes one at its third call
_IN_PARTS = object()  # in the place of an entry: there is no graph of the whole


class _Entry:
    """A captured graph and what the back end made of it."""

    __slots__ = ("backend", "capture", "compiled")

    def __init__(self, made: Capture, compiled: Callable[..., Any], backend: Any) -> None:
        self.capture, self.compiled, self.backend = made, compiled, backend

    def run(self, args: Any, kwargs: Any) -> Any:
        return self.capture.run(self.compiled, args, kwargs)


class CompiledFunction:
    """Call `function` through graphs. `backend` is a name or a callable, `options` are handed to it."""

    def __init__(
        self,
        function: Any,
        *,
        backend: Any,
        fullgraph: bool = False,
        dynamic: bool | None = None,
        options: dict[Any, Any] | None = None,
        name: str | None = None,
        recompile_limit: int | None = None,
    ) -> None:
        self.function = function
        self.backend = lookup_backend(backend)
        self.fullgraph = fullgraph
        self.dynamic = dynamic
        self.options = options or {}
        self.name = name or getattr(function, "__qualname__", type(function).__name__)
        self._own_limit = recompile_limit
        self.number = next(_numbers)
        self._entries: tuple[_Entry, ...] = ()  # most recently used first
        self._broken: set[Any] = set()  # kinds of arguments with which the function cannot be captured whole
        self._over = False  # the limit is reached
        self._called = False
        self._calls_in_parts = 0
        self._reason: Uncapturable | None = None  # why there is no graph of the whole
        self._trees: dict[Any, Any] = {}  # back end -> what was put off where there is no graph of the whole
        # operators in a row and where they are called -> the number of graphs of them
        self._parts: collections.Counter[Any] = collections.Counter()
        self._lock = threading.RLock()
        _all.add(self)

    @property
    def _limit(self) -> int:
        return config.recompile_limit if self._own_limit is None else self._own_limit

    # ---- one call ----

    def __call__(
        self, args: Any, kwargs: Any
    ) -> float | list[Any] | tuple[Any, ...] | torch.Tensor | OrderedDict | None:
        if not _control.compiling_allowed() or config.disable or _torch_dispatch.modes():
            return self.function(*args, **kwargs)
        if active():
            with paused(f"a call of {self.name}, which is compiled by itself"):
                return self(args, kwargs)
        stance = _control.stance()
        if stance.name == "force_eager":
            return self.function(*args, **kwargs)
        entry = self._find(args, kwargs, self._backend_of(stance))
        if entry is None:
            entry = self._without_entry(args, kwargs, stance)
            if entry is None:
                return self.function(*args, **kwargs)
            if entry is _IN_PARTS:
                return self._in_parts(args, kwargs, self._backend_of(stance))
        return entry.run(args, kwargs)

    def _backend_of(self, stance):
        if stance.name == "aot_eager_then_compile" and not self._called:
            return lookup_backend("aot_eager")
        return self.backend if stance.force_backend is None else lookup_backend(stance.force_backend)

    def _find(self, args, kwargs, backend):
        entries = self._entries
        for place, entry in enumerate(entries):
            if entry.backend is backend and entry.capture.guards.check(args, kwargs):
                if place:
                    with self._lock:
                        self._entries = (entry, *(each for each in self._entries if each is not entry))
                return entry
        return None

    def _in_parts(self, args, kwargs, backend):
        """The call where there is no graph of the whole: Python runs it, and graphs are made of the calls it puts off."""
        tree = self._trees.get(backend)
        if tree is None:
            tree = self._trees[backend] = Tree(lambda *found: self._compile_part(backend, *found))
        self._calls_in_parts += 1
        if self._calls_in_parts == _IN_VAIN and not self._parts:
            _log.warning(
                "torch.compile brings nothing to %s: after %d calls no part of it has become a graph. The whole is none for this "
                'reason: %s\nTORCH_LOGS="graph_breaks" says where each part ends; fullgraph=True raises there.',
                self.name,
                _IN_VAIN,
                self._reason,
            )
        return Region(tree).run(self.function, args, kwargs)

    def _compile_part(self, backend, path, graph, examples, reason):
        """Callable that the back end makes of calls that were put off, one after the other; None where it is not to be asked."""
        stance = _control.stance().name
        if stance == "fail_on_recompile":
            raise RuntimeError(f"Detected recompile when torch.compile stance is 'fail_on_recompile'. {self.name}")
        if stance == "eager_on_recompile":
            return None
        if reason is not None:
            counters["graph_break"][reason] += 1
            artifact("graph_breaks", f"Graph break in {self.name}: {reason}{_said(place_in_program())}")
        program = (path[0].place, path[-1].place, *(step.target for step in path))
        self._parts[program] += 1
        if self._parts[program] > 1:
            why = f"calls from{_said(path[0].place)}\n  have other arguments, or others of their results are used"
            self._recompiling([why])
            if self._parts[program] > self._limit:
                self._limit_hit([why])
                return None
        with _compiling:
            self._tell(graph)
            return self._compile(backend, graph, examples) or graph.forward

    def _without_entry(self, args, kwargs, stance):
        """A new entry; None if the call is to be eager, _IN_PARTS if it has no graph of the whole."""
        if self._broken and not self._over and _kind(args, kwargs) in self._broken:
            return _IN_PARTS
        if stance.name == "fail_on_recompile":
            raise RuntimeError(
                f"Detected recompile when torch.compile stance is 'fail_on_recompile'. {self.name}: "
                f"{'; '.join(self._reasons(args, kwargs)) or 'it was not compiled before'}"
            )
        if stance.name == "eager_on_recompile":
            return None
        if stance.name == "eager_then_compile" and not self._called:
            self._called = True
            return None
        if self._over:
            return None
        with _compiling, self._lock:
            backend = self._backend_of(stance)
            self._called = True
            return self._find(args, kwargs, backend) or self._add(args, kwargs, backend)

    def _reasons(self, args: Any, kwargs: Any) -> list[str]:
        found: list[str] = []
        for entry in self._entries:
            found += entry.capture.guards.failures(args, kwargs)
        return found

    def _add(self, args, kwargs, backend):
        kind = _kind(args, kwargs)
        if kind in self._broken:
            return _IN_PARTS
        if self._entries:
            reasons = self._reasons(args, kwargs)
            self._recompiling(reasons)
            if len(self._entries) >= self._limit:
                self._limit_hit(reasons)
                return None
        return self._capture(args, kwargs, backend, kind)

    def _recompiling(self, reasons) -> None:
        counters["recompiles"][self.name] += 1
        if is_on("recompiles") or is_on("recompiles_verbose"):
            text = "\n    - ".join(reasons if is_on("recompiles_verbose") else reasons[:1])
            artifact(
                "recompiles",
                f"Recompiling function {self.name}\n    triggered by the following guard failure(s):\n    - {text}",
            )
        if config.error_on_recompile:
            raise exc.RecompileError(f"Recompiling function {self.name}: {'; '.join(reasons)}")

    def _limit_hit(self, reasons) -> None:
        said = (
            f"torch._dynamo hit config.recompile_limit ({self._limit})\n"
            f"   function: {self.name}\n   last reason: {reasons[0] if reasons else 'unknown'}\n"
            'To log all recompilation reasons, use TORCH_LOGS="recompiles".'
        )
        if self.fullgraph or config.fail_on_recompile_limit_hit:
            raise exc.FailOnRecompileLimitHit(said)
        _log.warning(said)
        self._over = True

    def _capture(self, args, kwargs, backend, kind):
        counters["frames"]["total"] += 1
        try:
            with _control.capturing():
                whole = self.fullgraph  # then there are no parts that would do
                made = capture(self.function, args, kwargs, records_data=whole, keeps_writes=whole, **self._sizes())
        except Uncapturable as reason:
            counters["not_captured_whole"][reason.reason] += 1
            artifact("graph_breaks", f"No graph of the whole of {self.name}: {reason}")
            if self.fullgraph:
                raise exc.Unsupported.of(reason) from None
            self._reason = reason
            if len(self._broken) >= self._limit:
                self._over = True
                return None
            self._broken.add(kind)
            return _IN_PARTS
        counters["frames"]["ok"] += 1
        compiled: Any = made.graph.forward  # nothing is asked of a back end where nothing is called
        if any("call" in node.op for node in made.graph.graph.nodes):
            self._tell(made.graph, made.guards)
            compiled = self._compile(backend, made.graph, made.example_inputs)
        if compiled is None:
            self._over = True
            return None
        entry = _Entry(made, compiled, backend)
        self._entries = (entry, *self._entries)
        return entry

    def _sizes(self):
        """The treatment of sizes, in `capture`'s terms."""
        dynamic = self.dynamic
        if dynamic is None and not config.assume_static_by_default:
            dynamic = True
        if not config.dynamic_shapes:
            dynamic = False
        learn = dynamic is None and config.automatic_dynamic_shapes
        return {"dynamic": dynamic, "previous": [entry.capture for entry in self._entries] if learn else ()}

    def _tell(self, graph, guards=None) -> None:
        counters["stats"]["unique_graphs"] += 1
        counters["stats"]["calls_captured"] += sum("call" in node.op for node in graph.graph.nodes)
        where = f"[{self.number}/{len(self._entries)}]"
        if is_on("graph_code"):
            artifact("graph_code", f"{where} {graph.print_readable(print_output=False)}")
        if is_on("graph"):
            rows = "\n".join(f"{n.op}  {n.name}  {n.target}  {n.args}  {n.kwargs}" for n in graph.graph.nodes)
            artifact("graph", f"{where}\n{rows}")
        if is_on("graph_sizes"):
            sizes = {
                n.name: tuple(n.meta["example_value"].shape)
                for n in graph.graph.nodes
                if hasattr(n.meta.get("example_value"), "shape")
            }
            artifact("graph_sizes", f"{where} {sizes}")
        if guards is not None and is_on("guards"):
            artifact("guards", f"{where} GUARDS of {self.name}:\n{guards}")

    def _compile(self, backend, graph, examples):
        """The callable that the back end makes of a graph; None if it fails and errors are suppressed."""
        try:
            compiled = backend(graph, examples, **self.options)
            if not callable(compiled):
                raise TypeError(f"compiler_fn did not return callable, got {type(compiled).__name__}")
        except Exception as error:
            if config.suppress_errors:
                _log.warning("%s: the backend failed, the function runs eagerly: %s", self.name, error)
                return None
            if isinstance(error, exc.TorchDynamoException):
                raise
            raise exc.BackendCompilerFailed(backend, error).with_traceback(error.__traceback__) from None
        return compiled

    def forget(self) -> None:
        """Forget all graphs."""
        with self._lock:
            self._entries, self._over, self._called = (), False, False
            self._broken.clear()
            self._trees.clear()
            self._parts.clear()


def _kind(args, kwargs) -> tuple:
    """The kind of arguments: a function that cannot be captured with some is not tried again with such ones."""

    def of(value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return value.dim(), value.dtype, value.device, value.requires_grad
        if isinstance(value, (bool, str, type(None))):
            return value
        if isinstance(value, torch.nn.Module):
            return id(value), value.training
        if isinstance(value, (list, tuple)) and len(value) <= 64:
            return (type(value), *map(of, value))
        return type(value)

    return tuple(map(of, args)), tuple((name, of(value)) for name, value in kwargs.items()), torch.is_grad_enabled()


def _said(place) -> str:
    return "" if place is None else "\n  at {}:{} in {}\n    {}".format(*place, linecache.getline(*place[:2]).strip())


def forget_all() -> None:
    """Every compiled function forgets its graphs."""
    for each in list(_all):
        each.forget()
