"""Matches of patterns and what they are to the graph: which of its numbers are observed, and how."""

from __future__ import annotations

from typing import Any

from mindtorch_v2.ao.quantization.backend_config import BackendConfig, ObservationType
from mindtorch_v2.ao.quantization.fx.utils import all_node_args_have_no_tensors
from mindtorch_v2.fx.node import Node

__all__ = [
    "BatchNormQuantizeHandler",
    "BinaryOpQuantizeHandler",
    "CatQuantizeHandler",
    "ConvReluQuantizeHandler",
    "CopyNodeQuantizeHandler",
    "CustomModuleQuantizeHandler",
    "DefaultNodeQuantizeHandler",
    "EmbeddingQuantizeHandler",
    "FixedQParamsOpQuantizeHandler",
    "GeneralTensorShapeOpQuantizeHandler",
    "LinearReLUQuantizeHandler",
    "RNNDynamicQuantizeHandler",
    "StandaloneModuleQuantizeHandler",
    "QuantizeHandler",
]


def _default_root_node_getter(node_pattern: Any) -> Any:
    """The first node of a match: the last that its tuples hold."""
    while node_pattern is not None and not isinstance(node_pattern, Node):
        node_pattern = node_pattern[-1]
    return node_pattern


class QuantizeHandler:
    """A match of a pattern, its first node, and how many tensors that takes.

    >>> from mindtorch_v2.ao.quantization.fx.quantize_handler import QuantizeHandler
    >>> graph = torch.fx.symbolic_trace(lambda x, y: x + y).graph
    >>> QuantizeHandler(list(graph.nodes)[2], {}).num_tensor_args
    2
    """

    def __init__(
        self,
        node_pattern: Any,
        modules: dict[str, Any],
        root_node_getter: Any = None,
        is_custom_module: bool = False,
        is_standalone_module: bool = False,
    ) -> None:
        self.node_pattern, self.modules = node_pattern, modules
        self.root_node = (root_node_getter or _default_root_node_getter)(node_pattern)
        self.is_custom_module_, self.is_standalone_module_ = is_custom_module, is_standalone_module
        self.num_tensor_args = 0
        if isinstance(self.root_node, Node):
            known: dict[Node, bool] = {}
            self.num_tensor_args = sum(
                isinstance(arg, Node) and not all_node_args_have_no_tensors(arg, modules, known)
                for arg in self.root_node.args
            )

    def is_general_tensor_value_op(self) -> bool:
        """Whether the result has the scale of the argument."""
        return False

    def is_custom_module(self) -> bool:
        """Whether a class of the user's takes its place."""
        return self.is_custom_module_

    def is_standalone_module(self) -> bool:
        """Whether it is prepared by itself."""
        return self.is_standalone_module_


def _get_quantize_handler_cls(observation_type: Any, dtype_configs: Any, by_tensors: dict[int, Any]) -> Any:
    class ConfigurableQuantizeHandler(QuantizeHandler):
        def __init__(self, node_pattern: Any, modules: dict[str, Any], root_node_getter: Any = None) -> None:
            super().__init__(node_pattern, modules, root_node_getter)
            if by_tensors and self.num_tensor_args not in by_tensors:
                raise AssertionError(
                    f"Must provide observation_type config for tensor number {self.num_tensor_args} in "
                    f"num_tensor_args_to_observation_type for {node_pattern}"
                )
            self.observation_type = by_tensors[self.num_tensor_args] if by_tensors else observation_type
            self.dtype_configs = dtype_configs

        def is_general_tensor_value_op(self) -> bool:
            return self.observation_type == ObservationType.OUTPUT_SHARE_OBSERVER_WITH_INPUT

    return ConfigurableQuantizeHandler


def _get_pattern_to_quantize_handlers(backend_config: BackendConfig) -> dict[Any, Any]:
    """For each pattern of a back end, the class of its matches."""
    return {
        pattern: _get_quantize_handler_cls(
            config.observation_type, config.dtype_configs, config._num_tensor_args_to_observation_type
        )
        for pattern, config in backend_config._pattern_complex_format_to_config.items()
    }


class BinaryOpQuantizeHandler(QuantizeHandler):
    """An old name: today a back end's configuration says how each pattern is observed.

    >>> from mindtorch_v2.ao.quantization.fx import quantize_handler
    >>> issubclass(quantize_handler.BinaryOpQuantizeHandler, quantize_handler.QuantizeHandler)
    True
    """


