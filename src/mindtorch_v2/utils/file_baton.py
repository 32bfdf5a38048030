"""`FileBaton`: one of several processes does a piece of work, the others wait until it has."""

from __future__ import annotations

import os
import time
import warnings

__all__ = ["FileBaton"]


class FileBaton:
    """A lock between processes that is a file: who makes the file holds it, and takes the file away at the end.

    `wait_seconds` is how long a waiting process sleeps between two looks; after `warn_after_seconds` it warns once.

    >>> import os, tempfile
    >>> from mindtorch_v2.utils.file_baton import FileBaton
    >>> baton = FileBaton(os.path.join(tempfile.mkdtemp(), "lock"))
    >>> baton.try_acquire(), baton.try_acquire()
    (True, False)
    >>> baton.release()
    >>> baton.wait()
    """

    def __init__(self, lock_file_path: str, wait_seconds: float = 0.1, warn_after_seconds: float | None = None) -> None:
        self.lock_file_path = lock_file_path
        self.wait_seconds = wait_seconds
        self.fd: int | None = None
        self.warn_after_seconds = warn_after_seconds

    def try_acquire(self) -> bool:
        """Take the lock if it is free; whether it was."""
        try:
            self.fd = os.open(self.lock_file_path, os.O_CREAT | os.O_EXCL)
        except FileExistsError:
            return False
        return True

    def wait(self) -> None:
        """Wait until nobody holds the lock. It is not taken."""
        begin, warned = time.monotonic(), self.warn_after_seconds is None
        while os.path.exists(self.lock_file_path):
            time.sleep(self.wait_seconds)
            if not warned and time.monotonic() - begin > (self.warn_after_seconds or 0.0):
                warnings.warn(
                    f"Waited on lock file '{self.lock_file_path}' for {self.warn_after_seconds} seconds.", stacklevel=2
                )
                warned = True

    def release(self) -> None:
        """Give the lock back."""
        if self.fd is not None:
            os.close(self.fd)
        os.remove(self.lock_file_path)
