"""A joint graph becomes two: forward, which also gives what backward needs, and backward.

What backward needs is either kept or computed again. `default_partition` keeps what was computed and makes only views anew:
without a fusing back end, a second computation costs time and saves memory. `min_cut_rematerialization_partition` keeps
as few bytes as possible: of pointwise operators, casts, views and fills it computes again whatever makes the cut between
the arguments and backward smaller. Matrix products, convolutions, reductions, random numbers and users' operators
are computed once in either.
"""

from __future__ import annotations

import collections
from collections.abc import Iterable
from typing import Any, NamedTuple

import mindtorch_v2 as torch
from mindtorch_v2._operators.table import facts_of
from mindtorch_v2._ops import OpOverload
from mindtorch_v2.fx import Graph, GraphModule, Node
from mindtorch_v2.fx.node import draws

__all__ = ["Halves", "default_partition", "min_cut_rematerialization_partition"]


class Halves(NamedTuple):
    """The result of a partition: the graphs, and how many values forward gives for the caller (the rest is kept)."""

    forward: GraphModule
    backward: GraphModule
    forward_count: int


def _is_primal(node: Node) -> bool:
    return node.op == "placeholder" and not _is_tangent(node)


def _is_tangent(node: Node) -> bool:
    return node.op == "placeholder" and str(node.target).startswith("tangents")


def _handle(node: Node) -> Any:
    return node.target._handle if node.op == "call_function" and isinstance(node.target, OpOverload) else None


def _is_view(node: Node) -> bool:
    handle = _handle(node)
    return handle is not None and handle.is_view


def _is_item(node: Node) -> bool:
    return node.op == "call_function" and not isinstance(node.target, OpOverload)


def _is_random(node: Node) -> bool:
    return _handle(node) is not None and draws(node.target)


def _has_effect(node: Node) -> bool:
    return node.op == "call_function" and node.is_impure()


def _needed(nodes: Iterable[Node], wanted: Iterable[Any]) -> set[Node]:
    """The nodes that the wanted ones are made of, themselves among them."""
    found: set[Node] = set()
    stack = [node for node in wanted if isinstance(node, Node)]
    while stack:
        node = stack.pop()
        if node not in found:
            found.add(node)
            stack += node.all_input_nodes
    return found


def _outputs(module: GraphModule) -> list[Any]:
    (output,) = module.graph.find_nodes(op="output")
    return list(output.args[0])


class _Parts:
    """The nodes of a joint graph, sorted by what they depend on."""

    def __init__(self, module: GraphModule, forward_count: int, forward_nodes: frozenset | None) -> None:
        self.nodes = list(module.graph.nodes)
        results = _outputs(module)
        self.forward_results, self.gradients = results[:forward_count], results[forward_count:]
        tangents = {node for node in self.nodes if _is_tangent(node)}
        self.after_tangents = set(tangents)
        for node in self.nodes:
            if any(each in self.after_tangents for each in node.all_input_nodes):
                self.after_tangents.add(node)
        # What draws random numbers or has another effect does so where the program does.
        effects = [
            node
            for node in self.nodes
            if _has_effect(node)
            and node not in self.after_tangents
            and (forward_nodes is None or node.name in forward_nodes)
        ]
        self.forward = _needed(self.nodes, [*self.forward_results, *effects])
        self.backward = _needed(self.nodes, self.gradients)


def _copy(
    nodes: Iterable[Node], wanted: set[Node], given: list[Node], results: list[Any], root: Any, name: str
) -> GraphModule:
    """A graph of the wanted nodes, in their order, that takes the values of `given`."""
    graph = Graph()
    copies: dict[Node, Node] = {}
    for node in given:
        copies[node] = graph.placeholder(node.name)
        copies[node].meta.update(node.meta)
    for node in nodes:
        if node in wanted and node not in copies and node.op != "output":
            copies[node] = graph.node_copy(node, lambda each: copies[each])
    graph.output(tuple(copies[each] if isinstance(each, Node) else each for each in results))
    return GraphModule(root, graph, name)


