"""Groups of processes that run one function and fail together."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from multiprocessing.connection import wait
from typing import Any, NoReturn

__all__ = [
    "ENV_VAR_PARALLEL_START",
    "ProcessContext",
    "ProcessException",
    "ProcessExitedException",
    "ProcessRaisedException",
    "SpawnContext",
    "spawn",
    "start_processes",
]

ENV_VAR_PARALLEL_START = "TORCH_MP_PARALLEL_START"


class ProcessException(Exception):
    """One of the processes failed."""

    def __init__(self, msg: str, error_index: int, pid: int) -> None:
        super().__init__(msg)
        self.msg = msg
        self.error_index = error_index
        self.pid = pid

    def __reduce__(self) -> tuple:
        return type(self), (self.msg, self.error_index, self.pid)


class ProcessRaisedException(ProcessException):
    """One of the processes raised: the text holds its traceback."""


class ProcessExitedException(ProcessException):
    """One of the processes ended with a nonzero exit code or a signal."""

    def __init__(
        self, msg: str, error_index: int, error_pid: int, exit_code: int, signal_name: str | None = None
    ) -> None:
        super().__init__(msg, error_index, error_pid)
        self.exit_code = exit_code
        self.signal_name = signal_name

    def __reduce__(self) -> tuple:
        return type(self), (self.msg, self.error_index, self.pid, self.exit_code, self.signal_name)


def _run(fn, index, args, error_file) -> None:
    try:
        fn(index, *args)
    except KeyboardInterrupt:
        pass  # the parent got it as well and says so
    except Exception:  # noqa: BLE001  (whatever the user's function raises goes to the parent)
        with open(error_file, "w") as file:
            file.write(traceback.format_exc())
        for stream in (sys.stdout, sys.stderr):  # what was printed is not lost with the process
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
        os._exit(1)


class ProcessContext:
    """The running processes."""

    def __init__(self, processes: Sequence[Any], error_files: Sequence[str]) -> None:
        self.processes = processes
        self.error_files = error_files
        self.sentinels = {process.sentinel: index for index, process in enumerate(processes)}

    def pids(self) -> list:
        """The processes' ids."""
        return [process.pid for process in self.processes]

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Wait until a process ends: True if all have, False if some still run.

        If one failed, the others are terminated (killed after `grace_period` seconds), and ProcessRaisedException or
        ProcessExitedException is raised.
        """
        if not self.sentinels:
            return True
        failed = None
        for sentinel in wait(self.sentinels.keys(), timeout=timeout):
            index = self.sentinels.pop(sentinel)
            self.processes[index].join()
            if self.processes[index].exitcode != 0:
                failed = index
                break
        if failed is None:
            if not self.sentinels:
                self._remove_files()
            return not self.sentinels
        self._terminate(grace_period)
        self._raise(failed)

    def _terminate(self, grace_period) -> None:
        for process in self.processes:
            if process.is_alive():
                process.terminate()
        end = time.monotonic() + (30 if grace_period is None else grace_period)
        for process in self.processes:
            process.join(max(0, end - time.monotonic()))
            if process.is_alive():
                process.kill()
                process.join()

    def _raise(self, index) -> NoReturn:
        process = self.processes[index]
        with open(self.error_files[index]) as file:
            text = file.read()
        self._remove_files()
        if text:
            message = f"\n\n-- Process {index} terminated with the following error:\n{text}"
            raise ProcessRaisedException(message, index, process.pid)
        if process.exitcode < 0:
            name = signal.Signals(-process.exitcode).name
            message = f"process {index} terminated with signal {name}"
            raise ProcessExitedException(message, index, process.pid, process.exitcode, name)
        message = f"process {index} terminated with exit code {process.exitcode}"
        raise ProcessExitedException(message, index, process.pid, process.exitcode)

    def _remove_files(self) -> None:
        for name in self.error_files:
            if os.path.exists(name):
                os.unlink(name)


class SpawnContext(ProcessContext):
    """The running processes of `spawn`."""


def start_processes(
    fn: Callable[..., Any],
    args: Sequence[int] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Run `fn(i, *args)` in `nprocs` processes, i from 0; waits for them, or with `join=False` returns their context."""
    methods: Any = multiprocessing.get_context(start_method)
    processes, error_files = [], []
    for index in range(nprocs):
        handle, name = tempfile.mkstemp(prefix="mindtorch-multiprocessing-", suffix=".txt")
        os.close(handle)
        process = methods.Process(target=_run, args=(fn, index, args, name), daemon=daemon)
        process.start()
        processes.append(process)
        error_files.append(name)
    context = (SpawnContext if start_method == "spawn" else ProcessContext)(processes, error_files)
    if not join:
        return context
    while not context.join():
        pass
    return None


def spawn(
    fn: Callable[..., Any],
    args: Sequence[int] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """`start_processes` with processes started afresh."""
    return start_processes(fn, args, nprocs, join, daemon, start_method="spawn")
