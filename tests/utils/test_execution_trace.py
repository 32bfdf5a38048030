"""Execution traces: the nodes of a program whose operators are known, with the kinds and values that PyTorch writes."""

import gzip
import json
import pathlib
import warnings
from typing import Any

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.profiler import ExecutionTraceObserver, profile, record_function


def _nodes(path: pathlib.Path) -> dict[str, dict[str, Any]]:
    text = gzip.decompress(path.read_bytes()).decode() if path.suffix == ".gz" else path.read_text("utf-8")
    document = json.loads(text)
    assert document["schema"] == "1.1.1-chakra.0.0.4" and document["start_ts"] <= document["finish_ts"]
    return {node["name"]: node for node in reversed(document["nodes"])}


def _attributes(node: dict[str, Any]) -> dict[str, Any]:
    return {each["name"]: each["value"] for each in node["attrs"]}


def test_operators_ranges_and_the_backward_by_what_they_are_called_within(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "trace.json"
    observer = ExecutionTraceObserver()
    observer.start()  # without a file: nothing
    assert not observer.is_running() and observer.get_output_file_path() is None
    assert observer.register_callback(str(path)) is observer and observer.is_registered
    observer.start()
    with record_function("range", "1, 2"):
        x = torch.ones(2, 3, requires_grad=True)
        y = torch.add(x, 2.5, alpha=2)
        torch.cat([x, y]).sum().backward()
        values = (1, False, 2.5, [x, x], (x, x), "hi", float("inf"))
        torch.autograd._record_function_with_args_exit(
            torch.autograd._record_function_with_args_enter("other range", *values)
        )
    observer.stop()
    x.exp()
    observer.unregister_callback()
    assert not observer.is_registered
    nodes = _nodes(path)
    process, thread = (nodes[f"[pytorch|profiler|execution_trace|{name}]"] for name in ("process", "thread"))
    outer, add, cat = nodes["range"], nodes["aten::add"], nodes["aten::cat"]
    assert (process["id"], process["ctrl_deps"], thread["ctrl_deps"]) == (1, 1, 1) and outer["ctrl_deps"] == thread[
        "id"
    ]
    assert outer["inputs"] == {"values": ["1, 2"], "shapes": [[]], "types": ["String"], "strides": [[]]}
    assert add["ctrl_deps"] == cat["ctrl_deps"] == nodes["other range"]["ctrl_deps"] == outer["id"]
    assert add["inputs"]["types"] == ["Tensor(float)", "Double", "Int"] and add["inputs"]["values"][1:] == [2.5, 2]
    assert add["inputs"]["shapes"] == [[2, 3], [], []] and add["inputs"]["strides"] == [[3, 1], [], []]
    assert add["inputs"]["values"][0][2:] == [0, 6, 4, "cpu"]
    assert _attributes(add)["op_schema"] == "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"
    assert _attributes(add)["seq_id"] + 1 == _attributes(cat)["seq_id"]
    assert cat["inputs"]["values"][0] == [add["inputs"]["values"][0], add["outputs"]["values"][0]]
    assert cat["inputs"]["types"] == ["GenericList[Tensor(float),Tensor(float)]", "Int"]
    node = nodes["CatBackward0"]
    assert node["ctrl_deps"] == nodes["autograd::engine::evaluate_function: CatBackward0"]["id"]
    assert _attributes(node)["seq_id"] == _attributes(cat)["seq_id"] and _attributes(node)["scope"] == 1
    assert nodes["other range"]["inputs"]["types"] == [
        "Int", "Bool", "Double", "GenericList[Tensor(float),Tensor(float)]", "Tuple[Tensor(float),Tensor(float)]", "String",
        "Double",
    ]  # fmt: skip
    assert nodes["other range"]["inputs"]["values"][-1] == "inf"
    assert "aten::exp" not in nodes


def test_ranges_and_data_of_whole_numbers(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENABLE_PYTORCH_EXECUTION_TRACE_SAVE_INTEGRAL_TENSOR_RANGE", "1")
    monkeypatch.setenv("ENABLE_PYTORCH_EXECUTION_TRACE_SAVE_INTEGRAL_TENSOR_DATA", "aten::gather,aten::add")
    x, places = torch.tensor([[1, 2], [3, 4]]), torch.tensor([[0, 0], [1, 0]])
    observer = ExecutionTraceObserver().register_callback(str(tmp_path / "trace.json"))
    observer.set_extra_resource_collection(True)
    with profile(execution_trace_observer=observer):
        torch.gather(x, 1, places)
    assert not observer.is_registered  # the profile's end writes it
    gather = _nodes(tmp_path / "trace.json")["aten::gather"]
    assert _attributes(gather)["tensor_range"] == '{"0":[1,4],"1":[0,1]}'
    folder = tmp_path / "trace_resources"
    assert observer.get_resources_dir() == str(folder)
    written = {path.name: list(path.read_bytes()[::8]) for path in folder.iterdir()}
    number = gather["id"]
    assert written == {f"nid_{number}_tid_0.dat": [1, 2, 3, 4], f"nid_{number}_tid_1.dat": [0, 0, 1, 0]}


def test_the_environment_asks_for_a_trace_of_profiles(monkeypatch: pytest.MonkeyPatch) -> None:
    assert ExecutionTraceObserver.build_execution_trace_obs_from_env() is None
    monkeypatch.setenv("ENABLE_PYTORCH_EXECUTION_TRACE", "1")
    with profile() as running:
        torch.ones(2)
    path = pathlib.Path(running.execution_trace_observer.get_output_file_path())
    try:
        assert "aten::ones" in _nodes(path)
    finally:
        path.unlink()


def test_files_that_are_compressed_and_that_cannot_be_written(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "trace.json.gz"
    for place in (path, tmp_path / "missing" / "trace.json"):
        observer = ExecutionTraceObserver().register_callback(str(place))
        observer.start()
        torch.ones(2)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            observer.cleanup()
        if place == path:
            assert not caught and "aten::ones" in _nodes(path)
        else:
            (warned,) = caught
            assert "the trace is lost, as its file cannot be written" in str(warned.message)


def test_a_trace_begins_with_the_groups_of_processes(tmp_path: pathlib.Path) -> None:
    torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
    try:
        observer = ExecutionTraceObserver().register_callback(str(tmp_path / "trace.json"))
        observer.start()
        observer.unregister_callback()
    finally:
        torch.distributed.destroy_process_group()
    (told,) = _nodes(tmp_path / "trace.json")["## process_group:init ##"]["inputs"]["values"]
    (group,) = json.loads(told)
    assert (group["ranks"], group["group_size"], group["group_count"]) == ([0], 1, 1) and "gloo" in group[
        "backend_config"
    ]
