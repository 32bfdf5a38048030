"""The stores, and how processes find each other."""

import datetime
import resource
import threading

import pytest

import mindtorch_v2 as torch

dist = torch.distributed
SOON = datetime.timedelta(milliseconds=100)


@pytest.fixture(params=["hash", "file", "tcp", "prefix"])
def store(request, tmp_path):
    if request.param == "file":
        made = dist.FileStore(tmp_path / "store", 1)
    elif request.param == "tcp":
        made = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    elif request.param == "prefix":
        made = dist.PrefixStore("a", dist.PrefixStore("b", dist.HashStore()))
    else:
        made = dist.HashStore()
    yield made
    if hasattr(made, "close"):
        made.close()


def test_keys_and_values(store):
    store.set("key", "text")
    store.set("other", b"\0\xff")
    assert [store.get("key"), store.get("other")] == [b"text", b"\0\xff"]
    assert [store.add("number", 3), store.add("number", -1), store.get("number")] == [3, 2, b"2"]
    assert [store.check(["key", "number"]), store.check(["key", "missing"])] == [True, False]
    assert [store.delete_key("key"), store.delete_key("key"), store.check(["key"])] == [True, False, False]
    # As in PyTorch: what is there afterwards, or what was expected.
    assert store.compare_set("c", "", "first") == b"first"
    assert store.compare_set("c", "wrong", "second") == b"first"
    assert store.compare_set("c", "first", "second") == b"second"
    assert store.compare_set("missing", "expected", "second") == b"expected"
    store.append("c", "!")
    store.multi_set(["m1", "m2"], ["1", "2"])
    assert store.multi_get(["c", "m1", "m2"]) == [b"second!", b"1", b"2"]
    store.queue_push("q", "1")
    store.queue_push("q", "2")
    assert [store.queue_len("q"), store.queue_pop("q"), store.queue_pop("q")] == [2, b"1", b"2"]
    with pytest.raises(dist.QueueEmptyError, match="queue is empty"):
        store.queue_pop("q", block=False)


def test_a_key_is_waited_for(store):
    other = store.clone() if isinstance(store, dist.TCPStore) else store
    later = threading.Timer(0.05, other.set, ("late", "x"))
    later.start()
    assert store.get("late") == b"x"
    later.join()


def test_waiting_in_vain(store):
    text = {
        "FileStore": "Timeout waiting for key: missing after 100 ms",
        "TCPStore": "wait timeout after 100ms, keys: /missing",
    }
    with pytest.raises(RuntimeError, match=text.get(type(store).__name__, "Wait timeout")):
        store.wait(["missing"], SOON)
    store.set_timeout(SOON)
    assert store.timeout == SOON
    with pytest.raises(RuntimeError):
        store.get("missing")


def test_the_last_user_removes_the_file(tmp_path):
    first, second = (dist.FileStore(tmp_path / "store", 2) for _ in range(2))
    first.set("key", "x")
    assert second.get("key") == b"x"
    first.close()
    assert (tmp_path / "store").exists()
    second.close()
    assert not (tmp_path / "store").exists()


def test_a_full_disk_leaves_no_part_of_a_change(tmp_path):
    first, second = (dist.FileStore(tmp_path / "store", -1) for _ in range(2))
    first.set("key", "x")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, ((tmp_path / "store").stat().st_size + 20, before[1]))
    try:
        with pytest.raises(OSError, match="No space left on device"):
            first.set("key", "y" * 100)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert [first.get("key"), second.get("key")] == [b"x", b"x"]
    second.set("other", "z")
    assert first.get("other") == b"z"


def test_a_server_that_does_not_answer(monkeypatch):
    monkeypatch.setattr("mindtorch_v2.distributed._tcp_store._GRACE", 0)
    server = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    client = server.clone()
    with server._server.table._changed:
        client.set_timeout(SOON)
        with pytest.raises(dist.DistNetworkError, match=f"timed out .the store at 127.0.0.1:{server.port}"):
            client.num_keys()
    with pytest.raises(dist.DistNetworkError):  # its answer is not taken for another's
        client.get("key")
    server.close()


