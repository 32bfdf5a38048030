"""Training on several devices: by several processes, each with a copy, or by one process with a copy on each."""

from __future__ import annotations

from typing_extensions import deprecated

from .data_parallel import DataParallel, data_parallel
from .distributed import DistributedDataParallel
from .parallel_apply import parallel_apply
from .replicate import replicate
from .scatter_gather import gather, scatter

__all__ = [
    "DataParallel",
    "DistributedDataParallel",
    "data_parallel",
    "gather",
    "parallel_apply",
    "replicate",
    "scatter",
]


@deprecated(
    "`torch.nn.parallel.DistributedDataParallelCPU` is deprecated, "
    "please use `torch.nn.parallel.DistributedDataParallel` instead.",
    category=FutureWarning,
)
class DistributedDataParallelCPU(DistributedDataParallel):
    """`DistributedDataParallel` by its old name.

    >>> issubclass(torch.nn.parallel.DistributedDataParallelCPU, torch.nn.parallel.DistributedDataParallel)
    True
    """
