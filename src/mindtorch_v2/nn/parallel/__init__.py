"""Training on several devices: by several processes, each with a copy. Copies within one process are not implemented."""

from .data_parallel import DataParallel, data_parallel
from .distributed import DistributedDataParallel

__all__ = ["DataParallel", "DistributedDataParallel", "data_parallel"]
