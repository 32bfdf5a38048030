"""Shared parts of passes on graphs: names of what a node calls, an order in which the nodes can run, and groups that must not be parted."""

from __future__ import annotations

import collections
import heapq
import operator
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch
from mindtorch_v2.fx._compatibility import compatibility
from mindtorch_v2.fx._naming import qualified_name, type_text
from mindtorch_v2.fx.node import Node

if TYPE_CHECKING:
    from mindtorch_v2.fx.graph_module import GraphModule

__all__ = [
    "FxNetAccFusionsFinder",
    "get_acc_ops_name",
    "get_node_target",
    "is_node_output_tensor",
    "legalize_graph",
    "stable_topological_sort",
]

Tensors = tuple[torch.Tensor] | list[torch.Tensor]
TensorOrTensors = torch.Tensor | Tensors
NodeList = list[Node]
NodeSet = set[Node]
Names = list[str]
CALLABLE_NODE_OPS = {"call_module", "call_function", "call_method"}


@compatibility(is_backward_compatible=False)
def get_acc_ops_name(k: Any) -> str:
    """The name that tools for accelerators give to `k`, a function or a type: `acc_ops.<name>` for their own, else the whole path.

    >>> get_acc_ops_name(torch.relu), get_acc_ops_name(torch.nn.ReLU)
    ('torch.relu', 'torch.nn.modules.activation.ReLU')
    """
    if isinstance(k, str):
        return k
    if "acc_ops" in (getattr(k, "__module__", None) or ""):
        return f"acc_ops.{k.__name__}"
    return type_text(k) if isinstance(k, type) else qualified_name(k)


@compatibility(is_backward_compatible=False)
def get_node_target(submodules: Mapping[str, torch.nn.Module], node: Node) -> str:
    """The name of what a node calls: the type of a module, the path of a function, or the name of a method.

    `submodules` are the modules of the graph by their paths. AssertionError for a node that calls nothing.

    >>> traced = torch.fx.symbolic_trace(torch.nn.Sequential(torch.nn.ReLU()))
    >>> node = next(node for node in traced.graph.nodes if node.op == "call_module")
    >>> get_node_target(dict(traced.named_modules()), node).endswith("activation.ReLU")
    True
    """
    if node.op not in CALLABLE_NODE_OPS:
        raise AssertionError(f"Expect op types of {', '.join(sorted(CALLABLE_NODE_OPS))}, but found {node.op}")
    if node.op == "call_module":
        module = submodules[str(node.target)]
        return get_acc_ops_name(getattr(module, "_base_class_origin", type(module)))
    if node.op == "call_function":
        return get_acc_ops_name(node.target)
    return str(node.target)


@compatibility(is_backward_compatible=False)
def is_node_output_tensor(node: Node) -> bool:
    """Whether `node.meta["type"]`, which ShapeProp leaves, is a tensor's.

    >>> x, output = torch.fx.symbolic_trace(lambda x: x).graph.nodes
    >>> x.meta["type"] = torch.Tensor
    >>> is_node_output_tensor(x), is_node_output_tensor(output)
    (True, False)
    """
    kind = node.meta.get("type")
    return kind is not None and issubclass(kind, torch.Tensor)


