"""Replacing parts of a graph that look like a pattern."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Callable, Sequence
from typing import Any

import mindtorch_v2 as torch

from ._symbolic_trace import symbolic_trace
from .graph import Graph
from .graph_module import GraphModule
from .node import Node

__all__ = ["Match", "ReplacedPatterns", "replace_pattern", "replace_pattern_with_filters"]


class Match(typing.NamedTuple):
    """A place that was replaced: where it was found, and what stood for each node of the pattern.

    >>> traced = torch.fx.symbolic_trace(lambda x: x.relu().sin())
    >>> match = torch.fx.replace_pattern(traced, lambda a: a.relu(), lambda a: a.tanh())[0]
    >>> type(match).__name__, match.anchor.name
    ('Match', 'relu')
    """

    anchor: Node
    nodes_map: dict


@dataclasses.dataclass
class ReplacedPatterns:
    """A `Match`, with the nodes that took its place.

    >>> from mindtorch_v2.fx.subgraph_rewriter import replace_pattern_with_filters
    >>> traced = torch.fx.symbolic_trace(lambda x: x.relu().sin())
    >>> found = replace_pattern_with_filters(traced, lambda a: a.relu(), lambda a: a.tanh())
    >>> [node.target for node in found[0].replacements]
    ['tanh']
    """

    anchor: Node
    nodes_map: dict
    replacements: list


def replace_pattern(gm: GraphModule, pattern: Any, replacement: Any) -> list:
    """Put `replacement` in the place of every part of `gm` that computes what `pattern` does; a list of `Match`.

    Both are functions or modules with as many parameters as each other, traced symbolically, or GraphModules. Places that
    overlap one that comes before are left.

    >>> traced = torch.fx.symbolic_trace(lambda x: torch.relu(torch.neg(x)) + 1)
    >>> _ = torch.fx.replace_pattern(traced, lambda x: torch.relu(torch.neg(x)), lambda x: torch.abs(x))
    >>> traced(torch.tensor([-2.0]))
    tensor([3.])
    """
    done = replace_pattern_with_filters(gm, pattern, replacement)
    return [Match(anchor=each.anchor, nodes_map=each.nodes_map) for each in done]


def replace_pattern_with_filters(
    gm: GraphModule,
    pattern: Any,
    replacement: Any = None,
    match_filters: Sequence[Callable[..., Any]] | None = None,
    ignore_literals: bool = False,
    replacement_callback: Callable[..., Any] | None = None,
    node_name_match: str = "",
) -> list[ReplacedPatterns]:
    """`replace_pattern` where `filter(match, graph, pattern_graph)` holds for each filter; a list of `ReplacedPatterns`.

    `replacement_callback(match, graph, pattern_graph)` may give another graph for each place. `ignore_literals` lets
    constants differ from the pattern's; `node_name_match` is a part of the names of nodes that match whatever they are.

    >>> from mindtorch_v2.fx.subgraph_rewriter import replace_pattern_with_filters
    >>> traced = torch.fx.symbolic_trace(lambda x: x.relu().sin().relu())
    >>> def is_last(match, graph, pattern):
    ...     return all(user.op == "output" for node in match.returning_nodes for user in node.users)
    >>> found = replace_pattern_with_filters(traced, lambda a: a.relu(), lambda a: a.tanh(), [is_last])
    >>> [node.target for node in traced.graph.nodes if node.op == "call_method"]
    ['relu', 'sin', 'tanh']
    """
    from .passes.utils.matcher_utils import SubgraphMatcher  # it is written with this package

    graph, pattern_graph = gm.graph, _graph_of(pattern)
    if replacement is None and replacement_callback is None:
        raise AssertionError("Must provide either a replacement GraphModule or a replacement callback")
    matcher = SubgraphMatcher(pattern_graph, ignore_literals=ignore_literals)
    places = [
        place
        for place in matcher.match(graph, node_name_match=node_name_match)
        if all(holds(place, graph, pattern_graph) for holds in match_filters or ())
    ]
    common = _graph_of(replacement) if replacement is not None else None
    replaced: dict[Any, Any] = {}
    done: list[Any] = []
    for place in places:
        new = replacement_callback(place, graph, pattern_graph) if replacement_callback is not None else common
        made = _replace(graph, pattern_graph, place, new, replaced)
        done.append(ReplacedPatterns(anchor=place.anchors[0], nodes_map=place.nodes_map, replacements=made))
    gm.recompile()
    if isinstance(replacement, torch.nn.Module):
        _adopt_attributes(gm, replacement)
    return done


def _graph_of(program):
    if isinstance(program, GraphModule):
        return program.graph
    return program if isinstance(program, Graph) else symbolic_trace(program).graph


def _replace(graph, pattern, place, new, replaced) -> list:
    inputs = [node for node in new.nodes if node.op == "placeholder"]
    if len(inputs) != len(place.placeholder_nodes):
        raise AssertionError(f"Placeholder count mismatch: {len(place.placeholder_nodes)} vs {len(inputs)}")

    def now(value: Any) -> int | Node:
        return replaced.get(value, value) if isinstance(value, Node) else value

    place.placeholder_nodes = [now(value) for value in place.placeholder_nodes]
    place.nodes_map.update({node: now(value) for node, value in place.nodes_map.items() if node.op == "placeholder"})
    copies = dict(zip(inputs, place.placeholder_nodes))
    with graph.inserting_before(_insert_point(graph, place.returning_nodes)):
        returned = graph.graph_copy(new, copies)
    returned = (returned,) if isinstance(returned, Node) else returned
    if len(returned) != len(place.returning_nodes):
        raise AssertionError(f"Returning nodes count mismatch: {len(place.returning_nodes)} vs {len(returned)}")
    for old, made in zip(place.returning_nodes, returned):
        old.replace_all_uses_with(made)
        replaced[old] = made
    for node in reversed(pattern.nodes):
        if node.op not in ("placeholder", "output"):
            graph.erase_node(place.nodes_map[node])
    return [each for each in copies.values() if not any(each is given for given in place.placeholder_nodes)]


def _insert_point(graph, returning):
    """Before the first node that uses a result; after the last result if none does."""
    users = {user for node in returning for user in node.users}
    for node in graph.nodes:
        if node in users:
            return node
    following = None
    for node in reversed(graph.nodes):
        if node in returning:
            break
        following = node
    if following is None:
        raise AssertionError("The insert point can't be None")
    return following


def _adopt_attributes(gm, source) -> None:
    """Let the graph's module have what the nodes that were put in name, taken from the replacement."""
    gm.delete_all_unused_submodules()
    if isinstance(source, GraphModule):
        source.graph.lint()
    for node in gm.graph.nodes:
        if node.op not in ("call_module", "get_attr"):
            continue
        try:
            gm.get_submodule(node.target.rpartition(".")[0])
            if _reach(gm, node.target) is not None:
                continue
        except AttributeError:
            pass
        value = _reach(source, node.target)
        if value is None:
            raise RuntimeError(
                'Attempted to create a "',
                node.op,
                f'" node during subgraph rewriting with target {node.target}, but the referenced attribute does not exist '
                "in the replacement GraphModule",
            )
        if isinstance(value, torch.nn.Module):
            gm.add_submodule(node.target, value)
        else:
            setattr(gm.get_submodule(node.target.rpartition(".")[0]), node.target.rpartition(".")[2], value)
    gm.graph.lint()


def _reach(module, path):
    for part in path.split("."):
        module = getattr(module, part, None)
    return module
