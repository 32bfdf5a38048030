"""Things that a process has one of, made when it is first asked for."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def once(make: Callable[[], T]) -> tuple[Callable[[], T], Callable[[], bool]]:
    """Two functions: one gives the thing, made at its first call by any thread; one says whether it was made.

    What `make` raises, the first function raises, and the next call tries again.
    """
    made: list[T] = []
    lock = threading.RLock()  # what is made may ask for itself

    def get() -> T:
        if made:
            return made[0]
        with lock:
            if not made:
                made.append(make())
            return made[0]

    def started() -> bool:
        return bool(made)

    return get, started
