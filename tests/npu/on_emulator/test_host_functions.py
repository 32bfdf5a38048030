"""Functions of the host between a stream's tasks, tensors shown and saved within graphs, and the trace of a graph."""

import ctypes
import json
import pathlib
import threading
from typing import Any

import pytest

import mindtorch_v2 as torch
from mindtorch_v2._backends.npu import host_functions
from mindtorch_v2._backends.npu.runtime import Runtime
from mindtorch_v2.npu import NPUError

npu: Any = torch.npu


@pytest.fixture
def stream() -> Any:
    made = torch.npu.Stream()
    yield made
    if made.npu_stream in host_functions._threads:
        npu._unsubscribe_report(made)


def test_a_stream_waits_for_its_function(stream: Any) -> None:
    go, called = threading.Event(), []

    def function(argument: Any) -> None:
        called.append((argument, threading.get_ident()))
        go.wait(10)

    npu._launch_host_func(stream, function, [1, "two"])
    after = stream.record_event()
    assert not after.query()
    go.set()
    stream.synchronize()
    assert after.query() and called[0][0] == [1, "two"] and called[0][1] != threading.get_ident()
    assert not host_functions._functions


def test_a_function_gives_other_streams_work(stream: Any) -> None:
    x, y, other = torch.arange(3.0, device="npu"), torch.zeros(3, device="npu"), torch.npu.Stream()

    def function(pair: Any) -> None:
        with torch.npu.stream(other):
            pair[1].copy_(pair[0] * 2)

    npu._subscribe_report(stream)
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph, stream=stream):
        npu._launch_host_func(stream, function, (x, y))
    torch.npu.synchronize()
    assert y.tolist() == [0.0, 0.0, 0.0]
    for factor in (1.0, 3.0):
        x.copy_(torch.arange(3.0) * factor)
        graph.replay()
        torch.npu.synchronize()
        assert y.tolist() == [0.0, 2 * factor, 4 * factor]
    assert len(host_functions._functions) == 1
    graph.reset()
    assert not host_functions._functions


def test_misuse_of_host_functions(stream: Any, emulator: Any) -> None:
    npu._subscribe_report(stream)
    with pytest.raises(RuntimeError, match=r"run by a thread already"):
        npu._subscribe_report(stream)
    npu._unsubscribe_report(stream)
    with pytest.raises(RuntimeError, match=r"no thread runs the functions"):
        npu._unsubscribe_report(stream)
    runtime: Runtime = emulator.runtime
    assert runtime.aclrtProcessReport(0) == 100035
    assert runtime.aclrtLaunchCallback(host_functions._address, 1, 1, stream.npu_stream) == 100034
    assert runtime.aclrtLaunchCallback(None, 1, 1, stream.npu_stream) == 107000
    own = ctypes.c_uint64(threading.get_ident())
    assert runtime.aclrtUnSubscribeReport(own, stream.npu_stream) == 100034
    assert runtime.aclrtSubscribeReport(own, stream.npu_stream) == 0
    assert runtime.aclrtSubscribeReport(own, stream.npu_stream) == 100033
    with pytest.raises(NPUError, match="100033"):
        npu._subscribe_report(stream)
    assert runtime.aclrtProcessReport(0) == 100036
    assert runtime.aclrtUnSubscribeReport(own, stream.npu_stream) == 0


def _printed(capfd: Any) -> str:
    torch.npu.synchronize()
    return capfd.readouterr().out


