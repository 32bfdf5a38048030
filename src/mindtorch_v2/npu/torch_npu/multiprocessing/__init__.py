"""Tensors of NPUs between processes."""

from . import reductions

__all__ = ["reductions"]
