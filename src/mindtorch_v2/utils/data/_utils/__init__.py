"""What the data loader and its workers are made of."""

import atexit

# How long either side waits on a queue before it looks whether the other is still alive, in seconds.
MP_STATUS_CHECK_INTERVAL = 5.0

# True once the interpreter is shutting down: worker processes may then be gone for good reason.
python_exit_status = False


def _set_python_exit_flag():
    global python_exit_status
    python_exit_status = True


atexit.register(_set_python_exit_flag)

from . import collate, fetch, pin_memory, transport, worker

__all__ = ["MP_STATUS_CHECK_INTERVAL", "collate", "fetch", "pin_memory", "python_exit_status", "transport", "worker"]
