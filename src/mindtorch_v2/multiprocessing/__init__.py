"""`torch.multiprocessing`: Python's own module, with `spawn` for groups of processes.

Tensors sent between processes are copied (pickled); PyTorch would share their memory.
"""

import multiprocessing as _multiprocessing
from multiprocessing import *  # noqa: F403  (PyTorch's module is a superset of Python's)

from mindtorch_v2.multiprocessing.spawn import (
    ENV_VAR_PARALLEL_START,
    ProcessContext,
    ProcessExitedException,
    ProcessRaisedException,
    SpawnContext,
    spawn,
    start_processes,
)

__all__ = [
    *_multiprocessing.__all__,
    "ENV_VAR_PARALLEL_START",
    "ProcessContext",
    "ProcessExitedException",
    "ProcessRaisedException",
    "SpawnContext",
    "get_all_sharing_strategies",
    "get_sharing_strategy",
    "set_sharing_strategy",
    "spawn",
    "start_processes",
]


def get_all_sharing_strategies():
    """How tensors travel between processes: by pickling."""
    return {"pickle"}


def get_sharing_strategy():
    """How tensors travel between processes: by pickling."""
    return "pickle"


def set_sharing_strategy(new_strategy):
    """Choose how tensors travel; raises NotImplementedError for PyTorch's shared-memory strategies."""
    if new_strategy not in get_all_sharing_strategies():
        raise NotImplementedError(
            f"torch.multiprocessing: the sharing strategy {new_strategy!r} is not implemented in "
            "mindtorch_v2; tensors are copied between processes"
        )
