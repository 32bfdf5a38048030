"""The time of work on the device, by torch_npu's profiler."""

import csv
import json
import pathlib
import sqlite3
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2._backends.npu import aclnn
from mindtorch_v2._backends.npu.timing import Timing
from mindtorch_v2.npu.torch_npu import profiler


def _cycle(tmp_path: pathlib.Path, program: Any, **options: Any) -> pathlib.Path:
    config = profiler._ExperimentalConfig(profiler_level=profiler.ProfilerLevel.Level1)
    with profiler.profile(
        schedule=profiler.schedule(wait=1, active=2, repeat=1),
        on_trace_ready=profiler.tensorboard_trace_handler(str(tmp_path), "me"),
        experimental_config=config,
        **options,
    ) as running:
        for _ in range(4):
            program()
            running.step()
    (folder,) = tmp_path.iterdir()
    return folder / "ASCEND_PROFILER_OUTPUT"


def _rows(folder: pathlib.Path, name: str) -> list[dict[str, str]]:
    with (folder / f"{name}.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_what_the_device_did_in_two_of_four_steps(tmp_path: pathlib.Path) -> None:
    x = torch.randn(64, 64, device="npu")
    folder = _cycle(tmp_path, lambda: x.exp().mm(x), record_shapes=True, profile_memory=True)
    kernels = _rows(folder, "kernel_details")
    assert [(row["Step Id"], row["Type"]) for row in kernels] == [("1", "Exp"), ("1", "Mm"), ("2", "Exp"), ("2", "Mm")]
    assert all(float(row["Duration(us)"]) > 0 for row in kernels)
    starts = [float(row["Start Time(us)"]) for row in kernels]
    assert starts == sorted(starts)
    calls = {row["API Name"]: row for row in _rows(folder, "api_statistic")}
    assert calls.keys() == {"aclnnExp", "aclnnMm"} and calls["aclnnMm"]["Count"] == "2"
    operators = {row["Name"]: row for row in _rows(folder, "operator_details")}
    assert float(operators["aten::mm"]["Device Self Duration(us)"]) > 0
    assert float(operators["aten::mm"]["Device Self Duration(us)"]) in [float(row["Duration(us)"]) for row in kernels]
    assert [row["Step"] for row in _rows(folder, "step_trace_time")] == ["1", "2"]
    blocks = [row for row in _rows(folder, "operator_memory") if row["Name"] == "aten::exp"]
    assert len(blocks) == 2 and {float(row["Size(KB)"]) for row in blocks} == {
        16.5
    }  # 16 KiB, 32 bytes that kernels may read behind them, in steps of 512
    spans = json.loads((folder / "trace_view.json").read_text("utf-8"))
    assert [row["name"] for row in spans if row.get("cat") == "kernel"] == ["aclnnExp", "aclnnMm"] * 2


def _table(path: pathlib.Path, statement: str) -> list[tuple[Any, ...]]:
    connection = sqlite3.connect(path)
    try:
        return connection.execute(statement).fetchall()
    finally:
        connection.close()


def test_databases_alone_hold_calls_and_the_work_that_they_made(tmp_path: pathlib.Path) -> None:
    x = torch.randn(4, 4, device="npu")
    with profiler.profile(
        on_trace_ready=profiler.tensorboard_trace_handler(str(tmp_path), "me"),
        schedule=profiler.schedule(wait=0, active=1, repeat=1),
        experimental_config=profiler._ExperimentalConfig(export_type=profiler.ExportType.Db),
        record_shapes=True,
        profile_memory=True,
        with_stack=True,
    ) as running:
        x.exp()
        running.step()
    (output,) = tmp_path.glob("*/ASCEND_PROFILER_OUTPUT")
    assert {path.name for path in output.iterdir()} == {"analysis.db", "ascend_pytorch_profiler.db"}
    path = output / "ascend_pytorch_profiler.db"
    found = _table(
        path,
        "SELECT op.value, shapes.value, kernel.value, dtypes.value, task.startNs < task.endNs, "
        "api.startNs <= cann.startNs AND cann.endNs <= api.endNs FROM PYTORCH_API api "
        "JOIN CONNECTION_IDS joined ON joined.id = api.connectionId JOIN TASK task ON task.connectionId = joined.connectionId "
        "JOIN CANN_API cann ON cann.connectionId = joined.connectionId "
        "JOIN COMPUTE_TASK_INFO info ON info.globalTaskId = task.globalTaskId JOIN STRING_IDS op ON op.id = api.name "
        "JOIN STRING_IDS shapes ON shapes.id = api.inputShapes JOIN STRING_IDS kernel ON kernel.id = info.opType "
        "JOIN STRING_IDS dtypes ON dtypes.id = info.inputDataTypes JOIN ENUM_API_TYPE kind ON kind.id = api.type "
        "WHERE kind.name = 'op'",
    )
    assert found == [("aten::exp", "4,4", "Exp", "float32;float32", 1, 1)]
    blocks = _table(path, "SELECT size FROM OP_MEMORY JOIN STRING_IDS ON id = name WHERE value = 'aten::exp'")
    assert blocks == [(512,)] and len(_table(path, "SELECT * FROM MEMORY_RECORD")) == 2
    frames = _table(path, "SELECT value FROM PYTORCH_CALLCHAINS chain JOIN STRING_IDS text ON text.id = chain.stack")
    assert any("test_profiler.py" in frame for (frame,) in frames)
    ((step, start, end),) = _table(path, "SELECT * FROM STEP_TIME")
    ((device, number, stage),) = _table(output / "analysis.db", "SELECT deviceId, step, stage FROM StepTraceTime")
    assert (step, device, number) == (0, 0, "0") and stage >= (end - start) / 1000 - 1
    assert _table(path, "SELECT * FROM RANK_DEVICE_MAP") == [(-1, 0)]


def test_the_kinds_of_files_may_be_chosen_when_they_are_made(tmp_path: pathlib.Path) -> None:
    with profiler.profile(on_trace_ready=profiler.tensorboard_trace_handler(str(tmp_path), "me", analyse_flag=False)):
        torch.ones(2)
    profiler.profiler.analyse(str(tmp_path), export_type="db")
    (output,) = tmp_path.glob("*/ASCEND_PROFILER_OUTPUT")
    assert [path.name for path in output.iterdir()] == ["ascend_pytorch_profiler.db"]
    profiler.profiler.analyse(str(tmp_path))
    assert (output / "operator_details.csv").exists()


def test_levels_and_activities_decide_what_is_taken(tmp_path: pathlib.Path) -> None:
    x = torch.ones(3, device="npu")
    levels, kinds = profiler.ProfilerLevel, profiler.ProfilerActivity
    for place, (level, activities, there) in enumerate(
        (
            (levels.Level_none, None, set()),
            (levels.Level0, [kinds.CPU], set()),
            (levels.Level0, [kinds.NPU], {"kernel_details.csv", "op_statistic.csv", "task_time.csv"}),
        )
    ):
        folder = tmp_path / str(place)
        with profiler.profile(
            activities=activities,
            on_trace_ready=profiler.tensorboard_trace_handler(str(folder), "me"),
            experimental_config=profiler._ExperimentalConfig(profiler_level=level),
        ):
            x.exp()
        (output,) = folder.glob("*/ASCEND_PROFILER_OUTPUT")
        always = {"ascend_pytorch_profiler.db", "operator_details.csv", "step_trace_time.csv", "trace_view.json"}
        always |= {"analysis.db"} if there else set()
        assert {path.name for path in output.iterdir()} == always | there
        assert bool(_rows(output, "operator_details")) == (activities != [kinds.NPU])


def test_timing_leaves_calls_as_they_were() -> None:
    exp, log = aclnn.operator("aclnnExp"), aclnn.operator("aclnnLog10")
    torch.ones(3, device="npu").exp()
    before = exp.run
    timing = Timing()
    timing.start(0)
    assert exp.run is not before
    first = torch.ones(3, device="npu").log10()  # bound while it is timed
    timing.stop()
    assert exp.run is before and log.run.__name__ == "aclnnLog10"
    assert torch.equal(first, torch.ones(3, device="npu").log10())
    assert [work.name for work in timing.work if work.name == "aclnnLog10"] == ["aclnnLog10"]


def test_many_calls_are_read_in_parts(monkeypatch: Any) -> None:
    monkeypatch.setattr("mindtorch_v2._backends.common.timing._AT_ONCE", 4)
    x, timing = torch.ones(3, device="npu"), Timing(shapes=True)
    timing.start(0)
    for _ in range(10):
        x.exp_()
    timing.stop()
    assert [work.name for work in timing.work] == ["aclnnExp"] * 10
    assert all(work.end >= work.start for work in timing.work) and timing.work[0].inputs[0] == ([3], "float32")


def test_what_a_graph_records_is_not_timed() -> None:
    x, timing = torch.ones(3, device="npu"), Timing()
    timing.start(0)
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        y = x.exp()
    timing.stop()
    graph.replay()
    assert "aclnnExp" not in [work.name for work in timing.work] and torch.allclose(y, x.exp())
