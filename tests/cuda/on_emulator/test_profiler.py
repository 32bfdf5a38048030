"""Kernels of GPUs in `torch.profiler`'s events, tables and traces."""

import json
import pathlib
from typing import Any

import pytest

import mindtorch_v2 as torch
from mindtorch_v2._backends.cuda import runtime
from mindtorch_v2.autograd.profiler_util import DeviceType
from mindtorch_v2.profiler import ProfilerActivity, profile, record_function, supported_activities

_BOTH = [ProfilerActivity.CPU, ProfilerActivity.CUDA]


def _program() -> Any:
    x = torch.ones(8, 8, device="cuda")
    with record_function("a range"):
        return x.exp().mm(x).sum()


def test_kernels_are_events_and_part_of_the_operators_that_launched_them() -> None:
    _program()
    with profile(activities=_BOTH) as prof:
        _program().item()
    kernels = [event for event in prof.events() if event.device_type == DeviceType.CUDA]
    names = [kernel.name for kernel in kernels]
    assert names[0].startswith("pointwise<") and names[1] == "pointwise<exp>"
    assert names[2] == "cublasGemmStridedBatchedEx" and names[-1] == "Memcpy DtoH"
    assert all(kernel.device_time_total > 0 and kernel.cpu_time_total == 0 for kernel in kernels)
    by_name = {event.name: event for event in prof.events()}
    mm, exp, outer = by_name["aten::mm"], by_name["aten::exp"], by_name["a range"]
    assert [(kernel.name, kernel.device) for kernel in mm.kernels] == [("cublasGemmStridedBatchedEx", 0)]
    assert mm.self_device_time_total == mm.device_time_total == mm.kernels[0].duration
    assert outer.device_time_total >= mm.device_time_total + exp.device_time_total
    assert outer.kernels == []


def test_times_are_the_device_s() -> None:
    """A kernel that works longer has the longer time, and kernels of one stream follow each other."""
    small, large = torch.ones(16, device="cuda"), torch.ones(1 << 20, device="cuda")
    small.exp(), large.exp()
    with profile(activities=_BOTH) as prof:
        for x in (small, large, small):
            x.exp()
    ranges = [event.time_range for event in prof.events() if event.device_type == DeviceType.CUDA]
    first, second, third = (each.elapsed_us() for each in ranges)
    assert second > first and second > third
    assert all(one.end <= other.start for one, other in zip(ranges, ranges[1:]))


def test_tables_have_the_columns_of_the_device() -> None:
    _program()
    with profile(activities=_BOTH) as prof:
        for _ in range(3):
            _program()
    averages = {row.key: row for row in prof.key_averages()}
    kernel = averages["pointwise<exp>"]
    assert (kernel.count, kernel.device_type, averages["aten::exp"].count) == (3, DeviceType.CUDA, 3)
    assert kernel.self_device_time_total == pytest.approx(averages["aten::exp"].self_device_time_total)
    text = prof.key_averages().table(sort_by="self_cuda_time_total", row_limit=3)
    assert "Self CUDA  " in text and "Self CUDA %" in text and "CUDA total" in text and "CUDA time avg" in text
    assert "Self CUDA time total" in text.splitlines()[-1]


def test_a_trace_has_the_streams(tmp_path: pathlib.Path) -> None:
    x, side = torch.ones(8, device="cuda"), torch.cuda.Stream()
    x.exp()
    torch.cuda.synchronize()
    with profile(activities=_BOTH) as prof:
        x.exp()
        with torch.cuda.stream(side):
            x.sin()
    prof.export_chrome_trace(str(tmp_path / "trace.json"))
    rows = json.loads((tmp_path / "trace.json").read_text("utf-8"))["traceEvents"]
    kernels = [row for row in rows if row.get("cat") == "kernel"]
    assert [(row["name"], row["tid"]) for row in kernels] == [("pointwise<exp>", 0), ("pointwise<sin>", 1)]
    named = {(row["tid"], row["args"]["name"]) for row in rows if row["name"] == "thread_name" and row["pid"] == 0}
    assert {(0, "stream 0"), (1, "stream 1")} <= named
    assert any(row["name"] == "process_labels" and row["args"]["labels"] == "CUDA 0" for row in rows)
    assert sum(row.get("cat") == "ac2g" for row in rows) == 4  # an arrow's two ends for each


def test_what_a_graph_records_is_not_marked() -> None:
    x = torch.ones(8, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with profile(activities=_BOTH) as prof, torch.cuda.graph(graph):
        y = x.exp()
    assert "pointwise<exp>" not in [event.name for event in prof.events()]
    graph.replay()
    assert float(y[0]) == pytest.approx(2.718281828)


def test_a_gpu_in_use_is_profiled_by_default() -> None:
    assert ProfilerActivity.CUDA in supported_activities()
    _program()
    with profile() as prof:
        _program()
    assert any(event.device_type == DeviceType.CUDA for event in prof.events())


def test_nothing_stays_in_the_way() -> None:
    """After a profile launches are not marked, and no event is left."""
    with profile(activities=_BOTH):
        _program()
    alive = len(runtime.get().events)
    _program()
    assert len(runtime.get().events) == alive
