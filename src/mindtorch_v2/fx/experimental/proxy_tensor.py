"""`make_fx`: a function is run with tensors, and every operator that it reaches below autograd is recorded.

A mode sees the operators; which value of the graph a tensor is stands in a table by the tensor's identity.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import weakref
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import mindtorch_v2 as torch
from mindtorch_v2._core import torch_dispatch as _torch_dispatch
from mindtorch_v2._core.unavailable import unavailable_class
from mindtorch_v2._operators.table import facts_of
from mindtorch_v2._sizes import opening as _opening
from mindtorch_v2._sizes import universes as _universes
from mindtorch_v2._subclasses.fake_tensor import FakeTensor, FakeTensorMode, unset_fake_temporarily
from mindtorch_v2.fx import _regions
from mindtorch_v2.fx._symbolic_trace import PH, Tracer
from mindtorch_v2.fx.experimental import _pre_dispatch
from mindtorch_v2.fx.graph_module import GraphModule
from mindtorch_v2.fx.passes.shape_prop import _extract_tensor_metadata
from mindtorch_v2.fx.proxy import Proxy
from mindtorch_v2.utils import _pytree as pytree
from mindtorch_v2.utils._python_dispatch import TorchDispatchMode
from mindtorch_v2.utils.weak import WeakIdKeyDictionary

if TYPE_CHECKING:
    from mindtorch_v2._operators.table.returns import ReturnType
    from mindtorch_v2.fx.node import Node
    from mindtorch_v2.nn.modules.multihead_attention import MultiheadAttention
    from mindtorch_v2.nn.modules.sparse import Embedding


__all__ = [
    "DecompositionInterpreter",
    "ProxyTorchDispatchMode",
    "PythonKeyTracer",
    "decompose",
    "disable_proxy_modes_tracing",
    "dispatch_trace",
    "get_innermost_proxy_mode",
    "get_isolated_graphmodule",
    "get_proxy_mode",
    "get_proxy_slot",
    "has_proxy_slot",
    "make_fx",
    "maybe_disable_fake_tensor_mode",
    "track_tensor",
    "track_tensor_tree",
]

# Traces are decomposed while they are made: `make_fx(f, decomposition_table)`.
DecompositionInterpreter = unavailable_class("torch.fx.experimental.proxy_tensor.DecompositionInterpreter")
_CONSTANT_LIMIT = 1  # elements of a constant whose value stays known
_missing = object()


class PythonKeyTracer(Tracer):
    """The tracer of `make_fx`: modules are run through, and what is closed over becomes an attribute of the root.

    >>> from mindtorch_v2.fx.experimental.proxy_tensor import PythonKeyTracer, dispatch_trace
    >>> graph_module = dispatch_trace(lambda x: x, PythonKeyTracer(), (torch.fx.PH,))
    >>> [node.op for node in graph_module.graph.nodes]
    ['placeholder', 'output']
    """

    def __init__(self) -> None:
        super().__init__(autowrap_modules=())
        self.tensor_tracker = WeakIdKeyDictionary()

    def call_module(self, m: torch.nn.Module, forward: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        return forward(*args, **kwargs)

    def getattr(
        self, attr: str, attr_val: Any, parameter_proxy_cache: dict[Any, Any]
    ) -> torch.Tensor | torch.nn.Module | MultiheadAttention | Embedding:
        return attr_val

    def create_arg(self, a: Any) -> Any:
        if isinstance(a, torch.nn.Parameter):
            for name, parameter in self.root.named_parameters():
                if parameter is a:
                    return self.create_node("get_attr", name, (), {})
            return self.create_node("get_attr", self._keep(a, "_param_constant"), (), {})
        return super().create_arg(a)

    def path_of_module(self, mod: torch.nn.Module) -> str:
        try:
            return super().path_of_module(mod)
        except NameError:
            return type(mod).__name__


class _Known:
    """The entry of a tensor in the table: its proxy, and its value where that is a constant."""

    __slots__ = ("constant", "proxy")

    def __init__(self, proxy: Proxy, constant: Any) -> None:
        self.proxy, self.constant = proxy, constant


def has_proxy_slot(obj: Any, tracer: Any) -> bool:
    """Whether the tensor is a value of the tracer's graph.

    >>> from mindtorch_v2.fx.experimental.proxy_tensor import get_proxy_mode, has_proxy_slot, make_fx
    >>> other = torch.ones(2)
    >>> def f(x):
    ...     tracer = get_proxy_mode().tracer
    ...     print(has_proxy_slot(x, tracer), has_proxy_slot(other, tracer))
    ...     return x + 1
    >>> _ = make_fx(f)(torch.ones(2))
    True False
    """
    return obj in tracer.tensor_tracker


def get_proxy_slot(
    obj: Any, tracer: Any, default: Any = _missing, transform: Callable[..., Any] = lambda known: known
) -> Proxy:
    """`transform` of what is known of a tensor (with `.proxy`), or the default; RuntimeError if there is neither.

    >>> from mindtorch_v2.fx.experimental.proxy_tensor import get_proxy_mode, get_proxy_slot, make_fx
    >>> def f(x):
    ...     print(get_proxy_slot(x, get_proxy_mode().tracer).proxy.node.op)
    ...     return x + 1
    >>> _ = make_fx(f)(torch.ones(2))
    placeholder
    """
    known = tracer.tensor_tracker.get(obj)
    if known is not None:
        return transform(known)
    if default is _missing:
        raise RuntimeError(f"{obj} ({type(obj)}, {id(obj)})is not tracked with proxy for {tracer}")
    return default


def track_tensor(tensor: Any, proxy: Proxy, *, constant: Any, tracer: Any) -> None:
    """Say that a tensor is the value of a proxy of the tracer's.

    >>> from mindtorch_v2.fx.experimental.proxy_tensor import get_proxy_mode, has_proxy_slot, make_fx, track_tensor
    >>> def f(x):
    ...     tracer, made = get_proxy_mode().tracer, torch.zeros(2)
    ...     proxy = tracer.create_proxy("call_function", torch.zeros_like, (), {})
    ...     track_tensor(made, proxy, constant=None, tracer=tracer)
    ...     print(has_proxy_slot(made, tracer))
    ...     return x + 1
    >>> _ = make_fx(f)(torch.ones(2))
    True
    """
    tracer.tensor_tracker[tensor] = _Known(proxy, constant)


def track_tensor_tree(
    inner_res: Any, proxy_res: Proxy, *, constant: Any, tracer: Any
) -> list[Any] | tuple[Any, ...] | torch.Tensor | ReturnType | None:
    """Say that the tensors in a tree of results are the values of `proxy_res`, or its items; returns the tree.

    >>> from mindtorch_v2.fx.experimental.proxy_tensor import get_proxy_mode, has_proxy_slot, make_fx
    >>> from mindtorch_v2.fx.experimental.proxy_tensor import track_tensor_tree
    >>> def f(x):
    ...     tracer, made = get_proxy_mode().tracer, [torch.zeros(2), torch.zeros(2)]
    ...     proxy = tracer.create_proxy("call_function", torch.unbind, (), {})
    ...     _ = track_tensor_tree(made, proxy, constant=None, tracer=tracer)
    ...     print([has_proxy_slot(each, tracer) for each in made])
    ...     return x + 1
    >>> _ = make_fx(f)(torch.ones(2))
    [True, True]
    """
    if isinstance(inner_res, torch.Tensor):
        _describe(proxy_res, inner_res)
        track_tensor(inner_res, proxy_res, constant=constant, tracer=tracer)
    elif isinstance(inner_res, (list, tuple)):
        if isinstance(proxy_res, Proxy):
            _describe(proxy_res, inner_res)
        for place, each in enumerate(inner_res):
            item = constant[place] if constant is not None else None
            track_tensor_tree(each, proxy_res[place], constant=item, tracer=tracer)
    return inner_res


_snapshots: weakref.WeakKeyDictionary = (
    weakref.WeakKeyDictionary()
)  # tracer -> the mode that describes its real tensors


def _describe(proxy, value) -> None:
    """Leave in the node what is known of its value: "val", and "tensor_meta" for one tensor."""

    def snapshot(each: Any) -> torch.Tensor | None:
        if not isinstance(each, torch.Tensor):
            return each
        if isinstance(each, FakeTensor):
            return each.detach()
        mode = _snapshots.setdefault(proxy.tracer, FakeTensorMode())
        if each.layout is not torch.strided:
            return mode.from_tensor(each.detach())
        with mode:
            return torch.empty_strided(each.shape, each.stride(), dtype=each.dtype, device=each.device)

    with _torch_dispatch.no_modes(), torch.no_grad():
        proxy.node.meta["val"] = pytree.tree_map(snapshot, value)
        if isinstance(value, torch.Tensor):
            proxy.node.meta["tensor_meta"] = _extract_tensor_metadata(value)


class ProxyTorchDispatchMode(TorchDispatchMode):
    """Record each operator that is called in it into the graph of `tracer`, and run it.

    With `pre_dispatch` these are the operators that the program calls, else those that are reached below autograd.

    >>> from mindtorch_v2.fx.experimental.proxy_tensor import get_proxy_mode, make_fx
    >>> def f(x):
    ...     print(type(get_proxy_mode()).__name__)
    ...     return x + 1
    >>> _ = make_fx(f)(torch.ones(2))
    ProxyTorchDispatchMode
    """

    def __init__(
        self,
        tracer: Any,
        tracing_mode: str,
        decomposition_table: dict[Any, Callable[..., Any]] | None = None,
        pre_dispatch: bool = False,
    ) -> None:
        self.tracer = tracer
        self.tracing_mode = tracing_mode
        self.enable_tracing = True
        self.decomp_table = decomposition_table or {}
        self._pre_dispatch = contextlib.ExitStack() if pre_dispatch else None
        self.sees_parts = not pre_dispatch

    def __enter__(self) -> Self:
        super().__enter__()
        if self._pre_dispatch is not None:
            self._pre_dispatch.enter_context(_pre_dispatch.recording(self))
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc_value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._pre_dispatch is not None:
            self._pre_dispatch.pop_all().__exit__(exc_type, exc_value, traceback)
        super().__exit__(exc_type, exc_value, traceback)

    @property
    def pre_dispatch(self) -> bool:
        """Whether calls are recorded above autograd, as the program makes them."""
        return self._pre_dispatch is not None

    @classmethod
    def is_infra_mode(cls) -> bool:
        return True

    def __torch_dispatch__(self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if not self.enable_tracing or self._pre_dispatch is not None:
            return func(*args, **(kwargs or {}))
        return self.take(func, args, kwargs or {})

    def take(
        self, func: Callable[..., Any], args: Any, kwargs: Any
    ) -> int | list[torch.Tensor | None] | tuple[torch.Tensor | None, ...] | torch.Tensor | ReturnType:
        """Record a call of an operator, and run it."""
        if not self.enable_tracing:
            return func(*args, **kwargs)
        with _universes.below() if self.tracing_mode == "symbolic" else contextlib.nullcontext():
            return self._take(func, args, kwargs)

    def _take(self, func, args, kwargs):
        rule = self.decomp_table.get(func)
        if rule is not None:
            with self:
                result = rule(*args, **kwargs)
            if result is not NotImplemented:
                return result
        return self._record(func, args, kwargs)

    def _known(self, value):
        return self.tracer.tensor_tracker.get(value) if isinstance(value, torch.Tensor) else None

    def _record(self, func, args, kwargs):
        name = func._qualified_op_name
        leaves = [leaf for leaf in pytree.arg_tree_leaves(*args, **kwargs) if isinstance(leaf, torch.Tensor)]
        known = [self._known(leaf) for leaf in leaves]
        constants = self._constants(func, name, leaves, known, args, kwargs)
        if name == "aten::_local_scalar_dense" and any(known):
            if constants is not None:
                return func(constants[0][0])
            if self.tracing_mode == "symbolic":
                return self._record_value(func, args)
            raise RuntimeError(
                f"It appears that you're trying to get value out of a tracing tensor with {func} - erroring out! It's likely "
                "that this is caused by data-dependent control flow or similar.  It may be possible to trace this with dynamic "
                "shapes; try setting tracing_mode='symbolic' in your make_fx call."
            )
        target = torch.ops.aten.lift_fresh_copy.default if facts_of(func._handle).lifts else func
        # The graph keeps the tensor that is lifted: what the program writes is a copy, as in the graph.
        result = (target if self.tracing_mode == "real" else func)(*args, **kwargs)
        if not any(isinstance(leaf, torch.Tensor) for leaf in pytree.tree_leaves(result)) and func._schema.returns:
            if not any(
                argument.alias_info is not None and argument.alias_info.is_write for argument in func._schema.arguments
            ):
                return result  # a number or the like: nothing of the graph
        constant = self._constant_of(func, name, constants, leaves, result)
        proxies = pytree.tree_map(self._as_proxy, (tuple(args), dict(kwargs)))
        label = self.tracer.graph._target_to_str(target.overloadpacket.__name__)
        proxy = self.tracer.create_proxy("call_function", target, *proxies, name=label)
        self._rename_written(func, args, kwargs, proxy)
        return track_tensor_tree(result, proxy, constant=constant, tracer=self.tracer)

    def take_whole(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Run a call of an operator that writes nothing, and record it as one node, whatever the operator is composed of."""
        before, self.enable_tracing = self.enable_tracing, False
        try:
            with _universes.below() if self.tracing_mode == "symbolic" else contextlib.nullcontext():
                result = func(*args, **kwargs)
        finally:
            self.enable_tracing = before
        proxies = pytree.tree_map(self._as_proxy, (tuple(args), dict(kwargs)))
        label = self.tracer.graph._target_to_str(func.overloadpacket.__name__)
        proxy = self.tracer.create_proxy("call_function", func, *proxies, name=label)
        return track_tensor_tree(result, proxy, constant=None, tracer=self.tracer)

    def _record_value(self, func, args) -> int:
        """An element of a tensor: a node that gives a number."""
        value = func(*args)
        asked = torch.ops.aten.item.default if self.pre_dispatch else func  # which is what the program called
        name = asked.overloadpacket.__name__
        proxy = self.tracer.create_proxy("call_function", asked, (self._as_proxy(args[0]),), {}, name=name)
        proxy.node.meta["val"] = _universes.state.told
        return value

    def node_of(self, value: Any) -> Node | None:
        """The node of a tensor that is a value of the graph; None of others."""
        known = self._known(value)
        return None if known is None else known.proxy.node

    def _as_proxy(self, value):
        known = self._known(value)
        return value if known is None else known.proxy

    def take_functions(
        self,
        operator: str,
        before: Sequence[Any],
        functions: Sequence[tuple[str, Callable[..., Any]]],
        anew: Sequence[torch.Tensor],
        after: Sequence[Sequence[Any]],
        results: Callable[[list[list[torch.Tensor]]], list[torch.Tensor]],
    ) -> list[torch.Tensor]:
        """Run the functions of a call of `torch.ops.higher_order.<operator>`, record them as graphs within this, and the call.

        `before` and `after` are its arguments before and after the functions, a label and a function each. A function is
        called with tensors like those of `anew`, which differ from run to run, then with the last of `after`, and gives a
        list of tensors. `results` makes of the functions' lists tensors that look like what the operator gives.
        """
        recorded, found = [], []
        for label, function in functions:
            begin = self.tracer.create_proxy("call_function", _regions.region, (label,), {}, name=label)
            given = [self._parameter(begin, like, place) for place, like in enumerate(anew)]
            found.append(function(*given, *after[-1]))
            recorded.append((begin, [self._as_proxy(each) for each in found[-1]]))
        with disable_proxy_modes_tracing():
            made = results(found)
        proxies = pytree.tree_map(self._as_proxy, (tuple(before), tuple(tuple(each) for each in after)))
        arguments = (operator, proxies[0], tuple(recorded), proxies[1])
        proxy = self.tracer.create_proxy("call_function", _regions.call, arguments, {}, name=f"{operator}_call")
        track_tensor_tree(made, proxy, constant=None, tracer=self.tracer)
        return made

    def _parameter(self, begin, like, place):
        with disable_proxy_modes_tracing():
            made = like.detach().clone()
        proxy = self.tracer.create_proxy("call_function", _regions.carried, (begin, place), {})
        return track_tensor_tree(made, proxy, constant=None, tracer=self.tracer)

    # ---- constants: small tensors that were made of numbers ----

    def _constants(self, func, name, leaves, known, args, kwargs):
        """The arguments with the values of constants; None unless all tensors are constants."""
        if facts_of(func._handle).lifts or not leaves or any(each is None or each.constant is None for each in known):
            return None

        def value_of(each: Any) -> torch.Tensor:
            return self._known(each).constant if isinstance(each, torch.Tensor) else each

        return pytree.tree_map(value_of, (tuple(args), dict(kwargs)))

    def _constant_of(self, func, name, constants, leaves, result):
        writes = func._schema.is_mutable
        if writes and any(self._known(leaf) is not None and self._known(leaf).constant is not None for leaf in leaves):
            self._forget_constants()
            return None
        if facts_of(func._handle).lifts and isinstance(result, torch.Tensor) and leaves[0].numel() <= _CONSTANT_LIMIT:
            with _torch_dispatch.no_modes():
                fake = isinstance(leaves[0], FakeTensor)
                source = leaves[0].constant if fake else leaves[0]
                return None if source is None else source.clone()
        if constants is None or writes or func._handle.random or _says_where(constants[1]):
            return None
        with _torch_dispatch.no_modes(), torch.no_grad():
            value = func(*constants[0], **constants[1])
        return value if isinstance(value, torch.Tensor) and value.numel() <= _CONSTANT_LIMIT else None

    def _forget_constants(self) -> None:
        for known in list(self.tracer.tensor_tracker.values()):
            known.constant = None

    def _rename_written(self, func, args, kwargs, proxy) -> None:
        """Let what an in-place operator wrote to be its result from now on."""
        if not func.overloadpacket.__name__.endswith("_") or not args or func.overloadpacket.__name__.startswith("__"):
            return
        known = self._known(args[0]) if isinstance(args[0], torch.Tensor) else None
        if known is not None and func._schema.returns:
            known.proxy = proxy


