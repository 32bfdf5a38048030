"""`torch.utils.data.datapipes`: datasets that are made of one another."""

from . import iter, map

__all__ = ["iter", "map"]
