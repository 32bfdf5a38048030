"""A pool of processes that leaves no tensor behind when a worker ends."""

from __future__ import annotations

import gc
import multiprocessing
import multiprocessing.pool
from typing import Any

from mindtorch_v2.multiprocessing.queue import SimpleQueue

__all__ = ["Pool", "clean_worker"]


def clean_worker(*args: Any, **kwargs: Any) -> None:
    """Work as a worker of a pool does, and free at its end what only a collection frees: memory that is shared.

    >>> from mindtorch_v2.multiprocessing.pool import clean_worker
    >>> clean_worker.__module__.rpartition(".")[2]
    'pool'
    """
    multiprocessing.pool.worker(*args, **kwargs)  # type: ignore[attr-defined]  # (a function that typeshed does not list)
    gc.collect()


class Pool(multiprocessing.pool.Pool):
    """Python's pool, between whose processes tensors go as handles of shared memory.

    >>> from mindtorch_v2.multiprocessing.pool import Pool
    >>> with Pool(1) as pool:
    ...     pool.apply(abs, (torch.tensor([-1.0]),))
    tensor([1.])
    """

    _ctx: Any
    _inqueue: Any
    _outqueue: Any

    def _setup_queues(self) -> None:
        context = multiprocessing.get_context() if self._ctx is None else self._ctx
        self._inqueue, self._outqueue = SimpleQueue(ctx=context), SimpleQueue(ctx=context)
        self._quick_put = self._inqueue._writer.send
        self._quick_get = self._outqueue._reader.recv
