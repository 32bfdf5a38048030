"""Weights that a lowered graph packs, packed once and kept as attributes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mindtorch_v2.ao.quantization.fx import _lowered_tables as tables
from mindtorch_v2.ao.quantization.fx.utils import (
    collect_producer_nodes,
    get_new_attr_name_with_prefix,
    graph_module_from_producer_nodes,
)
from mindtorch_v2.fx import Graph, GraphModule, Node

__all__ = ["fold_weights"]

_PACKING = {row[2] for row in (*tables.STATIC_FUNCTIONS.values(), *tables.DYNAMIC_FUNCTIONS.values())}


def fold_weights(model: GraphModule, scopes: Mapping[str, Any], keep_original_weights: bool) -> GraphModule:
    """The graph module with an attribute in place of each node that packs a weight, and of all that this was made of.

    `scopes` gives for the name of a node the path of the module that it is from, which the attribute's name begins with.
    """
    packed: dict[str, Any] = {}
    folded: set[str] = set()
    for node in model.graph.nodes:
        producers = collect_producer_nodes(node) if node.op == "call_function" and node.target in _PACKING else None
        if producers is not None:
            folded |= {each.name for each in producers}
            packed[node.name] = graph_module_from_producer_nodes(model, producers)()
    if keep_original_weights and packed:
        raise NotImplementedError("convert_fx(keep_original_weights=True) is not implemented in mindtorch_v2")
    graph, made = Graph(), {}
    for node in model.graph.nodes:
        if node.name in packed:
            user: Node = next(iter(node.users))
            path = scopes.get(user.name, ("", None))[0]
            name = get_new_attr_name_with_prefix(f"{path}_packed_weight_")(model)
            setattr(model, name, packed[node.name])
            made[node.name] = graph.create_node("get_attr", name, (), {})
        elif node.name not in folded:
            made[node.name] = graph.node_copy(node, lambda each: made[each.name])
    return GraphModule(model, graph)
