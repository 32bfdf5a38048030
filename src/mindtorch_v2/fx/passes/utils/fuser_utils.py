"""Making submodules of parts of a graph."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import TYPE_CHECKING

from mindtorch_v2.fx._compatibility import compatibility
from mindtorch_v2.fx.graph import Graph
from mindtorch_v2.fx.passes.tools_common import stable_topological_sort
from mindtorch_v2.fx.passes.utils.common import lift_subgraph_as_module

if TYPE_CHECKING:
    from mindtorch_v2.fx.graph_module import GraphModule
    from mindtorch_v2.fx.node import Node


@compatibility(is_backward_compatible=False)
def topo_sort(nodes: list[Node]) -> list[Node]:
    """The nodes, each behind those among them that it is made of; AssertionError if they need each other.

    >>> import mindtorch_v2 as torch
    >>> x, add, relu, output = torch.fx.symbolic_trace(lambda x: (x + 1).relu()).graph.nodes
    >>> topo_sort([relu, add])
    [add, relu]
    """
    among = set(nodes)
    missing = {node: sum(each in among for each in node.all_input_nodes) for node in nodes}
    order = [node for node in nodes if not missing[node]]
    for node in order:  # grows as it goes
        for user in node.users:
            if user in among:
                missing[user] -= 1
                if not missing[user]:
                    order.append(user)
    if len(order) != len(nodes):
        raise AssertionError("topological sorted nodes doesn't have same length as input nodes")
    return order


@compatibility(is_backward_compatible=False)
def validate_partition(partition: list[Node]) -> bool:
    """Whether the nodes can run in one go: no value leaves them and comes back by way of another node.

    >>> import mindtorch_v2 as torch
    >>> x, add, relu, mul, output = torch.fx.symbolic_trace(lambda x: (x + 1).relu() * 2).graph.nodes
    >>> validate_partition([add, relu]), validate_partition([add, mul])
    (True, False)
    """
    inside = set(partition)
    outside: set[Node] = set()
    waiting = [user for node in partition for user in node.users if user not in inside]
    while waiting:
        node = waiting.pop()
        if node in inside:
            return False
        if node not in outside:
            outside.add(node)
            waiting.extend(node.users)
    return True


@compatibility(is_backward_compatible=False)
def fuse_as_graphmodule(
    gm: GraphModule,
    nodes: list[Node],
    module_name: str,
    partition_lookup_table: dict[Node, int | None] | None = None,
    *,
    always_return_tuple: bool = False,
) -> tuple[GraphModule, tuple[Node, ...], tuple[Node, ...]]:
    """A module that computes the nodes, which are sorted; the nodes whose values it takes, and those whose values it gives.

    `gm` stays as it is. AssertionError for nodes of another or no graph, several that are the same, and such as cannot run in one go.

    >>> import mindtorch_v2 as torch
    >>> traced = torch.fx.symbolic_trace(lambda x: (x + 1).relu() * 2)
    >>> x, add, relu, mul, output = traced.graph.nodes
    >>> fused, taken, given = fuse_as_graphmodule(traced, [add, relu], "part")
    >>> fused(torch.tensor([1.0])), taken, given
    (tensor([2.]), (x,), (relu,))
    """
    for node in nodes:
        if node.graph is not gm.graph:
            raise AssertionError(f"{node} doesn't belong to passed in graph module {gm._get_name()}")
        if node._erased:
            raise AssertionError(f"{node} has been removed from owning graph")
    if not validate_partition(nodes):
        raise AssertionError("Invalid partition, found dependency cycles")
    inside = dict.fromkeys(nodes) if partition_lookup_table is None else partition_lookup_table
    graph = Graph()
    taken: dict[Node, Node] = {}
    made: dict[Node, Node] = {}

    def value(node: Node) -> Node:
        if node in made:
            return made[node]
        if node not in taken:
            taken[node] = graph.placeholder(node.name, type_expr=node.type)
            taken[node].meta = node.meta.copy()
        return taken[node]

    for node in nodes:
        made[node] = graph.node_copy(node, value)
    given = [node for node in nodes if any(user not in inside for user in node.users)]
    results = tuple(made[node] for node in given)
    graph.output(results[0] if len(results) == 1 and not always_return_tuple else results)
    graph.lint()
    fused, _ = lift_subgraph_as_module(gm, graph, comp_name="", class_name=module_name)
    return fused, tuple(taken), tuple(given)


@compatibility(is_backward_compatible=False)
def insert_subgm(
    gm: GraphModule,
    sub_gm: GraphModule,
    orig_inputs: tuple[Node, ...],
    orig_outputs: tuple[Node, ...],
    insertion_point: Node | None = None,
) -> GraphModule:
    """Put a call of `sub_gm` into `gm`, which is changed, and let it give what the nodes `orig_outputs` gave.

    >>> import mindtorch_v2 as torch
    >>> traced = torch.fx.symbolic_trace(lambda x: (x + 1).relu())
    >>> x, add, relu, output = traced.graph.nodes
    >>> part = fuse_as_graphmodule(traced, [add, relu], "part")
    >>> _ = insert_subgm(traced, *part, relu)
    >>> [node.name for node in traced.graph.nodes]
    ['x', 'add', 'relu', 'part', 'output']
    """
    name = type(sub_gm).__name__
    gm.add_submodule(name, sub_gm)
    if insertion_point is None:
        call = gm.graph.call_module(name, orig_inputs)
    else:
        with gm.graph.inserting_after(insertion_point):
            call = gm.graph.call_module(name, orig_inputs)
    output = sub_gm.graph.output_node().args[0]
    if len(orig_outputs) == 1 and not isinstance(output, tuple):
        orig_outputs[0].replace_all_uses_with(call, propagate_meta=True)
        return gm
    with gm.graph.inserting_after(call):
        choices = [gm.graph.call_function(operator.getitem, (call, place)) for place in range(len(orig_outputs))]
    for node, choice in zip(orig_outputs, choices):
        node.replace_all_uses_with(choice, propagate_meta=True)
    call.meta["val"] = tuple(node.meta.get("val", None) for node in orig_outputs)
    return gm


@compatibility(is_backward_compatible=False)
def erase_nodes(gm: GraphModule, nodes: Iterable[Node]) -> None:
    """Take the nodes, which are sorted and whose values nobody else uses, out of the graph.

    >>> import mindtorch_v2 as torch
    >>> traced = torch.fx.symbolic_trace(lambda x: (x.add(1).relu(), x)[1])
    >>> x, add, relu, output = traced.graph.nodes
    >>> erase_nodes(traced, [add, relu])
    >>> list(traced.graph.nodes)
    [x, output]
    """
    for node in reversed(list(nodes)):
        gm.graph.erase_node(node)


@compatibility(is_backward_compatible=False)
def fuse_by_partitions(
    gm: GraphModule,
    partitions: list[dict[Node, int | None]],
    prefix: str = "fused_",
    always_return_tuple: bool = False,
) -> GraphModule:
    """Put a submodule `<prefix><n>` in place of each part, the keys of a dict, and sort the graph; `gm`, which is changed.

    >>> traced = torch.fx.symbolic_trace(lambda x: (x + 1).relu() * 2)
    >>> x, add, relu, mul, output = traced.graph.nodes
    >>> print(fuse_by_partitions(traced, [{add: None, relu: None}]).code.strip())
    def forward(self, x):
        fused_0 = self.fused_0(x);  x = None
        mul = fused_0 * 2;  fused_0 = None
        return mul
    """
    for number, part in enumerate(partitions):
        nodes = topo_sort(list(part))
        fused, taken, given = fuse_as_graphmodule(
            gm, nodes, f"{prefix}{number}", part, always_return_tuple=always_return_tuple
        )
        insert_subgm(gm, fused, taken, given, nodes[-1])
        erase_nodes(gm, nodes)
    stable_topological_sort(gm)
    gm.graph.lint()
    return gm
