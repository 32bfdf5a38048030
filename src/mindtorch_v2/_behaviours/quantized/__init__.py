"""Quantized tensors: what PyTorch's operators do with them, on their whole numbers.

A quantized tensor has the dispatch key QuantizedCPU, memory with whole numbers, and a quantizer
(:mod:`mindtorch_v2._core.quantizer`). Views of tensors with one scale are those of any other tensor; an operator without a
kernel here raises NotImplementedError, as in PyTorch.
"""

from . import activation, comparison, copy, index, order, pad, pool, reduction, upsample, view

__all__ = [
    "activation",
    "comparison",
    "copy",
    "index",
    "order",
    "pad",
    "pool",
    "reduction",
    "upsample",
    "view",
]
