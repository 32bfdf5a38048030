"""Graphs that quantize and compute in floating point, turned into quantized operators and modules."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch

__all__ = ["lower"]


def lower(model: Any, qconfig_map: Any, node_name_to_scope: Any, keep_original_weights: bool = False) -> Any:
    """A graph module with quantized operators and modules."""
    quantizing = (torch.quantize_per_tensor, torch.quantize_per_channel)
    if any(node.target in quantizing for node in model.graph.nodes):
        raise NotImplementedError(
            "convert_fx: lowering to quantized operators is not implemented in mindtorch_v2; convert_to_reference_fx "
            "gives the graph that back ends match"
        )
    return model
