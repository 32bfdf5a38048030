"""The contents of a store: keys, values and queues, for the threads of one process."""

from __future__ import annotations

import threading
from collections import defaultdict, deque
from typing import Any


class Table:
    """Keys are text, values bytes. Every method may be called from any thread."""

    CHANGES = frozenset({"set", "add", "append", "compare_set", "delete", "push", "pop"})
    """The methods that change something."""

    def __init__(self) -> None:
        self._values: dict[Any, Any] = {}
        self._queues: defaultdict[Any, Any] = defaultdict(deque)
        self._changed = threading.Condition()

    def _put(self, key, value):
        self._values[key] = value
        self._changed.notify_all()
        return value

    def set(self, key: str, value: Any) -> None:
        with self._changed:
            self._put(key, value)

    def get(self, key: str) -> bytes:
        with self._changed:
            return self._values.get(key, b"")

    def add(self, key: str, amount: bytes) -> bytes:
        with self._changed:
            return self._put(key, b"%d" % (int(self._values.get(key, b"0")) + int(amount)))

    def append(self, key: str, value: Any) -> None:
        with self._changed:
            self._put(key, self._values.get(key, b"") + value)

    def compare_set(self, key: str, expected: bytes, desired: bytes) -> bytes:
        with self._changed:
            present = self._values.get(key)
            if present == expected or (present is None and not expected):
                return self._put(key, desired)
            return expected if present is None else present

    def check(self, *keys: Any) -> bool:
        with self._changed:
            return all(key in self._values for key in keys)

    def delete(self, key: str) -> bool:
        with self._changed:
            return self._values.pop(key, None) is not None

    def count(self) -> int:
        with self._changed:
            return len(self._values)

    def wait(self, keys: Any, seconds: float) -> bool:
        """Wait until all keys are there; False if they are not after so many seconds."""
        with self._changed:
            return self._changed.wait_for(lambda: all(key in self._values for key in keys), seconds)

    def push(self, key: str, value: Any) -> None:
        with self._changed:
            self._queues[key].append(value)

    def pop(self, key: str) -> bytes | None:
        with self._changed:
            return self._queues[key].popleft() if self._queues[key] else None

    def length(self, key: str) -> int:
        with self._changed:
            return len(self._queues[key])
