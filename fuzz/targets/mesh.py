"""What a rank sends to another over a connection of the mesh, while some messages are waited for."""

from __future__ import annotations

import select
import threading
from collections import deque
from collections.abc import Iterator
from typing import Any

from fuzz.targets.store import Selector, Wire
from mindtorch_v2.distributed._mesh import _HEADER, Mesh, _Message, _Peer

MODULES = ("mindtorch_v2.distributed._mesh",)


class _Connection(Wire):
    """A wire of the mesh, which receives into memory."""

    def recv_into(self, room: memoryview) -> int:
        """As much as there is room for."""
        piece = self.recv(len(room))
        room[: len(piece)] = piece
        return len(piece)

    def getpeername(self) -> tuple[str, int]:
        """Somebody."""
        return "127.0.0.1", 1

    def fileno(self) -> int:
        """None that anybody could wait for."""
        return -1


def one(data: bytes) -> None:
    """The bytes come from rank 1, while rank 0 waits for a collective from it and for a message from anyone."""
    mesh: Any = Mesh.__new__(Mesh)
    mesh.rank, mesh.size, mesh._lock, mesh._epoll = 0, 2, threading.RLock(), Selector()
    mesh._waiting, mesh._kept, mesh._hanging_up, mesh._answers, mesh._driver = {}, {}, None, {}, None
    mesh._doing = lambda: "nothing"
    mesh._notify = lambda: None
    peer: Any = _Peer(mesh, 1, _Connection(data))  # type: ignore[arg-type]  # (no socket, but it does as one)
    mesh._peers = {1: peer}
    expected = [_Message(b"sum", memoryview(bytearray(4))), _Message(b"any", memoryview(bytearray(2)))]
    mesh._waiting[(1, 0, 1, 0)] = deque(expected[:1])
    mesh._waiting[(None, 1, 7, 0)] = deque(expected[1:])
    for _ in range(64):
        if peer.error:
            break
        mesh._serve(peer, select.EPOLLIN)
    else:
        raise AssertionError("the end of the connection was not noticed")
    if not all(message.future.done() for message in expected):
        raise AssertionError("somebody waits for a rank that is gone")


def seeds() -> Iterator[bytes]:
    """Messages that are waited for, that are not, and a farewell."""
    yield _HEADER.pack(0, 0, 1, 3, 4) + b"sum" + b"1234"
    yield _HEADER.pack(1, 0, 7, 3, 2) + b"any" + b"12"
    yield _HEADER.pack(1, 0, 9, 3, 2) + b"any" + b"12" + _HEADER.pack(0, 0, 1, 3, 4) + b"sum" + b"1234"
    yield _HEADER.pack(2, 0, 0, 2, 0) + b"by"
    yield _HEADER.pack(0, 0, 1, 3, 5) + b"sum" + b"12345"
