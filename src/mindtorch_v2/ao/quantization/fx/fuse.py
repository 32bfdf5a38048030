"""Modules of a graph that a back end's patterns match, made one."""

from __future__ import annotations

import warnings
from typing import Any

from mindtorch_v2 import nn
from mindtorch_v2.ao.quantization.backend_config import BackendConfig, get_native_backend_config
from mindtorch_v2.ao.quantization.backend_config.utils import (
    get_fuser_method_mapping,
    get_fusion_pattern_to_extra_inputs_getter,
    get_fusion_pattern_to_root_node_getter,
)
from mindtorch_v2.ao.quantization.fx.custom_config import FuseCustomConfig
from mindtorch_v2.ao.quantization.fx.fuse_handler import _get_fusion_pattern_to_fuse_handler_cls
from mindtorch_v2.ao.quantization.fx.match_utils import _is_match
from mindtorch_v2.ao.quantization.fx.pattern_utils import _sorted_patterns_dict
from mindtorch_v2.ao.quantization.utils import MatchAllNode
from mindtorch_v2.fx import Graph, GraphModule, map_arg
from mindtorch_v2.fx.node import Node

__all__ = ["fuse"]


def fuse(model: Any, is_qat: bool, fuse_custom_config: Any = None, backend_config: Any = None) -> GraphModule:
    """A graph module in which one module stands for each match of a pattern that can be fused.

    >>> from mindtorch_v2.ao.quantization.fx.fuse import fuse
    >>> traced = torch.fx.symbolic_trace(torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU()))
    >>> [node.op for node in fuse(traced, is_qat=False).graph.nodes]
    ['placeholder', 'call_module', 'output']
    """
    custom = FuseCustomConfig() if fuse_custom_config is None else fuse_custom_config
    if isinstance(custom, dict):
        warnings.warn(
            "Passing a fuse_custom_config_dict to fuse is deprecated and will not be supported in a future version. "
            "Please pass in a FuseCustomConfig instead.",
            FutureWarning,
            stacklevel=2,
        )
        custom = FuseCustomConfig.from_dict(custom)
    if isinstance(backend_config, dict):
        warnings.warn(
            "Passing a backend_config_dict to prepare is deprecated and will not be supported in a future version. "
            "Please pass in a BackendConfig instead.",
            FutureWarning,
            stacklevel=2,
        )
        backend_config = BackendConfig.from_dict(backend_config)
    config = get_native_backend_config() if backend_config is None else backend_config
    modules = dict(model.named_modules())
    methods = get_fuser_method_mapping(config)
    roots = get_fusion_pattern_to_root_node_getter(config)
    extras = get_fusion_pattern_to_extra_inputs_getter(config)
    handlers = _sorted_patterns_dict(_get_fusion_pattern_to_fuse_handler_cls(config))
    matches = _find_matches(modules, model.graph, handlers)
    graph = Graph()
    made: dict[str, Any] = {}

    def load_arg(argument: Any) -> Any:
        return map_arg(argument, lambda node: made[node.name])

    for node in model.graph.nodes:
        last, pattern, matched, handler, parts = matches.get(node.name, (None, None, None, None, {}))
        if last is node:
            root = roots.get(pattern, _first_node)(matched)
            extra = extras[pattern](matched) if pattern in extras else []
            made[node.name] = handler.fuse(load_arg, modules, graph, root, extra, matched, custom, methods, is_qat)
        elif last is None or parts.get(node) is MatchAllNode:
            made[node.name] = graph.node_copy(node, load_arg)
    return GraphModule(model, graph)


def _first_node(node_pattern: Any) -> Any:
    while not isinstance(node_pattern[-1], Node):
        node_pattern = node_pattern[-1]
    return node_pattern[-1]


def _find_matches(modules: dict[str, nn.Module], graph: Any, handlers: dict[Any, Any]) -> dict[str, tuple]:
    """For each node that is matched: the match's last node, its pattern, its nodes, its handler, and each node's part."""
    found: dict[str, tuple] = {}
    parts: dict[Node, Any] = {}

    def apply(pattern: Any, node: Any, match: tuple, matched: list[Any]) -> None:
        if isinstance(pattern, tuple):
            own, *arguments = pattern
            below: list[Any] = []
            apply(own, node, match, below)
            for part, arg in zip(arguments, node.args, strict=False):
                apply(part, arg, match, below)
            matched.append(tuple(below))
        elif node.name not in found:
            matched.append(node)
            if pattern is not MatchAllNode:  # such a node is not the match's own
                parts[node] = pattern
                last, whole, handler = match
                found[node.name] = (last, whole, matched, handler, parts)

    for node in reversed(graph.nodes):
        if node.name in found:
            continue
        for pattern, handler in handlers.items():
            matched: list[Any] = []
            if _is_match(modules, node, pattern):
                apply(pattern, node, (node, pattern, handler(node)), matched)
                break
    return found
