"""Connections between the processes of a group, over TCP: messages with a key, which are received into waiting buffers.

One thread of each process moves all bytes. A message that nobody waits for yet is kept. A rank that goes away fails what
waits for it; ranks that do not do the same fail all that waits.
"""

from __future__ import annotations

import contextlib
import hmac
import mmap
import secrets
import selectors
import socket
import struct
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from mindtorch_v2.distributed._errors import DistNetworkError
from mindtorch_v2.distributed._tcp_store import TCPStore

# A message begins with: its key (what it belongs to, which of its rounds, a number), bytes of the label, bytes of the contents.
_HEADER = struct.Struct("<BBQHQ")
_PIECE = 1 << 20
_TURNS = 8  # pieces that one connection moves before the others have their turn
_PATIENCE = 5  # seconds that one who connects has to say who it is
_MOST_STRANGERS = 128  # who have not said it yet

COLLECTIVE, DIRECT = 0, 1
"""What a message belongs to: the collective of a number, or point-to-point traffic under a tag."""
_FAREWELL = 2  # the label says why the sender breaks its connections


class MismatchError(RuntimeError):
    """The ranks did not do the same."""


class FarewellError(RuntimeError):
    """Another rank broke its connections, and said why."""


class _Message:
    """One that is waited for, or that came before anybody waited."""

    def __init__(self, label: bytes, buffer: memoryview) -> None:
        self.label, self.buffer = label, buffer
        self.future: Future[Any] = Future()
        self.taker = None  # for one that came before: the message that gets its contents once they are complete