def test_tensors_are_shown_at_each_replay(capfd: Any) -> None:
    x = torch.arange(2.0, device="npu")
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        y = x * 2
        torch.ops.npu.print_npugraph_tensor(y, tensor_name="y")
    assert _printed(capfd) == ""
    for x_text, text in (([0.0, 1.0], "y=tensor([0., 2.])"), ([3.0, 4.0], "y=tensor([6., 8.])")):
        x.copy_(torch.tensor(x_text))
        graph.replay()
        assert _printed(capfd) == f"{text}, shape=(2,), dtype=torch.float32\n"
    torch.ops.npu.print_npugraph_tensor(x.reshape(1, 2))
    assert _printed(capfd) == "tensor([[3., 4.]]), shape=(1, 2), dtype=torch.float32\n"
    torch.ops.npu.print_npugraph_tensor(torch.ones(1), tensor_name="host")
    assert _printed(capfd) == "host=tensor([1.]), shape=(1,), dtype=torch.float32\n"
    torch.ops.npu.print_npugraph_tensor(torch.empty(0, 3, device="npu"))
    assert _printed(capfd) == "tensor([], size=(0, 3)), shape=(0, 3), dtype=torch.float32\n"
    torch.ops.npu.print_npugraph_tensor(torch.ones(1, device="meta"))
    assert _printed(capfd) == ""


def test_tensors_are_saved_at_each_replay(tmp_path: pathlib.Path) -> None:
    x = torch.arange(4.0, device="npu").reshape(2, 2)
    save = torch.ops.npu.save_npugraph_tensor
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        save(x.mT, save_path=str(tmp_path / "x.pt"))
        save(x, save_path=str(tmp_path / "same"), overwrite=True)
        save.tensor_list([x, x.half() * 2], save_path=str(tmp_path / "x.pt"))
    assert not list(tmp_path.iterdir())
    for value in (1.0, 5.0):
        x.fill_(value)
        x[0, 1] = 9
        graph.replay()
        torch.npu.synchronize()
        expected = torch.tensor([[value, 9], [value, value]])
        found = {path.name: torch.load(path) for path in tmp_path.iterdir()}
        assert sorted(found) == ["same_device_0.pt", "x_device_0_0.pt", "x_device_0_1.pt"]
        assert torch.equal(found["x_device_0_0.pt"], expected.mT) and torch.equal(found["same_device_0.pt"], expected)
        first, second = found["x_device_0_1.pt"]
        assert torch.equal(first, expected) and torch.equal(second, (expected * 2).half())


def test_tensors_of_the_host_are_saved_at_once(tmp_path: pathlib.Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    save = torch.ops.npu.save_npugraph_tensor
    for number in range(2):
        save(torch.full((1,), float(number)), save_path="x.bin")
    save([torch.ones(1), torch.zeros(2)], save_path="pair", overwrite=True)
    save(torch.ones(1))
    save(torch.ones(1, device="meta"), save_path="nothing")
    names = sorted(path.name for path in tmp_path.iterdir())
    assert [name for name in names if not name.startswith("tensor_")] == ["pair.pt", "x_0.bin", "x_1.bin"]
    assert len(names) == 4 and [len(t) for t in torch.load("pair.pt")] == [1, 2]
    assert [torch.load(f"x_{i}.bin").item() for i in range(2)] == [0.0, 1.0]
    with pytest.raises(ValueError, match="save_path must name a file, but it is 'folder/'"):
        save(torch.ones(1), save_path="folder/")
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        save([torch.ones(1), torch.ones(1, device="npu")])
    with pytest.raises(ValueError, match="a list of tensors was expected, but it is empty"):
        save.tensor_list([])


def test_the_tasks_of_a_graph_are_a_trace(tmp_path: pathlib.Path, capfd: Any) -> None:
    x, path = torch.ones(2, device="npu"), tmp_path / "graph.json"
    graph = torch.npu.NPUGraph()
    with pytest.warns(UserWarning, match="nothing was captured"):
        graph.debug_dump(str(path))
    with torch.npu.graph(graph):
        _ = torch.exp(x) * 2
    graph.debug_dump(str(path))
    events = json.loads(path.read_text())
    assert [(event["name"], event["ph"], event["ts"]) for event in events] == [
        ("aclnnExp", "X", 0),
        ("aclnnMuls", "X", 1),
    ]
    graph.debug_dump()
    with pytest.raises(NPUError, match="cannot be written"):
        graph.debug_dump(str(tmp_path / "none" / "graph.json"))
