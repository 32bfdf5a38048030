"""A watch on what a pass does to a graph: which nodes come and go, and pictures of before and after."""

from __future__ import annotations

import os
from collections.abc import Callable
from types import TracebackType
from typing import Any, TypeVar

from mindtorch_v2.fx._compatibility import compatibility
from mindtorch_v2.fx.graph import Graph
from mindtorch_v2.fx.graph_module import GraphModule
from mindtorch_v2.fx.node import Node
from mindtorch_v2.fx.traceback import NodeSource, NodeSourceAction

T = TypeVar("T")

__all__ = ["GraphTransformObserver"]


@compatibility(is_backward_compatible=False)
class GraphTransformObserver:
    """A context in which a pass changes `gm`: `created_nodes` and `erased_nodes` are the names of the nodes it made and took out.

    Nodes that it makes, and nodes that take another's place, note it in `meta["from_node"]`. With a folder
    `log_url` (and pydot and Graphviz) the graph before and after is written there, as
    `pass_<n>_<passname>_input_graph.dot` and `..._output_graph.dot`.

    >>> traced = torch.fx.symbolic_trace(lambda x: torch.neg(x))
    >>> with GraphTransformObserver(traced, "relu for neg") as observer:
    ...     _ = torch.fx.replace_pattern(traced, lambda x: torch.neg(x), lambda x: torch.relu(x))
    >>> observer.created_nodes, observer.erased_nodes
    ({'relu'}, {'neg'})
    """

    __pass_count = 0

    def __init__(
        self, gm: GraphModule, passname: str, subsystem: str | None = None, log_url: str | None = None
    ) -> None:
        self.gm = gm
        self.passname = passname
        self.subsystem = subsystem
        self.log_url = log_url
        self.active = True
        self.erased_nodes: set[str] = set()
        self.created_nodes: set[str] = set()
        self.name_to_node: dict[str, Node] = {}
        self.copied_gms: list[GraphModule] = []
        GraphTransformObserver.__pass_count += 1
        self._hooks = (self._created, self._erased, self._replaced)
        if log_url is not None:
            self._before = self._drawn()

    @classmethod
    def get_current_pass_count(cls) -> int:
        """How many passes were watched so far."""
        return cls.__pass_count

    def apply_gm_pass(self, pass_fn: Callable[[GraphModule], T]) -> T | None:
        """Watch a function of the graph module; its result."""
        with self:
            return pass_fn(self.gm)

    def apply_graph_pass(self, pass_fn: Callable[[Graph], T]) -> T | None:
        """Watch a function of the graph; its result."""
        with self:
            return pass_fn(self.gm.graph)

    def __enter__(self) -> GraphTransformObserver:
        self.erased_nodes.clear()
        self.created_nodes.clear()
        self.name_to_node = {node.name: node for node in self.gm.graph.nodes}
        created, erased, replaced = self._hooks
        self.gm._register_create_node_hook(created)
        self.gm._register_erase_node_hook(erased)
        self.gm._register_replace_node_hook(replaced)
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        created, erased, replaced = self._hooks
        self.gm._unregister_create_node_hook(created)
        self.gm._unregister_erase_node_hook(erased)
        self.gm._unregister_replace_node_hook(replaced)
        if self.log_url is None or not (self.created_nodes or self.erased_nodes):
            return
        os.makedirs(self.log_url, exist_ok=True)
        for name, drawing in (("input", self._before), ("output", self._drawn())):
            place = os.path.join(
                self.log_url, f"pass_{GraphTransformObserver.__pass_count}_{self.passname}_{name}_graph.dot"
            )
            drawing.get_dot_graph().write(place)

    def _drawn(self) -> Any:
        from mindtorch_v2.fx.passes.graph_drawer import FxGraphDrawer  # pydot is loaded for those that draw

        return FxGraphDrawer(self.gm, self.passname, ignore_getattr=True, ignore_parameters_and_buffers=True)

    def _created(self, node: Node) -> None:
        self.created_nodes.add(node.name)
        self.name_to_node[node.name] = node
        node.meta["from_node"] = [NodeSource(None, self.passname, NodeSourceAction.CREATE)]

    def _erased(self, node: Node) -> None:
        self.erased_nodes.add(node.name)
        self.name_to_node.pop(node.name, None)

    def _replaced(self, old: Node, new: str, user: Node) -> None:
        made = self.name_to_node.get(new)
        if made is None or made is old:
            return
        source = NodeSource(old, self.passname, NodeSourceAction.REPLACE)
        noted = made.meta.setdefault("from_node", [])
        if made.name in self.created_nodes:
            noted[:] = [each for each in noted if not (each.action == [NodeSourceAction.CREATE] and not each.node_info)]
            source.action = [NodeSourceAction.REPLACE, NodeSourceAction.CREATE]
        if source not in noted:
            noted.append(source)
