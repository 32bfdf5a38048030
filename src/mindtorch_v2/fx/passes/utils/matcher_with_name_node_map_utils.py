"""Finding a pattern whose nodes have names, as the pattern itself says."""

from __future__ import annotations

from typing import Any

from mindtorch_v2.fx._compatibility import compatibility
from mindtorch_v2.fx.graph import Graph
from mindtorch_v2.fx.graph_module import GraphModule
from mindtorch_v2.fx.node import Node

from .matcher_utils import InternalMatch, SubgraphMatcher

__all__ = ["SubgraphMatcherWithNameNodeMap"]


def _split_to_graph_and_name_node_map(gm: GraphModule) -> tuple[GraphModule, dict[str, Node]]:
    """The pattern without the dict of names that its output ends with, and that dict."""
    output = gm.graph.output_node()
    results: Any = output.args[0]
    if not isinstance(results, (tuple, list)) or not isinstance(results[-1], dict):
        raise AssertionError(
            "Expecting the graph output to be a tuple whose last element is a dictionary of names and nodes, "
            f"but got {results}"
        )
    *kept, names = results
    flat = [each for value in kept for each in (value if isinstance(value, (tuple, list)) else (value,))]
    output.args = (tuple(flat),)
    gm.recompile()
    return gm, dict(names)


@compatibility(is_backward_compatible=False)
class SubgraphMatcherWithNameNodeMap(SubgraphMatcher):
    """A `SubgraphMatcher` of a pattern that returns, behind its results, a dict from names to nodes.

    `name_node_map` of each match says which node of the graph stands for a name.

    >>> def pattern(x, w):
    ...     linear = torch.nn.functional.linear(x, w)
    ...     relu = torch.relu(linear)
    ...     return relu, {"linear": linear, "relu": relu}
    >>> matcher = SubgraphMatcherWithNameNodeMap(torch.fx.symbolic_trace(pattern))
    >>> program = torch.fx.symbolic_trace(lambda a, b: torch.relu(torch.nn.functional.linear(a + 1, b)))
    >>> matcher.match(program.graph)[0].name_node_map
    {'linear': linear, 'relu': relu}
    """

    def __init__(
        self,
        pattern_gm: GraphModule,
        match_output: bool = False,
        match_placeholder: bool = False,
        remove_overlapping_matches: bool = True,
        ignore_literals: bool = False,
    ) -> None:
        pattern_gm, self.name_node_map = _split_to_graph_and_name_node_map(pattern_gm)
        super().__init__(pattern_gm.graph, match_output, match_placeholder, remove_overlapping_matches, ignore_literals)

    def match(self, graph: Graph, node_name_match: str = "") -> list[InternalMatch]:
        found = super().match(graph, node_name_match)
        for each in found:
            each.name_node_map.update({name: each.nodes_map[node] for name, node in self.name_node_map.items()})
        return found
