"""The back end "nccl": collectives on tensors of NVIDIA GPUs, by NCCL.

A rank that fails leaves the others' streams waiting. As PyTorch's, a thread looks after what was enqueued: where NCCL tells an error,
or work takes longer than the group's timeout, it ends the process, for its tensors hold nothing that could be used.
TORCH_NCCL_ASYNC_ERROR_HANDLING=0 aborts the communicators instead, and the error is raised by the next call or `wait`.
"""

from __future__ import annotations

import collections
import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2._backends.cuda import nccl
from mindtorch_v2.distributed._errors import DistBackendError
from mindtorch_v2.distributed._on_devices import DeviceCollectives, Queued
from mindtorch_v2.distributed._reduce_op import RedOpType

__all__ = ["ProcessGroupNCCL"]

_EVERY = 0.1  # seconds between two looks


class ProcessGroupNCCL(DeviceCollectives):
    """A group of processes, each with tensors on an NVIDIA GPU."""

    name, title, device = "nccl", "ProcessGroupNCCL", "cuda"
    types = nccl.TYPES
    ops = {
        RedOpType.SUM: nccl.SUM,
        RedOpType.AVG: nccl.AVG,
        RedOpType.PRODUCT: nccl.PROD,
        RedOpType.MAX: nccl.MAX,
        RedOpType.MIN: nccl.MIN,
    }
    averages = True
    wider = {torch.bool: torch.int32}

    class Options:
        """Options of a group as programs fill them in; they are kept and have no effect."""

        def __init__(self, is_high_priority_stream: bool = False) -> None:
            self.is_high_priority_stream = is_high_priority_stream
            self.global_ranks_in_group: list = []
            self.group_name = ""

    _loaded: nccl.Library | None = None
    _watch: _Watch | None = None

    def __init__(self, store: Any, rank: int, size: int, timeout: Any) -> None:
        if not torch.cuda.is_available():
            raise ValueError("ProcessGroupNCCL is only supported with GPUs, no GPUs found!")
        super().__init__(store, rank, size, timeout)

    def _library(self) -> nccl.Library:
        if self._loaded is None:
            self._loaded = nccl.Library(DistBackendError)
        return self._loaded

    def root(self) -> bytes:
        return self._library().root_info()

    def connect(self, root: bytes, device: int) -> nccl.Communicator:
        made = nccl.Communicator(self._library(), self.size, root, self.rank, device)
        if self._watch is None:
            self._watch = _Watch(self)
        return made

    def _on(self, tensor: Any) -> nccl.Communicator:
        self.raise_trouble()
        return super()._on(tensor)

    def _started(self, *tensors: Any, source: int | None = None) -> Queued:
        work = super()._started(*tensors, source=source)
        work.raise_trouble = self.raise_trouble
        if self._watch is not None and not torch.cuda.is_current_stream_capturing():
            self._watch.look_after(work.completion())
        return work

    def raise_trouble(self) -> None:
        """DistBackendError if work of the group met an error."""
        if self._watch is not None and self._watch.error:
            raise DistBackendError(self._watch.error)

    def abort(self) -> None:
        for communicator in self._communicators.values():
            communicator.abort()  # type: ignore[attr-defined]  # (made by connect)
        self.close()

    def close(self) -> None:
        if self._watch is not None:
            self._watch.end()
        super().close()


class _Watch:
    """A thread that looks whether the work of a group comes to its end."""

    def __init__(self, group: ProcessGroupNCCL) -> None:
        self.error = ""
        self._group = group
        self._held: collections.deque[tuple[float, Callable[[], bool]]] = collections.deque()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look, name="NCCL watchdog", daemon=True)
        self._thread.start()

    def look_after(self, is_completed: Callable[[], bool]) -> None:
        """Take work that has just been enqueued."""
        self._held.append((time.monotonic(), is_completed))

    def end(self) -> None:
        """Look no more."""
        self._ended.set()
        if self._thread is not threading.current_thread():
            self._thread.join()

    def _look(self) -> None:
        while not self._ended.wait(_EVERY):
            try:
                for communicator in self._communicators():
                    communicator.runtime.activate(communicator.device)  # of this thread: events are asked in a context
                while self._held and self._held[0][1]():
                    self._held.popleft()
                trouble = self._trouble()
            except RuntimeError as error:
                trouble = str(error)
            if trouble:
                self._break(trouble)
                return

    def _trouble(self) -> str:
        for communicator in self._communicators():
            told = communicator.trouble()
            if told:
                return f"NCCL communicator encountered an error: {told}"
        if self._held:
            seconds, allowed = time.monotonic() - self._held[0][0], self._group.timeout.total_seconds()
            if seconds > allowed:
                return f"a collective ran for {seconds:.1f} s before timing out (the group's timeout is {allowed:g} s)"
        return ""

    def _communicators(self) -> Sequence[nccl.Communicator]:
        return list(self._group._communicators.values())  # type: ignore[arg-type]  # (made by connect)

    def _break(self, trouble: str) -> None:
        error = f"[rank {self._group.rank}] {trouble}"
        if os.environ.get("TORCH_NCCL_ASYNC_ERROR_HANDLING", "3") != "0":
            print(f"{error}. This process is ended: what it computed cannot be used.", file=sys.stderr, flush=True)
            os.abort()
        self.error = error
        for communicator in self._communicators():
            communicator.abort()
