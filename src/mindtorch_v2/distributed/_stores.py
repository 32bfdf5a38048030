"""Stores: keys and values that the processes of a job share, by which they find each other."""

from __future__ import annotations

import contextlib
import datetime
import errno
import fcntl
import operator
import os
import threading
import time
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mindtorch_v2.distributed._errors import DistStoreError, QueueEmptyError
from mindtorch_v2.distributed._tables import Table

__all__ = ["FileStore", "HashStore", "PrefixStore", "Store"]

DEFAULT_TIMEOUT = datetime.timedelta(seconds=300)


def seconds_of(timeout: Any) -> float:
    """A `datetime.timedelta` in seconds; TypeError for anything else."""
    if not isinstance(timeout, datetime.timedelta):
        raise TypeError(f"Expected timeout argument to be of type datetime.timedelta, got {timeout}")
    return timeout.total_seconds()


def as_bytes(value: Any) -> bytes:
    """The value that a program gave: bytes, or text in UTF-8. TypeError for anything else."""
    if isinstance(value, str):
        return value.encode()
    if not isinstance(value, (bytes, bytearray, memoryview)):
        raise TypeError(f"a value of a store must be str or bytes, not {type(value).__name__}: {value!r}")
    return bytes(value)


def _name(key: Any) -> str:
    """A key that a program gave; TypeError unless it is text."""
    if not isinstance(key, str):
        raise TypeError(f"a key of a store must be str, not {type(key).__name__}: {key!r}")
    return key


class Store:
    """The base of all stores. Keys are text; values are bytes, text is taken as UTF-8.

    `get` and `wait` wait for keys that another process sets, up to the `timeout`, and raise `DistStoreError` then.

    >>> store = torch.distributed.HashStore()
    >>> isinstance(store, torch.distributed.Store), store.add("count", 2), store.num_keys()
    (True, 2, 1)
    """

    def __init__(self) -> None:
        self._timeout = DEFAULT_TIMEOUT

    @property
    def timeout(self) -> datetime.timedelta:
        """How long `get` and `wait` wait: a `datetime.timedelta`."""
        return self._timeout

    def set_timeout(self, timeout: Any) -> None:
        """Choose how long `get` and `wait` wait."""
        seconds_of(timeout)
        self._timeout = timeout

    def set(self, key: str, value: Any) -> None:
        """Put `value` under `key`, in place of what was there."""
        self._call("set", _name(key), as_bytes(value))

    def get(self, key: str) -> bytes:
        """The value of `key`, as bytes; waited for."""
        return self.multi_get([key])[0]

    def add(self, key: str, amount: int) -> int:
        """Add `amount` to the number kept under `key` (0 if there is none); returns the sum."""
        return int(self._call("add", _name(key), b"%d" % operator.index(amount)))

    def append(self, key: str, value: Any) -> None:
        """Put `value` behind what `key` has."""
        self._call("append", _name(key), as_bytes(value))

    def compare_set(self, key: str, expected_value: Any, desired_value: Any) -> bytes:
        """Put `desired_value` where `expected_value` is (or where nothing is, if that is empty); returns what is there then."""
        return self._call("compare_set", _name(key), as_bytes(expected_value), as_bytes(desired_value))

    def check(self, keys: Any) -> bool:
        """Whether all `keys` are there, without waiting."""
        return bool(self._call("check", *keys))

    def delete_key(self, key: str) -> bool:
        """Remove a key; returns whether it was there."""
        return bool(self._call("delete", key))

    def num_keys(self) -> int:
        """How many keys there are."""
        return int(self._call("count"))

    def wait(self, keys: Any, timeout: Any = None) -> None:
        """Wait until all `keys` are there."""
        self._wait(list(keys), self.timeout if timeout is None else timeout)

    def multi_get(self, keys: Any) -> list:
        """The values of `keys`; waited for."""
        keys = list(keys)
        self._wait(keys, self.timeout)
        return [self._call("get", key) for key in keys]

    def multi_set(self, keys: Any, values: Sequence[str]) -> None:
        """Put each of `values` under the key at its place."""
        if len(keys) != len(values):
            raise ValueError(f"multi_set: {len(keys)} keys, but {len(values)} values")
        for key, value in zip(keys, values, strict=True):
            self.set(key, value)

    def queue_push(self, key: str, value: Any) -> None:
        """Put `value` at the end of the queue `key`."""
        self._call("push", key, as_bytes(value))

    def queue_pop(self, key: str, block: bool = True) -> bytes:
        """The first value of the queue `key`, waited for if `block`; else `QueueEmptyError` if it is empty."""
        deadline = time.monotonic() + self.timeout.total_seconds()
        while (value := self._call("pop", key)) is None:
            if not block:
                raise QueueEmptyError("queue is empty")
            if time.monotonic() > deadline:
                raise self._timed_out([key], self.timeout)
            time.sleep(0.01)
        return value

    def queue_len(self, key: str) -> int:
        """How many values the queue `key` holds."""
        return int(self._call("length", key))

    def has_extended_api(self) -> bool:
        """Whether `append`, `multi_get` and `multi_set` are there: yes."""
        return True

    def _timed_out(self, keys, timeout):
        return DistStoreError("Wait timeout")

    def _call(self, operation, *arguments):
        raise NotImplementedError(f"{type(self).__name__} has no {operation}")

    def _wait(self, keys, timeout) -> None:
        deadline = time.monotonic() + seconds_of(timeout)
        while not self.check(keys):
            if time.monotonic() > deadline:
                raise self._timed_out(keys, timeout)
            time.sleep(0.01)


