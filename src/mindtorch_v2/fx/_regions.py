"""Functions within a graph: while a program is recorded their nodes stand in line, and at the end they become graphs of their own.

Whoever records a call of an operator that takes functions (`torch.cond`) writes down `region` before the nodes of each
function, `carried` for each value that the function is given anew at each of its runs, and `call` after the last function.
Whatever is done to a graph of a whole program, above all finding sizes that may differ, then needs to know of no others.
`outline` takes the functions out: each is a GraphModule that the graph holds, and what it reads of the graph around it
becomes an operand.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2.fx.graph import Graph
from mindtorch_v2.fx.graph_module import GraphModule
from mindtorch_v2.fx.node import Node, map_arg

__all__ = ["call", "carried", "has_regions", "outline", "region"]

TRANSFORMS: dict[str, tuple[Callable[..., Any], Callable[..., list[Any]]]] = {}
"""Functions that are called as operators of control flow are, by name: what transforms a function (`torch.vmap`). With each
what gives tensors that look like its results, of the same arguments with the function's results in the place of the function."""


def region(label: str) -> None:
    """Here begin the nodes of a function, which is called `label` in the finished graph."""


def carried(region: None, place: int, like: Any = None) -> Any:
    """The value of a function's parameter `place`: at its first run `like`, where that is known."""
    return like


def call(
    operator: str,
    before: Sequence[Any],
    regions: Sequence[tuple[None, Sequence[Any]]],
    after: Sequence[Sequence[Any]],
) -> Sequence[Any]:
    """Here end the functions of a call of the operator `torch.ops.higher_order.<operator>`, or of one of `TRANSFORMS`.

    `before` and `after` are its arguments before and after the functions; each function is its region and its results. The last
    of `after` are tensors that all functions are given after what is carried; what they read besides is added there, and without
    `after` is given each by itself. A graph that is run before it is finished, to learn its sizes, gives what looks like the operator's results.
    """
    if operator in TRANSFORMS:
        return TRANSFORMS[operator][1](before, regions[-1][1], after)
    results = list(regions[-1][1])
    if operator not in ("map_impl", "scan"):
        return results
    count = len(after[0]) if operator == "scan" else 0
    return results[:count] + [each.expand(len(after[-2][0]), *each.shape) for each in results[count:]]


def has_regions(module: GraphModule) -> bool:
    """Whether the graph of a module has functions in line."""
    return any(node.op == "call_function" and node.target is call for node in module.graph.nodes)


def outline(module: GraphModule) -> GraphModule:
    """The same program with its functions as GraphModules of their own, named by their labels; itself if there are none.

    RuntimeError if a value of a function is used outside of it, which no program can say.
    """
    if not has_regions(module):
        return module
    graph = Graph()
    copies: dict[Any, Any] = {}
    results = graph.graph_copy(module.graph, copies)
    graph.output(results)
    held: dict[str, Any] = {}
    for node in list(graph.nodes):
        if node.op == "get_attr":
            held[node.target] = _attribute(module, node.target)
        elif node.op == "call_function" and node.target is call:
            _take_out(graph, node, held)
    made = GraphModule({name: held[name] for name in _attributes(graph)}, _named_anew(graph), type(module).__name__)
    if hasattr(module, "shape_env"):
        made.shape_env = module.shape_env
    return made


def _attribute(module, target):
    for part in target.split("."):
        module = getattr(module, part)
    return module


def _attributes(graph) -> list[str]:
    return [node.target for node in graph.find_nodes(op="get_attr")]


def _between(first: Node, last: Node) -> Iterator[Node]:
    node = first.next
    while node is not last:
        yield node
        node = node.next