def test_errors_of_a_tcp_store():
    with pytest.raises(
        dist.DistNetworkError, match=r"The client socket has timed out after 200ms while trying to connect to"
    ):
        dist.TCPStore("127.0.0.1", 1, 2, False, timeout=datetime.timedelta(milliseconds=200))
    server = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    with pytest.raises(
        dist.DistNetworkError, match=f"failed to listen on any local network address. port: {server.port}"
    ):
        dist.TCPStore("127.0.0.1", server.port, is_master=True, wait_for_workers=False)
    server.set("word", "x")
    with pytest.raises(dist.DistStoreError):
        server.add("word", 1)
    with pytest.raises(dist.DistStoreError, match=r"1/2 clients joined"):
        dist.TCPStore("127.0.0.1", 0, 2, True, timeout=datetime.timedelta(milliseconds=50))
    client = server.clone()
    server.close()
    with pytest.raises(dist.DistNetworkError):
        client.get("word")


@pytest.mark.parametrize(
    ("arguments", "kind", "text"),
    [
        ({}, ValueError, "using env:// rendezvous: environment variable RANK expected, but not set"),
        ({"init_method": "tcp://127.0.0.1:1"}, ValueError, "using tcp:// rendezvous: rank parameter missing"),
        ({"init_method": "other://x"}, RuntimeError, "No rendezvous handler for other://"),
        ({"init_method": "env://", "store": True}, AssertionError, "Cannot specify both init_method and store."),
        ({"store": True}, AssertionError, "world_size must be positive if using store"),
        ({"store": True, "world_size": 1}, AssertionError, "rank must be non-negative if using store"),
        ({"store": True, "world_size": 1, "rank": 1}, ValueError, "rank 1 is not one of the 1"),
        (
            {"store": True, "world_size": 1, "rank": 0, "timeout": 3},
            TypeError,
            "Expected timeout argument to be of type",
        ),
        ({"store": True, "world_size": 1, "rank": 0, "backend": "nccl"}, RuntimeError, "doesn't have NCCL built in"),
        (
            {"store": True, "world_size": 1, "rank": 0, "backend": "cpu:x"},
            AssertionError,
            "Unknown c10d backend type X",
        ),
    ],
)
def test_what_init_process_group_refuses(arguments, kind, text, monkeypatch):
    for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.delenv(name, raising=False)
    if "store" in arguments:
        arguments = {**arguments, "store": dist.HashStore()}
    with pytest.raises(kind, match=text):
        dist.init_process_group(**{"backend": "gloo", **arguments})
    assert not dist.is_initialized()


def test_without_a_group():
    missing = "Default process group has not been initialized, please make sure to call init_process_group."
    for call in (
        dist.get_rank,
        dist.get_world_size,
        dist.get_backend,
        dist.barrier,
        lambda: dist.all_reduce(torch.ones(1)),
    ):
        with pytest.raises(ValueError, match=missing):
            call()
    with pytest.raises(AssertionError, match="Process group cannot be None"):
        dist.destroy_process_group()
    assert dist.is_available() and not dist.is_initialized() and dist.group.WORLD is None


@pytest.mark.parametrize("named", ["gloo", "cpu:gloo", "cpu:gloo,npu:hccl"])
def test_back_ends_are_named_as_they_were_asked_for(named: str) -> None:
    dist.init_process_group(named, store=dist.HashStore(), rank=0, world_size=1)
    try:
        assert dist.get_backend() == named
    finally:
        dist.destroy_process_group()


def test_a_group_of_one():
    dist.init_process_group(store=dist.HashStore(), rank=0, world_size=1)
    try:
        assert [dist.get_backend(), dist.get_backend_config()] == ["undefined", "cpu:gloo,npu:hccl"]
        value = torch.ones(2)
        assert dist.all_reduce(value, async_op=True).get_future().wait()[0] is value
        with pytest.raises(RuntimeError, match="No backend type associated with device type meta"):
            dist.all_reduce(torch.ones(1, device="meta"))
        with pytest.raises(dist.DistNetworkError, match="rank 0 is alone in its group"):
            dist.recv(torch.ones(1))
        elsewhere = [torch.ones(1, device="meta")]
        for call in (
            lambda: dist.all_gather(elsewhere, torch.ones(1)),
            lambda: dist.reduce_scatter(torch.ones(1), elsewhere),
            lambda: dist.all_to_all(elsewhere, [torch.ones(1)]),
        ):
            with pytest.raises(RuntimeError, match=r"invalid device at index \d \(expected cpu, got meta\)"):
                call()
    finally:
        dist.destroy_process_group()
