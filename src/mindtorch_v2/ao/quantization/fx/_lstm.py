"""Observed recurrent layers in a graph: what they give is made floating, part by part."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from mindtorch_v2 import nn
from mindtorch_v2.ao.quantization.fx.utils import _get_module
from mindtorch_v2.ao.quantization.utils import activation_is_statically_quantized

if TYPE_CHECKING:
    from mindtorch_v2.ao.quantization.fx._observing import Observing
    from mindtorch_v2.fx.node import Node

__all__ = ["insert_stubs_after_lstm", "is_custom_lstm"]


def is_custom_lstm(node: Node, modules: dict[str, Any], qconfig: Any, handler: Any) -> bool:
    """Whether a node calls an LSTM that a class for observing takes the place of."""
    return (
        isinstance(_get_module(node, modules), nn.LSTM)
        and activation_is_statically_quantized(qconfig)
        and handler.is_custom_module()
    )


def insert_stubs_after_lstm(node: Node, observing: Observing) -> None:
    """Put a `DeQuantStub` after the output, the hidden and the cell state, and give the users a tuple of those."""
    graph = observing.graph

    def after(place: Node, function: Any, *args: Any) -> Node:
        with graph.inserting_after(place):
            return graph.call_function(function, args)

    output = after(node, operator.getitem, node, 0)
    output_stub = observing.stub(output)
    states = after(output_stub, operator.getitem, node, 1)
    hidden = after(states, operator.getitem, states, 0)
    hidden_stub = observing.stub(hidden)
    cell = after(hidden_stub, operator.getitem, states, 1)
    cell_stub = observing.stub(cell)
    both = after(cell_stub, tuple, [hidden_stub, cell_stub])
    whole = after(both, tuple, [output_stub, both])
    for user in list(node.users):
        if user not in (output, states):
            user.replace_input_with(node, whole)
    _take_from_parts(graph)


def _take_from_parts(graph: Any) -> None:
    """Give the users of an item of a tuple, made in the graph, the item itself."""
    for node in list(graph.nodes):
        if node.op != "call_function" or node.target is not operator.getitem:
            continue
        source, index = node.args
        if source.op == "call_function" and source.target is tuple:
            node.replace_all_uses_with(source.args[0][index])
