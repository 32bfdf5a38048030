"""Parts of the profiler for themselves: the picture of memory, arrows, frames, nesting, operations, arguments."""

import re
import sys
import threading
import time

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.autograd import _profiler_frames, _profiler_table, _profiler_trace
from mindtorch_v2.autograd._profiler_recorder import Recorder
from mindtorch_v2.autograd.profiler_util import EventList, FunctionEvent

pytestmark = pytest.mark.no_torch


def test_the_picture_of_memory_is_drawn_to_scale():
    page = _profiler_trace._picture([1000, 2000, 5000], [1024, 3072, 0])
    (points,) = re.findall(r'points="([^"]+)"', page)
    # 320 points stand for 3 KiB, 900 for 4 ms.
    assert points.split() == [
        "90,360", "90.0,360.0", "90.0,253.3", "315.0,253.3", "315.0,40.0", "990.0,40.0", "990.0,360.0", "990,360.0", "990,360",
    ]  # fmt: skip
    assert 'width="1030" height="400"' in page
    assert "highest 3.0 KiB" in page
    sizes = re.findall(r'<text x="82" y="(\d+)" text-anchor="end">([^<]+)</text>', page)
    assert sizes == [("364", "0.0 KiB"), ("284", "0.8 KiB"), ("204", "1.5 KiB"), ("124", "2.2 KiB"), ("44", "3.0 KiB")]
    moments = re.findall(r'<text x="(\d+)" y="380" text-anchor="middle">([^<]+)</text>', page)
    assert moments == [("90", "0.0 ms"), ("315", "1.0 ms"), ("540", "2.0 ms"), ("765", "3.0 ms"), ("990", "4.0 ms")]
    lines = re.findall(r'<line x1="90" x2="990" y1="(\d+)" y2="(\d+)"', page)
    assert lines == [("360", "360"), ("280", "280"), ("200", "200"), ("120", "120"), ("40", "40")]


@pytest.mark.parametrize(("most", "shown"), [(1, "1.0 B"), (1 << 20, "1.0 MiB"), (3 << 29, "1.5 GiB"), (0, "1.0 B")])
def test_the_unit_of_the_picture_follows_the_highest(most, shown):
    page = _profiler_trace._picture([7, 7], [most, most])
    assert f"highest {shown}<" in page


def test_arrows_are_in_thousandths_of_microseconds():
    made = FunctionEvent(1, "aten::mul", 7, 1.23456, 2.0, sequence_nr=5)
    node = FunctionEvent(2, "MulBackward0", 8, 3.98765, 4.0, sequence_nr=5, fwd_thread=7, scope=1)
    first, second = _profiler_trace._arrows([made, node], 99)
    assert (first["ph"], first["tid"], first["ts"], second["ph"], second["tid"], second["ts"]) == (
        "s",
        7,
        1.235,
        "f",
        8,
        3.988,
    )
    assert {first["id"], second["id"]} == {2} and {first["pid"], second["pid"]} == {99}
    assert _profiler_trace._arrows([made], 99) == []


def test_an_event_lies_within_one_that_ends_at_the_same_moment():
    outer, inner, later = (
        FunctionEvent(n, "e", 7, start, end) for n, (start, end) in enumerate([(0, 10), (2, 10), (10, 12)])
    )
    EventList([outer, inner, later])._nest()
    assert inner.cpu_parent is outer and outer.cpu_children == [inner]
    assert later.cpu_parent is None


def frame_of(name):
    code = compile(f"def {name}(): return frame()\nkept = {name}()", f"/somewhere/{name}.py", "exec")
    space = {"frame": sys._getframe}
    exec(code, space)
    return space["kept"]


def test_calls_end_with_what_was_under_way_in_them():
    seen = _profiler_frames.Frames()
    outer, inner = frame_of("outer"), frame_of("inner")
    seen._see(outer, "call", None)
    seen._see(inner, "call", None)
    seen._see(inner, "c_call", len)
    seen._see(inner, "c_exception", len)
    seen._see(inner, "c_call", print)
    seen._see(inner, "c_return", len)  # of a call that was not seen
    seen._see(outer, "return", None)  # the ends of the inner ones were not seen
    seen._see(inner, "return", None)
    compiled, also, first, second = seen.taken
    assert (compiled.name, also.name) == ("<built-in function len>", "<built-in function print>")
    assert (compiled.number, compiled.parent, also.number, also.parent) == (3, 2, 4, 2)
    assert (first.name, second.name) == ("/somewhere/inner.py(1): inner", "/somewhere/outer.py(1): outer")
    assert (first.number, first.parent, second.number, second.parent) == (2, 1, 1, None)
    assert second.start <= first.start <= first.end == second.end
    own = sys._getframe()
    assert own.f_code.co_filename not in _profiler_frames._OWN
    seen._see(own, "return", None)
    assert len(seen.taken) == 4


def test_calls_are_named_from_the_innermost_folder(monkeypatch):
    monkeypatch.setattr(sys, "path", ["/some", "/somewhere", "/some/where"])
    assert _profiler_frames.Frames()._name(frame_of("f")) == "f.py(1): f"


def test_operators_get_their_arguments_while_they_are_recorded():
    with Recorder() as recorder:
        made = torch.add(torch.ones(2), torch.ones(2), alpha=3)
        plain = recorder.__torch_dispatch__(torch.ops.aten.neg.default, (), (torch.ones(2),))
    assert made.tolist() == [4.0, 4.0] and plain.tolist() == [-1.0, -1.0]
    assert recorder.thread == threading.get_native_id()
    assert [event.thread for event in recorder.events()] == [recorder.thread] * len(recorder.events())


def test_operations_of_convolutions_and_of_what_has_none():
    """2 * outputs * inputs of each: 2 * (1 * 4 * 3 * 3) * (2 * 2 * 2) for the convolution."""
    x, w = torch.ones(1, 2, 4, 4, requires_grad=True), torch.ones(4, 2, 2, 2, requires_grad=True)
    with torch.profiler.profile(with_flops=True) as run:
        y = torch.nn.functional.conv2d(x, w)
        torch.relu(y)
        torch.nn.functional.linear(torch.ones(3, 5), torch.ones(7, 5))
        y.sum().backward()
    flops = {event.name: event.flops for event in run.events() if event.flops is not None}
    assert flops["aten::convolution"] == 2 * 36 * 8
    assert flops["aten::convolution_backward"] == 2 * 2 * 36 * 8
    assert flops["aten::linear"] == 2 * 3 * 5 * 7
    assert not flops.get("aten::relu")


def test_ranges_for_other_tools_are_refused():
    with pytest.raises(NotImplementedError, match="emit_itt is not implemented"), torch.autograd.profiler.emit_itt():
        pass
    with torch.autograd.profiler.emit_itt(enabled=False):
        pass


def test_names_are_followed_by_four_columns_of_space():
    events = [FunctionEvent(1, "n" * 20, 7, 0.0, 10.0)]
    rule = _profiler_table.build_table(events, max_name_column_width=None).splitlines()[0]
    assert rule.split()[0] == "-" * 24


def test_times_are_in_microseconds():
    with torch.profiler.profile() as run, torch.profiler.record_function("waits"):
        time.sleep(0.02)
    (event,) = (each for each in run.events() if each.name == "waits")
    assert 20_000 <= event.cpu_time_total < 20_000_000
    assert 0 <= event.time_range.start < 20_000_000
