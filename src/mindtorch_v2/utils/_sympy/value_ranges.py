"""Ranges of symbolic values."""

from mindtorch_v2._core.unavailable import unavailable_class

__all__ = ["ValueRanges"]

ValueRanges = unavailable_class("torch.utils._sympy.value_ranges.ValueRanges")
