"""Training on several devices: by several processes, each with a copy. A copy within one process is on one device."""

from .data_parallel import DataParallel, data_parallel
from .distributed import DistributedDataParallel

__all__ = ["DataParallel", "DistributedDataParallel", "data_parallel"]
