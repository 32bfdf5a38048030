"""The server of a `TCPStore`: one thread for all who are connected, and limits for those who are not of the job."""

from __future__ import annotations

import errno
import ipaddress
import selectors
import socket
import threading
import time
from typing import Any

from mindtorch_v2.distributed import _store_messages as messages
from mindtorch_v2.distributed._errors import DistNetworkError
from mindtorch_v2.distributed._tables import Table

OPERATIONS = (*sorted(Table.CHANGES), "check", "count", "get", "length", "wait")
NOTHING, VALUE, FALSE, TRUE, NUMBER, ERROR = range(6)  # what an answer is

_GREETING_SECONDS = 10.0  # that one who connects has to say the word
_MESSAGE_SECONDS = 60.0  # that a message may take to come whole, or an answer to be taken
_MOST_STRANGERS = 128  # who have not said the word; the one who waits longest goes first
_PIECE = 1 << 16


class Server:
    """Hold the keys; its thread ends with the process.

    Args:
        host: the address of the rendezvous: the server listens there, and nowhere else, if it is this machine's.
        port: its port; 0 takes a free one.
        listen_fd: a socket that listens already, or None.
        token: the job's secret.
    """

    def __init__(self, host: str, port: int, listen_fd: int | None, token: bytes) -> None:
        self.socket = socket.socket(fileno=listen_fd) if listen_fd is not None else _listener(host, port)
        self.socket.setblocking(False)
        self.port = self.socket.getsockname()[1]
        self.table = Table()
        self.token = token
        self._peers: dict[socket.socket, _Peer] = {}
        self._closed = False
        self._selector = selectors.DefaultSelector()
        self._wake, self._woken = socket.socketpair()
        self._selector.register(self.socket, selectors.EVENT_READ)
        self._selector.register(self._woken, selectors.EVENT_READ)
        threading.Thread(target=self._run, name="TCPStore", daemon=True).start()

    def close(self) -> None:
        """Hang up."""
        if self._closed:
            return
        self._closed = True
        # At once, so that the port is free: the thread may be a moment late.
        self.socket.close()
        for connection in list(self._peers):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # not connected any more
        self._wake.close()

    def _run(self) -> None:
        while not self._closed:
            ready = self._selector.select(self._patience())
            for key, events in ready:
                if key.fileobj is self.socket:
                    self._accept()
                elif isinstance(key.data, _Peer):
                    self._serve(key.data, events)
            self._look_at_clock()
        for peer in list(self._peers.values()):
            peer.connection.close()
        self._selector.close()
        self._woken.close()

    def _patience(self) -> float | None:
        deadlines = [peer.deadline for peer in self._peers.values() if peer.deadline is not None]
        return max(0.0, min(deadlines) - time.monotonic()) if deadlines else None

    def _look_at_clock(self) -> None:
        now = time.monotonic()
        for peer in list(self._peers.values()):
            if peer.deadline is None or peer.deadline > now:
                continue
            if peer.awaited is None:
                self._drop(peer)
            else:
                peer.awaited = None
                self._reply(peer, [bytes([FALSE])])

    def _accept(self) -> None:
        try:
            connection, _ = self.socket.accept()
        except OSError as error:
            if error.errno in (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS):
                # Without a file to spare the next call would fail at once, again and again.
                self._drop_a_stranger()
                time.sleep(0.05)
            return
        connection.setblocking(False)
        try:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except OSError:
            connection.close()
            return
        peer = _Peer(connection)
        if sum(not each.trusted for each in self._peers.values()) >= _MOST_STRANGERS:
            self._drop_a_stranger()
        self._peers[connection] = peer
        self._selector.register(connection, selectors.EVENT_READ, peer)
        peer.outgoing += peer.challenge
        self._serve(peer, selectors.EVENT_WRITE)

    def _drop_a_stranger(self) -> None:
        stranger = next((peer for peer in self._peers.values() if not peer.trusted), None)
        if stranger is not None:
            self._drop(stranger)

    def _drop(self, peer: _Peer) -> None:
        if self._peers.pop(peer.connection, None) is not None:
            self._selector.unregister(peer.connection)
            peer.connection.close()

    def _serve(self, peer: _Peer, events: int) -> None:
        try:
            if events & selectors.EVENT_WRITE:
                peer.write()
            if events & selectors.EVENT_READ:
                peer.read()
            while not peer.outgoing and peer.awaited is None and (message := peer.next_message()) is not None:
                self._take(peer, message)
            self._watch(peer)
        except (DistNetworkError, OSError, UnicodeDecodeError, ValueError, MemoryError):
            self._drop(peer)  # gone, or none of ours

    def _watch(self, peer: _Peer) -> None:
        """Wait for what the peer can do next, and for how long."""
        if peer.connection not in self._peers:
            return
        self._selector.modify(peer.connection, selectors.EVENT_WRITE if peer.outgoing else selectors.EVENT_READ, peer)
        if peer.trusted and peer.awaited is None:
            pending = bool(peer.outgoing or peer.incoming)
            if not pending:
                peer.deadline = None
            elif peer.deadline is None:
                peer.deadline = time.monotonic() + _MESSAGE_SECONDS

    def _take(self, peer: _Peer, message: bytes) -> None:
        if not peer.trusted:
            judged = messages.verdict(self.token, peer.challenge, message)
            if judged is None:
                peer.connection.send(messages.REFUSED)
                raise DistNetworkError("not of this job")
            peer.trusted = True
            peer.deadline = None
            peer.send(judged)
            return
        operation, *arguments = messages.unpack(message)
        if operation == b"wait" and arguments:
            keys = [key.decode() for key in arguments[1:]]
            if not self.table.check(*keys):
                peer.awaited = keys
                peer.deadline = time.monotonic() + min(float(arguments[0]), threading.TIMEOUT_MAX)
                return
            self._reply(peer, [bytes([TRUE])])
            return
        self._reply(peer, _answer(self.table, operation.decode(), arguments))
        if operation.decode() in Table.CHANGES:
            for other in list(self._peers.values()):
                if other.awaited is not None and self.table.check(*other.awaited):
                    other.awaited = None
                    self._reply(other, [bytes([TRUE])])
                    self._serve(other, 0)

    def _reply(self, peer: _Peer, fields: list[bytes]) -> None:
        peer.deadline = None
        try:
            peer.send(messages.pack(fields))
            self._watch(peer)
        except OSError:
            self._drop(peer)