class CatQuantizeHandler(QuantizeHandler):
    """An old name: today a back end's configuration says how each pattern is observed.

    >>> from mindtorch_v2.ao.quantization.fx import quantize_handler
    >>> issubclass(quantize_handler.CatQuantizeHandler, quantize_handler.QuantizeHandler)
    True
    """


class ConvReluQuantizeHandler(QuantizeHandler):
    """An old name: today a back end's configuration says how each pattern is observed.

    >>> from mindtorch_v2.ao.quantization.fx import quantize_handler
    >>> issubclass(quantize_handler.ConvReluQuantizeHandler, quantize_handler.QuantizeHandler)
    True
    """


class LinearReLUQuantizeHandler(QuantizeHandler):
    """An old name: today a back end's configuration says how each pattern is observed.

    >>> from mindtorch_v2.ao.quantization.fx import quantize_handler
    >>> issubclass(quantize_handler.LinearReLUQuantizeHandler, quantize_handler.QuantizeHandler)
    True
    """


class BatchNormQuantizeHandler(QuantizeHandler):
    """An old name: today a back end's configuration says how each pattern is observed.

    >>> from mindtorch_v2.ao.quantization.fx import quantize_handler
    >>> issubclass(quantize_handler.BatchNormQuantizeHandler, quantize_handler.QuantizeHandler)
    True
    """


class EmbeddingQuantizeHandler(QuantizeHandler):
    """An old name: today a back end's configuration says how each pattern is observed.

    >>> from mindtorch_v2.ao.quantization.fx import quantize_handler
    >>> issubclass(quantize_handler.EmbeddingQuantizeHandler, quantize_handler.QuantizeHandler)
    True
    """


class RNNDynamicQuantizeHandler(QuantizeHandler):
    """An old name: today a back end's configuration says how each pattern is observed.

    >>> from mindtorch_v2.ao.quantization.fx import quantize_handler
    >>> issubclass(quantize_handler.RNNDynamicQuantizeHandler, quantize_handler.QuantizeHandler)
    True
    """


class DefaultNodeQuantizeHandler(QuantizeHandler):
    """An old name: today a back end's configuration says how each pattern is observed.

    >>> from mindtorch_v2.ao.quantization.fx import quantize_handler
    >>> issubclass(quantize_handler.DefaultNodeQuantizeHandler, quantize_handler.QuantizeHandler)
    True
    """


class FixedQParamsOpQuantizeHandler(QuantizeHandler):
    """An old name: today a back end's configuration says how each pattern is observed.

    >>> from mindtorch_v2.ao.quantization.fx import quantize_handler
    >>> issubclass(quantize_handler.FixedQParamsOpQuantizeHandler, quantize_handler.QuantizeHandler)
    True
    """


class CopyNodeQuantizeHandler(QuantizeHandler):
    """An old name: today a back end's configuration says how each pattern is observed.

    >>> from mindtorch_v2.ao.quantization.fx import quantize_handler
    >>> issubclass(quantize_handler.CopyNodeQuantizeHandler, quantize_handler.QuantizeHandler)
    True
    """


class GeneralTensorShapeOpQuantizeHandler(QuantizeHandler):
    """An old name: today a back end's configuration says how each pattern is observed.

    >>> from mindtorch_v2.ao.quantization.fx import quantize_handler
    >>> issubclass(quantize_handler.GeneralTensorShapeOpQuantizeHandler, quantize_handler.QuantizeHandler)
    True
    """


class CustomModuleQuantizeHandler(QuantizeHandler):
    """An old name: today a back end's configuration says how each pattern is observed.

    >>> from mindtorch_v2.ao.quantization.fx import quantize_handler
    >>> issubclass(quantize_handler.CustomModuleQuantizeHandler, quantize_handler.QuantizeHandler)
    True
    """


class StandaloneModuleQuantizeHandler(QuantizeHandler):
    """An old name: today a back end's configuration says how each pattern is observed.

    >>> from mindtorch_v2.ao.quantization.fx import quantize_handler
    >>> issubclass(quantize_handler.StandaloneModuleQuantizeHandler, quantize_handler.QuantizeHandler)
    True
    """
