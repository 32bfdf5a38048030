"""Those who are not of the job, at the ports of a store and of a mesh: nothing told, nothing kept, nobody held up."""

import datetime
import os
import random
import resource
import socket
import struct
import subprocess
import sys
import threading
import time

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.distributed import _mesh, _store_messages, _store_server
from mindtorch_v2.distributed._tcp_store import receive_exactly

dist = torch.distributed


_OPEN: list[socket.socket] = []


def connect(port):
    connection = socket.create_connection(("127.0.0.1", port), 20)
    _OPEN.append(connection)
    return connection


@pytest.fixture(autouse=True)
def _hang_up():
    yield
    while _OPEN:
        _OPEN.pop().close()


@pytest.fixture
def server():
    store = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    yield store
    store.close()


def stranger(store):
    connection = connect(store.port)
    receive_exactly(connection, _store_messages.CHALLENGE_SIZE)
    return connection


def insider(store, token=b""):
    """A connection that has proven the token, for what our own client never says."""
    connection = connect(store.port)
    challenge = receive_exactly(connection, _store_messages.CHALLENGE_SIZE)
    connection.sendall(_store_messages.proof(token, challenge))
    receive_exactly(connection, _store_messages.VERDICT_SIZE)
    return connection


def is_closed(connection):
    try:
        return connection.recv(1) == b""
    except ConnectionError:
        return True


def test_a_store_listens_where_the_rendezvous_is(server):
    assert server._server.socket.getsockname()[0] == "127.0.0.1"
    with pytest.raises(OSError, match="refused|unreachable|timed out"):
        socket.create_connection(("127.0.0.2", server.port), 5)


@pytest.mark.parametrize(
    ("host", "leads_to", "listens_at"),
    [
        ("localhost", ["::1", "127.0.0.1"], ["127.0.0.1", "::1"]),
        ("127.0.0.3", ["127.0.0.3"], ["127.0.0.3"]),
        ("node-0", ["127.0.1.1"], []),  # Debian's /etc/hosts: other machines know it by another address
        ("node-0", ["10.0.0.7"], ["10.0.0.7"]),
        ("node-0", ["127.0.1.1", "10.0.0.7"], ["10.0.0.7"]),
    ],
)
def test_addresses_to_listen_at(host, leads_to, listens_at, monkeypatch):
    def answer(name, port, type):
        return [(socket.AF_INET6 if ":" in each else socket.AF_INET, type, 0, "", (each, 0)) for each in leads_to]

    monkeypatch.setattr(socket, "getaddrinfo", answer)
    assert [address for _, address in _store_server._addresses(host)] == listens_at


def test_an_address_of_another_machine_is_taken_for_one_that_leads_here():
    """As that of a service in front of a pod: the store is reached by it, though no interface has it."""
    listener = _store_server._listener("192.0.2.1", 0)
    assert listener.getsockname()[0] in ("::", "0.0.0.0")
    listener.close()


def test_the_word_of_the_job(monkeypatch):
    monkeypatch.setenv(_store_messages.TOKEN_VARIABLE, "right")
    server = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    client = server.clone()
    client.set("key", "x")
    monkeypatch.setenv(_store_messages.TOKEN_VARIABLE, "wrong")
    with pytest.raises(dist.DistNetworkError, match="MINDTORCH_JOB_TOKEN, which is set here, must be the same"):
        server.clone()
    monkeypatch.delenv(_store_messages.TOKEN_VARIABLE)
    with pytest.raises(dist.DistNetworkError, match="which is not set here"):
        server.clone()
    assert server.get("key") == b"x"
    server.close()


def test_a_server_that_does_not_know_the_word(monkeypatch):
    """One that took the port of the store before it, and says yes to everybody."""
    monkeypatch.setenv(_store_messages.TOKEN_VARIABLE, "right")
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def pretend():
            with listener.accept()[0] as connection:
                connection.sendall(_store_messages.challenge())
                receive_exactly(connection, _store_messages.PROOF_SIZE)
                connection.sendall(b"\x01" + bytes(32))

        thread = threading.Thread(target=pretend)
        thread.start()
        with pytest.raises(dist.DistNetworkError, match="belongs to another job"):
            dist.TCPStore("127.0.0.1", listener.getsockname()[1], timeout=datetime.timedelta(seconds=20))
        thread.join()


def test_what_is_no_store():
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer():
            with listener.accept()[0] as connection:
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n" * 3)

        thread = threading.Thread(target=answer)
        thread.start()
        with pytest.raises(dist.DistNetworkError, match="no TCPStore of mindtorch_v2"):
            dist.TCPStore("127.0.0.1", listener.getsockname()[1], timeout=datetime.timedelta(seconds=20))
        thread.join()


def test_nothing_is_done_for_those_who_do_not_say_it(server):
    connection = stranger(server)
    connection.sendall(_store_messages.pack([b"set", b"key", b"x"]) * 10)
    assert receive_exactly(connection, _store_messages.VERDICT_SIZE) == _store_messages.REFUSED
    assert is_closed(connection)
    assert server.num_keys() == 0


