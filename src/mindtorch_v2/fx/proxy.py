"""Proxies: stand-ins for values while a program is traced: each operation on it becomes a node."""

from __future__ import annotations

import collections
import copy
import dataclasses
import dis
import linecache
import operator
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NoReturn

import mindtorch_v2 as torch
from mindtorch_v2.fx import traceback as fx_traceback
from mindtorch_v2.utils import _pytree as pytree

from ._codegen import MAGIC, REFLECTABLE
from ._naming import node_name_of, snake_case
from .node import is_constant, map_arg

if TYPE_CHECKING:
    from mindtorch_v2._core.dtype import Size
    from mindtorch_v2.fx.graph import Graph
    from mindtorch_v2.fx.node import Node


__all__ = [
    "Attribute",
    "GraphAppendingTracer",
    "ParameterProxy",
    "Proxy",
    "Scope",
    "ScopeContextManager",
    "TraceError",
    "TracerBase",
]


_WITHIN = (
    torch.__file__.rpartition("/")[0] + "/",
    f"<{torch.__name__}",
)  # files of this package, and code that it makes


class TraceError(ValueError):
    """Raised where a symbolic trace meets control flow that depends on data.

    >>> try:
    ...     torch.fx.symbolic_trace(lambda x: x if x.sum() > 0 else -x)
    ... except torch.fx.proxy.TraceError as error:
    ...     print(type(error).__name__)
    TraceError
    """


class Scope:
    """The module whose forward is being traced: its dotted path and its class.

    >>> from mindtorch_v2.fx.proxy import Scope
    >>> scope = Scope("encoder.layers.0", torch.nn.Linear)
    >>> scope.module_path, scope.module_type.__name__
    ('encoder.layers.0', 'Linear')
    """

    def __init__(self, module_path: str, module_type: type[torch.nn.Module] | None) -> None:
        self.module_path, self.module_type = module_path, module_type


class ScopeContextManager:
    """Within the block, `scope` says what `current_scope` says.

    >>> from mindtorch_v2.fx.proxy import Scope, ScopeContextManager
    >>> scope = Scope("", None)
    >>> with ScopeContextManager(scope, Scope("encoder", torch.nn.Linear)):
    ...     print(scope.module_path)
    encoder
    >>> scope.module_path
    ''
    """

    def __init__(self, scope: Any, current_scope: Any) -> None:
        self._scope = scope
        self._before = (scope.module_path, scope.module_type)
        scope.module_path, scope.module_type = current_scope.module_path, current_scope.module_type

    def __enter__(self) -> Scope:
        return self._scope

    def __exit__(self, *exception: Any) -> None:
        self._scope.module_path, self._scope.module_type = self._before


