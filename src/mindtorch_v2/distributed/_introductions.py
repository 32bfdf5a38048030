"""Connections between the processes of a group, as they are made: each rank calls the lower ones, and lets the higher ones in.

The ranks find each other's addresses in the store, and a word by which they know each other. Strangers hold up nobody.
"""

from __future__ import annotations

import contextlib
import hmac
import secrets
import selectors
import socket
import time
from collections.abc import Iterable
from typing import Any

from mindtorch_v2.distributed._errors import DistNetworkError
from mindtorch_v2.distributed._tcp_store import TCPStore

__all__ = ["introduce"]

_PATIENCE = 5  # seconds that one who connects has to say who it is
_MOST_STRANGERS = 128  # who have not said it yet

_Silent = dict[socket.socket, tuple[float, bytearray]]  # until when each has to say what is left to be said


def introduce(store: Any, rank: int, size: int, seconds: float) -> dict[int, socket.socket]:
    """The connections of `rank` to all other ranks of a group of `size`, non-blocking.

    DistNetworkError if another one cannot be reached, or does not come within `seconds`.
    """
    found: dict[int, socket.socket] = {}
    try:
        _meet(store, rank, size, time.monotonic() + seconds, found)
    except BaseException:
        _close_all(found.values())
        raise
    return found


def _meet(store: Any, rank: int, size: int, deadline: float, found: dict[int, socket.socket]) -> None:
    address = _own_address(store)
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    # The word keeps strangers out: it stands in the store only.
    word = store.compare_set("word", "", secrets.token_hex(16))
    with socket.create_server((address, 0), family=family, backlog=size) as listener:
        store.set(f"address/{rank}", f"{address} {listener.getsockname()[1]}")
        for other in range(rank):
            host, port = store.get(f"address/{other}").decode().split(" ")
            try:
                connection = socket.create_connection((host, int(port)), max(0.01, deadline - time.monotonic()))
                found[other] = connection
                connection.sendall(word + rank.to_bytes(4, "little"))
            except OSError as error:
                raise DistNetworkError(f"rank {rank} cannot reach rank {other} at [{host}]:{port}: {error}") from None
            _prepare(connection)
        _Reception(listener, word, rank, size, deadline, found).run()


class _Reception:
    """The place where higher ranks are let in. Who says nothing holds up nobody, and goes after a while."""

    def __init__(
        self,
        listener: socket.socket,
        word: bytes,
        rank: int,
        size: int,
        deadline: float,
        found: dict[int, socket.socket],
    ) -> None:
        self.listener, self.word, self.rank, self.size = listener, word, rank, size
        self.deadline, self.found = deadline, found
        self.silent: _Silent = {}
        listener.setblocking(False)

    def run(self) -> None:
        """Return when all ranks are there."""
        with selectors.DefaultSelector() as self.selector, contextlib.ExitStack() as ends:
            ends.callback(_close_all, self.silent)
            self.selector.register(self.listener, selectors.EVENT_READ)
            while len(self.found) < self.size - 1:
                now = time.monotonic()
                if now > self.deadline:
                    missing = [rank for rank in range(self.size) if rank != self.rank and rank not in self.found]
                    raise DistNetworkError(f"rank {self.rank} of {self.size} waited in vain for ranks {missing}")
                for connection in [each for each, (until, _) in self.silent.items() if until < now]:
                    self._turn_away(connection)
                next_turn = min([self.deadline, *(until for until, _ in self.silent.values())])
                for key, _ in self.selector.select(max(0.01, next_turn - now)):
                    if key.fileobj is self.listener:
                        self._begin_talk()
                    else:
                        self._hear(key.fileobj)

    def _begin_talk(self) -> None:
        try:
            connection, _ = self.listener.accept()
        except OSError:
            return  # gone again, or no file is left for it
        if len(self.silent) >= max(_MOST_STRANGERS, self.size):
            self._turn_away(next(iter(self.silent)))
        connection.setblocking(False)
        self.silent[connection] = time.monotonic() + _PATIENCE, bytearray()
        self.selector.register(connection, selectors.EVENT_READ)

    def _hear(self, connection: Any) -> None:
        said = self.silent[connection][1]
        length = len(self.word) + 4
        try:
            piece = connection.recv(length - len(said))
        except BlockingIOError:
            return
        except OSError:
            piece = b""
        said += piece
        if piece and len(said) < length:
            return
        other = int.from_bytes(said[len(self.word) :], "little")
        known = hmac.compare_digest(bytes(said[: len(self.word)]), self.word)
        if not known or not self.rank < other < self.size or other in self.found:
            self._turn_away(connection)  # not one of us
            return
        self.selector.unregister(connection)
        del self.silent[connection]
        self.found[other] = connection
        _prepare(connection)

    def _turn_away(self, connection: socket.socket) -> None:
        self.selector.unregister(connection)
        del self.silent[connection]
        connection.close()


def _prepare(connection: socket.socket) -> None:
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setblocking(False)


def _close_all(connections: Iterable[socket.socket]) -> None:
    for connection in connections:
        connection.close()


def _own_address(store: Any) -> str:
    """The address at which the other ranks reach this process: the one from which it reaches the store."""
    while hasattr(store, "underlying_store"):
        store = store.underlying_store
    return store.local_address() if isinstance(store, TCPStore) else "127.0.0.1"