class _Peer:
    """One connection: what has come of its message, what it has not taken yet, what it waits for."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.challenge = messages.challenge()
        self.trusted = False
        self.incoming = bytearray()
        self.outgoing = bytearray()
        self.awaited: list[str] | None = None
        self.deadline: float | None = time.monotonic() + _GREETING_SECONDS

    def read(self) -> None:
        try:
            piece = self.connection.recv(_PIECE if self.trusted else messages.PROOF_SIZE)
        except BlockingIOError:
            return
        if not piece:
            raise ConnectionError
        self.incoming += piece
        if self.awaited is not None:
            raise DistNetworkError("a client that asks before it has its answer is none")

    def write(self) -> None:
        try:
            del self.outgoing[: self.connection.send(self.outgoing)]
        except BlockingIOError:
            pass

    def send(self, data: bytes) -> None:
        self.outgoing += data
        self.write()

    def next_message(self) -> bytes | None:
        """The message that has come whole, taken out, without its length."""
        if not self.trusted:
            return self._cut(0, messages.PROOF_SIZE)
        if len(self.incoming) < messages.LENGTH.size:
            return None
        (size,) = messages.LENGTH.unpack_from(self.incoming)
        if size > messages.LARGEST_MESSAGE:
            raise DistNetworkError("what came is no message of a TCPStore")
        return self._cut(messages.LENGTH.size, size)

    def _cut(self, start: int, size: int) -> bytes | None:
        if len(self.incoming) < start + size:
            return None
        message = bytes(self.incoming[start : start + size])
        del self.incoming[: start + size]
        return message


def _answer(table: Table, name: str, arguments: list[bytes]) -> list[bytes]:
    if name not in OPERATIONS:
        return [bytes([ERROR]), f"no operation {name!r}".encode()]
    try:
        if name == "check":
            result: Any = table.check(*(key.decode() for key in arguments))
        else:
            result = getattr(table, name)(*(key.decode() for key in arguments[:1]), *arguments[1:])
    except (TypeError, ValueError) as error:  # add to what is no number; arguments that no client sends
        return [bytes([ERROR]), str(error).encode()]
    if isinstance(result, bool):
        return [bytes([TRUE if result else FALSE])]
    if isinstance(result, int):
        return [bytes([NUMBER]), str(result).encode()]
    return [bytes([NOTHING])] if result is None else [bytes([VALUE]), result]


def _listener(host: str, port: int) -> socket.socket:
    """A socket that listens where the rendezvous is.

    A name that leads to this machine's loopback on this machine may lead others to it by another address (Debian's
    own /etc/hosts has such a line), and an address that is not this machine's may be forwarded to it: then all listen.
    """
    for family, address in _addresses(host):
        try:
            return socket.create_server((address, port), family=family, backlog=1024)
        except OSError as error:
            if error.errno not in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT):
                raise
    family = socket.AF_INET6 if socket.has_dualstack_ipv6() else socket.AF_INET
    return socket.create_server(("", port), family=family, backlog=1024, dualstack_ipv6=family == socket.AF_INET6)


def _addresses(host: str) -> list[tuple[int, str]]:
    """Where to listen for those who come to `host`: a list of (family, address), empty for everywhere."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return []
    known: list[tuple[int, str]] = [(family, str(place[0])) for family, _, _, _, place in found]
    # IPv4 first: where a name leads to both, clients that try one only try that.
    known.sort(key=lambda each: each[0] != socket.AF_INET)
    if host != "localhost" and not _is_number(host):
        known = [each for each in known if not ipaddress.ip_address(each[1].partition("%")[0]).is_loopback]
    return known


def _is_number(host: str) -> bool:
    try:
        ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return True
