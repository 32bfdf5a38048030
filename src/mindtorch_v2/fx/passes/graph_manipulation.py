"""Other targets for nodes, and how many bytes their values take."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import mindtorch_v2 as torch
from mindtorch_v2.fx._compatibility import compatibility
from mindtorch_v2.fx.graph import Graph
from mindtorch_v2.fx.graph_module import GraphModule
from mindtorch_v2.fx.node import Node, map_arg
from mindtorch_v2.fx.passes.shape_prop import ShapeProp, TensorMetadata

__all__ = [
    "get_size_of_all_nodes",
    "get_size_of_node",
    "get_tensor_meta",
    "replace_target_nodes_with",
    "size_bytes",
]


class size_bytes(NamedTuple):
    """Bytes of a node's value, and of that with its parameters and buffers.

    >>> size_bytes(8, 24).total_size
    24
    """

    output_size: int
    total_size: int


@compatibility(is_backward_compatible=False)
def replace_target_nodes_with(
    fx_module: GraphModule,
    old_op: str,
    old_target: Callable[..., Any] | str,
    new_op: str,
    new_target: Callable[..., Any] | str,
) -> None:
    """Let the nodes of one kind and target be of another; the graph module is changed.

    >>> traced = torch.fx.symbolic_trace(lambda x: torch.relu(x))
    >>> replace_target_nodes_with(traced, "call_function", torch.relu, "call_function", torch.neg)
    >>> traced(torch.tensor([2.0]))
    tensor([-2.])
    """
    made = Graph()
    copies: dict[Node, Node] = {}
    for node in fx_module.graph.nodes:
        if node.op != old_op or node.target != old_target:
            copies[node] = made.node_copy(node, lambda each: copies[each])
            continue
        args, kwargs = (map_arg(each, lambda used: copies[used]) for each in (node.args, node.kwargs))
        copies[node] = made.create_node(new_op, new_target, args, kwargs, node.name)
    fx_module.graph = made


@compatibility(is_backward_compatible=False)
def get_size_of_all_nodes(fx_module: GraphModule, args: list[torch.Tensor] | None = None) -> None:
    """Leave in `node.size_bytes` of each node what its value takes; with `args` the graph runs on them first.

    >>> traced = torch.fx.symbolic_trace(torch.nn.Sequential(torch.nn.Linear(2, 3)))
    >>> get_size_of_all_nodes(traced, [torch.ones(1, 2)])
    >>> [tuple(node.size_bytes) for node in traced.graph.nodes if node.op == "call_module"]
    [(12, 48)]
    """
    if args is not None:
        ShapeProp(fx_module).propagate(*args)
    for node in fx_module.graph.nodes:
        if node.op == "output":
            break
        node.size_bytes = get_size_of_node(fx_module, node)


@compatibility(is_backward_compatible=False)
def get_tensor_meta(node: Node) -> TensorMetadata:
    """The form of the node's value that ShapeProp left; RuntimeError if it did not run.

    >>> traced = torch.fx.symbolic_trace(lambda x: x + 1)
    >>> _ = ShapeProp(traced).propagate(torch.ones(2))
    >>> get_tensor_meta(list(traced.graph.nodes)[1]).shape
    torch.Size([2])
    """
    found = node.meta.get("tensor_meta")
    if not found:
        raise RuntimeError(
            f"Node {node} has no tensor metadata associated with it! Check that shape propagation has run."
        )
    return found


@compatibility(is_backward_compatible=False)
def get_size_of_node(fx_module: GraphModule, node: Node) -> size_bytes:
    """The bytes of a node's value, and with its parameters and buffers. RuntimeError if ShapeProp did not run.

    >>> traced = torch.fx.symbolic_trace(lambda x: x + 1)
    >>> _ = ShapeProp(traced).propagate(torch.ones(2))
    >>> get_size_of_node(traced, list(traced.graph.nodes)[1])
    size_bytes(output_size=8, total_size=8)
    """
    held = 0
    if node.op == "call_module":
        module = fx_module.get_submodule(str(node.target))
        for each in (*dict(module.named_parameters()).values(), *dict(module.named_buffers()).values()):
            held += each.numel() * each.element_size()
    meta: Any = get_tensor_meta(node)
    value = meta.shape.numel() * torch.empty((), dtype=meta.dtype).element_size()
    return size_bytes(value, held + value)