@pytest.mark.parametrize(
    "said",
    [
        struct.pack("<I", 0xFFFFFFFF),
        struct.pack("<I", _store_messages.LARGEST_MESSAGE + 1),
        struct.pack("<II", 4, 0xFFFFFFFF),
        struct.pack("<III", 8, 1, 0xFFFFFFFF),
        struct.pack("<III", 8, 1, 5),
        struct.pack("<I", 0),
        _store_messages.pack([]),
        _store_messages.pack([b"\xff"]),
        _store_messages.pack([b"wait", b"long", b"key"]),
        _store_messages.pack([b"set", b"\xff", b""]),
        _store_messages.pack([b"wait", b"9", b"key"]) + _store_messages.pack([b"count"]),
    ],
)
def test_messages_that_no_client_sends(said, server):
    connection = insider(server)
    connection.sendall(said)
    connection.shutdown(socket.SHUT_WR)
    while not is_closed(connection):
        pass  # an answer that says what is wrong, where the message could be read
    assert server.num_keys() == 0  # it goes on


def test_random_bytes(server):
    generator = random.Random(3)
    for number in range(200):
        connection = (insider if number % 2 else stranger)(server)
        connection.sendall(generator.randbytes(generator.randint(1, 300)))
        connection.close()
    server.set("key", "x")
    assert server.num_keys() == 1


def test_idle_peers_take_neither_threads_nor_the_place_of_others(server, monkeypatch):
    monkeypatch.setattr(_store_server, "_MOST_STRANGERS", 20)
    before = threading.active_count()
    strangers = [stranger(server) for _ in range(60)]
    clients = [server.clone() for _ in range(30)]
    assert threading.active_count() == before
    for number, client in enumerate(clients):
        assert client.add("count", 1) == number + 1
    assert sum(not peer.trusted for peer in server._server._peers.values()) <= 20
    assert is_closed(strangers[0])


def test_those_who_do_not_end_what_they_began(server, monkeypatch):
    monkeypatch.setattr(_store_server, "_GREETING_SECONDS", 0.05)
    monkeypatch.setattr(_store_server, "_MESSAGE_SECONDS", 0.05)
    silent, half = stranger(server), insider(server)
    half.sendall(struct.pack("<I", 100) + b"some")
    idle = insider(server)
    silent.settimeout(20)
    half.settimeout(20)
    assert is_closed(silent) and is_closed(half)
    idle.sendall(_store_messages.pack([b"count"]))  # between messages it may be idle as long as it likes
    assert receive_exactly(idle, 8)


def test_values_that_are_too_large(server):
    server.set("key", b"x" * _store_messages.LARGEST_VALUE)
    with pytest.raises(ValueError, match="a store takes values of at most 8388608 bytes"):
        server.set("key", b"x" * (11 << 20))
    assert len(server.get("key")) == _store_messages.LARGEST_VALUE


def test_many_wait_for_one_key(server):
    clients = [server.clone() for _ in range(20)]
    got = []
    threads = [threading.Thread(target=lambda c=client: got.append(c.get("late"))) for client in clients]
    for thread in threads:
        thread.start()
    time.sleep(0.05)
    server.set("late", "x")
    for thread in threads:
        thread.join(20)
    assert got == [b"x"] * 20
    with pytest.raises(dist.DistStoreError, match="wait timeout after 50ms"):
        clients[0].wait(["never"], datetime.timedelta(milliseconds=50))
    assert clients[0].num_keys() == 1


def test_no_files_left_for_connections(server):
    """The error of accept must not end the server, nor keep its thread busy."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (200, before[1]))
    try:
        with pytest.raises(OSError, match="Too many open files"):
            while True:
                connect(server.port)
        started = time.process_time()
        time.sleep(0.3)
        assert time.process_time() - started < 0.2
        assert server.num_keys() == 0
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
        while _OPEN:
            _OPEN.pop().close()
    assert server.clone().num_keys() == 0


def test_what_a_rank_sends_that_is_no_message():
    """The others learn of it at once: the thread that receives goes on, and says why."""
    store, found = dist.HashStore(), {}

    def make(rank):
        found[rank] = _mesh.Mesh(store, rank, 2, 20.0)

    first = threading.Thread(target=make, args=(0,))
    first.start()
    make(1)
    first.join()
    waiting = found[0].receive(1, (_mesh.COLLECTIVE, 0, 0), b"all_reduce", memoryview(bytearray(4)))
    found[1]._peers[0].connection.send(_mesh._HEADER.pack(_mesh.DIRECT, 0, 7, 0, 1 << 62))
    with pytest.raises(RuntimeError, match="what rank 1 sent cannot be received: (MemoryError|OverflowError)"):
        waiting.result(20)
    with pytest.raises(RuntimeError, match="rank 0 gave up: what rank 1 sent"):
        found[1].receive(0, (_mesh.COLLECTIVE, 0, 0), b"all_reduce", memoryview(bytearray(4))).result(20)
    for mesh in found.values():
        mesh.close()


def test_launched_processes_have_a_word_of_their_own(tmp_path):
    script = tmp_path / "program.py"
    script.write_text(
        "import os, torch.distributed as dist\n"
        "dist.init_process_group('gloo')\n"
        "words = [None, None]\n"
        "dist.all_gather_object(words, os.environ['MINDTORCH_JOB_TOKEN'])\n"
        "assert words[0] == words[1] and len(words[0]) == 32\n"
        "print('same')\n"
    )
    command = [sys.executable, "-m", "mindtorch_v2.distributed.run", "--standalone", "--nproc-per-node=2", script]
    environment = {name: value for name, value in os.environ.items() if name != _store_messages.TOKEN_VARIABLE}
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.count("same") == 2
