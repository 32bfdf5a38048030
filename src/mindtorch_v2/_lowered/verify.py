"""Invariants of every graph, stated once: passes can be checked with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2._ops import OpOverload
from mindtorch_v2.fx import Graph, GraphModule, Interpreter, Node
from mindtorch_v2.utils import _pytree as pytree

__all__ = ["GraphError", "verify"]


class GraphError(RuntimeError):
    """Raised for a graph that is not what it should be; names the node."""

    __module__ = "mindtorch_v2.graph"


def verify(graph: Any, args: Sequence[Any] | None = None, *, functional: bool = False) -> Any:
    """Check the invariants of a graph (an fx.Graph or GraphModule); returns it.

    - Every value is defined once, before its first use, in this graph; users and inputs of nodes agree; there is one
      output, and it is last.
    - With `functional`: no operator writes to a value of the graph. Copies into inputs at the end may.
    - With `args` (for a GraphModule): the shape, dtype, strides and device that `meta["val"]` gives for a node are those
      of the value in a run with these arguments.

    Raises GraphError that names the node.

    >>> from mindtorch_v2.graph import verify
    >>> from mindtorch_v2.fx.experimental.proxy_tensor import make_fx
    >>> x = torch.ones(2, 3)
    >>> module = verify(make_fx(lambda x: torch.sin(x).t(), tracing_mode="fake")(x), (x,), functional=True)
    >>> verify(make_fx(lambda x: x.relu_())(x), functional=True)
    Traceback (most recent call last):
        ...
    mindtorch_v2.graph.GraphError: node 'relu_': aten.relu_.default writes to 'x_1'
    """
    module = graph if isinstance(graph, GraphModule) else None
    nodes = graph.graph if module is not None else graph
    if not isinstance(nodes, Graph):
        raise TypeError(f"verify(): expected an fx.Graph or GraphModule, got {type(graph).__name__}")
    _check_form(nodes)
    if functional:
        _check_functional(nodes)
    if args is not None:
        if module is None:
            raise TypeError("verify(): a run needs the GraphModule, not only its graph")
        _Compare(module).run(*args)
    return graph


def _check_form(graph) -> None:
    seen, names = set(), set()
    for node in graph.nodes:
        if node.graph is not graph:
            raise GraphError(f"node '{node.name}' belongs to another graph")
        if node.name in names:
            raise GraphError(f"node '{node.name}' is defined twice")
        for used in node.all_input_nodes:
            if used not in seen:
                raise GraphError(f"node '{node.name}' uses '{used.name}', which is not defined before it")
            if node not in used.users:
                raise GraphError(f"node '{node.name}' uses '{used.name}', which does not know of it")
        seen.add(node)
        names.add(node.name)
    for node in graph.nodes:
        for user in node.users:
            if user not in seen or node not in user.all_input_nodes:
                raise GraphError(f"node '{node.name}' counts '{user.name}' as a user, which does not use it")
    outputs = [node for node in graph.nodes if node.op == "output"]
    if len(outputs) != 1 or next(iter(reversed(graph.nodes))) is not outputs[0]:
        raise GraphError(f"a graph has one output, as its last node; this one has {len(outputs)}")


def written(node: Node) -> Any:
    """The nodes whose values the operator of `node` writes to."""
    if node.op != "call_function" or not isinstance(node.target, OpOverload):
        return []
    found = []
    for place, argument in enumerate(node.target._schema.arguments):
        if argument.alias_info is None or not argument.alias_info.is_write:
            continue
        given = node.kwargs.get(argument.name, node.args[place] if place < len(node.args) else None)
        found += [each for each in pytree.tree_leaves(given) if isinstance(each, Node)]
    return found


def _check_functional(graph) -> None:
    ending = True  # from the end on: copies into inputs may stand there, and nothing else that writes
    for node in reversed(graph.nodes):
        if node.op == "output":
            continue
        targets = written(node)
        copies = node.target is torch.ops.aten.copy_.default and all(each.op == "placeholder" for each in targets)
        if targets and not (copies and ending):
            raise GraphError(f"node '{node.name}': {node.target} writes to '{targets[0].name}'")
        ending = ending and bool(targets)


def _facts(value) -> dict:
    return {"shape": tuple(value.shape), "dtype": value.dtype, "stride": value.stride(), "device": value.device}


class _Compare(Interpreter):
    """Run a graph and compare each value with what its node says of it."""

    def __init__(self, module: Any) -> None:
        super().__init__(module)
        self.extra_traceback = False

    def run_node(self, n: Node) -> Any:
        value = super().run_node(n)
        if "val" in n.meta:
            said, found = pytree.tree_leaves(n.meta["val"]), pytree.tree_leaves(value)
            if len(said) != len(found):
                raise GraphError(f"node '{n.name}': meta['val'] tells of {len(said)} values, the run gave {len(found)}")
            for one, other in zip(said, found):
                if not isinstance(one, torch.Tensor) or not isinstance(other, torch.Tensor):
                    continue
                ours, theirs = _facts(one), _facts(other)
                for fact in ours:
                    if ours[fact] != theirs[fact]:
                        raise GraphError(
                            f"node '{n.name}' ({n.target}): meta['val'] says {fact} {ours[fact]}, "
                            f"the run gave {theirs[fact]}"
                        )
        return value
