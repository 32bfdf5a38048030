"""One value of a graph: what computes it, from which other values, and who uses it."""

from __future__ import annotations

import enum
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch
from mindtorch_v2._ops import OpOverload, OpOverloadPacket
from mindtorch_v2._sizes.graph_node import GraphNode

from ._naming import qualified_name as _get_qualified_name
from ._naming import type_text as _type_repr
from .immutable_collections import immutable_dict, immutable_list

if TYPE_CHECKING:
    from mindtorch_v2.fx.graph import Graph


__all__ = ["Node", "has_side_effect", "map_aggregate", "map_arg"]

OPS = ("placeholder", "call_method", "call_module", "call_function", "get_attr", "output", "root")
DTYPE_NAMES = {
    torch.bfloat16: "bf16", torch.float64: "f64", torch.float32: "f32", torch.float16: "f16", torch.complex32: "c32",
    torch.complex64: "c64", torch.complex128: "c128", torch.int8: "i8", torch.int16: "i16", torch.int32: "i32",
    torch.int64: "i64", torch.bool: "b8", torch.uint8: "u8",
}  # fmt: skip
DTYPE_NAMES |= {
    getattr(torch, name): short
    for name, short in (
        ("uint16", "u16"), ("uint32", "u32"), ("uint64", "u64"), ("float8_e4m3fn", "f8e4m3fn"),
        ("float8_e5m2", "f8e5m2"), ("float8_e4m3fnuz", "f8e4m3fnuz"), ("float8_e5m2fnuz", "f8e5m2fnuz"),
        ("float8_e8m0fnu", "f8e8m0fnu"),
    )
    if hasattr(torch, name)
}  # fmt: skip
BASE_TYPES = (
    str, int, float, bool, complex, torch.dtype, torch.Tensor, torch.device, torch.memory_format, torch.layout, OpOverload,
    torch.SymInt, torch.SymBool, torch.SymFloat,
)  # fmt: skip
base_types = BASE_TYPES
# Types of annotations: what a node calls, and what it is given.
Target = Callable[..., Any] | str
Argument = Any

# Functions that PyTorch's passes keep, whatever becomes of their results, as they move the state of the generator. Other
# functions that draw, as torch.dropout, PyTorch drops.
_DRAWING = {
    getattr(torch, name)
    for name in (
        "rand randn randint randperm rand_like randn_like randint_like normal poisson bernoulli multinomial"
    ).split()
}
_side_effectful_functions = {torch._assert, operator.setitem, torch._C._set_grad_enabled}


