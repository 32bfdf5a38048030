"""What a peer sends to the server of a TCPStore, with the job's word and without it."""

from __future__ import annotations

import selectors
from collections.abc import Iterator
from typing import Any

from mindtorch_v2.distributed import _store_messages as messages
from mindtorch_v2.distributed._errors import DistNetworkError
from mindtorch_v2.distributed._store_server import Server, _Peer
from mindtorch_v2.distributed._tables import Table

MODULES = (
    "mindtorch_v2.distributed._store_server",
    "mindtorch_v2.distributed._store_messages",
    "mindtorch_v2.distributed._tables",
)


class Wire:
    """A connection on which everything has come that will."""

    def __init__(self, data: bytes) -> None:
        self.data, self.sent = data, bytearray()

    def recv(self, size: int) -> bytes:
        """As much as is left; then nothing, as when the other end hangs up."""
        piece, self.data = self.data[:size], self.data[size:]
        return piece

    def send(self, data: bytes) -> int:
        """Take all."""
        self.sent += data
        return len(data)

    def close(self) -> None:
        """Nothing to close."""


class Selector:
    """Waits for nothing."""

    def register(self, *arguments: Any) -> None:
        """Nothing to do."""

    unregister = modify = register


def server(token: bytes = b"") -> Any:
    """A server without a socket and a thread."""
    made: Any = Server.__new__(Server)
    made.table, made.token, made._peers, made._closed, made._selector = Table(), token, {}, False, Selector()
    return made


def one(data: bytes) -> None:
    """A peer of the job (even first byte) or a stranger sends the rest; another peer waits for a key meanwhile."""
    made = server()
    waiting: Any = _Peer(Wire(b""))  # type: ignore[arg-type]  # (no socket, but it does as one)
    waiting.trusted, waiting.awaited = True, ["k"]
    peer: Any = _Peer(Wire(data[1:]))  # type: ignore[arg-type]  # (no socket, but it does as one)
    peer.trusted = not data or data[0] % 2 == 0
    made._peers = {waiting.connection: waiting, peer.connection: peer}
    for _ in range(64):
        if peer.connection not in made._peers:
            break
        made._serve(peer, selectors.EVENT_READ)
        made._patience()
        made._look_at_clock()
    if waiting.connection not in made._peers:
        raise AssertionError("a peer was dropped for what another sent")
    try:
        fields = messages.unpack(data)
    except DistNetworkError:
        return
    if messages.unpack(messages.pack(fields)[messages.LENGTH.size :]) != fields:
        raise AssertionError(f"{fields} are packed as something else")


def seeds() -> Iterator[bytes]:
    """Each operation once, and a greeting."""
    for fields in (
        [b"set", b"k", b"v"],
        [b"get", b"k"],
        [b"add", b"n", b"3"],
        [b"wait", b"1.5", b"k", b"l"],
        [b"check", b"k"],
        [b"compare_set", b"k", b"", b"x"],
        [b"delete", b"k"],
        [b"append", b"k", b"z"],
        [b"count"],
        [b"push", b"q", b"1"],
        [b"pop", b"q"],
        [b"length", b"q"],
    ):
        yield b"\0" + messages.pack(fields)
    yield b"\1" + bytes(messages.PROOF_SIZE)
