"""Finding the places in a graph that look like a pattern."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch
from mindtorch_v2._ops import OpOverload
from mindtorch_v2.fx.node import Node

if TYPE_CHECKING:
    from mindtorch_v2.fx.graph import Graph


__all__ = ["InternalMatch", "SubgraphMatcher"]


@dataclasses.dataclass
class InternalMatch:
    """One place: what stands in the graph for each node of the pattern.

    >>> from mindtorch_v2.fx.passes.utils.matcher_utils import SubgraphMatcher
    >>> pattern = torch.fx.symbolic_trace(lambda a, b: torch.add(a, b).relu()).graph
    >>> graph = torch.fx.symbolic_trace(lambda x, y: torch.add(x, y).relu().sin()).graph
    >>> match = SubgraphMatcher(pattern).match(graph)[0]
    >>> [node.name for node in match.placeholder_nodes], [node.name for node in match.returning_nodes]
    (['x', 'y'], ['relu'])
    """

    anchors: list
    nodes_map: dict = dataclasses.field(default_factory=dict)
    placeholder_nodes: list = dataclasses.field(default_factory=list)
    returning_nodes: list = dataclasses.field(default_factory=list)
    name_node_map: dict = dataclasses.field(default_factory=dict)


def _arguments(node, other):
    """The arguments of a node in the order of the parameters; None if they cannot be compared with the other's."""
    same_form = len(node.args) == len(other.args) and list(node.kwargs) == list(other.kwargs)
    if same_form:
        return [*node.args, *node.kwargs.values()]
    if node.op != "call_function" or not isinstance(node.target, OpOverload):
        return None
    values = []
    for place, argument in enumerate(node.target._schema.arguments):
        if argument.name in node.kwargs:
            values.append(node.kwargs[argument.name])
        elif not argument.kwarg_only and place < len(node.args):
            values.append(node.args[place])
        else:
            values.append(argument.default_value)
    return values


