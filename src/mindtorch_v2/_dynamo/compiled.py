"""A compiled function: its graphs, each with the guards under which it is used, and what happens where none fits."""

import itertools
import logging
import threading
import weakref

import mindtorch_v2 as torch
from mindtorch_v2 import _torch_dispatch
from mindtorch_v2._capture import Uncapturable, capture
from mindtorch_v2._dynamo import _control, config, exc
from mindtorch_v2._dynamo.backends.registry import lookup_backend
from mindtorch_v2._dynamo.utils import counters
from mindtorch_v2._logging._internal import artifact, is_on

__all__ = ["CompiledFunction", "forget_all"]

_log = logging.getLogger("torch._dynamo")
_numbers = itertools.count()
_all = weakref.WeakSet()
_compiling = threading.RLock()  # one program is captured at a time


class _Entry:
    """A captured graph and what the back end made of it."""

    __slots__ = ("backend", "capture", "compiled")

    def __init__(self, made, compiled, backend):
        self.capture, self.compiled, self.backend = made, compiled, backend

    def run(self, args, kwargs):
        return self.capture.run(self.compiled, args, kwargs)


class CompiledFunction:
    """Calls `function` through graphs. `backend` is a name or a callable, `options` are handed to it."""

    def __init__(self, function, *, backend, fullgraph=False, dynamic=None, options=None):
        self.function = function
        self.backend = lookup_backend(backend)
        self.fullgraph = fullgraph
        self.dynamic = dynamic
        self.options = options or {}
        self.name = getattr(function, "__qualname__", type(function).__name__)
        self.number = next(_numbers)
        self._entries = ()  # most recently used first
        self._broken = set()  # kinds of arguments with which the function cannot be captured whole
        self._over = False  # the limit is reached
        self._called = False
        self._parts = {}  # Module inside of one that cannot be captured whole -> its compiled call
        self._lock = threading.RLock()
        _all.add(self)

    # ---- one call ----

    def __call__(self, args, kwargs):
        if not _control.compiling_allowed() or config.disable or _torch_dispatch.modes():
            return self.function(*args, **kwargs)
        stance = _control.stance()
        if stance.name == "force_eager":
            return self.function(*args, **kwargs)
        entry = self._find(args, kwargs, self._backend_of(stance))
        if entry is None:
            entry = self._without_entry(args, kwargs, stance)
            if entry is None:
                return self._eager(args, kwargs)
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

    def _eager(self, args, kwargs):
        """The call where there is no graph of the whole: it runs in Python, and the Modules that a Module calls are compiled."""
        module = (
            self.function if isinstance(self.function, torch.nn.Module) else getattr(self.function, "__self__", None)
        )
        if self._over or self.fullgraph or not isinstance(module, torch.nn.Module):
            return self.function(*args, **kwargs)
        attached = []
        try:
            for child in _called_children(module):
                if child._compiled_call_impl is None:
                    part = self._parts.get(child)
                    if part is None:
                        part = self._parts[child] = self._part(child)
                    child.__dict__["_compiled_call_impl"] = part
                    attached.append((child, part))
            return self.function(*args, **kwargs)
        finally:
            for child, part in attached:
                if child.__dict__.get("_compiled_call_impl") is part:
                    del child.__dict__["_compiled_call_impl"]

    def _part(self, child):
        """The compiled call of a Module inside this one."""
        made = CompiledFunction(child._call_impl, backend=self.backend, dynamic=self.dynamic, options=self.options)

        def call(*args, **kwargs):
            return made(args, kwargs)

        return call

    def _without_entry(self, args, kwargs, stance):
        """A new entry; None if the call is to be eager."""
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

    def _reasons(self, args, kwargs):
        found = []
        for entry in self._entries:
            found += entry.capture.guards.failures(args, kwargs)
        return found

    def _add(self, args, kwargs, backend):
        kind = _kind(args, kwargs)
        if kind in self._broken:
            return None
        if self._entries:
            reasons = self._reasons(args, kwargs)
            counters["recompiles"][self.name] += 1
            if is_on("recompiles") or is_on("recompiles_verbose"):
                text = "\n    - ".join(reasons if is_on("recompiles_verbose") else reasons[:1])
                artifact(
                    "recompiles",
                    f"Recompiling function {self.name}\n    triggered by the following guard failure(s):\n    - {text}",
                )
            if config.error_on_recompile:
                raise exc.RecompileError(f"Recompiling function {self.name}: {'; '.join(reasons)}")
            if len(self._entries) >= config.recompile_limit:
                self._limit_hit(reasons)
                return None
        return self._capture(args, kwargs, backend, kind)

    def _limit_hit(self, reasons):
        said = (
            f"torch._dynamo hit config.recompile_limit ({config.recompile_limit})\n"
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
                made = capture(self.function, args, kwargs, **self._sizes())
        except Uncapturable as reason:
            counters["graph_break"][reason.reason] += 1
            artifact("graph_breaks", f"Graph break in {self.name}: {reason}")
            if self.fullgraph:
                raise exc.Unsupported.of(reason) from None
            if len(self._broken) >= config.recompile_limit:
                self._over = True
            self._broken.add(kind)
            return None
        self._tell(made)
        counters["frames"]["ok"] += 1
        counters["stats"]["unique_graphs"] += 1
        counters["stats"]["calls_captured"] += sum("call" in node.op for node in made.graph.graph.nodes)
        compiled = self._compile(backend, made.graph, made.example_inputs)
        if compiled is None:
            self._broken.add(kind)
            return None
        entry = _Entry(made, compiled, backend)
        self._entries = (entry, *self._entries)
        return entry

    def _sizes(self):
        """What is to become of sizes, in `capture`'s terms."""
        dynamic = self.dynamic
        if dynamic is None and not config.assume_static_by_default:
            dynamic = True
        if not config.dynamic_shapes:
            dynamic = False
        learn = dynamic is None and config.automatic_dynamic_shapes
        return {"dynamic": dynamic, "previous": [entry.capture for entry in self._entries] if learn else ()}

    def _tell(self, made):
        where = f"[{self.number}/{len(self._entries)}]"
        if is_on("graph_code"):
            artifact("graph_code", f"{where} {made.graph.print_readable(print_output=False)}")
        if is_on("graph"):
            rows = "\n".join(f"{n.op}  {n.name}  {n.target}  {n.args}  {n.kwargs}" for n in made.graph.graph.nodes)
            artifact("graph", f"{where}\n{rows}")
        if is_on("graph_sizes"):
            sizes = {
                n.name: tuple(n.meta["val"].shape)
                for n in made.graph.graph.nodes
                if hasattr(n.meta.get("val"), "shape")
            }
            artifact("graph_sizes", f"{where} {sizes}")
        if is_on("guards"):
            artifact("guards", f"{where} GUARDS of {self.name}:\n{made.guards}")

    def _compile(self, backend, graph, examples):
        """What the back end makes of a graph; None if it fails and errors are suppressed."""
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

    def forget(self):
        """Forget all graphs."""
        with self._lock:
            self._entries, self._over, self._called = (), False, False
            self._broken.clear()
            self._parts.clear()


def _kind(args, kwargs):
    """What arguments are like: a function that cannot be captured with some is not tried again with such ones."""

    def of(value):
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


def _called_children(module):
    """The Modules right below, through those that are only containers."""
    for child in module.children():
        if type(child).forward is torch.nn.Module.forward:
            yield from _called_children(child)
        else:
            yield child


def forget_all():
    """Every compiled function forgets its graphs."""
    for each in list(_all):
        each.forget()
