"""Which operator launched which kernel, and whether a device can be timed."""

from types import SimpleNamespace
from typing import Any

import pytest

from mindtorch_v2._backends.npu import libraries, runtime
from mindtorch_v2._backends.npu.timing import Work
from mindtorch_v2.autograd import _profiler_devices as devices
from mindtorch_v2.autograd.profiler_util import DeviceType, EventList, FunctionEvent

pytestmark = pytest.mark.no_torch


def _work(name: str, called: float, thread: int = 7, start: float = 0.0) -> Work:
    return Work(
        name,
        thread,
        1,
        30,
        called,
        called + 1,
        start or called + 2,
        (start or called + 2) + 5,
        (([2, 3], "float32"),),
        False,
    )


def _events() -> EventList:
    events = EventList(
        [
            FunctionEvent(1, "a range", 7, 0.0, 100.0, is_user_annotation=True),
            FunctionEvent(2, "outer", 7, 10.0, 60.0),
            FunctionEvent(3, "inner", 7, 20.0, 40.0),
            FunctionEvent(4, "elsewhere", 9, 15.0, 55.0),
        ]
    )
    events._nest()
    return events


@pytest.mark.parametrize(
    ("called", "thread", "name"),
    [
        (5, 7, None),
        (10, 7, "outer"),
        (15, 7, "outer"),
        (20, 7, "inner"),
        (40, 7, "inner"),
        (50, 7, "outer"),
        (70, 7, None),
    ]
    + [(30, 9, "elsewhere"), (30, 8, None)],
)
def test_the_innermost_operator_of_the_thread_launched_a_kernel(called: float, thread: int, name: str | None) -> None:
    ((work, launcher),) = devices.launched(_events(), [_work("k", called, thread)])
    assert work.name == "k" and (None if launcher is None else launcher.name) == name


def test_work_is_taken_in_the_order_of_its_calls() -> None:
    work = [_work("last", 70), _work("second", 25), _work("third", 45), _work("first", 12)]
    found = [(each.name, launcher.name if launcher else None) for each, launcher in devices.launched(_events(), work)]
    assert found == [("first", "outer"), ("second", "inner"), ("third", "outer"), ("last", None)]


def test_kernels_become_events() -> None:
    events = _events()
    made = devices.with_kernels(events, [_work("a", 25, start=30), _work("b", 45, start=21)], "npu")
    assert [event.name for event in made] == ["a range", "outer", "elsewhere", "inner", "b", "a"]
    assert len({event.id for event in made}) == 6 and all(event.use_device == "npu" for event in made)
    kernel = made[-1]
    assert (kernel.device_type, kernel.device_index, kernel.device_resource_id) == (DeviceType.PrivateUse1, 1, 30)
    assert (kernel.thread, kernel.input_shapes, kernel.device_time_total) == (7, [[2, 3]], 5)
    assert [(k.name, k.device, k.duration) for k in events[2].kernels] == [("a", 1, 5)]
    assert (events[1].device_time_total, events[1].self_device_time_total) == (10, 5)


def test_a_device_can_be_timed_where_its_runtime_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> Any:
        raise RuntimeError("no driver")

    assert not devices.can_time("cuda")
    monkeypatch.setattr(libraries, "find", lambda name: (None, []))
    assert not devices.can_time("npu")
    monkeypatch.setattr(libraries, "find", lambda name: ("there", []))
    for made, expected in (
        (lambda: SimpleNamespace(device_count=1), True),
        (lambda: SimpleNamespace(device_count=0), False),
        (broken, False),
    ):
        monkeypatch.setattr(runtime, "get", made)
        assert devices.can_time("npu") is expected


def test_a_device_is_used_once_its_back_end_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    place = "mindtorch_v2._backends.npu"
    for loaded in (True, False):
        monkeypatch.setitem(__import__("sys").modules, place, SimpleNamespace(is_loaded=lambda loaded=loaded: loaded))
        assert devices.is_used("npu") is loaded
    monkeypatch.delitem(__import__("sys").modules, place)
    assert not devices.is_used("npu")
