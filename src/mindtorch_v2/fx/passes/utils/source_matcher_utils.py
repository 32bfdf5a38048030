"""Nodes by the module or function of the program that they come from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from mindtorch_v2.fx._compatibility import compatibility
from mindtorch_v2.fx.graph import Graph
from mindtorch_v2.fx.node import Node

__all__ = ["SourcePartition", "check_subgraphs_connected", "get_source_partitions"]


@compatibility(is_backward_compatible=False)
@dataclass
class SourcePartition:
    """The nodes of one call in the program: of which function or class, what it takes and gives, and its parameters.

    >>> SourcePartition([], "relu").params
    []
    """

    nodes: list[Node]
    source: Any
    input_nodes: list[Node] = field(default_factory=list)
    output_nodes: list[Node] = field(default_factory=list)
    params: list[Node] = field(default_factory=list)


@compatibility(is_backward_compatible=False)
def get_source_partitions(
    graph: Graph, wanted_sources: list[Any], filter_fn: Callable[[Node], bool] | None = None
) -> dict[Any, list[SourcePartition]]:
    """For each function, or class of modules, in `wanted_sources` the parts of the graph that come from a call of it.

    What a node comes from is told by `meta["source_fn_stack"]`, of modules else by `meta["torch_fn"]`. `filter_fn` leaves out
    parts of which it does not hold for every node.

    >>> import mindtorch_v2 as torch
    >>> model = torch.nn.Sequential(torch.nn.Linear(1, 1), torch.nn.ReLU())
    >>> graph = torch.export.export(model, (torch.ones(1, 1),)).graph
    >>> {source: [part.nodes for part in parts] for source, parts in get_source_partitions(graph, ["linear", "relu"]).items()}
    {'linear': [[linear]], 'relu': [[relu]]}
    """
    groups: dict[Any, dict[str, list[Node]]] = {}
    for node in graph.nodes:
        stack, called = node.meta.get("source_fn_stack"), node.meta.get("torch_fn")
        if stack:
            name, source = stack[-1]
        elif called:
            name, source = called[0], called[1].partition(".")[2]
        else:
            continue
        if source in wanted_sources:
            groups.setdefault(source, {}).setdefault(name, []).append(node)
    parts = {source: [_part(nodes, source) for nodes in named.values()] for source, named in groups.items()}
    if filter_fn is None:
        return parts
    kept = {source: [part for part in each if all(map(filter_fn, part.nodes))] for source, each in parts.items()}
    return {source: each for source, each in kept.items() if each}


def _part(nodes: list[Node], source: Any) -> SourcePartition:
    inside = set(nodes)
    inputs = {used: None for node in nodes for used in node.all_input_nodes if used not in inside}
    return SourcePartition(
        nodes,
        source,
        [node for node in inputs if node.op != "get_attr"],
        [node for node in nodes if any(user not in inside for user in node.users)],
        [node for node in (*inputs, *nodes) if node.op == "get_attr"],
    )


@compatibility(is_backward_compatible=False)
def check_subgraphs_connected(subgraph1: SourcePartition, subgraph2: SourcePartition) -> bool:
    """Whether the second part takes a value that the first gives.

    >>> import mindtorch_v2 as torch
    >>> x, add, relu, output = torch.fx.symbolic_trace(lambda x: (x + 1).relu()).graph.nodes
    >>> check_subgraphs_connected(SourcePartition([add], "add"), SourcePartition([relu], "relu"))
    True
    """
    made = set(subgraph1.nodes)
    return any(used in made for node in subgraph2.nodes for used in node.all_input_nodes)
