"""The tables of torch_npu's profiler from a cycle whose times are known."""

import csv
import json
import pathlib
import sqlite3

import pytest

from mindtorch_v2._backends.npu.timing import Allocation, Work
from mindtorch_v2.autograd.profiler_util import EventList, FunctionEvent
from mindtorch_v2.npu.torch_npu.profiler import _tables
from mindtorch_v2.npu.torch_npu.profiler.analysis.prof_common_func._db_manager import DbManager

_MEGABYTE = 1 << 20


def _event(number: int, name: str, start: float, end: float, **others: object) -> FunctionEvent:
    return FunctionEvent(number, name, 7, start, end, **others)  # type: ignore[arg-type]


def _work(name: str, called: float, start: float, end: float, collective: bool = False, stream: int = 0) -> Work:
    return Work(name, 7, 0, stream, called, called + 2, start, end, (([2, 3], "float32"),), collective)


def _cycle() -> _tables.Cycle:
    events = EventList(
        [
            _event(1, "ProfilerStep*", 0, 100, is_user_annotation=True, trace_name="ProfilerStep#4"),
            _event(2, "aten::outer", 10, 40, input_shapes=[[2, 3], []]),
            _event(3, "aten::inner", 15, 25, stack=["f.py(1): f"]),
            _event(4, "ProfilerStep*", 100, 200, is_user_annotation=True, trace_name="ProfilerStep#5"),
            _event(5, "aten::outer", 110, 130),
        ]
    )
    events._nest()
    work = [
        _work("aclnnAdd", 11, 20, 30),
        _work("aclnnMul", 16, 35, 60),
        _work("HcclAllReduce", 30, 50, 80, True, stream=9),
        _work("aclnnAdd", 112, 120, 140),
    ]
    allocations = [
        Allocation(18, 0, 0, 0x10, 2048, 2 * _MEGABYTE, 4 * _MEGABYTE),
        Allocation(33, 0, 0, 0x10, -2048, _MEGABYTE, 4 * _MEGABYTE),
        Allocation(34, 0, 0, 0x10, 512, _MEGABYTE, 4 * _MEGABYTE),
    ]
    return _tables.Cycle(events, work, allocations, 1e6, True, True, True, True, {})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    made = tmp_path_factory.mktemp("tables")
    _tables.write(_cycle(), str(made))
    return made