def _says_where(kwargs) -> bool:
    """Whether a call says where its result goes."""
    return kwargs.get("device") is not None


def get_innermost_proxy_mode() -> ProxyTorchDispatchMode | None:
    """The innermost mode that records, or None.

    >>> from mindtorch_v2.fx.experimental.proxy_tensor import get_innermost_proxy_mode, make_fx
    >>> seen = []
    >>> _ = make_fx(lambda x: seen.append(get_innermost_proxy_mode()) or x + 1)(torch.ones(2))
    >>> type(seen[0]).__name__, get_innermost_proxy_mode()
    ('ProxyTorchDispatchMode', None)
    """
    modes = [mode for mode in _torch_dispatch.modes() if isinstance(mode, ProxyTorchDispatchMode)]
    return modes[-1] if modes else None


def get_proxy_mode() -> ProxyTorchDispatchMode | None:
    """The mode that records what runs now, or None.

    >>> from mindtorch_v2.fx.experimental.proxy_tensor import get_proxy_mode, make_fx
    >>> seen = []
    >>> _ = make_fx(lambda x: seen.append(get_proxy_mode() is not None) or x + 1)(torch.ones(2))
    >>> seen, get_proxy_mode()
    ([True], None)
    """
    return get_innermost_proxy_mode()


@contextlib.contextmanager
def disable_proxy_modes_tracing() -> Iterator[ProxyTorchDispatchMode | None]:
    """Within the block operators run unrecorded; gives the mode, or None.

    >>> from mindtorch_v2.fx.experimental.proxy_tensor import disable_proxy_modes_tracing, make_fx
    >>> def f(x):
    ...     with disable_proxy_modes_tracing():
    ...         _ = torch.ones(2) * 3
    ...     return x + 1
    >>> [str(node.target) for node in make_fx(f)(torch.ones(2)).graph.nodes if node.op == "call_function"]
    ['aten.add.Tensor']
    """
    with _torch_dispatch.no_modes() as before:
        kept = [mode for mode in before if not isinstance(mode, ProxyTorchDispatchMode)]
        for mode in kept:
            _torch_dispatch.push(mode)
        try:
            yield next((mode for mode in reversed(before) if isinstance(mode, ProxyTorchDispatchMode)), None)
        finally:
            for _ in kept:
                _torch_dispatch.pop()


