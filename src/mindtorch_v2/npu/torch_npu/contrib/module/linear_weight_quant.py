"""`LinearWeightQuant` by the module that torch_npu has it in."""

from .linear_quant import LinearWeightQuant

__all__ = ["LinearWeightQuant"]
