"""A pass over a graph of inference: products and convolutions become layers, with a packed weight and what follows them.

A layer (`csrc/core/layer.h`) is a linear layer, or a convolution with the batch norm behind it folded into its weight, with
functions of its result and operands of its sizes (a residual) applied before the result is written. Its weight is packed at the
first call, and again when it was written or is another one. Convolutions of images run channels-last; what follows them keeps
that order as far as operators do so of themselves.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import math
import operator
from collections.abc import Callable
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2 import _C
from mindtorch_v2._ops import OpOverload
from mindtorch_v2.fx import Graph, GraphModule, Node
from mindtorch_v2.fx.node import map_arg

__all__ = ["LayerKernel", "Layered", "with_layers"]

_FEWEST_ROWS = 32  # of a product: with fewer the weight is read once and the kernels for vectors are as fast as memory
_MOST_STEPS, _MOST_OPERANDS = 4, 3
_aten = torch.ops.aten

Step = tuple[str, float, float]


class LayerKernel(_C._Layer):
    """A layer that a graph calls. `text` says what it does; two that are made of the same `recipe` do the same."""

    __module__ = "fused_loops"  # so that code of graphs calls it by its name alone
    __name__: str
    text: str
    recipe: tuple[Any, ...]


@dataclasses.dataclass
class Layered:
    """The results of `with_layers`: the new graph, and its layers."""

    module: GraphModule
    kernels: list[LayerKernel]


# ---- what may follow a sum ----


_WITH_ARGUMENTS: dict[Any, Callable[[Node], Step | None]] = {}  # operators whose numbers are arguments


def _function(*targets: OpOverload) -> Callable[[Callable], Callable]:
    """The decorated function gives the step that a call of one of these operators is; None if layers have none for it."""

    def register(step: Callable) -> Callable:
        _WITH_ARGUMENTS.update(dict.fromkeys(targets, step))
        return step

    return register


@_function(_aten.gelu.default)
def _gelu(node: Node) -> Step | None:
    form = node.kwargs.get("approximate", node.args[1] if len(node.args) > 1 else "none")
    return ("gelu_tanh" if form == "tanh" else "gelu", 0.0, 0.0)


@_function(_aten.clamp.default, _aten.hardtanh.default)
def _clamp(node: Node) -> Step | None:
    numbers = node.args[1:]
    if len(numbers) != 2 or node.kwargs or not all(isinstance(each, (int, float)) for each in numbers):
        return None
    least, most = numbers
    return ("clamp", float(least), float(most)) if least <= most else None


@functools.cache
def _dtypes() -> frozenset[torch.dtype]:
    """The dtypes that oneDNN has layers of on this processor."""
    wide = torch.backends.cpu.get_cpu_capability() == "AVX512"
    return frozenset((torch.float32, torch.bfloat16) if wide else (torch.float32,))


@functools.cache
def _steps() -> frozenset[str]:
    return frozenset(_C._layer_steps())


def _applied(node: Node) -> Callable[[Node], Step | None] | None:
    """The rule for a function of a sum that layers have; None for any other operator."""
    target = node.target
    if target in _WITH_ARGUMENTS:
        return _WITH_ARGUMENTS[target]
    if not isinstance(target, OpOverload) or target.namespace != "aten" or target._overloadname != "default":
        return None
    name = target._handle.name
    return _alone if name in _steps() else None


def _alone(node: Node) -> Step | None:
    return (node.target._handle.name, 0.0, 0.0) if len(node.args) == 1 and not node.kwargs else None


_WITH_OPERAND = {_aten.add.Tensor: "add", _aten.mul.Tensor: "mul"}


def _value(node: Any) -> Any:
    return node.meta.get("val") if isinstance(node, Node) else None


def _results(node: Node) -> tuple:
    value = node.meta.get("val")
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def _is_number(value: Any) -> bool:
    """Whether a value is a tensor on the CPU of a dtype that layers have."""
    return (
        isinstance(value, torch.Tensor)
        and value.device.type == "cpu"
        and value.layout is torch.strided
        and value.dtype in _dtypes()
        and value.numel() > 0
    )


def _is_given(node: Any) -> bool:
    """Whether a node is an argument of the graph, an attribute, or a view of one."""
    while isinstance(node, Node) and isinstance(node.target, OpOverload):
        if not node.target._handle.is_view or len(node.all_input_nodes) != 1:
            return False
        node = node.all_input_nodes[0]
    return isinstance(node, Node) and node.op in ("placeholder", "get_attr")


@dataclasses.dataclass
class _Head:
    """A product or a convolution: the arguments of its layer, and how it is made."""

    node: Node  # the last one that it stands for
    arguments: list[Node]
    geometry: tuple | None = None
    transposed: bool = False
    has_bias: bool = False
    norm: tuple | None = None
    steps: list[Step] = dataclasses.field(default_factory=list)
    text: list[str] = dataclasses.field(default_factory=list)


def _product(node: Node) -> _Head | None:
    if node.target is _aten.linear.default:
        x, weight, bias = (*node.args, None)[:3]
        transposed = True
    elif node.target is _aten.addmm.default and len(node.args) == 3 and not node.kwargs:
        bias, x, weight = node.args
        transposed = False
    else:
        return None
    a, w, b = _value(x), _value(weight), _value(bias)
    if not _is_number(a) or not _is_number(w) or w.dim() != 2 or a.dtype is not w.dtype or not _is_given(weight):
        return None
    columns = w.shape[0] if transposed else w.shape[1]
    if bias is not None and (not _is_number(b) or tuple(b.shape) != (columns,) or b.dtype is not w.dtype):
        return None
    if math.prod(a.shape[:-1]) < _FEWEST_ROWS:
        return None
    arguments = [each for each in (x, weight, bias) if isinstance(each, Node)]
    return _Head(node, arguments, None, transposed, bias is not None, text=["linear"])


def _convolution(node: Node) -> _Head | None:
    if node.target is not _aten.convolution.default or node.kwargs or len(node.args) != 9:
        return None
    x, weight, bias, stride, padding, dilation, transposed, _, groups = node.args
    a, w, b = _value(x), _value(weight), _value(bias)
    if transposed or not _is_number(a) or not _is_number(w) or a.dim() != 4 or a.dtype is not w.dtype:
        return None
    if not _is_given(weight) or (bias is not None and (not _is_number(b) or b.dtype is not w.dtype)):
        return None

    def both(numbers: Any) -> tuple:
        return tuple(numbers) * 2 if len(numbers) == 1 else tuple(numbers)

    arguments = [each for each in (x, weight, bias) if isinstance(each, Node)]
    geometry = (both(stride), both(padding), both(dilation), groups)
    head = _Head(node, arguments, geometry, False, bias is not None, text=["convolution"])
    _fold_norm(head)
    return head


def _fold_norm(head: _Head) -> None:
    """Take in the batch norm behind a convolution."""
    norm = _only_user(head.node)
    if norm is None or norm.target is not _aten.native_batch_norm.default or len(norm.args) != 8 or norm.kwargs:
        return
    x, weight, bias, mean, variance, training, _, eps = norm.args
    affine = weight is not None and bias is not None
    if x is not head.node or training or (not affine and (weight is not None or bias is not None)):
        return
    numbers = [mean, variance, weight, bias] if affine else [mean, variance]
    for each in numbers:
        value = _value(each)
        if not _is_given(each) or not _is_number(value) or value.dtype is not torch.float32 or value.dim() != 1:
            return
    item = _only_user(norm)
    if item is None or item.target is not operator.getitem or item.args[1] != 0:
        return
    head.arguments += [each for each in numbers if isinstance(each, Node)]
    head.norm = (float(eps), affine)
    head.node = item
    head.text.append("batch norm")


def _only_user(node: Node) -> Node | None:
    return next(iter(node.users)) if len(node.users) == 1 else None


def _take_in_steps(head: _Head, taken: set[Node]) -> None:
    """Take in what follows, as long as nobody else reads what is before it; `taken` has what other layers took."""
    operands = 0
    while len(head.steps) < _MOST_STEPS:
        user = _only_user(head.node)
        if user is None or user in taken:
            return
        made, value = _value(user), _value(head.node)
        if not _is_number(made) or made.shape != value.shape or made.dtype is not value.dtype:
            return
        function = _applied(user)
        if function is not None:
            step = function(user)
            if step is None or user.args[0] is not head.node:
                return
        else:
            name = _WITH_OPERAND.get(user.target)
            if name is None or len(user.args) != 2 or user.kwargs or operands == _MOST_OPERANDS:
                return
            other = user.args[1] if user.args[0] is head.node else user.args[0]
            given = _value(other)
            if (
                other is head.node
                or not _is_number(given)
                or given.shape != made.shape
                or given.dtype is not made.dtype
            ):
                return
            step = (name, 0.0, 0.0)
            head.arguments.append(other)
            operands += 1
        head.steps.append(step)
        head.text.append(step[0])
        head.node = user
        taken.add(user)


def _find(module: GraphModule) -> dict[Node, _Head]:
    """The heads by the last node that each stands for."""
    heads: dict[Node, _Head] = {}
    for node in module.graph.nodes:
        head = (_product(node) or _convolution(node)) if node.op == "call_function" else None
        if head is not None:
            heads[head.node] = head
    taken = set(heads)
    # The last one first: of two layers that are added, the later one takes the sum, which needs both.
    for head in reversed(list(heads.values())):
        _take_in_steps(head, taken)
    return {head.node: head for head in heads.values()}


# ---- the new graph ----


def _laid_out(value: Any, strides: tuple) -> Any:
    """The numbers of a tensor with these strides."""
    return torch.empty_strided(value.shape, strides, dtype=value.dtype, device=value.device).copy_(value)


_laid_out.__module__ = "fused_loops"


def _nodes_of(head: _Head) -> set[Node]:
    """The nodes that a layer stands for."""
    found: set[Node] = set()
    waiting = [head.node]
    while waiting:
        node = waiting.pop()
        if node not in found:
            found.add(node)
            waiting += [each for each in node.all_input_nodes if each not in head.arguments]
    return found


class _Rebuilder:
    """Write the graph anew: layers for what they stand for, and values of other strides where convolutions give them."""

    def __init__(self, module: GraphModule, heads: dict[Node, _Head], packs_lent: bool) -> None:
        self._module, self._heads, self._packs_lent = module, heads, packs_lent
        self._graph = Graph()
        self._copies: dict[Node, Node] = {}
        self._restored: dict[Node, Node] = {}
        self._kernels: list[LayerKernel] = []
        self._within = {node for head in heads.values() for node in _nodes_of(head)}

    def run(self) -> Layered:
        for node in self._module.graph.nodes:
            head = self._heads.get(node)
            if head is not None:
                self._copies[node] = self._layer(head)
            elif node not in self._within:
                self._copies[node] = self._other(node)
        self._graph.eliminate_dead_code()
        return Layered(GraphModule(self._module, self._graph), self._kernels)

    def _layer(self, head: _Head) -> Node:
        steps = tuple(head.steps)
        recipe = (head.geometry, head.transposed, head.has_bias, head.norm, self._packs_lent, steps)
        kernel = LayerKernel(*recipe)
        kernel.recipe = recipe
        kernel.__name__ = f"layer_{len(self._kernels)}"
        names = ", ".join(each.name for each in head.arguments)
        kernel.text = f"{kernel.__name__}({names}): {', '.join(head.text)}"
        self._kernels.append(kernel)
        made = self._graph.call_function(kernel, tuple(self._copies[each] for each in head.arguments))
        value = _value(head.node)
        made.meta["val"] = value
        if head.geometry is not None:
            with value.fake_mode:
                made.meta["val"] = torch.empty(
                    value.shape, dtype=value.dtype, device=value.device, memory_format=torch.channels_last
                )
        return made

    def _other(self, node: Node) -> Node:
        changed = [each for each in node.all_input_nodes if self._has_other_strides(each)]
        if changed:
            made = self._as_operators_keep_it(node)
            if made is not None:
                return made
        return self._graph.node_copy(node, self._as_it_was)

    def _has_other_strides(self, node: Node) -> bool:
        pairs = zip(_results(node), _results(self._copies[node]))
        return any(isinstance(old, torch.Tensor) and old.stride() != new.stride() for old, new in pairs)

    def _as_it_was(self, node: Node) -> Node:
        if not self._has_other_strides(node):
            return self._copies[node]
        if node not in self._restored:
            value = _value(node)
            made = self._graph.call_function(_laid_out, (self._copies[node], value.stride()))
            made.meta["val"] = value
            self._restored[node] = made
        return self._restored[node]

    def _as_operators_keep_it(self, node: Node) -> Node | None:
        """The call with its operands as they are now, if its results are channels-last then; else None."""
        if node.target is operator.getitem:
            source = self._copies[node.args[0]]
            made = self._graph.node_copy(node, lambda each: self._copies[each])
            made.meta["val"] = source.meta["val"][node.args[1]]
            return made
        if not isinstance(node.target, OpOverload) or node.target._handle.is_view or node.target._handle.mutates:
            return None
        made = self._graph.node_copy(node, lambda each: self._copies[each])
        with _results(node)[0].fake_mode:
            args, kwargs = map_arg((made.args, made.kwargs), lambda each: each.meta["val"])
            new = node.target(*args, **kwargs)
        now = new if isinstance(new, (tuple, list)) else (new,)
        first = now[0]
        if first.dim() != 4 or not first.is_contiguous(memory_format=torch.channels_last):
            self._graph.erase_node(made)
            return None
        made.meta["val"] = new
        return made


def _without_dead_code(module: GraphModule) -> GraphModule:
    graph = copy.deepcopy(module.graph)
    graph.eliminate_dead_code()
    return GraphModule(module, graph)


def with_layers(module: GraphModule, packs_lent: bool = False) -> Layered:
    """A copy of `module` (a functional graph of inference whose nodes tell their values) with layers.

    With `packs_lent` weights are packed that others may write as well (NumPy, other processes): such writes are not seen.

    >>> from mindtorch_v2._lowered.layers import with_layers
    >>> from mindtorch_v2.fx.experimental.proxy_tensor import make_fx
    >>> x, w = torch.ones(32, 8), torch.ones(4, 8)
    >>> with torch._core.torch_dispatch.whole_calls():
    ...     module = make_fx(lambda x, w: torch.nn.functional.linear(x, w).relu(), tracing_mode="fake")(x, w)
    >>> [kernel.text for kernel in with_layers(module).kernels]
    ['layer_0(x_1, w_1): linear, relu']
    """
    module = _without_dead_code(module)
    heads = _find(module) if _C._layer_steps() else {}
    return _Rebuilder(module, heads, packs_lent).run()