class Mesh:
    """A connection to each other rank of a group.

    Args:
        store: where the ranks tell each other their addresses.
        rank: this process' rank.
        size: how many there are.
        seconds: how long to wait for the others.
    """

    def __init__(self, store: Any, rank: int, size: int, seconds: float) -> None:
        self.rank, self.size, self._seconds = rank, size, seconds
        # Held while bytes are moved too: what has failed is never written to again, as its memory may be another's by then.
        self._lock = threading.RLock()
        self._waiting: dict[Any, Any] = {}  # (rank or None for anyone, kind, number, round) -> messages waited for
        self._kept: dict[Any, Any] = {}  # (rank, kind, number, round) -> messages nobody waits for yet
        self._peers: dict[Any, Any] = {}
        self._hanging_up: Any = None  # until when what is queued is sent, once `close` was called
        self._selector = selectors.DefaultSelector()
        self._wake, self._woken = socket.socketpair()
        for end in (self._wake, self._woken):
            end.setblocking(False)
        self._selector.register(self._woken, selectors.EVENT_READ, None)
        try:
            if size > 1:
                self._connect(store)
        except BaseException:
            self._release()
            raise
        self._thread = threading.Thread(target=self._move, name="torch.distributed", daemon=True)
        self._thread.start()

    # ---- finding each other ----

    def _connect(self, store) -> None:
        deadline = time.monotonic() + self._seconds
        address = _own_address(store)
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        # The word keeps strangers out: it stands in the store only.
        word = store.compare_set("word", "", secrets.token_hex(16))
        with socket.create_server((address, 0), family=family, backlog=self.size) as listener:
            store.set(f"address/{self.rank}", f"{address} {listener.getsockname()[1]}")
            for other in range(self.rank):
                host, port = store.get(f"address/{other}").decode().split(" ")
                try:
                    connection = socket.create_connection((host, int(port)), max(0.01, deadline - time.monotonic()))
                    connection.sendall(word + self.rank.to_bytes(4, "little"))
                except OSError as error:
                    raise DistNetworkError(
                        f"rank {self.rank} cannot reach rank {other} at [{host}]:{port}: {error}"
                    ) from None
                self._add(other, connection)
            self._accept(listener, word, deadline)

    def _accept(self, listener, word, deadline) -> None:
        """Let the higher ranks in. Who says nothing holds up nobody, and goes after a while."""
        listener.setblocking(False)
        silent: dict[socket.socket, tuple[float, bytearray]] = {}  # until when each has to say what is left to be said
        with selectors.DefaultSelector() as selector, contextlib.ExitStack() as ends:
            ends.callback(_close_all, silent)
            selector.register(listener, selectors.EVENT_READ)
            while len(self._peers) < self.size - 1:
                now = time.monotonic()
                if now > deadline:
                    missing = [rank for rank in range(self.size) if rank != self.rank and rank not in self._peers]
                    raise DistNetworkError(f"rank {self.rank} of {self.size} waited in vain for ranks {missing}")
                for connection in [each for each, (until, _) in silent.items() if until < now]:
                    _turn_away(connection, selector, silent)
                ready = selector.select(max(0.01, min([deadline, *(until for until, _ in silent.values())]) - now))
                for key, _ in ready:
                    if key.fileobj is listener:
                        self._begin_talk(listener, selector, silent)
                    else:
                        self._hear(key.fileobj, word, selector, silent)

    def _begin_talk(self, listener, selector, silent) -> None:
        try:
            connection, _ = listener.accept()
        except OSError:
            return  # gone again, or no file is left for it
        if len(silent) >= max(_MOST_STRANGERS, self.size):
            _turn_away(next(iter(silent)), selector, silent)
        connection.setblocking(False)
        silent[connection] = time.monotonic() + _PATIENCE, bytearray()
        selector.register(connection, selectors.EVENT_READ)

    def _hear(self, connection, word, selector, silent) -> None:
        said = silent[connection][1]
        length = len(word) + 4
        try:
            piece = connection.recv(length - len(said))
        except BlockingIOError:
            return
        except OSError:
            piece = b""
        said += piece
        if piece and len(said) < length:
            return
        rank = int.from_bytes(said[len(word) :], "little")
        if hmac.compare_digest(bytes(said[: len(word)]), word) and self.rank < rank < self.size:
            if rank not in self._peers:
                selector.unregister(connection)
                del silent[connection]
                self._add(rank, connection)
                return
        _turn_away(connection, selector, silent)  # not one of us

    def _add(self, rank, connection) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.setblocking(False)
        self._peers[rank] = _Peer(self, rank, connection)
        self._selector.register(connection, selectors.EVENT_READ, self._peers[rank])

    # ---- what collectives call ----

    def send(self, rank: int, key: tuple[int, int, int], label: bytes, buffer: memoryview) -> Future[Any]:
        """Send a buffer's bytes; a future, done when they are on their way. The buffer must stay as it is until then.

        Args:
            rank: to whom.
            key: (kind, number, round): what the receiver asks for.
            label: what the message is, in words (bytes): the receiver has to expect the same.
            buffer: a memoryview of bytes.
        """
        kind, number, turn = key
        future: Future[Any] = Future()
        peer = self._peers[rank]
        with self._lock:
            if peer.error:
                future.set_exception(peer.error)
                return future
            header = memoryview(_HEADER.pack(kind, turn, number, len(label), len(buffer)) + label)
            peer.outgoing.append((header, None if len(buffer) else future))
            if len(buffer):
                peer.outgoing.append((buffer, future))
        self._notify()
        return future

    def receive(self, rank: int | None, key: tuple[int, int, int], label: bytes, buffer: memoryview) -> Future[Any]:
        """Receive a message into a buffer; a future of the sender's rank.

        Args:
            rank: from whom; None is anyone.
            key: (kind, number, round).
            label: what the message has to be.
            buffer: a writable memoryview, as long as the message.
        """
        message = _Message(label, buffer)
        peers = list(self._peers.values()) if rank is None else [self._peers[rank]]
        if not peers:
            raise DistNetworkError(f"rank {self.rank} is alone in its group: nobody can send to it")
        with self._lock:
            for peer in peers:
                kept = _take(self._kept, (peer.rank, *key))
                if kept is not None:
                    self._hand_over(peer.rank, kept, message)
                    return message.future
            if all(peer.error for peer in peers):
                message.future.set_exception(peers[0].error)
            else:
                self._waiting.setdefault((rank, *key), deque()).append(message)
        return message.future

    def abort(self, error: Any) -> None:
        """Break all connections: what waits, here and at the others, fails."""
        with self._lock:
            for peer in self._peers.values():
                if not peer.error:
                    peer.say_farewell(str(error))
                self._fail(peer, error)
        self._notify()

    def close(self) -> None:
        """Send what is queued, as long as others may take to connect, and hang up."""
        self._hanging_up = time.monotonic() + self._seconds
        self._notify()
        if threading.current_thread() is not self._thread:
            self._thread.join()

    # ---- the moving thread ----

    def _notify(self) -> None:
        # A send that fails for want of memory goes through the next time, and nobody else wakes the thread.
        for _ in range(3):
            try:
                self._wake.send(b"x")
                return
            except BlockingIOError:
                return  # it is awake: its socket is full
            except OSError:
                continue  # that, or it has ended

    def _move(self) -> None:
        while self._has_to_do():
            for peer in self._peers.values():
                if peer.error and not peer.closed:
                    self._selector.unregister(peer.connection)
                    peer.close()
                elif not peer.closed:
                    wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if peer.outgoing else 0)
                    if wanted != peer.events:
                        peer.events = wanted
                        self._selector.modify(peer.connection, wanted, peer)
            patience = None if self._hanging_up is None else max(0, self._hanging_up - time.monotonic())
            for ready, events in self._selector.select(patience):
                if ready.data is None:
                    self._woken.recv(4096)
                else:
                    self._serve(ready.data, events)
        with self._lock:
            for peer in self._peers.values():
                self._fail(peer, RuntimeError("the process group was destroyed"))
        self._release()

    def _has_to_do(self):
        if self._hanging_up is None:
            return True
        return time.monotonic() < self._hanging_up and any(peer.outgoing for peer in self._peers.values())

    def _release(self) -> None:
        for peer in self._peers.values():
            peer.close()
        self._selector.close()
        self._wake.close()
        self._woken.close()

    def _serve(self, peer, events) -> None:
        try:
            if events & selectors.EVENT_WRITE:
                peer.move(peer.write)
            if events & selectors.EVENT_READ:
                peer.move(peer.read)
        except MismatchError as error:
            self.abort(error)
        except FarewellError as error:
            with self._lock:
                self._fail(peer, RuntimeError(str(error)))
        except (ArithmeticError, BufferError, LookupError, MemoryError, TypeError, ValueError) as error:
            # A message that none of ours sends, or one larger than memory: the thread goes on, the group cannot.
            self.abort(RuntimeError(f"what rank {peer.rank} sent cannot be received: {type(error).__name__}: {error}"))
        except OSError as error:
            what = "Connection closed by peer" if isinstance(error, ConnectionError) else str(error)
            with self._lock:
                self._fail(peer, RuntimeError(f"{what} {peer.address} (rank {peer.rank})"))

    # ---- with the lock held ----

    def _fail(self, peer, error) -> None:
        """Fail everything that waits for a rank, and what will."""
        if peer.error:
            return
        peer.error = error
        futures = [future for _, future in peer.outgoing if future is not None]
        peer.outgoing.clear()
        nobody = all(each.error for each in self._peers.values())
        for key in [key for key in self._waiting if key[0] == peer.rank or (nobody and key[0] is None)]:
            futures += [message.future for message in self._waiting.pop(key)]
        if peer.incoming is not None:
            futures.append((peer.incoming.taker or peer.incoming).future)
        for future in futures:
            future.set_exception(error)

    def _begin(self, rank, key, label, size):
        """The message that one that begins to come is received into."""
        message = _take(self._waiting, (rank, *key)) or _take(self._waiting, (None, *key))
        if message is None:
            message = _Message(label, _room(size))
            self._kept.setdefault((rank, *key), deque()).append(message)
        else:
            self._check(rank, message, label, size)
        return message

    def _check(self, rank, message, label, size) -> None:
        if message.label != label:
            calls = sorted([(rank, label.decode(errors="replace")), (self.rank, message.label.decode())])
            did = ", while ".join(f"rank {each} called {call}" for each, call in calls)
            problem = f"{did}: all ranks of a group have to call the same"
        elif len(message.buffer) != size:
            problem = f"{message.label.decode()}: rank {rank} sent {size} bytes, but rank {self.rank} waits for {len(message.buffer)}"
        else:
            return
        error = MismatchError(problem)
        message.future.set_exception(error)
        raise error

    def _hand_over(self, rank, kept, message) -> None:
        """Give what was kept to the one that asks for it."""
        try:
            self._check(rank, message, kept.label, len(kept.buffer))
        except MismatchError as error:
            self.abort(error)
            return
        if kept.future.done():
            message.buffer[:] = kept.buffer
            message.future.set_result(rank)
        else:
            kept.taker = message

    def _end(self, rank, message) -> None:
        """All of a message is there."""
        message.future.set_result(rank)
        if message.taker is not None:
            message.taker.buffer[:] = message.buffer
            message.taker.future.set_result(rank)