def _split(module: GraphModule, parts: _Parts, saved: list[Node]) -> Halves:
    primals = [node for node in parts.nodes if _is_primal(node)]
    tangents = [node for node in parts.nodes if _is_tangent(node)]
    results = [*parts.forward_results, *saved]
    forward = _copy(parts.nodes, _needed(parts.nodes, results) | parts.forward, primals, results, module, "forward")
    wanted: set[Node] = set()
    stack = [node for node in parts.gradients if isinstance(node, Node)]
    kept = set(saved) | set(tangents)
    while stack:
        node = stack.pop()
        if node not in wanted:
            wanted.add(node)
            if node not in kept:
                stack += node.all_input_nodes
    backward = _copy(parts.nodes, wanted, [*saved, *tangents], parts.gradients, module, "backward")
    return Halves(forward, backward, len(parts.forward_results))


def default_partition(
    joint_module: GraphModule,
    _joint_inputs: Any = None,
    *,
    num_fwd_outputs: int,
    forward_nodes: frozenset | None = None,
    **_: Any,
) -> tuple[GraphModule, GraphModule]:
    """(forward, backward) of a joint graph; every value that forward computes and backward reads is kept, but for views.

    The arguments of the graph are called `primals_...` and `tangents_...`; its first `num_fwd_outputs` results are forward's.
    """
    parts = _Parts(joint_module, num_fwd_outputs, forward_nodes)
    halves = _split(joint_module, parts, _keep(parts))
    return halves.forward, halves.backward


def _keep(parts: _Parts) -> list[Node]:
    """The values that the way back reads of the way forth, with views traced to what they show."""
    saved: dict[Node, None] = {}
    seen: set[Node] = set()
    stack = [node for node in parts.gradients if isinstance(node, Node)]
    while stack:
        node = stack.pop()
        if node in seen or _is_tangent(node):
            continue
        seen.add(node)
        if node in parts.after_tangents:
            stack += node.all_input_nodes
        elif node.op == "get_attr":
            continue
        elif _is_view(node) or not (_is_primal(node) or node in parts.forward or _is_part_of(node, parts.forward)):
            stack += node.all_input_nodes  # made anew there
        elif _is_item(node) and _is_view(node.all_input_nodes[0]):
            stack += node.all_input_nodes
        else:
            saved[node] = None
    order = {node: place for place, node in enumerate(parts.nodes)}
    return sorted(saved, key=order.__getitem__)


def _is_part_of(node: Node, nodes: set[Node]) -> bool:
    """Whether a node is one of the results of another one, which is among `nodes` and shows nothing else."""
    return _is_item(node) and node.all_input_nodes[0] in nodes and not _is_view(node.all_input_nodes[0])


# ---- the smallest cut ----


def _bytes(node: Node) -> float:
    value = node.meta.get("val")
    if not isinstance(value, torch.Tensor):
        return float("inf")
    return float(max(1, value.numel() * value.element_size()))


def _is_cheap(node: Node) -> bool:
    if _is_view(node) or (_is_item(node) and _is_view(node.all_input_nodes[0])):
        return True
    handle = _handle(node)
    if handle is None or handle.namespace != "aten" or _is_random(node) or handle.mutates:
        return False
    return facts_of(handle).cheap