@contextlib.contextmanager
def decompose(
    decomposition_table: dict[Any, Callable[..., Any]] | None,
) -> Iterator[dict[Any, Callable[..., Any]] | None]:
    """Within the block the recording mode replaces operators by their entries in this table as well.

    >>> from mindtorch_v2.fx.experimental.proxy_tensor import decompose, make_fx
    >>> table = {torch.ops.aten.silu.default: lambda x: x * torch.sigmoid(x)}
    >>> def f(x):
    ...     with decompose(table):
    ...         return torch.nn.functional.silu(x)
    >>> [str(node.target) for node in make_fx(f)(torch.ones(2)).graph.nodes if node.op == "call_function"]
    ['aten.sigmoid.default', 'aten.mul.Tensor']
    """
    mode = get_proxy_mode()
    if mode is None:
        raise AssertionError("Expected proxy mode to be set")
    before, mode.decomp_table = mode.decomp_table, {**mode.decomp_table, **(decomposition_table or {})}
    try:
        yield decomposition_table
    finally:
        mode.decomp_table = before


maybe_disable_fake_tensor_mode = unset_fake_temporarily


def dispatch_trace(root: Any, tracer: Any, concrete_args: Any = None) -> GraphModule:
    """The GraphModule of `root`, traced by `tracer`.

    >>> from mindtorch_v2.fx.experimental.proxy_tensor import PythonKeyTracer, dispatch_trace
    >>> dispatch_trace(lambda x: x, PythonKeyTracer(), (torch.fx.PH,))(torch.tensor([1.0]))
    tensor([1.])
    """
    graph = tracer.trace(root, concrete_args)
    name = type(root).__name__ if isinstance(root, torch.nn.Module) else root.__name__
    return GraphModule(tracer.root, graph, name)


