"""Errors of several ranks."""

from __future__ import annotations

import traceback
from typing import Any

__all__ = ["CheckpointException"]


class CheckpointException(BaseException):
    """A checkpoint failed on some ranks: `failures` has their errors, by rank, each with its traceback as text.

    >>> from mindtorch_v2.distributed.checkpoint.api import CheckpointException
    >>> error = CheckpointException("save", {2: (OSError("disk is full"), "")})
    >>> sorted(error.failures)
    [2]
    """

    def __init__(self, msg: str, failures: dict[int, Any]) -> None:
        super().__init__(msg, failures)
        self._failures = failures

    @property
    def failures(self) -> dict[int, Any]:
        """{rank: (error, traceback)}."""
        return self._failures

    def __str__(self) -> str:
        lines = [f"CheckpointException ranks:{self._failures.keys()}"]
        for rank, (error, trace) in self._failures.items():
            lines += [f"Traceback (most recent call last): (RANK {rank})", trace, f"{type(error).__name__}: {error}"]
        return "\n".join(lines)


def wrapped(error: BaseException) -> tuple[BaseException, str]:
    """An error and its traceback, as ranks tell each other."""
    return error, "".join(traceback.format_tb(error.__traceback__))
