"""Traces of profiles: nodes of backward and arrows to them, Python's calls, memory; and pictures of both."""

import collections
import gc
import gzip
import json
import re
import subprocess
import sys
import threading
import weakref

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.autograd._profiler_recorder import take_range
from mindtorch_v2.profiler import profile, record_function
from mindtorch_v2.profiler.__main__ import main as draw_flames

pytestmark = pytest.mark.no_torch

EVALUATE = "autograd::engine::evaluate_function: "


def run(model=None):
    model = model or torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU())
    with record_function("step"):
        model(torch.ones(2, 3)).sum().backward()


def traced(tmp_path, work=run, **options):
    with profile(**options) as prof:
        work()
    prof.export_chrome_trace(str(tmp_path / "trace.json"))
    return prof, json.loads((tmp_path / "trace.json").read_text())["traceEvents"]


def test_nodes_of_backward_lie_around_their_operators():
    with profile() as prof:
        run()
    # As PyTorch 2.13 has them, but that the weight's transpose is no node here.
    nodes = [event for event in prof.events() if event.name.startswith(EVALUATE)]
    leaf = "torch::autograd::AccumulateGrad"
    assert [event.name.removeprefix(EVALUATE) for event in nodes] == [
        "SumBackward0", "ReluBackward0", "AddmmBackward0", leaf, leaf,
    ]  # fmt: skip
    for event in nodes:
        (inner,) = event.cpu_children
        assert inner.name == event.name.removeprefix(EVALUATE)
        assert (event.scope, inner.scope) == (0, 1)
        assert inner.sequence_nr == event.sequence_nr
        assert (inner.sequence_nr == -1) == (inner.name == leaf)
    (relu,) = (event for event in prof.events() if event.name == "ReluBackward0")
    assert [child.name for child in relu.cpu_children if "threshold" in child.name] == ["aten::threshold_backward"]


def test_arrows_lead_from_operators_to_their_nodes(tmp_path):
    _, rows = traced(tmp_path)
    named = {
        (row["tid"], row["ts"]): row["name"] for row in rows if row.get("cat") == "cpu_op" and ":: " not in row["name"]
    }
    ends = {row["id"]: row for row in rows if row["ph"] == "f"}
    pairs = {
        named[row["tid"], row["ts"]]: named[ends[row["id"]]["tid"], ends[row["id"]]["ts"]]
        for row in rows
        if row["ph"] == "s"
    }
    assert pairs == {"aten::linear": "AddmmBackward0", "aten::relu": "ReluBackward0", "aten::sum": "SumBackward0"}
    assert all(end["bp"] == "e" for end in ends.values())


def test_nodes_that_raise_and_those_of_other_threads():
    class Raises(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            raise ValueError("not today")

    x = torch.ones(2, requires_grad=True)
    with profile() as prof:
        with pytest.raises(ValueError, match="not today"):
            Raises.apply(x).sum().backward()
        other = threading.Thread(target=lambda: (x * 2).sum().backward())
        other.start()
        other.join()
    names = [event.name for event in prof.events()]
    assert "RaisesBackward" in names
    assert not any("MulBackward" in name for name in names)
    assert torch._C._watch_nodes(None) is None


def test_profiles_in_profiles_see_the_same_nodes():
    with profile() as outer:
        with profile() as inner:
            run()
        (torch.ones(2, requires_grad=True) * 2).sum().backward()
    nodes = [[e.name for e in prof.events() if e.scope == 1] for prof in (inner, outer)]
    assert nodes[1][: len(nodes[0])] == nodes[0]
    assert nodes[1][-1] == "torch::autograd::AccumulateGrad" and "MulBackward0" in nodes[1]
    assert "MulBackward0" not in nodes[0]


def test_watchers_are_callables():
    with pytest.raises(TypeError, match="_watch_nodes expects a callable or None, got int"):
        torch._C._watch_nodes(3)


def named_function(model):
    return model(torch.ones(1, 3))


def test_pythons_calls_are_there_with_stacks(tmp_path):
    model = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Linear(3, 3))

    def work():
        named_function(model)

    _, rows = traced(tmp_path, work, with_stack=True)
    frames = {row["args"]["Python id"]: row for row in rows if row.get("cat") == "python_function"}

    def parents(row):
        while row["args"]["Python parent id"] is not None:
            row = frames[row["args"]["Python parent id"]]
            yield row["name"]

    (second,) = (row for row in frames.values() if row["name"] == "nn.Module: Linear_1")
    around = list(parents(second))
    assert around[1] == "nn.Module: Sequential_0"
    assert any(name.endswith(": named_function") for name in around)
    assert any(name.endswith(": test_pythons_calls_are_there_with_stacks") for name in around)
    assert sys.getprofile() is None
    _, plain = traced(tmp_path, work)
    assert not any(row.get("cat") == "python_function" for row in plain)


