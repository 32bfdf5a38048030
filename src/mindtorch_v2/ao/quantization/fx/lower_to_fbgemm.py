"""The name by which graphs are lowered for every engine."""

from __future__ import annotations

from typing import Any

from mindtorch_v2.ao.quantization.fx._lowering import lower

__all__ = ["lower_to_fbgemm"]


def lower_to_fbgemm(
    model: Any, qconfig_map: dict[str, Any], node_name_to_scope: dict[str, Any], keep_original_weights: bool = False
) -> Any:
    """A graph module with quantized operators and modules, of one that quantizes and computes in floating point.

    >>> from mindtorch_v2.ao.quantization.fx.lower_to_fbgemm import lower_to_fbgemm
    >>> traced = torch.fx.symbolic_trace(torch.nn.ReLU())
    >>> [node.op for node in lower_to_fbgemm(traced, {}, {}).graph.nodes]
    ['placeholder', 'call_function', 'output']
    """
    return lower(model, qconfig_map, node_name_to_scope, keep_original_weights)
