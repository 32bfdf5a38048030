"""The parts of the data loader and its workers."""

from __future__ import annotations


import atexit

# True once the interpreter is shutting down: worker processes may then be gone for good reason.
python_exit_status = False


def _set_python_exit_flag() -> None:
    global python_exit_status
    python_exit_status = True


atexit.register(_set_python_exit_flag)

from . import collate, fetch, pin_memory, signal_handling, transport, worker
from .transport import MP_STATUS_CHECK_INTERVAL

__all__ = [
    "MP_STATUS_CHECK_INTERVAL",
    "collate",
    "fetch",
    "pin_memory",
    "python_exit_status",
    "signal_handling",
    "transport",
    "worker",
]
