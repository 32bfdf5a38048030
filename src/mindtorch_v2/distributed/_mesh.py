"""Connections between the processes of a group, over TCP: messages with a key, which are received into waiting buffers.

One thread of each process moves all bytes, but for those of a collective that a thread waits for: that thread moves them
itself. A message that nobody waits for yet is kept. A rank that goes away fails what waits for it; ranks that do not do the
same fail all that waits. Ranks answer when they are asked what they do, so that one which does not answer can be named.
"""

from __future__ import annotations

import contextlib
import functools
import mmap
import os
import select
import socket
import struct
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from mindtorch_v2.distributed._errors import DistNetworkError
from mindtorch_v2.distributed._introductions import introduce
from mindtorch_v2.distributed._outcome import Outcome

# A message begins with: its key (what it belongs to, which of its rounds, a number), bytes of the label, bytes of the contents.
_HEADER = struct.Struct("<BBQHQ")
_PIECE = 1 << 18
JOINED = 1 << 13  # bytes up to which the contents go out together with their header
_TURNS = 1  # pieces that one connection moves before the others, and its other direction, have their turn
_REST = 0.005  # seconds after a collective in which the moving thread leaves its connections to the next one
_LOOK = 0.05  # seconds after which a thread that moves bytes looks whether another one has ended what it waits for

COLLECTIVE, DIRECT = 0, 1
"""Kinds of messages: of the collective of a number, or point-to-point traffic under a tag."""
_FAREWELL, _QUESTION, _ANSWER = 2, 3, 4  # the label says why the sender breaks its connections; -; what it does


class MismatchError(RuntimeError):
    """The ranks did not do the same."""


class FarewellError(RuntimeError):
    """Another rank broke its connections, and said why."""


class _Message:
    """One that is waited for, or that came before anybody waited."""

    def __init__(self, label: bytes, buffer: memoryview) -> None:
        self.label, self.buffer = label, buffer
        self.future: Outcome = Outcome()
        self.taker = None  # for one that came before: the message that gets its contents once they are complete