def has_side_effect(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a function whose calls a graph must keep even if their results are unused; returns it.

    >>> from mindtorch_v2.fx.node import has_side_effect
    >>> def log(x):
    ...     return x
    >>> graph = torch.fx.Graph()
    >>> x = graph.placeholder("x")
    >>> _ = graph.call_function(has_side_effect(log), (x,))
    >>> _ = graph.output(x)
    >>> graph.eliminate_dead_code(), len(graph.nodes)
    (False, 3)
    """
    _side_effectful_functions.add(fn)
    return fn


def map_aggregate(a: Any, fn: Any) -> Any:
    """`a` with `fn` applied to what stands in its tuples, lists, dicts (as values) and slices.

    Lists and dicts come back immutable.

    >>> map_aggregate((1, [2, {"a": 3}]), lambda x: x + 1)
    (2, [3, {'a': 4}])
    """
    if isinstance(a, tuple):
        items = [map_aggregate(each, fn) for each in a]
        return type(a)(*items) if hasattr(a, "_make") else tuple(items)
    if isinstance(a, list):
        return immutable_list([map_aggregate(each, fn) for each in a])
    if isinstance(a, dict):
        return immutable_dict({key: map_aggregate(each, fn) for key, each in a.items()})
    if isinstance(a, slice):
        return slice(map_aggregate(a.start, fn), map_aggregate(a.stop, fn), map_aggregate(a.step, fn))
    return fn(a)


def map_arg(a: Any, fn: Any) -> Any:
    """`a` with each Node in it replaced by `fn(node)`.

    >>> from mindtorch_v2.fx.node import map_arg
    >>> x, y = list(torch.fx.symbolic_trace(lambda x, y: x + y).graph.nodes)[:2]
    >>> map_arg((x, [y, 3]), lambda node: node.name)
    ('x', ['y', 3])
    """
    if not callable(fn):
        raise AssertionError("torch.fx.map_arg(a, fn): fn must be a callable")
    return map_aggregate(a, lambda each: fn(each) if isinstance(each, Node) else each)


def shape_text(sizes: Any) -> str:
    """`[2, 3]`, whatever kind of sequence it is."""
    return "[" + ", ".join(map(str, sizes)) + "]"


def described_value(meta: Any) -> torch.Tensor | None:
    """The description of a node's value: the tensor that a tracer or a pass left in `meta`, or None."""
    for key in ("val", "tensor_meta", "example_value"):
        if key in meta:
            return meta[key]
    return None


def _format_arg(arg) -> str:
    if hasattr(arg, "_custom_fx_repr_fn"):
        return arg._custom_fx_repr_fn()
    if isinstance(arg, list):
        return "[" + ", ".join(map(_format_arg, arg)) + "]"
    if isinstance(arg, tuple):
        return "(" + ", ".join(map(_format_arg, arg)) + ("," if len(arg) == 1 else "") + ")"
    if isinstance(arg, dict):
        return "{" + ", ".join(f"{key}: {_format_arg(value)}" for key, value in arg.items()) + "}"
    return f"%{arg}" if isinstance(arg, Node) else str(arg)


class Node(GraphNode):
    """One value of a `Graph`; made by the graph's methods.

    `op` says what it is, `target` what is called or fetched, `args` and `kwargs` with what:

    | op | target | args |
    |---|---|---|
    | placeholder | the parameter's name | its default, if any |
    | get_attr | a dotted path from the module | none |
    | call_function | a callable | its arguments |
    | call_method | the method's name | the object first |
    | call_module | a dotted path from the module | the arguments of its forward |
    | output | "output" | the value that is returned |

    `users` are the nodes that use this one, in order, as the keys of a dict; `meta` is for passes to leave notes in.

    >>> graph = torch.fx.Graph()
    >>> x = graph.placeholder("x")
    >>> y = graph.call_function(torch.add, (x, 1))
    >>> y.op, y.target.__name__, y.args, list(x.users)
    ('call_function', 'add', (x, 1), [add])
    """

    # What passes leave on nodes: the part that a node is for, bytes of its value, and settings of what it calls.
    tag: str
    size_bytes: Any
    attrs_for_lowering: dict[str, Any]

    def __init__(
        self,
        graph: Graph,
        name: str,
        op: str,
        target: Callable[..., Any] | str,
        args: Any,
        kwargs: Any,
        return_type: Any = None,
    ) -> None:
        if op == "call_function":
            self._require(callable(target), graph, name, target, "a Callable")
        elif op not in OPS:
            raise AssertionError(f"op '{op}' is not in _legal_ops")
        else:
            self._require(isinstance(target, str), graph, name, target, "a str")
        self.graph = graph
        self._name = name
        self.op = op
        self.target: Any = target
        self.type = return_type
        self.users: dict[Any, Any] = {}
        self.meta: dict[Any, Any] = {}
        self._input_nodes: dict[Any, Any] = {}
        self._args, self._kwargs = (), immutable_dict()
        self._prev = self._next = self
        self._erased = False
        self._place = 0
        self._repr_fn: Callable[[Node], str] | None = None
        self._set_arguments(args, kwargs)

    @staticmethod
    def _require(holds, graph, name, target, expected) -> None:
        if not holds:
            raise ValueError(
                f"Node [graph = {graph}, name = '{name}'] target {target} has type {torch.typename(target)} "
                f"but {expected} is expected"
            )

    # ---- arguments ----

    def _set_arguments(self, args, kwargs) -> None:
        for each in self._input_nodes:
            each.users.pop(self, None)
        self._input_nodes = {}

        def use(each: Any) -> Any:
            if isinstance(each, Node):
                self._input_nodes.setdefault(each)
                each.users.setdefault(self)
            return each

        self._args = map_aggregate(args, use)
        self._kwargs = map_aggregate(kwargs, use)

    @property
    def args(self) -> tuple[Any, ...]:
        """The positional arguments, a tuple; lists and dicts in it are immutable. Assign a new tuple to change them."""
        return self._args

    @args.setter
    def args(self, value: Any) -> None:
        self._set_arguments(value, self._kwargs)

    @property
    def kwargs(self) -> immutable_dict:
        """The keyword arguments, an immutable dict. Assign a new dict to change them."""
        return self._kwargs

    @kwargs.setter
    def kwargs(self, value: Any) -> None:
        self._set_arguments(self._args, value)

    @property
    def all_input_nodes(self) -> list:
        """The nodes that this one uses, each once, in the order of first use."""
        return list(self._input_nodes)

    def update_arg(self, idx: int, arg: Any) -> None:
        """Replace the positional argument at `idx`."""
        args = list(self.args)
        args[idx] = arg
        self.args = tuple(args)

    def insert_arg(self, idx: int, arg: Any) -> None:
        """Put a positional argument before the one at `idx`; AssertionError for a place that is not there."""
        if not 0 <= idx <= len(self.args):
            raise AssertionError(f"insert_args index must be between 0 and len(self.args), got {idx}")
        self.args = (*self.args[:idx], arg, *self.args[idx:])

    def update_kwarg(self, key: str, arg: Any) -> None:
        """Set one keyword argument."""
        self.kwargs = {**self.kwargs, key: arg}

    # ---- place in the graph ----

    @property
    def next(self) -> Node:
        """The node after this one."""
        return self._next

    @property
    def prev(self) -> Node:
        """The node before this one."""
        return self._prev

    def _unlink(self) -> None:
        self._prev._next, self._next._prev = self._next, self._prev
        self.graph._moved()

    def prepend(self, x: Any) -> None:
        """Put `x`, a node of the same graph, before this one; it may stand in the graph already."""
        if x.graph is not self.graph:
            raise AssertionError("Attempting to move a Node into a different Graph")
        if x is self:
            return
        x._unlink()
        before = self._prev
        before._next, x._prev = x, before
        x._next, self._prev = self, x

    def append(self, x: Any) -> None:
        """Put `x`, a node of the same graph, after this one."""
        self._next.prepend(x)

    def __lt__(self, other: Any) -> bool:
        return self.graph._place_of(self) < other.graph._place_of(other)

    def __gt__(self, other: Any) -> bool:
        return other < self

    def __le__(self, other: Any) -> bool:
        return not other < self

    def __ge__(self, other: Any) -> bool:
        return not self < other

    # ---- name ----

    @property
    def name(self) -> str:
        """Its name, unique in the graph; a name that is assigned is taken as it is."""
        return self._name

    @name.setter
    def name(self, value: Any) -> None:
        for hook in getattr(self.graph.owning_module, "_replace_hooks", None) or ():
            if not isinstance(value, str):
                raise AssertionError(f"Expected value to be str, got {type(value)}")
            for user in self.users:
                hook(old=self, new=value, user=user)
        self._name = value

    def _rename(self, candidate) -> None:
        if candidate != self.name:
            self.name = self.graph._graph_namespace.create_name(candidate, None)
            self.graph._graph_namespace._rename_object(self, self.name)

    def __repr__(self) -> str:
        return self._repr_fn(self) if self._repr_fn else self.name

    @property
    def stack_trace(self) -> str | None:
        """Where in the program the value comes from, as text with the innermost frame last; None if it was not recorded."""
        return self.meta.get("stack_trace")

    @stack_trace.setter
    def stack_trace(self, trace: Any) -> None:
        self.meta["stack_trace"] = trace

    # ---- changes ----

    def replace_all_uses_with(
        self, replace_with: Node, delete_user_cb: Callable[..., Any] | None = None, *, propagate_meta: bool = False
    ) -> list[Node]:
        """Let every user of this node use `replace_with` instead; returns those users.

        `delete_user_cb(user)` may keep a user as it is by returning False. `propagate_meta` hands the notes on;
        AssertionError if `replace_with` has notes already.
        """
        if propagate_meta:
            if replace_with.meta:
                raise AssertionError(
                    "Called node.replace_all_uses_with(replace_with, propagate_meta=True), "
                    "but replace_with already has .meta keys"
                )
            replace_with.meta.update(self.meta)
        changed = [user for user in [*self.users] if delete_user_cb is None or delete_user_cb(user)]
        for user in changed:
            user.replace_input_with(self, replace_with)
        return changed

    def replace_input_with(self, old_input: Node, new_input: Node) -> None:
        """Use `new_input` wherever this node uses `old_input`."""
        for hook in getattr(self.graph.owning_module, "_replace_hooks", None) or ():
            hook(old=old_input, new=new_input.name, user=self)

        def swap(node: Node) -> Node:
            return new_input if node is old_input else node

        self._set_arguments(map_arg(self._args, swap), map_arg(self._kwargs, swap))

    def is_impure(self, impure_random: bool = True) -> bool:
        """Whether the node must stay though nobody uses it: parameters, the output, calls that write or have side effects.

        `impure_random` counts random operators among them. AssertionError for a call of a module in a graph without one.
        """
        if self.op in ("placeholder", "output"):
            return True
        if self.op == "call_module":
            if self.graph.owning_module is None:
                raise AssertionError("self.graph.owning_module not set for purity check")
            return getattr(self.graph.owning_module.get_submodule(self.target), "_is_impure", False)
        return self.op == "call_function" and _is_impure(self.target, impure_random)

    def normalized_arguments(
        self, root: Any, arg_types: Any = None, kwarg_types: Any = None, normalize_to_only_use_kwargs: bool = False
    ) -> Any:
        """The arguments with the defaults filled in, as `torch.fx.operator_schemas.normalize_function` gives them.

        None where that does, and for nodes that call no function and no module.
        """
        from mindtorch_v2.fx import operator_schemas  # needs the operators, which a graph without them does not

        if self.op == "call_function":
            return operator_schemas.normalize_function(
                self.target, self.args, self.kwargs, arg_types, kwarg_types, normalize_to_only_use_kwargs
            )
        if self.op == "call_module":
            return operator_schemas.normalize_module(
                root, self.target, self.args, self.kwargs, normalize_to_only_use_kwargs
            )
        return None

    # ---- text ----

    @staticmethod
    def _pretty_print_target(target) -> str:
        if isinstance(target, str):
            return target
        module, name = getattr(target, "__module__", None), getattr(target, "__name__", None)
        if module == "builtins" and name is not None:
            return f"builtins.{name}"
        if module == "_operator" and name is not None:
            return f"operator.{name}"
        return _get_qualified_name(target)

    def format_node(
        self,
        placeholder_names: list[str] | None = None,
        maybe_return_typename: list[str] | None = None,
        *,
        include_tensor_metadata: bool = False,
    ) -> str | None:
        """The node in one line, as the text of its graph has it."""
        if self.op == "output":
            if self.type and maybe_return_typename:
                maybe_return_typename[0] = f" -> {_type_repr(self.type)}"
            return f"return {self.args[0]}"
        annotation = f"{_type_repr(self.type)} " if self.type is not None else ""
        calls = self.op not in ("placeholder", "get_attr")
        value = described_value(self.meta)
        if calls and include_tensor_metadata and isinstance(value, torch.Tensor):
            dtype, shape, stride = DTYPE_NAMES[value.dtype], shape_text(value.shape), shape_text(value.stride())
            annotation = f'Tensor "{dtype}{shape}{stride}{value.device}"'
        if self.op == "placeholder" and placeholder_names:
            placeholder_names.append(f"{self.target}: {_type_repr(self.type)}" if self.type else self.target)
            return None
        text = f"%{self.name} : {annotation}[num_users={len(self.users)}] = {self.op}[target="
        if self.op == "placeholder":
            return f"{text}{self.target}]" + (f"(default={self.args[0]})" if self.args else "")
        text += f"{self._pretty_print_target(self.target)}]"
        if not calls:
            return text
        return f"{text}(args = {_format_arg(self.args)}, kwargs = {_format_arg(self.kwargs)})"


def draws(target: Any) -> bool:
    """Whether an operator (an OpOverload) draws random numbers, or PyTorch says so."""
    return target._handle.random or torch.Tag.nondeterministic_seeded in target.tags


def _is_impure(target, impure_random) -> bool:
    if isinstance(target, OpOverloadPacket):
        if target in _side_effectful_functions:
            return True
        if "default" in target.overloads():
            return _is_impure(target.default, impure_random)
    # An operator without results is called for its effect: an assertion, a check of error codes. One that is given an object
    # of a class in C++ may change that.
    if isinstance(target, OpOverload) and (
        target._schema.is_mutable
        or not target._schema.returns
        or "__torch__." in str(target._schema).partition("->")[0]
    ):
        return True
    if isinstance(target, OpOverload) and impure_random and draws(target):
        return True
    return target in _DRAWING or target in _side_effectful_functions


def is_constant(value: Any) -> bool:
    """Whether a value may stand in a node's arguments as it is."""
    return value is None or value is ... or isinstance(value, (*BASE_TYPES, enum.Enum))
