"""Quantized modules of weights with blocks of zeros, by the float modules whose places they take."""

from __future__ import annotations

import importlib
from typing import Any

from mindtorch_v2 import nn

__all__ = ["get_dynamic_sparse_quantized_mapping", "get_static_sparse_quantized_mapping"]


def get_static_sparse_quantized_mapping() -> dict[Any, Any]:
    """Modules for static quantization.

    >>> list(torch.ao.pruning.get_static_sparse_quantized_mapping()) == [torch.nn.Linear]
    True
    """
    return {nn.Linear: importlib.import_module("mindtorch_v2.ao.nn.sparse.quantized").Linear}


def get_dynamic_sparse_quantized_mapping() -> dict[Any, Any]:
    """Modules for dynamic quantization.

    >>> list(torch.ao.pruning.get_dynamic_sparse_quantized_mapping()) == [torch.nn.Linear]
    True
    """
    return {nn.Linear: importlib.import_module("mindtorch_v2.ao.nn.sparse.quantized.dynamic").Linear}
