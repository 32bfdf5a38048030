"""Pipes that are iterated."""

from mindtorch_v2._core.unavailable import unavailable_class

from . import combinatorics

IterableWrapper = unavailable_class("torch.utils.data.datapipes.iter.IterableWrapper", "write an IterableDataset")

__all__ = ["IterableWrapper", "combinatorics"]