def _rows(folder: pathlib.Path, name: str) -> list[dict[str, str]]:
    with (folder / f"{name}.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_operators_have_the_time_of_their_own_work_and_of_all_within(folder: pathlib.Path) -> None:
    rows = _rows(folder, "operator_details")
    assert [row["Name"] for row in rows] == ["aten::outer", "aten::inner", "aten::outer"]
    assert rows[0]["Input Shapes"] == "2,3;" and rows[1]["Call Stack"] == "f.py(1): f"
    assert [float(row["Host Self Duration(us)"]) for row in rows] == [20, 10, 20]
    assert [float(row["Host Total Duration(us)"]) for row in rows] == [30, 10, 20]
    assert [float(row["Device Self Duration(us)"]) for row in rows] == [10 + 30, 25, 20]
    assert [float(row["Device Total Duration(us)"]) for row in rows] == [65, 25, 20]
    assert rows[0]["Device Total Duration With AICore(us)"] == "N/A"


def test_kernels_one_by_one(folder: pathlib.Path) -> None:
    rows = _rows(folder, "kernel_details")
    assert [row["Type"] for row in rows] == ["Add", "Mul", "HcclAllReduce", "Add"]
    assert [row["Step Id"] for row in rows] == ["4", "4", "4", "5"]
    assert [float(row["Duration(us)"]) for row in rows] == [10, 25, 30, 20]
    assert [float(row["Wait Time(us)"]) for row in rows] == [0, 5, 0, 60]
    assert float(rows[1]["Start Time(us)"]) == 1e6 + 35 and rows[2]["Accelerator Core"] == "HCCL"
    assert rows[0]["Input Shapes"] == "2,3" and rows[0]["Input Data Types"] == "float32"


def test_kernels_by_kind(folder: pathlib.Path) -> None:
    rows = _rows(folder, "op_statistic")
    assert [(row["OP Type"], row["Count"]) for row in rows] == [("Add", "2"), ("HcclAllReduce", "1"), ("Mul", "1")]
    numbers = [float(rows[0][name]) for name in ("Total Time(us)", "Min Time(us)", "Avg Time(us)", "Max Time(us)")]
    assert numbers == [30, 10, 15, 20] and float(rows[0]["Ratio(%)"]) == pytest.approx(100 * 30 / 85, abs=1e-3)


def test_calls_by_name(folder: pathlib.Path) -> None:
    rows = _rows(folder, "api_statistic")
    assert [(row["Level"], row["API Name"], row["Count"]) for row in rows] == [
        ("acl", "aclnnAdd", "2"), ("acl", "aclnnMul", "1"), ("hccl", "HcclAllReduce", "1"),
    ]  # fmt: skip
    assert [float(rows[0][name]) for name in ("Time(us)", "Avg(us)", "Variance")] == [4, 2, 0]


def test_steps_by_what_the_device_did(folder: pathlib.Path) -> None:
    first, second = _rows(folder, "step_trace_time")
    assert first["Step"] == "4" and second["Step"] == "5"
    assert float(first["Computing"]) == 35 and float(first["Communication"]) == 30
    assert float(first["Overlapped"]) == 10 and float(first["Communication(Not Overlapped)"]) == 20
    assert float(first["Free"]) == 100 - 55 and float(first["Stage"]) == 100 and float(first["Preparing"]) == 20
    assert float(second["Computing"]) == 20 and float(second["Free"]) == 80 and float(second["Preparing"]) == 20


def test_memory(folder: pathlib.Path) -> None:
    records = _rows(folder, "memory_record")
    assert [float(row["Total Allocated(MB)"]) for row in records] == [2, 1, 1]
    assert float(records[0]["Timestamp(us)"]) == 1e6 + 18 and records[0]["Device Type"] == "NPU:0"
    blocks = _rows(folder, "operator_memory")
    assert [row["Name"] for row in blocks] == ["aten::inner", "aten::outer"]
    assert float(blocks[0]["Size(KB)"]) == 2 and float(blocks[0]["Duration(us)"]) == 15
    assert float(blocks[0]["Release Total Allocated(MB)"]) == 1 and blocks[1]["Release Time(us)"] == ""


def test_the_trace_joins_calls_and_work(folder: pathlib.Path) -> None:
    rows = json.loads((folder / "trace_view.json").read_text("utf-8"))
    spans = {(row["name"], row["ts"]): row for row in rows if row["ph"] == "X"}
    assert spans["ProfilerStep#4", 1e6]["dur"] == 100 and spans["aclnnMul", 1e6 + 35]["dur"] == 25
    starts, ends = ({row["id"]: row for row in rows if row["ph"] == kind} for kind in "sf")
    assert starts.keys() == ends.keys() == {0, 1, 2, 3}
    for number, work in enumerate(_cycle().work):
        assert starts[number]["ts"] == 1e6 + work.called and ends[number]["ts"] == 1e6 + work.start
        assert (ends[number]["pid"], ends[number]["tid"]) == (10_000, work.stream)
    names = [row["args"]["name"] for row in rows if row["ph"] == "M"]
    assert names == ["Python", "Ascend Hardware NPU 0", "Stream 0", "Stream 9"]


def test_a_cycle_without_a_device_or_steps(tmp_path: pathlib.Path) -> None:
    events = EventList([_event(1, "aten::add", 0, 10)])
    _tables.write(_tables.Cycle(events, [], [], 0.0, False, False, False, False, {}), str(tmp_path))
    assert {path.name for path in tmp_path.iterdir()} == {
        "operator_details.csv",
        "step_trace_time.csv",
        "trace_view.json",
    }
    (row,) = _rows(tmp_path, "step_trace_time")
    assert row["Device_id"] == "N/A" and float(row["Free"]) == 10
    assert "Call Stack" not in _rows(tmp_path, "operator_details")[0]


def test_databases_are_written_and_read_in_parts(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DbManager, "INSERT_SIZE", 2)
    monkeypatch.setattr(DbManager, "FETCH_SIZE", 2)
    connection, cursor = DbManager.create_connect_db(str(tmp_path / "some.db"))
    rows = [(1, "a"), (2, "b"), (3, "c"), (4, "d")]
    for _ in range(2):  # the second finds it there
        DbManager.create_table_with_headers(connection, cursor, "THINGS", [("id", "INTEGER"), ("name", "TEXT")])
    DbManager.insert_data_into_table(connection, "THINGS", rows)
    assert DbManager.fetch_all_data(cursor, "SELECT * FROM THINGS") == rows
    monkeypatch.setattr(DbManager, "MAX_ROW_COUNT", 1)
    with pytest.warns(UserWarning, match="more than 1 rows; the others were not read"):
        assert DbManager.fetch_all_data(cursor, "SELECT * FROM THINGS") == rows[:2]
    DbManager.clear_table_data(connection, cursor, "THINGS")
    assert (
        DbManager.judge_table_exist(cursor, "THINGS")
        and DbManager.fetch_one_data(cursor, "SELECT * FROM THINGS") is None
    )
    for read in (DbManager.fetch_all_data, DbManager.fetch_one_data):
        with pytest.warns(UserWarning, match="no such table: NOWHERE"):
            assert read(cursor, "SELECT * FROM NOWHERE") == []
    with pytest.warns(UserWarning, match="no such table"), pytest.raises(RuntimeError, match="the rows of NOWHERE"):
        DbManager.insert_data_into_table(connection, "NOWHERE", [(1,)])
    DbManager.destroy_db_connect(connection, cursor)
    with pytest.raises(sqlite3.ProgrammingError):
        connection.cursor()
    missing, _ = DbManager.create_connect_db(str(tmp_path / "missing" / "some.db"))
    assert not missing and str(missing) == ""
    DbManager.destroy_db_connect(missing, missing)
