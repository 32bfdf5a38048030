"""Parallel training by replication. None of it is implemented; the names exist so that programs can test for them."""

from .data_parallel import DataParallel, data_parallel
from .distributed import DistributedDataParallel

__all__ = ["DataParallel", "DistributedDataParallel", "data_parallel"]
