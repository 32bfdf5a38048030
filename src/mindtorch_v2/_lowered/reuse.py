"""A pass over a graph of operators: element-wise results take the memory of an operand that nobody needs any more.

The result is the same to the last bit, as it is computed by the same kernel, by way of the operator's `out=` form. What is
won is memory that need not be fetched: a large result would be written to lines that the processor does not hold.
"""

from __future__ import annotations

import copy
import operator
import sys
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2._operators.table import Row, Rule, row_of
from mindtorch_v2._ops import OpOverload
from mindtorch_v2.fx import Graph, GraphModule, Node
from mindtorch_v2.utils import _pytree as pytree

__all__ = ["reuse_memory"]

_LEAST = 1 << 14  # bytes: below, memory costs nothing


def _row(node: Node) -> Row | None:
    """The row of a native operator, where there is one."""
    if node.op != "call_function" or not isinstance(node.target, OpOverload) or node.target.namespace != "aten":
        return None
    handle = node.target._handle
    row = row_of(handle)
    return row if row is not None and row.handle is handle and row.body is None else None


def _is_item(node: Node) -> bool:
    return node.op == "call_function" and node.target is operator.getitem


def _has_fresh_results(node: Node) -> bool:
    """Whether it has several results, each with memory of its own, as shape rules make them."""
    row = _row(node)
    return row is not None and isinstance(row.meta, Rule) and len(row.handle.returns) > 1


def _is_fresh(node: Node) -> bool:
    """Whether the value has memory that nothing before it had."""
    if _is_item(node):
        return isinstance(node.args[0], Node) and _has_fresh_results(node.args[0])
    row = _row(node)
    return row is not None and row.out is not None and not row.handle.is_view


def _is_elementwise(row: Row | None) -> bool:
    """Whether an operator works element by element, and its kernel may write where it reads: it has an in-place form."""
    return row is not None and row.facts.elementwise and row.inplace is not None and row.out is not None


def _fits(result: Any, operand: Any) -> bool:
    def form(value: torch.Tensor) -> tuple:
        return value.shape, value.stride(), value.dtype, value.device

    if not isinstance(result, torch.Tensor) or not isinstance(operand, torch.Tensor):
        return False
    return form(result) == form(operand) and result.numel() * result.element_size() >= _LEAST


class _Memories:
    """Which values may share memory, and where in the graph each memory is used last."""

    def __init__(self, graph: Graph) -> None:
        self.fresh = {node for node in graph.nodes if _is_fresh(node)}
        self._root: dict[Node, Node] = {}
        self._last: dict[Node, int] = {}
        for place, node in enumerate(graph.nodes):
            operands = node.all_input_nodes
            for operand in operands:
                self._last[self.of(operand)] = place
            self._root[node] = node
            self._last[node] = place
            if node.op == "output" or (_row(node) is None and not _is_item(node)):  # who may hold on to its operands
                for operand in operands:
                    self._last[self.of(operand)] = sys.maxsize
            if node not in self.fresh and not _has_fresh_results(node):
                for operand in operands:  # it may be a view of any
                    self._join(self.of(operand), node)

    def _join(self, root: Node, node: Node) -> None:
        other = self.of(node)
        if other is not root:
            self._root[other] = root
            self._last[root] = max(self._last[root], self._last[other])

    def of(self, node: Node) -> Node:
        """The number that stands for the memory of a value."""
        while self._root[node] is not node:
            node = self._root[node]
        return node

    def last_use(self, node: Node) -> int:
        """The place of the last node that uses the memory of a value."""
        return self._last[self.of(node)]


def reuse_memory(module: GraphModule) -> GraphModule:
    """A copy of `module` (a functional graph of operators whose nodes tell their values) that writes where it can.

    >>> from mindtorch_v2._lowered.reuse import reuse_memory
    >>> from mindtorch_v2.fx.experimental.proxy_tensor import make_fx
    >>> x = torch.ones(64, 64)
    >>> module = make_fx(lambda x: torch.tanh(x @ x), tracing_mode="fake")(x)
    >>> print(reuse_memory(module).code.strip())
    def forward(self, x_1):
        mm = torch.ops.aten.mm.default(x_1, x_1);  x_1 = None
        tanh = torch.ops.aten.tanh.out(mm, out = mm);  mm = None
        return tanh
    """
    graph = copy.deepcopy(module.graph)
    memories = _Memories(graph)
    for place, node in enumerate(graph.nodes):
        row = _row(node)
        if not _is_elementwise(row) or "out" in node.kwargs:
            continue
        operands = [each for each in pytree.tree_leaves((node.args, node.kwargs)) if isinstance(each, Node)]
        for operand in operands:
            memory = memories.of(operand)
            if (
                operand is memory
                and operand in memories.fresh
                and memories.last_use(operand) == place
                and sum(memories.of(each) is memory for each in operands) == 1
                and _fits(node.meta.get("val"), operand.meta.get("val"))
            ):
                assert row is not None
                node.target = getattr(node.target._overloadpacket, row.out.overload or "default")
                node.kwargs = {**node.kwargs, "out": operand}
                break
    return GraphModule(module, graph)
