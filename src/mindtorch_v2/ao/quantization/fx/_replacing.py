"""Observers in a graph replaced by what they stand for: quantizing, and making floating again."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2.ao.quantization.fx.utils import create_getattr_from_value
from mindtorch_v2.ao.quantization.utils import is_per_channel
from mindtorch_v2.fx.node import Node
from mindtorch_v2.nn import functional as F

__all__ = ["has_none_qconfig", "insert_dequantize", "replace_observer", "replace_with_dequantize"]

_QUANTIZED = (torch.quint8, torch.qint8, torch.qint32, torch.float8_e5m2, torch.float8_e4m3fn)
# Found by name: quantized tensors have it.
_dynamically: Any = getattr(torch, "quantize_per_tensor_dynamic")  # noqa: B009  (of a name that types do not know)
_CONVERTED = (*_QUANTIZED, torch.uint8, torch.int8, torch.uint16, torch.int16, torch.int32)


def has_none_qconfig(node: Any, by_node: dict[str, Any]) -> bool:
    """Whether a node is left out by its configuration."""
    return isinstance(node, Node) and node.name in by_node and by_node[node.name] is None


def insert_dequantize(node: Node, graph: Any) -> None:
    """Make what a node gives floating for all that take it."""
    with graph.inserting_after(node):
        made = graph.call_method("dequantize", (node,))
        for user in list(node.users):
            if user is not made:
                user.replace_input_with(node, made)


def replace_with_dequantize(node: Node, graph: Any) -> None:
    """In place of an observer or a stub after a module that gives quantized numbers, make those floating."""
    source = node.args[0]
    if not isinstance(source, Node):
        raise AssertionError(f"Expecting the for call custom module node to be a Node, but got {source}")
    node.replace_all_uses_with(source)
    graph.erase_node(node)
    insert_dequantize(source, graph)


def _path_and_word(node: Node, scopes: dict[str, Any], by_node: dict[str, Any]) -> tuple[str, str]:
    """The module in which an observer's number is made, or is first used where it is an input only; and a word for that."""
    observed = node.args[0]
    if not isinstance(observed, Node):
        raise AssertionError(f"Expecting observed node to be a Node, but got {observed}")
    place, word = observed, ""
    if has_none_qconfig(observed, by_node):
        users = list(node.users)
        products = [each for each in users if each.op == "call_function" and each.target is F.linear]
        place, word = (products or users or [None])[0], "_input"
    known = place is not None and place.name in scopes
    return (scopes[place.name][0] if known else "", word)


def replace_observer(
    model: Any, node: Node, modules: dict[str, Any], scopes: dict[str, Any], by_node: dict[str, Any], device: Any
) -> None:
    """Put quantizing and making floating in an observer's place, or nothing where it is left out."""
    graph = model.graph
    path, word = _path_and_word(node, scopes, by_node)
    observer = modules[str(node.target)]
    dtype, dynamic = observer.dtype, getattr(observer, "is_dynamic", False)
    left_out = all(has_none_qconfig(each, by_node) for each in [*node.args, *node.users])
    if left_out or not (dtype in _CONVERTED or dynamic or dtype == torch.float16):
        with graph.inserting_before(node):
            node.replace_all_uses_with(node.args[0])
            graph.erase_node(node)
        return
    with graph.inserting_before(node):
        given = node.args[0]
        if dynamic:
            reduces = torch.backends.quantized.engine in ("fbgemm", "x86")
            made = graph.call_function(_dynamically, (given, dtype, reduces), {})
        elif dtype in _QUANTIZED:
            made = _quantize(model, observer, given, path + word, device)
        elif dtype == torch.float16:
            made = graph.call_method("to", (given, dtype), {})
        else:
            return
        floating = graph.call_method("dequantize", args=(made,))
        node.replace_all_uses_with(floating)
        graph.erase_node(node)


def _quantize(model: Any, observer: Any, given: Node, prefix: str, device: Any) -> Node:
    scale, zero_point = observer.calculate_qparams()
    by_channel = is_per_channel(observer.qscheme)
    if not by_channel:
        scale, zero_point = float(scale), int(zero_point)
    kept = [
        create_getattr_from_value(model, model.graph, f"{prefix}_{name}_", value, device)
        for name, value in (("scale", scale), ("zero_point", zero_point))
    ]
    if by_channel:
        arguments = (given, *kept, int(observer.ch_axis), observer.dtype)
        return model.graph.call_function(torch.quantize_per_channel, arguments, {})
    return model.graph.call_function(torch.quantize_per_tensor, (given, *kept, observer.dtype), {})