class TracerBase:
    """Turn operations into nodes of `graph`. A subclass may decide otherwise at each step.

    >>> class Rounding(torch.fx.Tracer):
    ...     def create_arg(self, a):
    ...         return round(a, 1) if isinstance(a, float) else super().create_arg(a)
    >>> [node.args[1] for node in Rounding().trace(lambda x: x * 0.123).nodes if node.op == "call_function"]
    [0.1]
    """

    graph: Any
    module_stack: Any
    node_name_to_scope: Any
    scope: Any

    record_stack_traces = False
    check_mutable_operations = False
    trace_asserts = False
    proxy_buffer_attributes = False
    traced_func_name = "forward"

    def create_node(
        self,
        kind: Any,
        target: Callable[..., Any] | str,
        args: Any,
        kwargs: Any,
        name: str | None = None,
        type_expr: Any = None,
    ) -> Node:
        """A node of the graph; `args` and `kwargs` are what `create_arg` gave."""
        if kind == "call_function" and self.check_mutable_operations:
            _refuse_writes(target)
        node = self.graph.create_node(kind, target, args, kwargs, name, type_expr)
        self.node_name_to_scope[node.name] = (self.scope.module_path, self.scope.module_type)
        if self.module_stack:
            node.meta["nn_module_stack"] = self.module_stack.copy()
        if self.record_stack_traces and not node.stack_trace:
            trace = self._user_trace()
            if trace:
                node.stack_trace = trace
        return node

    def _user_trace(self) -> str | None:
        """Where the program is: from the first `forward` on, without the frames of this package."""
        frame: Any = sys._getframe(2)
        lines: list[str] = []
        complete = 0  # the lines inside of the outermost `forward`, its own included
        while frame is not None:
            code = frame.f_code
            if not code.co_filename.startswith(_WITHIN):
                text = linecache.getline(code.co_filename, frame.f_lineno).strip()
                lines.append(f'  File "{code.co_filename}", line {frame.f_lineno}, in {code.co_name}\n    {text}\n')
            if code.co_name == "forward":
                complete = len(lines)
            frame = frame.f_back
        return "".join(reversed(lines[:complete])).strip() or None

    def proxy(self, node: Node) -> Proxy:
        """The proxy of the value of `node`."""
        return Proxy(node, self)

    def create_proxy(
        self,
        kind: Any,
        target: Callable[..., Any] | str,
        args: Any,
        kwargs: Any,
        name: str | None = None,
        type_expr: Any = None,
        proxy_factory_fn: Callable[..., Any] | None = None,
    ) -> Proxy:
        """A node, and what stands for its value; the arguments may hold proxies."""
        args, kwargs = self.create_arg(args), self.create_arg(kwargs)
        if not isinstance(args, tuple):
            raise AssertionError(f"Expected args_ to be tuple, got {type(args)}")
        if not isinstance(kwargs, dict):
            raise AssertionError(f"Expected kwargs_ to be dict, got {type(kwargs)}")
        node = self.create_node(kind, target, args, kwargs, name, type_expr)
        fx_traceback.note_on(node)
        return proxy_factory_fn(node) if proxy_factory_fn else self.proxy(node)

    def create_arg(self, a: Any) -> Any:
        """`a` as an argument of a node: proxies become nodes. NotImplementedError for what has no place in a graph."""
        if isinstance(a, Proxy):
            return a.node
        if hasattr(a, "__fx_create_arg__"):
            return a.__fx_create_arg__(self)
        if isinstance(a, tuple):
            items = [self.create_arg(each) for each in a]
            return type(a)(*items) if hasattr(a, "_fields") else type(a)(items)
        if isinstance(a, list):
            return [self.create_arg(each) for each in a]
        if isinstance(a, dict):
            return {self._create_key(key): self.create_arg(value) for key, value in a.items()}
        if isinstance(a, slice):
            return slice(self.create_arg(a.start), self.create_arg(a.stop), self.create_arg(a.step))
        if isinstance(a, range):
            return range(self.create_arg(a.start), self.create_arg(a.stop), self.create_arg(a.step))
        if dataclasses.is_dataclass(a) and not isinstance(a, type):
            kwargs = {field.name: self.create_arg(getattr(a, field.name)) for field in dataclasses.fields(a)}
            return self.create_node("call_function", type(a), (), kwargs)
        if is_constant(a):
            return a
        raise NotImplementedError(f"argument of type: {type(a)}")

    def _create_key(self, key) -> str:
        def refuse(node: Any) -> NoReturn:
            raise RuntimeError(f"Keys for dictionaries used as an argument cannot contain a Node. Got key: {node}")

        if isinstance(key, str):
            return key
        key = self.create_arg(key)
        map_arg(key, refuse)
        return key

    def to_bool(self, obj: Any) -> Any:
        """Raise for `bool(proxy)`: TraceError, as nobody knows."""
        raise TraceError("symbolically traced variables cannot be used as inputs to control flow")

    def iter(self, obj: Any) -> Any:
        """Raise for `iter(proxy)`: TraceError."""
        raise TraceError(
            "Proxy object cannot be iterated. This can be attempted when the Proxy is used in a loop or as a *args or "
            "**kwargs function argument. See the torch.fx docs on pytorch.org for a more detailed explanation of what types "
            "of control flow can be traced, and check out the Proxy docstring for help troubleshooting Proxy iteration errors"
        )

    def keys(self, obj: Any) -> Any:
        """The result of `proxy.keys()`, which `**proxy` asks for."""
        return Attribute(obj, "keys")()