def min_cut_rematerialization_partition(
    joint_module: GraphModule,
    _joint_inputs: Any = None,
    compiler: str = "",
    *,
    num_fwd_outputs: int,
    forward_nodes: frozenset | None = None,
    fusing: bool = False,
    **_: Any,
) -> tuple[GraphModule, GraphModule]:
    """(forward, backward) of a joint graph such that the fewest bytes are kept between them.

    Each value that does not depend on tangents is two points, joined by an edge as wide as the value has bytes; arguments
    are joined to the source, backward's reads to the sink, and no edge leads back through what is not cheap.
    The minimum cut is what is kept.

    With `fusing` bytes that are moved count, for a compiler that fuses: what an operator reads that cannot be fused is not
    computed again, since it would have to be written again; and a value that forward need not write costs twice.
    """
    parts = _Parts(joint_module, num_fwd_outputs, forward_nodes)
    written = _written_again(parts) if fusing else None
    saved_by_program = set(_keep(parts)) if fusing else set()
    flow = _Flow()
    for node in parts.nodes:
        if node in parts.after_tangents or node not in parts.backward or node.op == "get_attr":
            continue
        # An argument is there anyway, but it is held for longer.
        width = _bytes(node) if not _is_view(node) else float("inf")
        if written is not None:
            if not _is_primal(node):
                width *= 1 if _is_written(node, parts) else 2
            elif node not in saved_by_program:
                width = float("inf")  # the program may write to an argument that its own backward does not read
        flow.join((node, "in"), (node, "out"), width)
        again = _is_cheap(node) and (written is None or node not in written)
        if _is_primal(node) or (node in parts.forward and not again):
            flow.join("source", (node, "in"), float("inf"))
        for user in node.users:
            if user in parts.after_tangents:
                flow.join((node, "out"), "sink", float("inf"))
            elif user in parts.backward and user.op != "output":
                flow.join((node, "out"), (user, "in"), float("inf"))
            elif user.op == "output" and node in parts.gradients:
                flow.join((node, "out"), "sink", float("inf"))
    cut = flow.minimum_cut("source", "sink")
    if cut is None:  # values without a size on the way
        saved = _keep(parts)
    else:
        order = {node: place for place, node in enumerate(parts.nodes)}
        saved = sorted({start[0] for start, _ in cut}, key=order.__getitem__)
    halves = _split(joint_module, parts, saved)
    return halves.forward, halves.backward


def _is_written(node: Node, parts: _Parts) -> bool:
    """Whether forward writes a value to memory in any case: it gives it, or an operator reads it that cannot be fused."""
    return node in parts.forward_results or any(
        user in parts.forward and user.op != "output" and not _is_cheap(user) for user in node.users
    )


def _written_again(parts: _Parts) -> set[Node]:
    """Values that backward would have to write if it computed them: operators that cannot be fused read them or views of them."""
    found: set[Node] = set()
    for node in reversed(parts.nodes):
        if node in parts.after_tangents or not isinstance(node.meta.get("val"), torch.Tensor):
            continue
        for user in node.users:
            if user in parts.after_tangents and user.op != "output" and not _is_cheap(user) and not _is_item(user):
                found.add(node)
            elif user in found and _is_view(user):
                found.add(node)
    return found


class _Flow:
    """A network with capacities; the minimum cut by shortest augmenting paths in layers (Dinic)."""

    def __init__(self) -> None:
        self.left: dict[Any, dict[Any, float]] = collections.defaultdict(dict)

    def join(self, start: Any, end: Any, width: float) -> None:
        self.left[start][end] = self.left[start].get(end, 0.0) + width
        self.left[end].setdefault(start, 0.0)

    def _layers(self, source: Any) -> dict[Any, int]:
        found = {source: 0}
        queue = collections.deque([source])
        while queue:
            at = queue.popleft()
            for end, width in self.left[at].items():
                if width > 0 and end not in found:
                    found[end] = found[at] + 1
                    queue.append(end)
        return found

    def _push(self, source: Any, sink: Any, layers: dict[Any, int]) -> float | None:
        """One path through the layers; how much went along it, None if there is no more."""
        path = [source]
        remaining = self.remaining
        while path[-1] != sink:
            at = path[-1]
            edges = remaining.setdefault(at, list(self.left[at]))
            while edges and not (self.left[at][edges[-1]] > 0 and layers.get(edges[-1]) == layers[at] + 1):
                edges.pop()
            if edges:
                path.append(edges[-1])
            elif len(path) == 1:
                return None
            else:
                path.pop()
                remaining[path[-1]].pop()
        amount = min(self.left[a][b] for a, b in zip(path, path[1:]))
        for a, b in zip(path, path[1:]):
            self.left[a][b] -= amount
            self.left[b][a] += amount
        return amount

    def minimum_cut(self, source: Any, sink: Any) -> list[tuple[Any, Any]] | None:
        """The edges of a minimum cut; None if there is none of finite width."""
        widths = {(a, b): width for a, ends in self.left.items() for b, width in ends.items() if width > 0}
        while sink in (layers := self._layers(source)):
            self.remaining: dict[Any, list] = {}
            while (amount := self._push(source, sink, layers)) is not None:
                if amount == float("inf"):
                    return None
        reached = self._layers(source)
        return [(a, b) for a, b in widths if a in reached and b not in reached]
