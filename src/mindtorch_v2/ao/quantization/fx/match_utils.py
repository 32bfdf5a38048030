"""Nodes of a graph that a pattern matches."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from mindtorch_v2 import nn
from mindtorch_v2.ao.quantization.fx.graph_module import _is_observed_standalone_module
from mindtorch_v2.ao.quantization.fx.quantize_handler import QuantizeHandler
from mindtorch_v2.ao.quantization.utils import MatchAllNode
from mindtorch_v2.fx.node import Node
from mindtorch_v2.nn.utils.parametrize import type_before_parametrizations

__all__: list[str] = []


def _is_match(modules: dict[str, nn.Module], node: Any, pattern: Any, max_uses: int = sys.maxsize) -> bool:
    """Whether a node, and what it takes, is what a pattern says; what it takes is taken by it alone."""
    own, *arguments = pattern if isinstance(pattern, tuple) else (pattern,)
    if own is getattr:
        if len(pattern) != 2:
            raise AssertionError("Expecting getattr pattern to have two elements")
        arguments = []
    if isinstance(own, type) and issubclass(own, MatchAllNode):
        return True
    if node == pattern:
        return True
    if not isinstance(node, Node) or len(node.users) > max_uses:
        return False
    if not _is_of_target(modules, node, own, pattern):
        return False
    if not arguments:
        return True
    return len(arguments) == len(node.args) and all(
        _is_match(modules, arg, part, max_uses=1) for arg, part in zip(node.args, arguments, strict=True)
    )


def _is_of_target(modules: dict[str, nn.Module], node: Node, own: Any, pattern: Any) -> bool:
    if isinstance(own, type) and issubclass(own, nn.Module):
        return node.op == "call_module" and type_before_parametrizations(modules[str(node.target)]) == own
    if callable(own):
        if node.op != "call_function" or node.target is not own:
            return False
        return node.target is not getattr or node.args[1] == pattern[1]
    if isinstance(own, str):
        return node.op == "call_method" and node.target == own
    return node.target == own


def _find_matches(
    graph: Any,
    modules: dict[str, nn.Module],
    patterns: dict[Any, Any],
    root_node_getter_mapping: dict[Any, Any],
    standalone_module_names: list[str] | None = None,
    standalone_module_classes: list[type] | None = None,
    custom_module_classes: list[type] | None = None,
) -> dict[str, tuple[Any, Any, Any, Any]]:
    """For each node that is matched, from the graph's end: the match's last node, its nodes, its pattern and its handler."""
    found: dict[str, tuple[Any, Any, Any, Any]] = {}
    for node in reversed(graph.nodes):
        if node.name in found:
            continue
        for pattern, handler in patterns.items():
            if _is_match(modules, node, pattern):
                matched: list[Any] = []
                _collect(pattern, node, matched)
                made = handler(matched, modules, root_node_getter_mapping.get(pattern))
                _record(matched, (node, matched, pattern, made), found)
                break
    for node in graph.nodes:
        if node.op != "call_module":
            continue
        module = modules[node.target]
        if type(module) in (custom_module_classes or []):
            found[node.name] = (node, node, None, QuantizeHandler(node, modules, is_custom_module=True))
    for node in graph.nodes:
        if node.op != "call_module":
            continue
        module = modules[node.target]
        if (
            node.target in (standalone_module_names or [])
            or type(module) in (standalone_module_classes or [])
            or _is_observed_standalone_module(module)
        ):
            found[node.name] = (node, node, None, QuantizeHandler(node, modules, is_standalone_module=True))
    return found


def _collect(pattern: Any, node: Any, matched: list[Any]) -> None:
    """The nodes of a match: the last, then those that it takes, in tuples as in the pattern."""
    if not isinstance(pattern, tuple):
        matched.append(node)
        return
    own, *arguments = pattern
    below: list[Any] = []
    _collect(own, node, matched)
    if own is not getattr:
        for part, arg in zip(arguments, node.args, strict=False):
            _collect(part, arg, below)
    if len(below) > 1:
        if len(arguments) == 1:
            matched.append(tuple(below))
        else:
            matched.extend(below)
    else:
        matched.append(below[0])


def _record(nodes: Any, match: tuple[Any, Any, Any, Any], found: dict[str, Any]) -> None:
    if isinstance(nodes, Node):
        found[nodes.name] = match
    elif isinstance(nodes, Iterable):
        for each in nodes:
            _record(each, match, found)