def _take_out(graph, end, held) -> None:
    """Make graphs of the regions of one call, and call its operator with them."""
    operator, before, regions, after = end.args
    begins = [begin for begin, _ in regions]
    bodies = [list(_between(begin, stop)) for begin, stop in zip(begins, [*begins[1:], end])]
    for position, body in enumerate(bodies):
        bodies[position] = _without_outer(begins[0], body, held)
    given = list(after[-1]) if after else []
    lifted: dict[Node, None] = {}
    for body, (_, outs) in zip(bodies, regions):
        own = {*body, *begins, *given}
        read = [used for node in body if node.target is not carried for used in node.all_input_nodes]
        lifted |= dict.fromkeys(used for used in (*read, *outs) if used not in own)
    operands = [*given, *lifted]
    parts = [_part(body, outs, operands, held) for body, (_, outs) in zip(bodies, regions)]
    _refuse_outer_uses(end, bodies)
    target = TRANSFORMS[operator][0] if operator in TRANSFORMS else getattr(torch.ops.higher_order, operator)
    with graph.inserting_before(end):
        graphs = []
        for begin, part in zip(begins, parts):
            name = _free_name(begin.args[0], held)
            held[name] = part
            graphs.append(graph.get_attr(name))
        # Without a group of operands the operator takes them one by one.
        others = (*map(tuple, after[:-1]), tuple(operands)) if after else operands
        done = graph.call_function(target, (*before, *graphs, *others), name=operator)
    done.meta.update(end.meta)
    end.replace_all_uses_with(done)
    graph.erase_node(end)
    firsts = [each for body in bodies for node in body if node.target is carried for each in node.args[2:]]
    for begin, body in reversed(list(zip(begins, bodies))):
        for node in reversed(body):
            graph.erase_node(node)
        graph.erase_node(begin)
    for first in dict.fromkeys(firsts):
        if first.op == "call_method" and first.target == "select" and not first.users:
            graph.erase_node(first)  # the slice that stood for the others


def _without_outer(begin, body, held):
    """The nodes of a region; tensors that the graph holds, and sizes of values from outside, move out of it."""
    own, kept = set(body), []
    for node in body:
        holds = node.op == "get_attr" and isinstance(held.get(node.target), torch.Tensor)
        sized = "expression" in node.meta and not any(each in own for each in node.all_input_nodes)
        if holds or sized:
            begin.prepend(node)
            own.discard(node)
        else:
            kept.append(node)
    return kept


def _part(body, outs, operands, held) -> GraphModule:
    """The GraphModule of one function: first what is carried, then the operands."""
    graph, copies = Graph(), {}
    for node in body:
        if node.op == "call_function" and node.target is carried:
            copies[node] = _placeholder(graph, node, f"carry_{node.args[1]}")
    for operand in operands:
        copies[operand] = _placeholder(graph, operand, operand.name)
    root = {}
    for node in body:
        if node not in copies:
            copies[node] = _copy(graph, node, copies.__getitem__)
            if node.op == "get_attr":
                root[node.target] = held[node.target]
    graph.output(tuple(map_arg(list(outs), copies.__getitem__)))
    return GraphModule(root, graph)


def _named_anew(graph) -> Graph:
    """The graph with the names that its nodes would have if those of the functions had never been in it."""
    made = Graph()
    copies: dict[Node, Node] = {}
    for node in graph.nodes:
        if node.op == "output":
            made.output(map_arg(node.args[0], copies.__getitem__)).meta.update(node.meta)
        else:
            copies[node] = _copy(made, node, copies.__getitem__)
    return made


def _copy(graph, node, transform) -> Node:
    """A copy of a node, which is numbered among the nodes of its graph where its name is that of what it calls."""
    name = graph._target_to_str(node.target) if node.op.startswith("call_") else ""
    if not name or not re.fullmatch(re.escape(name) + r"_\d+", node.name):
        return graph.node_copy(node, transform)
    made = graph.create_node(
        node.op, node.target, map_arg(node.args, transform), map_arg(node.kwargs, transform), name, node.type
    )
    made.meta.update(node.meta)
    return made


def _placeholder(graph, node, name) -> Node:
    made = graph.placeholder(name)
    made.meta.update({key: node.meta[key] for key in ("val", "tensor_meta", "example_value") if key in node.meta})
    return made


def _refuse_outer_uses(end, bodies) -> None:
    own = {node for body in bodies for node in body}
    for node in own:
        for user in node.users:
            if user not in own and user is not end:
                raise RuntimeError(
                    f"{end.args[0]}: {node.name}, which one of its functions computes, is used outside of it by {user.name}: "
                    "give it back as a result"
                )


def _free_name(label, held) -> str:
    number = 0
    while f"{label}_{number}" in held:
        number += 1
    return f"{label}_{number}"
