"""The operators by the package that torch_npu has them in."""

from . import atb

__all__ = ["atb"]
