"""Products with one matrix on the right, made one product."""

from __future__ import annotations

import operator

import mindtorch_v2 as torch
from mindtorch_v2 import fx
from mindtorch_v2.fx import Node
from mindtorch_v2.fx.passes.tools_common import legalize_graph

__all__ = ["are_nodes_independent", "may_depend_on", "merge_matmul", "split_result_tensors"]


def split_result_tensors(result: torch.Tensor, inputs: list[torch.Tensor]) -> tuple[torch.Tensor, ...]:
    """The rows of a result that belong to each of `inputs`, which were put below one another.

    >>> [part.shape[0] for part in split_result_tensors(torch.ones(3, 2), [torch.ones(1, 2), torch.ones(2, 2)])]
    [1, 2]
    """
    if isinstance(result, fx.Proxy):
        splits = [0] * len(inputs)
    else:
        splits = [each.shape[0] for each in inputs]
    return torch.split(result, splits)


def may_depend_on(a: Node, b: Node, search_depth: int = 6) -> bool:
    """Whether a node may need another's value; True where that is further than `search_depth` steps away.

    >>> x, add, relu, output = fx.symbolic_trace(lambda x: (x + 1).relu()).graph.nodes
    >>> may_depend_on(relu, x), may_depend_on(x, relu)
    (True, False)
    """
    if a is b:
        return True
    if not a.all_input_nodes:
        return False
    if search_depth == 0:
        return True
    return any(may_depend_on(each, b, search_depth - 1) for each in a.all_input_nodes)


def are_nodes_independent(nodes: list[Node]) -> bool:
    """Whether none of the nodes needs another's value, as far as can be seen.

    >>> x, y, add, mul, output = fx.symbolic_trace(lambda x, y: (x + 1, y * 2)).graph.nodes
    >>> are_nodes_independent([add, mul]), are_nodes_independent([x, add])
    (True, False)
    """
    return not any(
        may_depend_on(one, other) or may_depend_on(other, one)
        for place, one in enumerate(nodes)
        for other in nodes[place + 1 :]
    )


def merge_matmul(in_mod: torch.nn.Module) -> fx.GraphModule:
    """The module with its calls of `torch.matmul` by one matrix on the right made one call, if they do not need each other.

    >>> traced = merge_matmul(fx.symbolic_trace(lambda x, y, w: torch.matmul(x, w) + torch.matmul(y, w)))
    >>> sum(node.target is torch.matmul for node in traced.graph.nodes)
    1
    """
    traced = fx.symbolic_trace(in_mod)
    groups: dict[tuple[str, str], list[Node]] = {}
    operands: dict[Node, Node] = {}
    for node in traced.graph.nodes:
        if node.op != "call_function" or node.target is not torch.matmul:
            continue
        left, right = node.args
        # A matrix that is fetched at each product is one matrix.
        key = (right.op, str(right.target)) if right.op == "get_attr" else ("value", right.name)
        groups.setdefault(key, []).append(node)
        operands[node] = left
    for products in groups.values():
        if len(products) < 2 or not are_nodes_independent(products):
            continue
        lefts = [operands[node] for node in products]
        right = products[0].args[1]
        with traced.graph.inserting_before(products[0]):
            stacked = traced.graph.call_function(torch.cat, (lefts,))
            product = traced.graph.call_function(torch.matmul, (stacked, right))
            parts = traced.graph.call_function(split_result_tensors, (product, lefts))
            chosen = [traced.graph.call_function(operator.getitem, (parts, place)) for place in range(len(products))]
        for node, part in zip(products, chosen):
            node.replace_all_uses_with(part)
            traced.graph.erase_node(node)
        legalize_graph(traced)
    traced.recompile()
    traced.graph.lint()
    return traced