class Mesh:
    """A connection to each other rank of a group.

    Args:
        store: where the ranks tell each other their addresses.
        rank: this process' rank.
        size: how many there are.
        seconds: how long to wait for the others.
        doing: gives, in words, what this process does for the group: the answer to others that ask.
    """

    def __init__(
        self, store: Any, rank: int, size: int, seconds: float, doing: Callable[[], str] = lambda: "is there"
    ) -> None:
        self.rank, self.size, self._seconds, self._doing = rank, size, seconds, doing
        # Held while bytes are moved too: what has failed is never written to again, as its memory may be another's by then.
        self._lock = threading.RLock()
        self._waiting: dict[Any, Any] = {}  # (rank or None for anyone, kind, number, round) -> messages waited for
        self._kept: dict[Any, Any] = {}  # (rank, kind, number, round) -> messages nobody waits for yet
        self._hanging_up: Any = None  # until when what is queued is sent, once `close` was called
        self._driver: int | None = None  # the thread that moves the bytes of the peers that are `driven`
        self._rest: float | None = None  # until when the moving thread leaves to others what has come
        self._answers: dict[int, str] = {}  # what others said that they do
        connections = introduce(store, rank, size, seconds) if size > 1 else {}
        flags = os.EFD_NONBLOCK | os.EFD_CLOEXEC
        with contextlib.ExitStack() as failed:
            for connection in connections.values():
                failed.callback(connection.close)
            self._epoll = select.epoll()
            failed.callback(self._epoll.close)
            self._woken = os.eventfd(0, flags)  # wakes the moving thread
            failed.callback(os.close, self._woken)
            self._poked = os.eventfd(0, flags)  # wakes a thread that moves bytes for itself
            failed.pop_all()
        self._epoll.register(self._woken, select.EPOLLIN)
        self._peers: dict[int, _Peer] = {}
        self._by_file: dict[int, _Peer] = {}
        for other in sorted(connections):
            self._peers[other] = peer = _Peer(self, other, connections[other])
            self._by_file[peer.file] = peer
            self._epoll.register(peer.file, select.EPOLLIN)
        self._thread = threading.Thread(target=self._move, name="torch.distributed", daemon=True)
        self._thread.start()

    # ---- what collectives call ----

    def send(
        self, rank: int, key: tuple[int, int, int], label: bytes, buffer: memoryview, awaited: bool = False
    ) -> Outcome:
        """Send a buffer's bytes; a future, done when they are on their way. The buffer must stay as it is until then.

        Args:
            rank: to whom.
            key: (kind, number, round): what the receiver asks for.
            label: what the message is, in words (bytes): the receiver has to expect the same.
            buffer: a memoryview of bytes.
            awaited: whether `wait` follows, whose thread moves what does not go at once.
        """
        kind, number, turn = key
        future: Outcome = Outcome()
        peer = self._peers[rank]
        with self._lock:
            if peer.error:
                future.set_exception(peer.error)
                return future
            header = _HEADER.pack(kind, turn, number, len(label), len(buffer)) + label
            if len(buffer) <= JOINED:
                peer.outgoing.append((memoryview(header + bytes(buffer)), future))
            else:
                peer.outgoing.append((memoryview(header), None))
                peer.outgoing.append((buffer, future))
            self._post(peer, awaited)
        return future

    def receive(self, rank: int | None, key: tuple[int, int, int], label: bytes, buffer: memoryview) -> Outcome:
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

    def swap(
        self, key: tuple[int, int, int], label: bytes, sends: dict[int, memoryview], receives: dict[int, memoryview]
    ) -> dict[int, list[Outcome]] | None:
        """Send small buffers to ranks that send as many bytes each under the same key, and receive theirs.

        What `send`, `receive` and `wait` would do, without their bookkeeping: what comes is compared with what is sent, as both
        have the same header. Where anything else happens, the rest is left to them.

        Returns what is still to be waited for, {rank: futures}; None if nothing was begun, as bytes are on their way already.
        """
        kind, number, turn = key
        size = len(next(iter(sends.values())))
        header = _HEADER.pack(kind, turn, number, len(label), size) + label
        with self._lock:
            peers = [self._peers[rank] for rank in sends]
            if self._driver is not None or not all(peer.is_idle() for peer in peers):
                return None
            self._driver = threading.get_ident()
            left: dict[int, list[Outcome]] = {}
            for peer in peers:
                peer.driven = True
                self._watch(peer)
                future = self._send_at_once(peer, header + sends[peer.rank])
                if future is not None:
                    left[peer.rank] = [future]
        try:
            for peer in peers:
                future = self._receive_like(peer, header, key, label, receives[peer.rank])
                if future is not None:
                    left.setdefault(peer.rank, []).append(future)
        finally:
            with self._lock:
                self._stop_driving(peers)
        return left

    def wait(self, futures: Sequence[Outcome], ranks: Iterable[int], deadline: float) -> None:
        """Wait for what `send` and `receive` gave, moving the bytes to and from `ranks` in this thread meanwhile.

        Raises what failed, and TimeoutError at the deadline (of `time.monotonic`).
        """
        if not _all_done(futures):
            with self._lock:
                drives = self._driver is None
                driven = [peer for peer in map(self._peers.__getitem__, ranks) if not peer.closed]
                for peer in driven:
                    peer.driven = peer.driven or drives
                    self._watch(peer)
                if drives:
                    self._driver = threading.get_ident()
            if drives:
                try:
                    self._drive(driven, futures, deadline)
                finally:
                    with self._lock:
                        self._stop_driving(driven)
        for future in futures:
            future.result(0 if future.done() else max(0, deadline - time.monotonic()))

    def ask(self, ranks: Iterable[int], seconds: float, until: Callable[[], bool]) -> dict[int, str]:
        """Ask ranks what they do: {rank: words}, of those that answer in time. Ends early when `until()` holds."""
        asked = [peer for peer in map(self._peers.__getitem__, ranks) if not peer.error]
        with self._lock:
            for peer in asked:
                self._answers.pop(peer.rank, None)
                peer.outgoing.append((memoryview(_HEADER.pack(_QUESTION, 0, 0, 0, 0)), None))
                self._post(peer)
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and not until():
            if all(peer.rank in self._answers or peer.error for peer in asked):
                break
            time.sleep(min(_LOOK, seconds / 20))
        return {peer.rank: self._answers[peer.rank] for peer in asked if peer.rank in self._answers}

    def failures(self) -> dict[int, BaseException]:
        """The ranks to which the connections broke, and why."""
        return {peer.rank: peer.error for peer in self._peers.values() if peer.error}

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

    # ---- moving ----

    def _send_at_once(self, peer, message) -> Outcome | None:
        """Send a message as far as the socket takes it; a future if something is left. With the lock held."""
        try:
            sent = peer.connection.send(message)
        except BlockingIOError:
            sent = 0
        except OSError as error:
            self._lose(peer, error)
            return None  # receiving tells
        if sent == len(message):
            return None
        future = Outcome()
        peer.outgoing.append((memoryview(message)[sent:], future))
        return future

    def _receive_like(self, peer, header, key, label, buffer) -> Outcome | None:
        """Receive a message with this header; a future if something else came, or nothing for a while."""
        size = len(header) + len(buffer)
        while True:
            with self._lock:
                if peer.error or (peer.rank, *key) in self._kept:
                    return self.receive(peer.rank, key, label, buffer)
                try:
                    count = peer.connection.recv_into(peer.ahead, size)  # the other rank may be at its next already
                except BlockingIOError:
                    pass
                except OSError:
                    return self.receive(peer.rank, key, label, buffer)  # whoever reads next finds out again
                else:
                    if count == size and peer.ahead[: len(header)] == header:
                        buffer[:] = peer.ahead[len(header) : size]
                        return None
                    future = self.receive(peer.rank, key, label, buffer)
                    self._guarded(peer, functools.partial(peer.take, count))
                    return future
            if not peer.arrives():
                return self.receive(peer.rank, key, label, buffer)

    def _stop_driving(self, peers) -> None:
        """Leave peers to the moving thread again, after a rest. With the lock held."""
        self._driver = None
        for peer in peers:
            peer.driven = False
        self._begin_rest(peers)

    def _notify(self) -> None:
        with self._lock:
            if self._woken >= 0:
                os.eventfd_write(self._woken, 1)

    def _begin_rest(self, peers) -> None:
        """Let what comes from peers now wait for the next collective, for a while. With the lock held.

        Where collectives follow each other, the moving thread would be woken by each message that comes before this rank
        asks for it, and would hold up the thread that is about to.
        """
        for peer in peers:
            if peer.outgoing:
                self._watch(peer)
        wakes = self._rest is None or any(peer.error for peer in peers)
        self._rest = time.monotonic() + _REST
        if wakes:
            self._notify()

    def _end_rest(self) -> None:
        """See again what happens to all peers but those that are driven, if it is time.

        Beside a driver as well: it may wait for one peer, and another thread for the others.
        """
        with self._lock:
            if self._rest is not None and time.monotonic() >= self._rest:
                self._rest = None
                for peer in self._peers.values():
                    self._watch(peer)

    def _patience(self) -> float | None:
        """Seconds after which the moving thread has to look; None for as long as nothing happens."""
        now, times = time.monotonic(), []
        if self._hanging_up is not None:
            times.append(self._hanging_up - now)
        if self._rest is not None:
            times.append(self._rest - now)
        return max(0.0, min(times)) if times else None

    def _watch(self, peer) -> None:
        """Let the moving thread see what happens to a peer, or not. With the lock held."""
        if peer.closed:
            return
        wanted = 0 if peer.driven else select.EPOLLIN | (select.EPOLLOUT if peer.outgoing else 0)
        if wanted != peer.watched:
            peer.watched = wanted
            self._epoll.modify(peer.file, wanted)

    def _post(self, peer, awaited=False) -> None:
        """Send what is queued for a peer, as far as that is possible at once. With the lock held."""
        self._serve(peer, select.EPOLLOUT)
        if peer.outgoing:
            if peer.driven and self._driver != threading.get_ident() and self._poked >= 0:
                os.eventfd_write(self._poked, 1)
            if not awaited:
                self._watch(peer)

    def _drive(self, peers, futures, deadline) -> None:
        """Move bytes in this thread until the futures are done or it is time."""
        poller: Any = None  # made when there is something to wait for
        events = dict.fromkeys((peer.file for peer in peers), 0)
        while True:
            for peer in peers:
                self._serve(peer, select.EPOLLIN | select.EPOLLOUT if peer.outgoing else select.EPOLLIN)
            left = deadline - time.monotonic()
            if left <= 0 or _all_done(futures):
                return
            if poller is None:
                poller = select.poll()
                poller.register(self._poked, select.POLLIN)
            for peer in peers:
                wanted = 0 if peer.error else select.POLLIN | (select.POLLOUT if peer.outgoing else 0)
                if not wanted:
                    if events.pop(peer.file, None):
                        poller.unregister(peer.file)
                elif wanted != events.get(peer.file):
                    events[peer.file] = wanted
                    poller.register(peer.file, wanted)
            if not events:
                return
            for file, _ in poller.poll(min(left, _LOOK) * 1000):
                if file == self._poked:
                    with contextlib.suppress(BlockingIOError):
                        os.eventfd_read(self._poked)

    def _move(self) -> None:
        while self._has_to_do():
            with self._lock:
                for peer in self._peers.values():
                    if peer.error and not peer.closed and not peer.driven:
                        self._epoll.unregister(peer.file)
                        peer.close()
            self._end_rest()
            for file, events in self._epoll.poll(self._patience()):
                if file == self._woken:
                    os.eventfd_read(self._woken)
                    continue
                peer = self._by_file[file]
                if peer.driven:
                    time.sleep(0.001)  # broken: whoever drives it finds out
                else:
                    self._serve(peer, events)
                    with self._lock:
                        self._watch(peer)
                        if self._driver is not None:  # which may wait for what has just come
                            os.eventfd_write(self._poked, 1)
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
        with self._lock:
            self._epoll.close()
            os.close(self._woken)
            os.close(self._poked)
            self._woken = self._poked = -1  # the numbers may be other files' from now on

    def _serve(self, peer, events) -> None:
        def move() -> None:
            if events & select.EPOLLOUT:
                peer.move(peer.write)
            if events & ~select.EPOLLOUT:  # the end of the connection too
                peer.move(peer.read)

        self._guarded(peer, move)

    def _guarded(self, peer, move) -> None:
        """Move bytes of a peer; what goes wrong fails what waits for it."""
        try:
            move()
        except MismatchError as error:
            self.abort(error)
        except FarewellError as error:
            with self._lock:
                self._fail(peer, RuntimeError(str(error)))
        except (ArithmeticError, BufferError, LookupError, MemoryError, TypeError, ValueError) as error:
            # A message that none of ours sends, or one larger than memory: the thread goes on, the group cannot.
            self.abort(RuntimeError(f"what rank {peer.rank} sent cannot be received: {type(error).__name__}: {error}"))
        except OSError as error:
            with self._lock:
                self._lose(peer, error)

    # ---- with the lock held ----

    def _lose(self, peer, error) -> None:
        """Fail what waits for a rank whose connection is broken."""
        what = "Connection closed by peer" if isinstance(error, ConnectionError) else str(error)
        self._fail(peer, RuntimeError(f"{what} {peer.address} (rank {peer.rank})"))

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
        self._notify()

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

    def _talk(self, peer, kind, text) -> None:
        """Hear, and answer, what another rank asks about the work of the group."""
        if kind == _FAREWELL:
            raise FarewellError(text)
        if kind == _ANSWER:
            self._answers[peer.rank] = text
            return
        answer = self._doing().encode()
        peer.outgoing.append((memoryview(_HEADER.pack(_ANSWER, 0, 0, len(answer), 0) + answer), None))
        self._watch(peer)


