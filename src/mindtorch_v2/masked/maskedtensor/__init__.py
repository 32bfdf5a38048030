"""Tensors that carry their mask, in PyTorch's modules: the class, and what each family of operators does to it."""

from . import _ops_refs  # fills the tables
from .core import MaskedTensor, is_masked_tensor

__all__ = ["MaskedTensor", "is_masked_tensor"]
