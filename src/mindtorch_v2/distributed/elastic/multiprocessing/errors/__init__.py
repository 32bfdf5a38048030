"""How the failure of a launched process is recorded and reported."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import functools
import json
import os
import signal
import time
import traceback

__all__ = ["ChildFailedError", "ProcessFailure", "record"]


class ProcessFailure:
    """A process that failed: its local rank, its id, its exit code (negative: the signal), and its traceback, if `record` wrote it.

    >>> from mindtorch_v2.distributed.elastic.multiprocessing.errors import ProcessFailure
    >>> failure = ProcessFailure(local_rank=1, pid=997, exitcode=-9, error_file="none")
    >>> failure.exitcode, failure.signal_name()
    (-9, 'SIGKILL')
    """

    def __init__(self, local_rank: int, pid: int, exitcode: int, error_file: str) -> None:
        self.local_rank, self.pid, self.exitcode, self.error_file = local_rank, pid, exitcode, error_file
        self.timestamp = int(time.time())
        self.message = self._what_it_said()

    def _what_it_said(self):
        try:
            with open(self.error_file) as file:
                return json.load(file)["message"]["message"]
        except (OSError, ValueError, KeyError, TypeError):
            return ""

    def signal_name(self) -> str:
        """The signal that ended it, its number if it has no name; "<N/A>" if none did."""
        if self.exitcode >= 0:
            return "<N/A>"
        try:
            return signal.Signals(-self.exitcode).name
        except ValueError:
            return str(-self.exitcode)

    def how(self) -> str:
        """How it ended, in words."""
        return f"signal {self.signal_name()}" if self.exitcode < 0 else f"exit code {self.exitcode}"


class ChildFailedError(Exception):
    """Some of the launched processes failed.

    Args:
        name: what was run.
        failures: {rank: ProcessFailure}.

    >>> from mindtorch_v2.distributed.elastic.multiprocessing.errors import ChildFailedError, ProcessFailure
    >>> error = ChildFailedError("train.py", {0: ProcessFailure(0, 997, 1, "none")})
    >>> error.name, error.get_first_failure()[1].exitcode
    ('train.py', 1)
    """

    def __init__(self, name: str, failures: dict[int, Any]) -> None:
        self.name, self.failures = name, failures
        said = [
            f"rank {rank} (local rank {failure.local_rank}, pid {failure.pid}) ended with {failure.how()}"
            + (f": {failure.message}" if failure.message else "")
            for rank, failure in failures.items()
        ]
        super().__init__("\n  ".join([f"{name} FAILED:", *said]))

    def get_first_failure(self) -> Any:
        """A rank that failed, and its `ProcessFailure`."""
        return next(iter(self.failures.items()))


def record(fn: Callable[..., Any], error_handler: Any = None) -> Callable[..., Any]:
    """A main function whose exception is written to where the launcher looks for it (TORCHELASTIC_ERROR_FILE), and raised.

    >>> from mindtorch_v2.distributed.elastic.multiprocessing.errors import record
    >>> @record
    ... def main():
    ...     return "trained"
    >>> main()
    'trained'
    """

    @functools.wraps(fn)
    def main(*args: Any, **kwargs: Any) -> Any:
        try:
            return fn(*args, **kwargs)
        except Exception as error:
            place = os.environ.get("TORCHELASTIC_ERROR_FILE")
            if place:
                said = {
                    "message": f"{type(error).__name__}: {error}",
                    "extraInfo": {"py_callstack": traceback.format_exc()},
                }
                with open(place, "w") as file:
                    json.dump({"message": said}, file)
            raise

    return main