def test_another_profile_function_stays():
    def theirs(frame, event, argument):
        pass

    sys.setprofile(theirs)
    try:
        with pytest.warns(UserWarning, match="another profile function is set"), profile(with_stack=True):
            torch.ones(2)
        assert sys.getprofile() is theirs
    finally:
        sys.setprofile(None)


def nested(spans):
    """Whether no two spans of a list of (start, end) overlap without one lying within the other."""
    open_ends = []
    for start, end in sorted(spans, key=lambda span: (span[0], -span[1])):
        while open_ends and open_ends[-1] <= start:
            open_ends.pop()
        if open_ends and end > open_ends[-1]:
            return False
        open_ends.append(end)
    return True


def test_a_trace_holds_what_perfetto_asks_for(tmp_path):
    _, rows = traced(tmp_path, record_shapes=True, with_stack=True, profile_memory=True)
    assert not nested([(0, 5), (3, 8)])  # (the check itself)
    by_thread = collections.defaultdict(list)
    for row in rows:
        assert {"ph", "name", "pid", "tid"} <= row.keys()
        if row["ph"] == "X":
            assert row["dur"] >= 0 and row["ts"] >= 0
            # Perfetto reads whole nanoseconds.
            by_thread[row["tid"]].append((round(row["ts"] * 1000), round((row["ts"] + row["dur"]) * 1000)))
    assert all(nested(spans) for spans in by_thread.values())
    starts, ends = ({row["id"]: row for row in rows if row["ph"] == phase} for phase in "sf")
    assert starts.keys() == ends.keys() and starts
    for number, start in starts.items():
        assert start["ts"] <= ends[number]["ts"]
        for row in (start, ends[number]):  # an arrow hangs on the span around it
            assert any(first <= round(row["ts"] * 1000) <= last for first, last in by_thread[row["tid"]])


def test_memory_over_time(tmp_path):
    def work():
        kept = torch.ones(1000)
        del kept
        work.left = torch.ones(10)

    prof, rows = traced(tmp_path, work, profile_memory=True)
    changes = [row for row in rows if row["name"] == "[memory]"]
    assert all(row["ph"] == "i" and row["args"]["Device Type"] == 0 for row in changes)
    assert (
        sum(row["args"]["Bytes"] for row in changes[1:])
        == changes[-1]["args"]["Total Allocated"] - changes[0]["args"]["Total Allocated"]
    )
    assert any(row["args"]["Bytes"] >= 4000 for row in changes)
    prof.export_memory_timeline(str(tmp_path / "memory.json"), device="cpu")
    prof.export_memory_timeline(str(tmp_path / "memory.json.gz"))
    times, sizes = json.loads((tmp_path / "memory.json").read_text())
    assert json.loads(gzip.open(tmp_path / "memory.json.gz").read()) == [times, sizes]
    assert times == sorted(times)
    assert [row[1] for row in sizes] == [row["args"]["Total Allocated"] for row in changes]
    assert {len(row) for row in sizes} == {9}
    prof.export_memory_timeline(str(tmp_path / "memory.html"))
    assert "Memory of the CPU, highest" in (tmp_path / "memory.html").read_text()
    with pytest.raises(NotImplementedError, match="memory of cuda:0 is not recorded"):
        prof.export_memory_timeline("x.json", device="cuda:0")
    with profile() as without:
        torch.ones(2)
    with pytest.raises(ValueError, match="profile_memory=True required"):
        without.export_memory_timeline("x.json")


def one_place():
    return torch.ones(2, 3).exp()


def another_place():
    return torch.ones(2, 3).exp(), torch.ones(4).exp()