class HashStore(Store):
    """A store of the threads of one process.

    ```python
    import mindtorch_v2 as torch

    store = torch.distributed.HashStore()
    store.set("first", "1")
    print(store.get("first"), store.add("count", 3))  # b'1' 3
    ```

    >>> store = torch.distributed.HashStore()
    >>> store.set("first", "1")
    >>> store.get("first"), store.add("count", 3)
    (b'1', 3)
    """

    def __init__(self) -> None:
        super().__init__()
        self._table = Table()

    def _call(self, operation, *arguments):
        return getattr(self._table, operation)(*arguments)

    def _wait(self, keys, timeout) -> None:
        if not self._table.wait(keys, seconds_of(timeout)):
            raise self._timed_out(keys, timeout)


class FileStore(Store):
    """A store in a file that all processes see: a list of changes, to which each adds under a lock.

    Args:
        file_name: the file; it is made if it is not there. A file of an earlier job must be removed first.
        world_size: how many processes share it, or -1. The last of so many to let go removes the file.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = torch.distributed.FileStore(f"{folder}/store", 1)
    ...     store.set("first", "1")
    ...     store.get("first"), store.add("count", 3)
    (b'1', 3)
    """

    def __init__(self, file_name: str | Path, world_size: int = -1) -> None:
        super().__init__()
        self._changes = _Changes(os.fspath(file_name))
        self._call("add", "\0users", b"1")
        self._let_go = weakref.finalize(self, _leave, self._changes, world_size)

    @property
    def path(self) -> str:
        """The file's name."""
        return self._changes.path

    def close(self) -> None:
        """Let go; the last user removes the file."""
        self._let_go()

    def _timed_out(self, keys, timeout):
        milliseconds = round(timeout.total_seconds() * 1000)
        return RuntimeError(f"Timeout waiting for key: {', '.join(keys)} after {milliseconds} ms")

    def _call(self, operation, *arguments):
        return self._changes.make(operation, *arguments)


class _Changes:
    """The file of a FileStore: the calls that changed something, each as the number of its parts and the parts."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._table, self._position = Table(), 0
        self._lock = threading.Lock()

    def make(self, operation: str, *arguments: Any) -> bytes | int | None:
        """Call a method of the table, after those that other processes have called."""
        parts = [part.encode() if isinstance(part, str) else part for part in (operation, *arguments)]
        record = b"".join(len(part).to_bytes(4, "little") + part for part in (bytes([len(parts)]), *parts))
        descriptor = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
        with self._lock, open(descriptor, "r+b", buffering=0) as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            self._catch_up(file)
            result = getattr(self._table, operation)(*arguments)
            if operation in Table.CHANGES:
                self._write(file, record)
            return result

    def _write(self, file, record) -> None:
        try:
            if file.write(record) != len(record):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), self.path)
        except OSError:
            # Nobody is to read a part of a change, nor this process to have made it alone.
            file.truncate(self._position)
            self._table, self._position = Table(), 0
            raise
        self._position += len(record)

    def _catch_up(self, file) -> None:
        file.seek(self._position)
        data = file.read()
        parts, at = [], 0
        while at < len(data):
            size = int.from_bytes(data[at : at + 4], "little")
            parts.append(data[at + 4 : at + 4 + size])
            at += 4 + size
        self._position += len(data)
        while parts:
            count = parts.pop(0)[0]
            (operation, key, *rest), parts = parts[:count], parts[count:]
            getattr(self._table, operation.decode())(key.decode(), *rest)


def _leave(changes, world_size) -> None:
    if os.path.exists(changes.path) and int(changes.make("add", "\0gone", b"1")) >= world_size > 0:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(changes.path)


class PrefixStore(Store):
    """The keys of another store that begin with `prefix` and a slash.

    Args:
        prefix: put before each key.
        store: where the keys are.

    >>> store = torch.distributed.HashStore()
    >>> layer = torch.distributed.PrefixStore("layer", store)
    >>> layer.set("size", "3")
    >>> store.get("layer/size"), layer.get("size")
    (b'3', b'3')
    """

    def __init__(self, prefix: str, store: Any) -> None:
        super().__init__()
        self._prefix, self._store = prefix, store

    @property
    def underlying_store(self) -> Store:
        """The store that was given."""
        return self._store

    @property
    def timeout(self) -> datetime.timedelta:
        return self._store.timeout

    def set_timeout(self, timeout: Any) -> None:
        self._store.set_timeout(timeout)

    def num_keys(self) -> int:
        return self._store.num_keys()

    def _key(self, key) -> str:
        return f"{self._prefix}/{key}"

    def _call(self, operation, *arguments):
        count = len(arguments) if operation == "check" else 1
        keys = [self._key(key) for key in arguments[:count]]
        return self._store._call(operation, *keys, *arguments[count:])

    def _timed_out(self, keys, timeout):
        return self._store._timed_out([self._key(key) for key in keys], timeout)

    def _wait(self, keys, timeout) -> None:
        self._store._wait([self._key(key) for key in keys], timeout)