class _Peer:
    """One connection, and how far it is in sending and receiving."""

    def __init__(self, mesh: Any, rank: int, connection: socket.socket) -> None:
        self.mesh, self.rank, self.connection = mesh, rank, connection
        host, port = connection.getpeername()[:2]
        self.address = f"[{host}]:{port}"
        self.events = selectors.EVENT_READ
        self.error = None
        self.closed = False
        self.outgoing: deque[Any] = deque()  # (bytes that are left, the future to complete or None)
        self.incoming = None  # the message of which a part has come
        self._steps = self._messages()
        self._room = next(self._steps)

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            self.connection.close()

    def say_farewell(self, text: str) -> None:
        """Tell the other end why, if that can be done at once."""
        if not self.outgoing:
            label = f"rank {self.mesh.rank} gave up: {text}".encode()
            with contextlib.suppress(OSError):
                self.connection.send(_HEADER.pack(_FAREWELL, 0, 0, len(label), 0) + label)

    def move(self, step: Callable[..., Any]) -> None:
        """Write or read some pieces, while there are any and nothing has failed."""
        for _ in range(_TURNS):
            with self.mesh._lock:
                if self.error or not step():
                    return

    def write(self) -> bool:
        """Send what the socket takes of a piece; whether it took anything."""
        if not self.outgoing:
            return False
        view, future = self.outgoing[0]
        try:
            sent = self.connection.send(view[:_PIECE])
        except BlockingIOError:
            return False
        if sent < len(view):
            self.outgoing[0] = view[sent:], future
        else:
            self.outgoing.popleft()
            if future is not None:
                future.set_result(self.rank)
        return True

    def read(self) -> bool:
        """Take a piece of what has come; whether there was any."""
        try:
            count = self.connection.recv_into(self._room[:_PIECE])
        except BlockingIOError:
            return False
        if not count:
            raise ConnectionError
        self._room = self._room[count:]
        while not len(self._room):
            self._room = next(self._steps)
        return True

    def _messages(self):
        """Yields the buffers that are to be filled, one after the other, for ever."""
        mesh = self.mesh
        header = bytearray(_HEADER.size)
        while True:
            yield memoryview(header)
            kind, turn, number, label_size, size = _HEADER.unpack(header)
            label = bytearray(label_size)
            yield memoryview(label)
            if kind == _FAREWELL:
                raise FarewellError(bytes(label).decode(errors="replace"))
            message = self.incoming = mesh._begin(self.rank, (kind, number, turn), bytes(label), size)
            yield message.buffer
            self.incoming = None
            mesh._end(self.rank, message)


def _room(size: int) -> memoryview:
    """Memory for a message that nobody waits for yet. Of a large one, a page is taken when its bytes come."""
    if size < _PIECE:
        return memoryview(bytearray(size))
    try:
        return memoryview(mmap.mmap(-1, size))
    except OSError as error:
        raise MemoryError(f"no memory for {size} bytes: {error}") from None


def _close_all(connections) -> None:
    for connection in connections:
        connection.close()


def _turn_away(connection, selector, silent) -> None:
    selector.unregister(connection)
    del silent[connection]
    connection.close()


def _take(table, key):
    """The first message under a key, taken out; None if there is none."""
    messages = table.get(key)
    if not messages:
        return None
    message = messages.popleft()
    if not messages:
        del table[key]
    return message


def _own_address(store):
    """The address at which the other ranks reach this process: the one from which it reaches the store."""
    while hasattr(store, "underlying_store"):
        store = store.underlying_store
    return store.local_address() if isinstance(store, TCPStore) else "127.0.0.1"