class _Peer:
    """One connection, and how far it is in sending and receiving."""

    def __init__(self, mesh: Any, rank: int, connection: socket.socket) -> None:
        self.mesh, self.rank, self.connection = mesh, rank, connection
        self.file = connection.fileno()
        host, port = connection.getpeername()[:2]
        self.address = f"[{host}]:{port}"
        self.watched = select.EPOLLIN
        self.driven = False  # whether the mesh' driver moves its bytes, and not the moving thread
        self.error: Any = None
        self.closed = False
        self.outgoing: deque[Any] = deque()  # (bytes that are left, the future to complete or None)
        self.incoming = None  # the message of which a part has come
        self.ahead = memoryview(bytearray(2 * JOINED))
        self._poller: Any = None  # of `arrives`, made when it is first called
        self._steps = self._messages()
        self._room = next(self._steps)

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            self.connection.close()

    def is_idle(self) -> bool:
        """Whether no message is under way, either way. With the lock held."""
        return not (self.error or self.outgoing or self.driven or self.incoming) and len(self._room) == _HEADER.size

    def arrives(self) -> bool:
        """Whether something comes soon; not, too, where another thread wants this one to do something else."""
        if self._poller is None:
            self._poller = select.poll()
            self._poller.register(self.file, select.POLLIN)
            self._poller.register(self.mesh._poked, select.POLLIN)
        return [file for file, _ in self._poller.poll(_LOOK * 1000)] == [self.file]

    def take(self, count: int) -> None:
        """Read what lies at the beginning of `ahead`; ConnectionError if that is nothing."""
        if not count:
            raise ConnectionError
        self._hand_out(self.ahead[:count])

    def say_farewell(self, text: str) -> None:
        """Tell the other end why, if that can be done at once."""
        if not self.outgoing:
            label = f"rank {self.mesh.rank} gave up: {text}".encode()[:60000]
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
        small = len(self._room) < JOINED  # a header: what follows it may have come as well
        try:
            count = self.connection.recv_into(self.ahead if small else self._room[:_PIECE])
        except BlockingIOError:
            return False
        if small:
            self.take(count)
        elif count:
            self._fill(count)
        else:
            raise ConnectionError
        return True

    def _hand_out(self, data: memoryview) -> None:
        """Copy what has come to where it belongs: the end of a message, and those that follow."""
        while len(data) and not self.error:
            count = min(len(self._room), len(data))
            self._room[:count] = data[:count]
            data = data[count:]
            self._fill(count)

    def _fill(self, count: int) -> None:
        """Go on behind what was filled."""
        self._room = self._room[count:]
        while not len(self._room):
            self._room = next(self._steps)

    def _messages(self):
        """Yield the buffers that are to be filled, one after the other, for ever."""
        mesh = self.mesh
        header = bytearray(_HEADER.size)
        while True:
            yield memoryview(header)
            kind, turn, number, label_size, size = _HEADER.unpack(header)
            label = bytearray(label_size)
            yield memoryview(label)
            if kind not in (COLLECTIVE, DIRECT):
                mesh._talk(self, kind, bytes(label).decode(errors="replace"))
                continue
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


def _all_done(futures):
    for future in futures:  # a loop, as this is asked for each message
        if not future.done():
            return False
    return True


def _take(table, key):
    """The first message under a key, taken out; None if there is none."""
    messages = table.get(key)
    if not messages:
        return None
    message = messages.popleft()
    if not messages:
        del table[key]
    return message
