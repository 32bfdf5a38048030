"""Handlers that make one module of those that a pattern matches in a graph."""

from __future__ import annotations

import abc
from typing import Any

from mindtorch_v2 import nn
from mindtorch_v2.ao.quantization.backend_config import BackendConfig
from mindtorch_v2.ao.quantization.fuser_method_mappings import get_fuser_method_new
from mindtorch_v2.ao.quantization.utils import MatchAllNode, _parent_name
from mindtorch_v2.nn import functional as F
from mindtorch_v2.nn.utils.parametrize import type_before_parametrizations

__all__ = ["DefaultFuseHandler", "FuseHandler"]


class FuseHandler(abc.ABC):
    """The base of what fuses a match.

    >>> from mindtorch_v2.ao.quantization.fx.fuse_handler import DefaultFuseHandler, FuseHandler
    >>> issubclass(DefaultFuseHandler, FuseHandler)
    True
    """

    @abc.abstractmethod
    def __init__(self, node: Any) -> None:
        """A handler of a match's last node."""

    @abc.abstractmethod
    def fuse(
        self,
        load_arg: Any,
        named_modules: dict[str, nn.Module],
        fused_graph: Any,
        root_node: Any,
        extra_inputs: list[Any],
        matched_node_pattern: Any,
        fuse_custom_config: Any,
        fuser_method_mapping: dict[Any, Any],
        is_qat: bool,
    ) -> Any:
        """The node, in the new graph, that stands for the match."""


class DefaultFuseHandler(FuseHandler):
    """Put the fused module where the one with the weight was.

    >>> from mindtorch_v2.ao.quantization.fx.fuse_handler import DefaultFuseHandler
    >>> type(DefaultFuseHandler(None)).__name__
    'DefaultFuseHandler'
    """

    def __init__(self, node: Any) -> None:
        """A handler needs nothing of the node."""

    def fuse(
        self,
        load_arg: Any,
        named_modules: dict[str, nn.Module],
        fused_graph: Any,
        root_node: Any,
        extra_inputs: list[Any],
        matched_node_pattern: Any,
        fuse_custom_config: Any,
        fuser_method_mapping: dict[Any, Any],
        is_qat: bool,
    ) -> Any:
        """The node, in the new graph, that stands for the match."""
        if root_node.op != "call_module":
            raise AssertionError("Expecting module node to be a call_module Node")
        training = named_modules[str(root_node.target)].training
        matched = _modules_of(matched_node_pattern, named_modules, training)
        method = get_fuser_method_new(_types_of(matched), fuser_method_mapping)
        parent, name = _parent_name(root_node.target)
        setattr(named_modules[parent], name, method(is_qat, *matched))
        node = fused_graph.node_copy(root_node, load_arg)
        node.args = (*node.args, *map(load_arg, extra_inputs))
        return node


def _modules_of(pattern: Any, named_modules: dict[str, nn.Module], training: bool) -> Any:
    """The modules of a match; a ReLU for its function, other functions as they are."""
    if isinstance(pattern, tuple | list):
        return tuple(_modules_of(each, named_modules, training) for each in pattern)
    if pattern.op == "call_module":
        return named_modules[pattern.target]
    if pattern.op == "call_function" and pattern.target is F.relu:
        relu = nn.ReLU()
        relu.training = training
        return relu
    return pattern.target if pattern.op in ("call_function", "call_method") else MatchAllNode


def _types_of(matched: Any) -> Any:
    if isinstance(matched, tuple):
        return tuple(map(_types_of, matched))
    return type_before_parametrizations(matched) if isinstance(matched, nn.Module) else matched


def _get_fusion_pattern_to_fuse_handler_cls(backend_config: BackendConfig) -> dict[Any, Any]:
    return {
        pattern: DefaultFuseHandler
        for pattern, config in backend_config._pattern_complex_format_to_config.items()
        if config.fuser_method is not None
    }