class FxNetAccFusionsFinder:
    """Find, among nodes for an accelerator, the groups that hand on something that is no tensor, and so have to stay together.

    A call gives for each node of such a group the group, a set.

    >>> traced = torch.fx.symbolic_trace(lambda x: x.view(x.size(0), 1))
    >>> x, size, view, output = traced.graph.nodes
    >>> size.meta["type"], view.meta["type"] = int, torch.Tensor
    >>> sorted(node.name for node in FxNetAccFusionsFinder(traced, {size, view})()[size])
    ['size', 'view']
    """

    @dataclass
    class FusionGroup:
        """A group that grows: its nodes, the nodes that it takes values from, and those that are still to be looked at."""

        top_node_idx: int  # the place of the first of its nodes in the graph
        nodes: set[Node]
        inputs: set[Node]
        nodes_need_process: set[Node]

        def add_node(self, node: Node) -> None:
            """Take a node in."""
            if node in self.nodes:
                return
            self.nodes_need_process.add(node)
            self.nodes.add(node)
            self.inputs.discard(node)
            self.inputs.update(n for n in node.all_input_nodes if n.op in CALLABLE_NODE_OPS and n not in self.nodes)

    def __init__(self, module: GraphModule, acc_nodes: set[Node]) -> None:
        self.module = module
        self.nodes = list(module.graph.nodes)
        self.acc_nodes = acc_nodes
        self._place = {node: place for place, node in enumerate(self.nodes)}

    def recursive_add_node(
        self, fusion_group: FusionGroup, inputs: set[Node] | list[Node], visited: set[Node] | None = None
    ) -> bool:
        """Take in what lies between the group and `inputs`; whether one of them is made from the group's nodes."""
        found = False
        for start in inputs:
            path, waiting = [], [start]
            reached, seen = False, set() if visited is None else visited
            while waiting:
                node = waiting.pop()
                if node in seen or self._place[node] < fusion_group.top_node_idx:
                    continue
                seen.add(node)
                path.append(node)
                reached = reached or node in fusion_group.nodes
                waiting += [n for n in node.all_input_nodes if n.op in CALLABLE_NODE_OPS]
            if reached:
                for node in path:
                    if self._leads_to(fusion_group, node):
                        fusion_group.add_node(node)
            found = found or reached
        return found

    def _leads_to(self, group: FusionGroup, node: Node) -> bool:
        """Whether a value of the group goes into the node."""
        waiting, seen = list(node.all_input_nodes), set()
        while waiting:
            each = waiting.pop()
            if each in group.nodes:
                return True
            if each not in seen and self._place[each] >= group.top_node_idx:
                seen.add(each)
                waiting += each.all_input_nodes
        return False

    def __call__(self) -> dict[Node, set[Node]]:
        groups: dict[Node, set[Node]] = {}
        acc_nodes = list(self.acc_nodes)
        for node in acc_nodes:
            if node in groups or node.op not in CALLABLE_NODE_OPS:
                continue
            if "type" not in node.meta or is_node_output_tensor(node) or node not in self.acc_nodes:
                continue
            group = self.FusionGroup(self._place[node], {node}, set(node.all_input_nodes), {node})
            while group.nodes_need_process:
                each = group.nodes_need_process.pop()
                self.recursive_add_node(group, group.inputs)
                if "type" in each.meta and not is_node_output_tensor(each):
                    for user in each.users:
                        if user.op in CALLABLE_NODE_OPS:
                            group.add_node(user)
                            self.recursive_add_node(group, group.inputs)
                for made in each.all_input_nodes:
                    if made.op in CALLABLE_NODE_OPS and "type" in made.meta and not is_node_output_tensor(made):
                        group.top_node_idx = min(group.top_node_idx, self._place[made])
                        group.add_node(made)
            if not group.nodes <= self.acc_nodes:
                self.acc_nodes -= group.nodes
                continue
            groups.update(dict.fromkeys(group.nodes, group.nodes))
        return groups


def _ordered(gm: GraphModule, order: Iterable[Node]) -> GraphModule:
    """The module with its graph's nodes in the order given."""
    ordered = list(order)
    if len(ordered) < len(gm.graph.nodes):
        left = [node for node in gm.graph.nodes if node not in set(ordered)]
        raise RuntimeError(f"Input graph has cycles, unable to add {left}")
    made = torch.fx.Graph()
    copies: dict[Node, Node] = {}
    for node in ordered:
        copies[node] = made.node_copy(node, lambda each: copies[each])
    made._codegen = gm.graph._codegen
    gm.graph = made
    return gm


def _runnable(gm: GraphModule, ready: Any, first: bool) -> Iterable[Node]:
    """The nodes as their inputs come to be there; `ready` is a queue of (place, node)."""
    place = {node: number for number, node in enumerate(gm.graph.nodes)}
    missing = {node: len(node.all_input_nodes) for node in gm.graph.nodes}
    waiting: Any = ready([(place[node], node) for node in gm.graph.nodes if not missing[node]])
    while waiting:
        _, node = heapq.heappop(waiting) if first else waiting.popleft()
        yield node
        for user in node.users:
            missing[user] -= 1
            if missing[user]:
                continue
            entry = (place[user], user)
            if first:
                heapq.heappush(waiting, entry)
            elif user.op == "get_attr" or user.target is operator.getitem:
                waiting.appendleft(entry)  # beside what they are taken from
            else:
                waiting.append(entry)


@compatibility(is_backward_compatible=False)
def legalize_graph(gm: GraphModule) -> GraphModule:
    """Put the nodes of the graph in an order in which each comes after what it is made of; `gm` itself, with a new graph.

    RuntimeError where nodes need each other.

    >>> traced = torch.fx.symbolic_trace(lambda x: (x + 1).relu())
    >>> x, add, relu, output = traced.graph.nodes
    >>> relu.append(add)
    >>> [node.name for node in legalize_graph(traced).graph.nodes]
    ['x', 'add', 'relu', 'output']
    """
    return _ordered(gm, _runnable(gm, collections.deque, first=False))


@compatibility(is_backward_compatible=False)
def stable_topological_sort(gm: GraphModule) -> GraphModule:
    """`legalize_graph` that leaves the nodes in their order as far as what they are made of allows.

    >>> traced = torch.fx.symbolic_trace(lambda x: x.relu() + 1)
    >>> [node.name for node in stable_topological_sort(traced).graph.nodes]
    ['x', 'relu', 'add', 'output']
    """
    return _ordered(gm, _runnable(gm, list, first=True))
