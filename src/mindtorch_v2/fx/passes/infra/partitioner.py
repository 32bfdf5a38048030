"""Cutting out of a graph the parts that a back end takes, each as large as possible."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import mindtorch_v2 as torch
from mindtorch_v2.fx._naming import qualified_name
from mindtorch_v2.fx.passes.utils.fuser_utils import fuse_by_partitions

if TYPE_CHECKING:
    from mindtorch_v2.fx.graph_module import GraphModule
    from mindtorch_v2.fx.node import Node
    from mindtorch_v2.fx.passes.operator_support import OperatorSupportBase


class Partition:
    """A part of a graph: its nodes, as the keys of a dict, in the order in which they were taken in.

    >>> x, add, output = torch.fx.symbolic_trace(lambda x: x + 1).graph.nodes
    >>> part = Partition(0, [add])
    >>> part.size(), add in part.nodes
    (1, True)
    """

    def __init__(
        self,
        id: int | None = None,
        nodes: Iterable[Node] | None = None,
        node_orders: Iterable[int] | None = None,
    ) -> None:
        self.id = id
        listed = list(nodes or ())
        orders = list(node_orders) if node_orders is not None else [None] * len(listed)
        if len(orders) != len(listed):
            raise AssertionError("nodes and node_orders must have the same length")
        self.nodes: dict[Node, int | None] = dict(zip(listed, orders))

    def __repr__(self) -> str:
        return str(self.nodes)

    def add_node(self, node: Node, node_order: int | None = None) -> None:
        """Take a node in, with its place in the order of the graph."""
        self.nodes.update({node: node_order})

    def remove_node(self, node: Node) -> None:
        """Let a node go; KeyError if it is not here."""
        del self.nodes[node]

    def size(self) -> int:
        """How many nodes there are."""
        return len(self.nodes)


class _Parts:
    """Nodes and parts of a graph, in units, and what each unit is followed by, so that no two come to need each other.

    Sets of nodes are numbers with a bit for each node: of a graph of thousands they take some hundred bytes.
    """

    def __init__(self, graph_module: GraphModule) -> None:
        self.place = {node: place for place, node in enumerate(graph_module.graph.nodes)}
        self.of: dict[Node, int] = {}  # the part of a node that is in one
        self.parts: dict[int, Partition] = {}
        self.unit: dict[Node, int] = {}
        self.inside: dict[int, int] = {}
        self.below: dict[int, int] = {}  # all that waits for a unit, by way of other units too
        self.users: dict[int, set[Node]] = {}  # what takes a value of the unit and is not in it

    def add(self, node: Node) -> int:
        """Make a unit of a node, whose users are there; its number."""
        number = len(self.unit)
        self.unit[node] = number
        self.inside[number] = 1 << self.place[node]
        self.users[number] = set(node.users)
        below = 0
        for user in node.users:
            below |= self.inside[self.unit[user]] | self.below[self.unit[user]]
        self.below[number] = below
        return number

    def begin(self, node: Node) -> int:
        """Make a part of a unit of one node."""
        number = self.unit[node]
        self.parts[number] = Partition(number, [node], [self.place[node]])
        self.of[node] = number
        return number

    def merge(self, into: int, other: int) -> bool:
        """Make one part of two, unless something outside stands between them; whether it was done."""
        if other not in self.parts or self._apart(into, other) or self._apart(other, into):
            return False
        for node, order in self.parts.pop(other).nodes.items():
            self.parts[into].add_node(node, order)
            self.of[node] = self.unit[node] = into
        self.inside[into] |= self.inside.pop(other)
        self.below[into] = (self.below[into] | self.below.pop(other)) & ~self.inside[into]
        self.users[into] = {user for user in self.users[into] | self.users.pop(other) if self.unit[user] != into}
        inside, more = self.inside[into], self.inside[into] | self.below[into]
        for number, below in self.below.items():
            if number != into and below & inside:
                self.below[number] = below | more
        return True

    def _apart(self, first: int, second: int) -> bool:
        """Whether `second` waits for something outside of both that waits for `first`."""
        inside = self.inside[second]
        if not self.below[first] & inside:
            return False
        units = {self.unit[user] for user in self.users[first]} - {second}
        return any(self.below[number] & inside for number in units)


class CapabilityBasedPartitioner:
    """Find the parts of `graph_module` whose nodes `operator_support` takes, and make a submodule of each.

    A part is as large as it can be without needing a value that needs one of its own. A part of a single node is
    kept by `allows_single_node_partition`, or if what it calls is in `allowed_single_node_partition_ops`, and parts that
    do nothing but `non_compute_ops` (paths such as "torch.ops.aten.view") are dropped; with
    `skip_horizontal_fusion` only nodes that use each other's values come together.

    >>> from mindtorch_v2.fx.passes.operator_support import create_op_support
    >>> traced = torch.fx.symbolic_trace(lambda x: ((x + 1) * 2).relu() + 3)
    >>> takes = create_op_support(lambda modules, node: node.op == "call_function")
    >>> fused = CapabilityBasedPartitioner(traced, takes).partition_and_fuse()
    >>> [str(node.target) for node in fused.graph.nodes if node.op == "call_module"]
    ['fused_0']
    >>> fused(torch.tensor([-3.0, 1.0]))
    tensor([3., 7.])
    """

    def __init__(
        self,
        graph_module: GraphModule,
        operator_support: OperatorSupportBase,
        allows_single_node_partition: bool = False,
        non_compute_ops: Sequence[str] | None = None,
        allowed_single_node_partition_ops: Sequence[str] | None = None,
        skip_horizontal_fusion: bool = False,
    ) -> None:
        self.graph_module = graph_module
        self.operator_support = operator_support
        self.allows_single_node_partition = allows_single_node_partition
        self.non_compute_ops = non_compute_ops if non_compute_ops is not None else []
        self.allowed_single_node_partition_ops = allowed_single_node_partition_ops or []
        self.skip_horizontal_fusion = skip_horizontal_fusion

    @property
    def _submodules(self) -> Mapping[str, torch.nn.Module]:
        return dict(self.graph_module.named_modules())

    def _is_node_supported(self, node: Node) -> bool:
        return self.operator_support.is_node_supported(self._submodules, node)

    def propose_partitions(self) -> list[Partition]:
        """The parts, the last of the graph first."""
        submodules = self._submodules
        parts = _Parts(self.graph_module)
        for node in reversed(self.graph_module.graph.nodes):
            number = parts.add(node)
            if node.op == "output" or not self.operator_support.is_node_supported(submodules, node):
                continue
            wanted = dict.fromkeys(parts.of[user] for user in node.users if user in parts.of)
            if not self.skip_horizontal_fusion:
                wanted |= dict.fromkeys(parts.parts)
            parts.begin(node)
            for other in wanted:
                parts.merge(number, other)
        return [part for part in self._with_getitems(parts) if part.size() and self._kept(part)]

    def _with_getitems(self, parts: _Parts) -> list[Partition]:
        """The parts, each choice out of a tuple beside what makes the tuple."""
        for node in self.graph_module.graph.nodes:
            users = list(node.users)
            if not users or any(user.target is not operator.getitem for user in users):
                continue
            home = parts.of.get(node)
            for user in users:
                current = parts.of.get(user)
                if current == home:
                    continue
                if current is not None:
                    parts.parts[current].remove_node(user)
                    del parts.of[user]
                if home is not None:
                    parts.parts[home].add_node(user, parts.place[user])
                    parts.of[user] = home
        return list(parts.parts.values())

    def _kept(self, part: Partition) -> bool:
        if self.allows_single_node_partition:
            return True
        plain = {"torch.ops.aten.view", "_operator.getitem", *self.non_compute_ops}
        computing = [
            node for node in part.nodes if node.op == "call_function" and qualified_name(node.target) not in plain
        ]
        special = any(qualified_name(node.target) in self.allowed_single_node_partition_ops for node in computing)
        others = [node for node in part.nodes if node.op in ("call_module", "call_method")]
        return len(computing) + len(others) > 1 or special

    def fuse_partitions(self, partitions: list[Partition], prefix: str = "fused_") -> GraphModule:
        """The graph module with a submodule `<prefix><n>` in place of each part; it is changed itself."""
        return fuse_by_partitions(self.graph_module, [part.nodes for part in partitions], prefix=prefix)

    def remove_bookend_non_compute_ops(self, partitions: list[Partition]) -> None:
        """Take from the parts the `non_compute_ops` that they begin or end with."""
        plain = set(self.non_compute_ops)

        def computes_nothing(node: Node) -> bool:
            return node.op == "call_function" and qualified_name(node.target) in plain

        for part in partitions:
            for side in ("all_input_nodes", "users"):
                # Nodes at this side have no neighbour there within the part; those behind them may then be next.
                while at_the_side := [
                    node
                    for node in part.nodes
                    if computes_nothing(node) and not any(other in part.nodes for other in getattr(node, side))
                ]:
                    for node in at_the_side:
                        part.remove_node(node)

    def partition_and_fuse(self, prefix: str = "fused_") -> GraphModule:
        """`propose_partitions` and `fuse_partitions`."""
        return self.fuse_partitions(self.propose_partitions(), prefix=prefix)
