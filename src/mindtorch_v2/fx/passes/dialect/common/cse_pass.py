"""Expressions that occur twice in a graph are computed once."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2._operators.table import every_row
from mindtorch_v2._ops import OpOverload
from mindtorch_v2.utils import _pytree

from ....graph import Graph
from ....graph_module import GraphModule
from ....node import Node, draws
from ...infra.pass_base import PassBase, PassResult

__all__ = ["CSEPass", "get_CSE_banned_ops"]


def get_CSE_banned_ops() -> set[Any]:
    """Operators whose calls are never the same: those that draw random numbers, and those that write.

    >>> from mindtorch_v2.fx.passes.dialect.common.cse_pass import get_CSE_banned_ops
    >>> banned = get_CSE_banned_ops()
    >>> torch.ops.aten.rand in banned, torch.ops.aten.sin in banned
    (True, False)
    """
    forms = [
        (form, row.facts.draws)
        for row in every_row().values()
        for form in (row.handle, row.inplace)
        if form is not None
    ]
    names = {form.name for form, draws in forms if form.namespace == "aten" and (draws or form.form == "inplace")}
    return {getattr(torch.ops.aten, name) for name in names}


def _is_stateful(target: Any) -> bool:
    return isinstance(target, OpOverload) and (target._schema.is_mutable or draws(target))


def _all_arguments(node: Node) -> tuple[Any, ...]:
    """The arguments of a node by place and by name, with the defaults of its operator's."""
    if not isinstance(node.target, OpOverload):
        return node.args, node.kwargs
    listed = list(node.args)
    named = dict(node.kwargs)
    for argument in node.target._schema.arguments[len(listed) :]:
        if argument.name in named and not argument.kwarg_only:
            listed.append(named.pop(argument.name))
        elif argument.has_default_value() and not argument.kwarg_only:
            listed.append(argument.default_value)
    return tuple(listed), named


class _Key:
    """Key of what a node computes: its target and arguments, numbers with their types."""

    def __init__(self, node: Node, known: dict[Node, Node]) -> None:
        leaves, spec = _pytree.tree_flatten(_all_arguments(node))
        self.parts = (
            node.op,
            node.target,
            str(spec),
            tuple((type(leaf), known[leaf] if isinstance(leaf, Node) else leaf) for leaf in leaves),
        )

    def __hash__(self) -> int:
        return hash(self.parts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and self.parts == other.parts


class CSEPass(PassBase):
    """Common subexpressions of a graph whose operators write to nothing: calls with equal arguments become one.

    Calls of `banned_ops` (packets, as `torch.ops.aten.rand`) stay as they are, and so do those that draw or write.

    >>> from mindtorch_v2.fx.experimental.proxy_tensor import make_fx
    >>> from mindtorch_v2.fx.passes.dialect.common.cse_pass import CSEPass
    >>> graph_module = make_fx(lambda x: x.sin() + x.sin())(torch.ones(2))
    >>> result = CSEPass()(graph_module)
    >>> result.modified, [node.name for node in result.graph_module.graph.nodes if "sin" in node.name]
    (True, ['sin'])
    """

    def __init__(self, banned_ops: Any = None) -> None:
        self.banned_ops = set(banned_ops or ())

    def _is_banned(self, target: Any) -> bool:
        packet = target.overloadpacket if isinstance(target, OpOverload) else target
        return target in self.banned_ops or packet in self.banned_ops or _is_stateful(target)

    def call(self, graph_module: GraphModule) -> PassResult:
        """A graph module with a new graph, in which each expression occurs once."""
        made = Graph()
        copies: dict[Node, Node] = {}  # a node of the old graph -> of the new one
        seen: dict[_Key, Node] = {}
        modified = False
        for node in graph_module.graph.nodes:
            plain = node.op == "call_function" and not self._is_banned(node.target)
            if not plain and node.op != "get_attr":
                copies[node] = made.node_copy(node, lambda n: copies[n])
                continue
            try:
                key = _Key(node, copies)
                found = seen.get(key)
            except TypeError:  # an argument that cannot be compared
                found, key = None, None
            if found is not None:
                copies[node], modified = found, True
                continue
            copies[node] = made.node_copy(node, lambda n: copies[n])
            if key is not None:
                seen[key] = copies[node]
        return PassResult(GraphModule(graph_module, made), modified)