def _refuse_writes(target) -> None:
    handle = getattr(target, "_handle", None)
    handles = [handle] if handle is not None else getattr(target, "overloads", ())
    if handles and all(any(argument["is_write"] for argument in each.arguments) for each in handles):
        raise RuntimeError(
            f"Tried to trace mutable operation {handles[0].schema}. FX only supports functional code, so operations that "
            "mutate operands in-place (e.g. via `out` arguments) are not supported"
        )


class GraphAppendingTracer(TracerBase):
    """The tracer of proxies that are made by hand: it adds to their graph.

    >>> from mindtorch_v2.fx.proxy import GraphAppendingTracer
    >>> graph = torch.fx.Graph()
    >>> x = torch.fx.Proxy(graph.placeholder("x"), GraphAppendingTracer(graph))
    >>> _ = x + 1
    >>> [node.name for node in graph.nodes]
    ['x', 'add']
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.scope = Scope("", None)
        self.module_stack: collections.OrderedDict[Any, Any] = collections.OrderedDict()
        self.node_name_to_scope: dict[Any, Any] = {}


def assert_fn(x: Any) -> None:
    """Raise AssertionError unless `x`; what a traced `assert` becomes.

    >>> from mindtorch_v2.fx.proxy import assert_fn
    >>> assert_fn(True)
    >>> try:
    ...     assert_fn(False)
    ... except AssertionError as error:
    ...     print(type(error).__name__)
    AssertionError
    """
    if not x:
        raise AssertionError("Assertion failed")


def _instruction(frame) -> tuple:
    """The instruction that a frame is at, those after it, and all by their offset."""
    instructions = list(dis.get_instructions(frame.f_code))
    place = next(i for i, each in enumerate(instructions) if each.offset == frame.f_lasti)
    return instructions[place], instructions, place


def _is_assert(instructions) -> bool:
    """Whether these, from the one that asks for a truth value on, are an `assert` statement's.

    The truth value is asked for by the jump (3.11), or by the comparison or an instruction of its own before it.
    """
    names = [each.opname for each in instructions[:4]]
    while names and names[0] in ("COMPARE_OP", "TO_BOOL"):
        names.pop(0)
    jumps = bool(names) and names[0].startswith("POP_JUMP") and names[0].endswith("IF_TRUE")
    following = [(each.opname, each.argrepr) for each in instructions if each.opname != "NOT_TAKEN"]
    place = next((i for i, (name, _) in enumerate(following) if name.startswith("POP_JUMP")), len(following))
    name, value = following[place + 1] if place + 1 < len(following) else ("", None)
    return jumps and (name == "LOAD_ASSERTION_ERROR" or (name == "LOAD_COMMON_CONSTANT" and value == "AssertionError"))


class Proxy:
    """Stand-in for the value of a node: functions of `torch`, methods and operators on it make further nodes.

    >>> graph = torch.fx.Graph()
    >>> x = torch.fx.Proxy(graph.placeholder("x"))
    >>> torch.relu(x) + 1
    Proxy(add)
    """

    # Its operators are made from a table below.
    if TYPE_CHECKING:

        def __getitem__(self, place: Any) -> Any: ...

    def __init__(self, node: Node, tracer: Any = None) -> None:
        self.tracer = GraphAppendingTracer(node.graph) if tracer is None else tracer
        self.node = node

    def __repr__(self) -> str:
        return f"Proxy({self.node.name})"

    def __getattr__(self, k: str) -> Any:
        return Attribute(self, k)

    def __getstate__(self) -> Any:
        return self.__dict__

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ = state

    def __deepcopy__(self, memo: dict[Any, Any] | None) -> Any:
        made = Proxy(copy.deepcopy(self.node, memo), self.tracer)
        return made

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __iter__(self) -> Iterator[Any]:
        instruction, _, _ = _instruction(sys._getframe(1))
        if instruction.opname == "UNPACK_SEQUENCE":
            return (self[place] for place in range(instruction.argval))
        return self.tracer.iter(self)

    def __abs__(self) -> Any:
        return self.tracer.create_proxy("call_function", operator.abs, (self,), {})

    def __bool__(self) -> bool:
        if self.tracer.trace_asserts:
            _, instructions, place = _instruction(sys._getframe(1))
            if _is_assert(instructions[place:]):
                self.tracer.create_proxy("call_function", assert_fn, (self,), {})
                return True
        return self.tracer.to_bool(self)

    def keys(self) -> Any:
        """The keys that the tracer gives `**proxy`."""
        return self.tracer.keys(self)

    def __len__(self) -> int:
        raise RuntimeError(
            "'len' is not supported in symbolic tracing by default. If you want this call to be recorded, please call "
            "torch.fx.wrap('len') at module scope"
        )

    @classmethod
    def __torch_function__(
        cls, orig_method: Callable[..., Any], types: Any, args: Any = None, kwargs: Any = None
    ) -> Any:
        args, kwargs = args or (), kwargs or {}
        tracers: dict[Any, Any] = {}
        for leaf in pytree.arg_tree_leaves(*args, **kwargs):
            if isinstance(leaf, cls):
                tracers[leaf.tracer] = None
        if len(tracers) > 1:
            raise RuntimeError(
                f"Found multiple different tracers {list(tracers)} while trying to trace operations {orig_method}"
            )
        tracer = next(iter(tracers))
        if torch.overrides.is_tensor_method_or_property(orig_method):
            return tracer.create_proxy("call_method", orig_method.__name__, args, kwargs)
        name = snake_case(node_name_of(orig_method))
        return tracer.create_proxy("call_function", orig_method, args, kwargs, name=tracer.graph._target_to_str(name))


class Attribute(Proxy):
    """Stand-in for an attribute of a value. It becomes a node when it is used otherwise than to be called as a method.

    >>> from mindtorch_v2.fx.proxy import Attribute
    >>> seen = []
    >>> _ = torch.fx.symbolic_trace(lambda x: seen.append(x.shape) or x.shape[0])
    >>> type(seen[0]).__name__, seen[0].attr
    ('Attribute', 'shape')
    """

    def __init__(self, root: Any, attr: str) -> None:
        self.root = root
        self.attr = attr
        self.tracer = root.tracer
        self._node: Any = None

    @property
    def node(self) -> Node:  # type: ignore[override]  # (made when it is asked for)
        """The node that fetches it."""
        if self._node is None:
            self._node = self.tracer.create_proxy("call_function", getattr, (self.root, self.attr), {}).node
        return self._node

    def __call__(self, *args: Any, **kwargs: Any) -> Proxy:
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


class ParameterProxy(Proxy):
    """Stand-in for a parameter, whose shape is known while tracing. AssertionError for what is no parameter.

    >>> from mindtorch_v2.fx.proxy import ParameterProxy
    >>> graph = torch.fx.Graph()
    >>> tracer = torch.fx.proxy.GraphAppendingTracer(graph)
    >>> weight = ParameterProxy(tracer, graph.get_attr("weight"), "weight", torch.nn.Parameter(torch.ones(2, 3)))
    >>> weight.shape, weight.dim()
    (torch.Size([2, 3]), 2)
    """

    def __init__(self, tracer: Any, node: Node, name: str, param: torch.nn.Parameter) -> None:
        super().__init__(node, tracer)
        if not isinstance(param, torch.nn.Parameter):
            raise AssertionError(f"Expected Parameter, got {type(param)}")
        self.param = param
        self.name = name

    def __repr__(self) -> str:
        return f"ParameterProxy({self.name})"

    @property
    def shape(self) -> Size:
        return self.param.shape

    @property
    def ndim(self) -> int:
        return self.param.ndim

    def size(self) -> Any:
        return self.param.size()

    def dim(self) -> int:
        return self.param.dim()

    def numel(self) -> int:
        return self.param.numel()

    def nelement(self) -> int:
        return self.param.nelement()


def _operators() -> None:
    def forward(function: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *args, **kwargs: args[0].tracer.create_proxy("call_function", function, args, kwargs)

    def reflected(function: Callable[..., Any]) -> Callable[..., Any]:
        return lambda self, other: self.tracer.create_proxy("call_function", function, (other, self), {})

    for name in MAGIC:
        if hasattr(operator, name):
            setattr(Proxy, f"__{name.strip('_')}__", forward(getattr(operator, name)))
    for name in REFLECTABLE:
        if hasattr(operator, name):
            setattr(Proxy, f"__r{name.strip('_')}__", reflected(getattr(operator, name)))


_operators()