def _with_names(function, count):
    """The function with `count` named parameters."""
    names = ", ".join(f"arg{place}" for place in range(count))
    namespace = {"function": function}
    exec(f"def named({names}):\n    return function({names})", namespace)
    namespace["named"].__name__ = getattr(function, "__name__", type(function).__name__)
    return namespace["named"]


def _recording(f, tensors, tracer, mode):
    """`f` on proxies: it is run on the tensors that they stand for."""

    @functools.wraps(f)
    def recorded(*proxies: Any) -> list[Any] | tuple[Any, ...] | ReturnType | None:
        flat_proxies, flat_tensors = pytree.tree_leaves(proxies), pytree.tree_leaves(tensors)
        for proxy, value in zip(flat_proxies, flat_tensors):
            if isinstance(value, torch.Tensor):
                with _universes.below():
                    track_tensor_tree(value, proxy, constant=None, tracer=tracer)
            elif isinstance(value, torch.SymInt):
                proxy.node.meta["val"] = value
        with mode:
            result = f(*tensors)
        return pytree.tree_map_only(
            torch.Tensor, lambda t: get_proxy_slot(t, tracer, t, lambda known: known.proxy), result
        )

    return recorded


def make_fx(
    f: Callable[..., Any],
    decomposition_table: dict[Any, Callable[..., Any]] | None = None,
    tracing_mode: str = "real",
    _allow_non_fake_inputs: bool = False,
    *,
    pre_dispatch: bool = False,
    record_module_stack: bool = False,
    _allow_fake_constant: bool = False,
    _error_on_data_dependent_ops: bool = True,
    record_stack_traces: bool = False,
) -> Callable[..., Any]:
    """A function that runs `f` with given arguments and returns the GraphModule of the operators that ran, below autograd.

    `tracing_mode` "real" runs on the arguments, "fake" on fake tensors with their shapes, "symbolic" on fake tensors whose
    sizes are symbols (0 and 1 excepted), and so are numbers among the arguments: the graph is right for other sizes, as
    long as the guards of `module.shape_env` hold. The program is then run several times, with sizes of several kinds.

    `decomposition_table` maps operators (`torch.ops.aten.silu.default`) to functions that take their place. Tensors that `f`
    closes over become attributes of the module. Numbers that depend on tensors are an error (RuntimeError), as the graph
    would be of one value only; with "symbolic" integers may. With `pre_dispatch` the operators are those that the program
    calls, above autograd (`conv2d` and not `convolution`), and where it switches gradients, that is a node.

    >>> print(make_fx(lambda x: torch.sin(x) * x)(torch.ones(2)).code.strip())
    def forward(self, x_1):
        sin = torch.ops.aten.sin.default(x_1)
        mul = torch.ops.aten.mul.Tensor(sin, x_1);  sin = x_1 = None
        return mul
    """
    if tracing_mode not in ("real", "fake", "symbolic"):
        raise AssertionError(f"tracing_mode must be real/fake/symbolic, got {tracing_mode}")

    def trace(args: Any, fake_mode: Any) -> GraphModule:
        tracer = PythonKeyTracer()
        tracer.record_stack_traces = record_stack_traces
        mode = ProxyTorchDispatchMode(tracer, tracing_mode, decomposition_table, pre_dispatch)
        with fake_mode or contextlib.nullcontext():
            code = getattr(inspect.unwrap(f), "__code__", None)
            plain = code is not None and not code.co_flags & inspect.CO_VARARGS
            recorded = _recording(f if plain else _with_names(f, len(args)), args, tracer, mode)
            return dispatch_trace(recorded, tracer, tuple(pytree.tree_map(lambda _: PH, args)))

    @functools.wraps(f)
    def wrapped(*args: Any) -> GraphModule:
        if tracing_mode == "symbolic":
            args, fake_mode = _opening.symbolic_arguments(args, _allow_non_fake_inputs)
            module = trace(args, fake_mode)
            module.shape_env = fake_mode.shape_env
            return _regions.outline(_opening.open_sizes(module, args, fake_mode, trace))
        if tracing_mode == "fake":
            fakes = [leaf.fake_mode for leaf in pytree.tree_leaves(args) if isinstance(leaf, FakeTensor)]
            fake_mode = fakes[0] if fakes else FakeTensorMode(allow_non_fake_inputs=_allow_non_fake_inputs)
            fakes = pytree.tree_map_only(torch.Tensor, fake_mode.from_tensor, args)
            return _regions.outline(trace(fakes, fake_mode))
        return _regions.outline(trace(args, None))

    return wrapped


def get_isolated_graphmodule(
    func: Callable[..., Any],
    args: Any,
    kwargs: Any,
    tracing_mode: str = "real",
    decomposition_table: dict[Any, Callable[..., Any]] | None = None,
) -> GraphModule:
    """The GraphModule of `func(*args, **kwargs)`, whose input is the list of its leaves, apart from any trace that runs.

    >>> from mindtorch_v2.fx.experimental.proxy_tensor import get_isolated_graphmodule
    >>> graph_module = get_isolated_graphmodule(lambda x, y: x + y, (torch.ones(2), torch.ones(2)), {})
    >>> [node.op for node in graph_module.graph.nodes]
    ['placeholder', 'placeholder', 'call_function', 'output']
    """
    leaves, spec = pytree.tree_flatten((args, kwargs))

    def of_leaves(flat: Sequence[torch.Tensor]) -> torch.Tensor:
        args, kwargs = pytree.tree_unflatten(flat, spec)
        return func(*args, **kwargs)

    with disable_proxy_modes_tracing():
        return make_fx(of_leaves, tracing_mode=tracing_mode, decomposition_table=decomposition_table)(leaves)
