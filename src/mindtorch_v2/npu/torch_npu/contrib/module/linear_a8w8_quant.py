"""`LinearA8W8Quant` by the module that torch_npu has it in."""

from .linear_quant import LinearA8W8Quant

__all__ = ["LinearA8W8Quant"]
