"""Whether two graphs are the same but for numbers, and whether one computes for given arguments what the other does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch
from mindtorch_v2._sizes.graph_node import GraphNode
from mindtorch_v2._sizes.numbers import SymFloat, SymInt, plain
from mindtorch_v2.utils import _pytree as pytree

if TYPE_CHECKING:
    from mindtorch_v2.fx.graph_module import GraphModule
    from mindtorch_v2.fx.node import Node


__all__ = ["SYM_SIZE", "NotOneGraph", "compare", "is_number", "same_numbers"]

_NUMBERS = (SymInt, SymFloat)
SYM_SIZE = torch.ops.aten.sym_size.int


class NotOneGraph(RuntimeError):
    """Raised for a program that is another one for other sizes, without having asked for them."""


def compare(module: Any, other: Any) -> None:
    """Raise NotOneGraph unless two graphs are the same but for numbers."""
    first, second = list(module.graph.nodes), list(other.graph.nodes)
    for a, b in zip(first, second):
        if (a.op, a.target) != (b.op, b.target) or not _alike((a.args, a.kwargs), (b.args, b.kwargs)):
            raise NotOneGraph(f"{a.format_node()} became {b.format_node()}")
    if len(first) != len(second):
        raise NotOneGraph(f"{len(first)} nodes became {len(second)}")


def _alike(a, b):
    if isinstance(a, GraphNode):
        return isinstance(b, GraphNode) and a.name == b.name
    if isinstance(a, (list, tuple)):
        return isinstance(b, (list, tuple)) and len(a) == len(b) and all(map(_alike, a, b))
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(_alike(a[key], b[key]) for key in a)
    if isinstance(a, slice):
        return isinstance(b, slice) and _alike((a.start, a.stop, a.step), (b.start, b.stop, b.step))
    if is_number(a) or isinstance(a, _NUMBERS):
        return (is_number(b) or isinstance(b, _NUMBERS)) and type(plain(a)) is type(plain(b))
    return a == b


def is_number(value: Any) -> bool:
    return type(value) in (int, float)


def _mapped(value, function):
    """Arguments of a node, with `function` of each node among them."""
    if isinstance(value, GraphNode):
        return function(value)
    if isinstance(value, (list, tuple)):
        return (list if isinstance(value, list) else tuple)(_mapped(each, function) for each in value)
    if isinstance(value, dict):
        return {key: _mapped(each, function) for key, each in value.items()}
    if isinstance(value, slice):
        return slice(*(_mapped(each, function) for each in (value.start, value.stop, value.step)))
    return value


def same_numbers(module: GraphModule, traced: GraphModule, args: Sequence[torch.Tensor]) -> bool:
    """Whether `traced` is what `module` computes for these arguments."""
    values: dict[Any, Any] = {}
    theirs = iter(traced.graph.nodes)
    given = iter(pytree.tree_leaves(args))

    def value_of(each: Node) -> int | torch.Tensor:
        return values.get(each.name, each) if isinstance(each, GraphNode) else each

    for node in module.graph.nodes:
        if "expression" in node.meta:
            inputs = _mapped(node.args, value_of)
            values[node.name] = inputs[0].shape[inputs[1]] if node.target is SYM_SIZE else node.target(*inputs)
            continue
        other = next(theirs)
        if node.op == "placeholder":
            values[node.name] = next(given)
        elif isinstance(other.meta.get("val"), torch.Tensor):
            values[node.name] = other.meta["val"]
        mine = _mapped((node.args, node.kwargs), lambda n: values[n.name] if _is_plain(values, n) else n)
        if (node.op, node.target) != (other.op, other.target) or not _equal(mine, (other.args, other.kwargs)):
            return False
    return next(theirs, None) is None


def _is_plain(values, node):
    return "expression" in node.meta or is_number(values.get(node.name))


def _equal(a, b):
    if isinstance(a, GraphNode) or isinstance(b, GraphNode):
        return isinstance(a, GraphNode) and isinstance(b, GraphNode)
    if isinstance(a, (list, tuple)):
        return isinstance(b, (list, tuple)) and len(a) == len(b) and all(map(_equal, a, b))
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(_equal(a[key], b[key]) for key in a)
    return plain(a) == plain(b)
