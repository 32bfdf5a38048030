"""The connections between ranks: two meshes in one process, and what can go wrong with them."""

import os
import socket
import threading
import time

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.distributed import _introductions, _mesh

KEY = (_mesh.DIRECT, 0, 0)


def connect(seconds=20.0, before=lambda store: None):
    """The meshes of two ranks. `before` is called with the store when rank 0 waits for rank 1."""
    store, found = torch.distributed.HashStore(), {}

    def make(rank):
        found[rank] = _mesh.Mesh(store, rank, 2, seconds)

    first = threading.Thread(target=make, args=(0,))
    first.start()
    store.get("address/0")
    before(store)
    make(1)
    first.join()
    return found[0], found[1]


class Intercepted:
    """A socket of which one method is another function."""

    def __init__(self, connection, **functions):
        self.connection = connection
        self.__dict__.update(functions)

    def __getattr__(self, name):
        return getattr(self.connection, name)


def test_giving_up_while_bytes_are_sent():
    """The thread that moves bytes does not find its queue emptied under its hands."""
    first, second = connect()
    peer = first._peers[1]
    connection, others = peer.connection, []

    def send(data):
        peer.connection = connection
        others.append(threading.Thread(target=first.abort, args=(RuntimeError("enough"),)))
        others[0].start()
        others[0].join(0.1)
        return connection.send(data)

    peer.connection = Intercepted(connection, send=send)
    sent = first.send(1, KEY, b"send", memoryview(b"bytes"))
    assert sent.exception(10) is None or "enough" in str(sent.exception())
    others[0].join()
    with pytest.raises(RuntimeError, match="enough"):
        first.send(1, KEY, b"send", memoryview(b"more")).result(10)
    assert first._thread.is_alive()
    with pytest.raises(RuntimeError, match="rank 0"):
        second.receive(0, (_mesh.DIRECT, 1, 0), b"send", memoryview(bytearray(4))).result(10)
    for mesh in (first, second):
        mesh.close()


def test_a_stranger_that_says_nothing_does_not_keep_the_ranks_apart(monkeypatch):
    monkeypatch.setattr(_introductions, "_PATIENCE", 0.1)
    strangers = []

    def disturb(store):
        host, port = store.get("address/0").decode().split(" ")
        strangers.append(socket.create_connection((host, int(port))))

    first, second = connect(before=disturb)
    received = bytearray(5)
    second.send(0, KEY, b"send", memoryview(b"hello"))
    assert first.receive(1, KEY, b"send", memoryview(received)).result(10) == 1
    assert received == b"hello"
    for end in (first, second, *strangers):
        end.close()


def test_a_rank_that_does_not_come_leaves_nothing_open():
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(torch.distributed.DistNetworkError, match=r"rank 0 of 2 waited in vain for ranks \[1\]"):
        _mesh.Mesh(torch.distributed.HashStore(), 0, 2, 0.05)
    store = torch.distributed.HashStore()
    store.set("address/0", "127.0.0.1 1")
    with pytest.raises(torch.distributed.DistNetworkError, match=r"rank 1 cannot reach rank 0 at \[127.0.0.1\]:1: "):
        _mesh.Mesh(store, 1, 2, 5.0)
    assert len(os.listdir("/proc/self/fd")) == before


def test_hanging_up_on_a_rank_that_takes_nothing_ends():
    first, second = connect(seconds=0.5)

    def full(data):
        raise BlockingIOError

    peer = first._peers[1]
    peer.connection = Intercepted(peer.connection, send=full)
    sent = first.send(1, KEY, b"send", memoryview(b"bytes"))
    first.close()
    assert "the process group was destroyed" in str(sent.exception(0))
    second.close()


def _exchange(first, second, number):
    """One collective of both ranks, each in a thread of its own; what came."""
    buffers = [bytearray(4), bytearray(4)]

    def take_part(mesh, buffer, content):
        other, key = 1 - mesh.rank, (_mesh.COLLECTIVE, number, 0)
        futures = [mesh.receive(other, key, b"exchange", memoryview(buffer))]
        futures.append(mesh.send(other, key, b"exchange", memoryview(content), awaited=True))
        mesh.wait(futures, [other], time.monotonic() + 20)

    thread = threading.Thread(target=take_part, args=(first, buffers[0], b"abcd"))
    thread.start()
    take_part(second, buffers[1], b"efgh")
    thread.join()
    return [bytes(each) for each in buffers]


def test_what_nobody_waits_for_is_taken_after_a_collective_too():
    """The moving thread leaves connections to the next collective for some milliseconds, not for longer."""
    first, second = connect()
    for number in range(3):
        assert _exchange(first, second, number) == [b"efgh", b"abcd"]
        first.send(1, (_mesh.DIRECT, number, 0), b"send", memoryview(b"more"))
        deadline = time.monotonic() + 20
        while (0, _mesh.DIRECT, number, 0) not in second._kept and time.monotonic() < deadline:
            time.sleep(0.005)
        assert (0, _mesh.DIRECT, number, 0) in second._kept
        answers = first.ask([1], 20, lambda: False)
        assert answers == {1: "is there"}
    for mesh in (first, second):
        mesh.close()


@pytest.mark.parametrize("late", [False, True])
def test_messages_that_come_in_one_piece(late):
    """Small and large ones, whose ends and beginnings are read together."""
    first, second = connect()
    contents = [os.urandom(size) for size in (0, 1, 7, 300_000, 5, 9000, 8192, 8173, 0, 3)]
    buffers = [bytearray(len(content)) for content in contents]

    def receive():
        return [
            second.receive(0, (_mesh.DIRECT, number, 0), b"send", memoryview(buffer))
            for number, buffer in enumerate(buffers)
        ]

    received = [] if late else receive()
    sent = [
        first.send(1, (_mesh.DIRECT, number, 0), b"send", memoryview(content))
        for number, content in enumerate(contents)
    ]
    for future in sent:
        future.result(20)
    for future in received or receive():
        assert future.result(20) == 0
    assert buffers == contents
    for mesh in (first, second):
        mesh.close()


def test_a_rest_ends_beside_a_thread_that_moves_the_bytes_of_others():
    """A thread drives some peers; what another one waits for, from a peer that rests, comes nevertheless."""
    first, second = connect()
    peer, landing = first._peers[1], bytearray(3)
    with first._lock:
        first._driver = -1  # one that drives nobody here
        peer.driven = True
        first._watch(peer)
        peer.driven = False
        first._begin_rest([peer])
    try:
        waiting = first.receive(1, KEY, b"", memoryview(landing))
        second.send(0, KEY, b"", memoryview(b"abc")).result(5)
        assert waiting.result(5) == 1
        assert landing == b"abc"
    finally:
        first._driver = None
        for mesh in (first, second):
            mesh.close()
