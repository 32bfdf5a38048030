"""`torch.multiprocessing`: Python's own module, with `spawn` for groups of processes.

Tensors sent between processes share their memory: sending one moves its storage to shared memory, and so does
`Tensor.share_memory_()` beforehand. A tensor that is shared when a process is forked stays shared with it.

    >>> torch.ones(2).share_memory_().is_shared()
    True
"""

from __future__ import annotations

import ctypes as _ctypes
import multiprocessing as _multiprocessing
from multiprocessing import *  # PyTorch's module is a superset of Python's

from mindtorch_v2.multiprocessing.reductions import init_reductions
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


_PR_SET_NAME, _PR_GET_NAME = 15, 16  # of Linux's prctl
_NAME = 16  # bytes, with the one that ends it


def _set_thread_name(name: str) -> None:
    """Give the calling thread a name for the system's tools, as `top -H`; what is longer than 15 bytes is cut."""
    _ctypes.CDLL(None).prctl(_PR_SET_NAME, name.encode()[: _NAME - 1])


def _get_thread_name() -> str:
    """The name that the system has for the calling thread."""
    name = _ctypes.create_string_buffer(_NAME)
    _ctypes.CDLL(None).prctl(_PR_GET_NAME, name)
    return name.value.decode()


_strategy = "file_descriptor"


def get_all_sharing_strategies() -> set:
    """The names of PyTorch's ways to share memory.

    >>> sorted(torch.multiprocessing.get_all_sharing_strategies())
    ['file_descriptor', 'file_system']
    """
    return {"file_descriptor", "file_system"}


def get_sharing_strategy() -> str:
    """The name that was set.

    >>> torch.multiprocessing.get_sharing_strategy()
    'file_descriptor'
    """
    return _strategy


def set_sharing_strategy(new_strategy: str) -> None:
    """Accepted for programs that choose one: memory is shared through descriptors under either name.

    What programs want "file_system" for, that batches from a DataLoader's workers use up no descriptors, holds anyway.
    """
    global _strategy
    if new_strategy not in get_all_sharing_strategies():
        raise AssertionError(
            f"invalid sharing strategy {new_strategy!r}, expected one of {get_all_sharing_strategies()}"
        )
    _strategy = new_strategy


init_reductions()