class SubgraphMatcher:
    """Match the graph `pattern`: its placeholders stand for any value, unless `match_placeholder`.

    With `match_output` its output must be the graph's. `ignore_literals` lets constants differ. ValueError for an empty
    pattern, AssertionError for one with values that nobody uses.

    >>> from mindtorch_v2.fx.passes.utils.matcher_utils import SubgraphMatcher
    >>> pattern = torch.fx.symbolic_trace(lambda a: a.relu()).graph
    >>> graph = torch.fx.symbolic_trace(lambda x: x.relu().sin().relu()).graph
    >>> len(SubgraphMatcher(pattern).match(graph))
    2
    """

    def __init__(
        self,
        pattern: Any,
        match_output: bool = False,
        match_placeholder: bool = False,
        remove_overlapping_matches: bool = True,
        ignore_literals: bool = False,
    ) -> None:
        if len(pattern.nodes) == 0:
            raise ValueError("SubgraphMatcher cannot be initialized with an empty pattern")
        if any(not node.users and node.op != "output" and not node.is_impure() for node in pattern.nodes):
            raise AssertionError("SubgraphMatcher cannot be initialized with an pattern with dead code")
        self.pattern = pattern
        self.match_output = match_output
        self.match_placeholder = match_placeholder
        self.remove_overlapping_matches = remove_overlapping_matches
        self.ignore_literals = ignore_literals
        self.pattern_placeholder_nodes = [node for node in pattern.nodes if node.op == "placeholder"]
        output = pattern.output_node()
        self.pattern_returning_nodes = output.all_input_nodes
        self.pattern_anchors = [output] if match_output else [n for n in output.all_input_nodes if len(n.users) == 1]

    def match(self, graph: Graph, node_name_match: str = "") -> list[InternalMatch]:
        """The places, in order, as a list of `InternalMatch`. No value from inside of one is used outside of it."""
        candidates = [
            [node for node in graph.nodes if self._alike(anchor, node, node_name_match)]
            for anchor in self.pattern_anchors
        ]
        found: list[Any] = []
        taken: set[Any] = set()
        for mapped in self._combinations(candidates, {}, 0, node_name_match):
            if not self._self_contained(mapped) or not _one_piece({mapped[node] for node in self._computed(mapped)}):
                continue
            nodes = {mapped[node] for node in self._computed(mapped)}
            if self.remove_overlapping_matches and nodes & taken:
                continue
            taken |= nodes
            found.append(
                InternalMatch(
                    anchors=self.pattern_anchors,
                    nodes_map=mapped,
                    placeholder_nodes=[mapped[node] for node in self.pattern_placeholder_nodes],
                    returning_nodes=[mapped[node] for node in self.pattern_returning_nodes],
                )
            )
        return found

    def _combinations(self, candidates, mapped, place, name):
        if not candidates:
            return
        if place == len(candidates):
            if all(node in mapped for node in self.pattern_placeholder_nodes):
                yield mapped
            return
        for node in candidates[place]:
            trial = dict(mapped)
            if self._matches(self.pattern_anchors[place], node, trial, name):
                yield from self._combinations(candidates, trial, place + 1, name)

    @staticmethod
    def _computed(mapped) -> list:
        return [node for node in mapped if node.op not in ("placeholder", "output")]

    def _self_contained(self, mapped) -> bool:
        inside = {mapped[node] for node in mapped if node.op != "placeholder"}
        for node in mapped:
            if node.op == "placeholder" or node in self.pattern_returning_nodes:
                continue
            if any(user not in inside for user in mapped[node].users):
                return False
        return True

    def _alike(self, wanted, node, name="") -> bool:
        if not self.match_placeholder and wanted.op == "placeholder" or name and name in node.name:
            return True
        if wanted.op != node.op:
            return False
        if wanted.op == "get_attr":
            value, other = (_attribute(each) for each in (wanted, node))
            if type(value) is not type(other):
                return False
            if not isinstance(value, torch.Tensor):
                raise RuntimeError(f"Unsupported type {value} when matching attributes")
            return True
        return wanted.op in ("placeholder", "output") or wanted.target == node.target

    def _matches(self, wanted, node, mapped, name="") -> bool:
        """Whether `node` and what it is made of look like the pattern; `mapped` is filled in."""
        if wanted in mapped:
            return mapped[wanted] is node
        if any(node is each for each in mapped.values()) or not self._alike(wanted, node, name):
            return False
        mapped[wanted] = node
        if wanted.op == "placeholder":
            return True
        ours, theirs = _arguments(wanted, node), _arguments(node, wanted)
        return ours is not None and theirs is not None and self._same_values(ours, theirs, mapped)

    def _same_values(self, wanted, given, mapped) -> bool:
        return len(wanted) == len(given) and all(self._same_value(a, b, mapped) for a, b in zip(wanted, given))

    def _same_value(self, wanted, given, mapped) -> bool:
        if isinstance(wanted, Node) and isinstance(given, Node):
            return self._matches(wanted, given, mapped)
        if isinstance(wanted, (list, tuple)) and isinstance(given, (list, tuple)):
            return self._same_values(wanted, given, mapped)
        if isinstance(wanted, Node) and wanted.op == "placeholder":
            if wanted not in mapped:
                mapped[wanted] = given
            return mapped[wanted] == given or self.ignore_literals
        if isinstance(wanted, Node) or isinstance(given, Node):
            return self.ignore_literals
        return type(wanted) is type(given) and wanted == given or self.ignore_literals


def _attribute(node):
    if node.graph.owning_module is None:
        raise AssertionError("a graph with get_attr nodes can only be matched within its module")
    value = node.graph.owning_module
    for part in node.target.split("."):
        value = getattr(value, part)
    return value


def _one_piece(nodes) -> bool:
    """Whether the nodes could be computed in one go: no value leaves them and comes back through another node."""
    outside, waiting = set(), [user for node in nodes for user in node.users if user not in nodes]
    while waiting:
        node = waiting.pop()
        if node in outside:
            continue
        outside.add(node)
        for user in node.users:
            if user in nodes:
                return False
            waiting.append(user)
    return True