def test_averages_by_stack_and_by_shape():
    with profile(record_shapes=True, with_stack=True) as prof:
        one_place()
        another_place()
    by_stack = [
        (e.count, e.stack[0].rpartition(": ")[2]) for e in prof.key_averages(group_by_stack_n=1) if e.key == "aten::exp"
    ]
    assert sorted(by_stack) == [(1, "one_place"), (2, "another_place")]
    by_shape = [(e.count, e.input_shapes) for e in prof.key_averages(group_by_input_shape=True) if e.key == "aten::exp"]
    assert sorted(by_shape) == [(1, [[4]]), (2, [[2, 3]])]
    assert "another_place" in prof.key_averages(group_by_stack_n=2).table()


def test_flame_graphs(tmp_path, capsys):
    stacks, picture = tmp_path / "stacks.txt", tmp_path / "flame.svg"
    stacks.write_text("main;step;forward 30\nmain;step;back<ward> 60\nmain;load 10\n")
    assert draw_flames([str(stacks), str(picture), "--title", "One step"]) == 0
    drawn = picture.read_text()
    assert "One step: 0.100 ms" in drawn and "step: 90 us, 90.0%" in drawn and "back&lt;ward&gt;" in drawn
    stacks.write_text("nothing here\n")
    assert draw_flames([str(stacks), str(picture)]) == 1
    assert (
        "line 1: expected functions with semicolons between and a number, got 'nothing here'" in capsys.readouterr().err
    )
    stacks.write_text("")
    assert draw_flames([str(stacks), str(picture)]) == 1
    assert "profile with with_stack=True" in capsys.readouterr().err


def test_flame_graphs_of_a_profile(tmp_path):
    with profile(with_stack=True) as prof:
        run()
        torch.ones(300, 300) @ torch.ones(300, 300)
    prof.export_stacks(str(tmp_path / "stacks.txt"))
    code = f"import sys; sys.path[:] = {sys.path!r}; from mindtorch_v2.profiler.__main__ import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", code, str(tmp_path / "stacks.txt"), str(tmp_path / "flame.svg")]
    assert subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip().endswith("flame.svg")
    assert "test_flame_graphs_of_a_profile" in (tmp_path / "flame.svg").read_text()


def test_modules_that_come_and_go_have_numbers_of_their_own(tmp_path):
    """A module that ends leaves its place in memory to the next: still two modules; after the profile both may go."""
    gone = []

    def work():
        for _ in range(3):
            layer = torch.nn.Linear(2, 2)
            layer(torch.ones(1, 2))
            layer(torch.ones(1, 2))
            gone.append(weakref.ref(layer))
            del layer
            gc.collect()

    _, rows = traced(tmp_path, work, with_stack=True)
    names = [row["name"] for row in rows if row["name"].startswith("nn.Module: Linear_")]
    assert collections.Counter(names) == {f"nn.Module: Linear_{number}": 2 for number in range(3)}
    gc.collect()
    assert [reference() for reference in gone] == [None] * 3


def test_memory_of_nodes_and_of_marked_ranges():
    x = torch.ones(1000, requires_grad=True)
    with profile(profile_memory=True) as prof:
        y = (x * 2).exp()
        take_range("marked", 0, 1, False)
        y.sum().backward()
    by_name = {event.name: event for event in prof.events()}
    assert by_name["marked"].cpu_memory_usage == 0
    assert by_name["torch::autograd::AccumulateGrad"].cpu_memory_usage >= 0
    assert by_name[EVALUATE + "ExpBackward0"].cpu_memory_usage != 0
    assert by_name["ExpBackward0"].cpu_memory_usage == by_name[EVALUATE + "ExpBackward0"].cpu_memory_usage


def test_tables_are_sorted_by_columns_of_any_device():
    with profile() as prof:
        run()
    averages = prof.key_averages()
    expected = averages.table(sort_by="device_time_total")
    for device in ("cuda", "xpu", "privateuse1"):
        assert averages.table(sort_by=f"{device}_time_total") == expected


def test_the_picture_of_memory_has_a_step_for_each_change(tmp_path):
    with profile(profile_memory=True, record_shapes=True, with_stack=True) as prof:
        kept = [torch.ones(256 * n) for n in (1, 2, 3)]
        kept.clear()
    prof.export_memory_timeline(str(tmp_path / "page.html"), device="cpu")
    (points,) = re.findall(r'points="([^"]+)"', (tmp_path / "page.html").read_text())
    assert len(points.split()) >= 2 * 6
