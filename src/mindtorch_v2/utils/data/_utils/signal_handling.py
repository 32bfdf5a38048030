"""Watch over a loader's workers: where one dies, the next thing that the main thread does raises an error that says so."""

from __future__ import annotations

import os
import signal
import threading
from types import FrameType
from typing import Any

_pids: dict[int, tuple[int, ...]] = {}  # of the workers of each loader
_handler_is_set = False


def _set_worker_pids(key: int, child_pids: tuple[int, ...]) -> None:
    """Watch over the workers of a loader."""
    _pids[key] = tuple(child_pids)


def _remove_worker_pids(key: int) -> None:
    """Watch no longer over the workers of a loader, which are about to end."""
    _pids.pop(key, None)


def _error_if_any_worker_fails() -> None:
    """Raise RuntimeError where a worker was killed or ended with an error; it is left for its loader to wait for."""
    for key, pids in list(_pids.items()):
        for pid in pids:
            try:
                found = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                continue
            if found is None or (found.si_code == os.CLD_EXITED and found.si_status == 0):
                continue
            _pids.pop(key, None)
            if found.si_code == os.CLD_EXITED:
                raise RuntimeError(
                    f"DataLoader worker (pid {pid}) exited unexpectedly with exit code {found.si_status}."
                )
            raise RuntimeError(
                f"DataLoader worker (pid {pid}) is killed by signal: {signal.strsignal(found.si_status)}. "
            )


def _set_worker_signal_handlers() -> None:
    """In a worker: what the program does with signals is not the worker's. One that is told to end has not failed."""
    _pids.clear()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, lambda number, frame: os._exit(0))


def _set_SIGCHLD_handler() -> None:
    """Look for workers that died whenever a child process ends; nothing but on the main thread."""
    global _handler_is_set
    if _handler_is_set or threading.current_thread() is not threading.main_thread():
        return
    before: Any = signal.getsignal(signal.SIGCHLD)

    def handle(number: int, frame: FrameType | None) -> None:
        _error_if_any_worker_fails()
        if callable(before):
            before(number, frame)

    signal.signal(signal.SIGCHLD, handle)
    _handler_is_set = True
