"""Kernels of NPUs in `torch.profiler`'s events, tables and traces."""

import json
import os
import pathlib
from typing import Any

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.autograd.profiler_util import DeviceType
from mindtorch_v2.profiler import ProfilerActivity, profile, record_function, schedule, supported_activities

_BOTH = [ProfilerActivity.CPU, ProfilerActivity.PrivateUse1]


def _program() -> Any:
    x = torch.ones(8, 8, device="npu")
    with record_function("a range"):
        return x.exp().mm(x)


def _rows(prof: Any, path: pathlib.Path, category: str = "") -> list[dict[str, Any]]:
    prof.export_chrome_trace(str(path))
    rows = json.loads(path.read_text("utf-8"))["traceEvents"]
    return [row for row in rows if row.get("cat") == category] if category else rows


def test_kernels_are_events_and_part_of_the_operators_that_launched_them() -> None:
    _program()
    with profile(activities=_BOTH) as prof:
        _program()
    kernels = [event for event in prof.events() if event.device_type == DeviceType.PrivateUse1]
    assert [kernel.name for kernel in kernels][-2:] == ["aclnnExp", "aclnnMm"]
    assert all(kernel.device_time_total > 0 and kernel.cpu_time_total == 0 for kernel in kernels)
    by_name = {event.name: event for event in prof.events()}
    mm, exp, outer = by_name["aten::mm"], by_name["aten::exp"], by_name["a range"]
    assert [(kernel.name, kernel.device) for kernel in mm.kernels] == [("aclnnMm", 0)]
    assert mm.self_device_time_total == mm.device_time_total == by_name["aclnnMm"].device_time_total
    assert outer.device_time_total == mm.device_time_total + exp.device_time_total
    assert outer.self_device_time_total == 0 and outer.kernels == []
    assert [event.time_range.start for event in prof.events()] == sorted(e.time_range.start for e in prof.events())


def test_tables_have_the_columns_of_the_device() -> None:
    with profile(activities=_BOTH) as prof:
        for _ in range(3):
            _program()
    averages = {row.key: row for row in prof.key_averages()}
    kernel = averages["aclnnMm"]
    assert (kernel.count, kernel.device_type, averages["aten::mm"].count) == (3, DeviceType.PrivateUse1, 3)
    assert kernel.device_time == pytest.approx(kernel.device_time_total / 3)
    assert kernel.self_device_time_total == pytest.approx(averages["aten::mm"].self_device_time_total)
    text = prof.key_averages().table(sort_by="self_privateuse1_time_total", row_limit=3)
    assert "Self NPU  " in text and "Self NPU %" in text and "NPU total" in text and "NPU time avg" in text
    spent = sum(row.self_device_time_total for row in averages.values() if row.device_type)
    assert text.splitlines()[-1] == f"Self NPU time total: {spent:.3f}us" or spent >= 1000


def test_a_trace_has_the_streams_and_arrows_from_operators_to_kernels(tmp_path: pathlib.Path) -> None:
    stream = torch.npu.Stream()
    with profile(activities=_BOTH, record_shapes=True) as prof:
        x = _program()
        with torch.npu.stream(stream):
            x.log()
    path = tmp_path / "trace.json"
    kernels = _rows(prof, path, "kernel")
    mm, log = (next(row for row in kernels if row["name"] == name) for name in ("aclnnMm", "aclnnLog"))
    assert mm["args"]["type"] == "Mm" and mm["args"]["Input Dims"] == [[8, 8]] * 3
    assert mm["pid"] == mm["args"]["deviceId"] == 0 and mm["tid"] == mm["args"]["streamId"] != log["tid"]
    operators = {row["args"]["External id"]: row for row in _rows(prof, path, "cpu_op")}
    assert operators[mm["args"]["External id"]]["name"] == "aten::mm"
    arrows = [row for row in _rows(prof, path, "ac2g") if row["id"] == mm["args"]["External id"]]
    assert [(row["ph"], row["pid"]) for row in arrows] == [("s", os.getpid()), ("f", 0)]
    assert arrows[0]["ts"] == operators[mm["args"]["External id"]]["ts"] <= arrows[1]["ts"] == mm["ts"]
    named = [row for row in _rows(prof, path) if row["name"] == "thread_name" and row["pid"] == 0]
    assert {row["tid"] for row in named} == {mm["tid"], log["tid"]} and len(named) == 2
    order = {r["pid"]: r["args"]["sort_index"] for r in _rows(prof, path) if r["name"] == "process_sort_index"}
    assert order == {os.getpid(): os.getpid(), 0: 1 << 24}


def test_an_operator_with_two_kernels_has_one_arrow_that_begins(tmp_path: pathlib.Path) -> None:
    library = torch.library.Library("profiled", "DEF")
    try:
        library.define("twice(Tensor x) -> Tensor")
        library.impl("twice", lambda x: x.exp().log(), "NPU")
        x = torch.ones(3, device="npu")
        with profile(activities=_BOTH) as prof:
            torch.ops.profiled.twice(x)
    finally:
        library._destroy()
    arrows = _rows(prof, tmp_path / "trace.json", "ac2g")
    assert sorted(row["ph"] for row in arrows) in (["f", "f", "s"], ["f", "f", "s", "s"])
    assert len({row["id"] for row in arrows if row["ph"] == "s"}) == sum(row["ph"] == "s" for row in arrows)


def test_each_cycle_is_timed_anew() -> None:
    found: list[list[str]] = []

    def ready(prof: Any) -> None:
        found.append([event.name for event in prof.events() if event.device_type])

    x = torch.ones(3, device="npu")
    with profile(
        activities=_BOTH, schedule=schedule(wait=1, warmup=0, active=1, repeat=2), on_trace_ready=ready
    ) as prof:
        for step in (x.exp, x.log, x.exp, x.sin):
            step()
            prof.step()
    assert found == [["aclnnLog"], ["aclnnSin"]]


def test_activities() -> None:
    x = torch.ones(3, device="npu")
    assert supported_activities() == set(_BOTH)
    with profile() as default, profile(activities=[ProfilerActivity.CPU]) as host:
        x.exp()
    assert "aclnnExp" in [event.name for event in default.events()]
    assert [event.name for event in host.events()] == ["aten::exp"] and host.events()[0].device_time_total == 0
    with profile(activities=[ProfilerActivity.PrivateUse1]) as device:
        x.exp()
    assert [event.name for event in device.events()] == ["aclnnExp"]
    with torch.autograd.profiler.profile(use_device="npu") as old:
        x.exp()
    assert [(event.name, bool(event.device_type)) for event in old.function_events] == [
        ("aten::exp", False),
        ("aclnnExp", True),
    ]


def test_gradients_are_told_to_their_operators() -> None:
    x = torch.ones(4, 4, device="npu", requires_grad=True)
    (x @ x).sum().backward()
    with profile(activities=_BOTH) as prof:
        (x @ x).sum().backward()
    launched = [(event.name, kernel.name) for event in prof.events() for kernel in event.kernels]
    assert ("aten::matmul_backward", "aclnnMatmul") in launched
    kernels = [event for event in prof.events() if event.device_type]
    assert len(kernels) == len(launched)
