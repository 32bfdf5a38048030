"""`torch.monitor`: windows by count and by time, handlers, and what is refused."""

import time
from datetime import datetime, timedelta

import pytest

from mindtorch_v2 import monitor
from mindtorch_v2.monitor import Aggregation, Event, Stat


@pytest.fixture
def events():
    seen = []
    handle = monitor.register_event_handler(seen.append)
    yield seen
    monitor.unregister_event_handler(handle)


def test_a_window_by_count(events):
    stat = Stat("x", set(Aggregation), timedelta(hours=1), 3)
    for value in (2, 3.5, 1):
        stat.add(value)
    assert stat.count == 0
    (event,) = events
    assert event.name == "torch.monitor.Stat"
    assert event.data == {"x.value": 1.0, "x.count": 3.0, "x.sum": 6.5, "x.max": 3.5, "x.mean": 6.5 / 3, "x.min": 1.0}
    assert stat.get()[Aggregation.SUM] == 6.5


def test_a_window_by_time(events):
    stat = Stat("x", [Aggregation.SUM], timedelta(milliseconds=1))
    assert stat.get() == {Aggregation.SUM: 0.0}
    stat.add(1)
    time.sleep(0.01)
    stat.add(2)
    assert [event.data for event in events] == [{"x.sum": 1.0}]
    assert stat.count == 1
    del stat
    assert events[-1].data == {"x.sum": 2.0}


def test_handlers():
    seen = []
    handle = monitor.register_event_handler(seen.append)
    event = Event("e", datetime.now(), {"a": 1, "b": "text"})
    monitor.log_event(event)
    monitor.unregister_event_handler(handle)
    monitor.log_event(event)
    assert seen == [event]
    with pytest.raises(RuntimeError, match="not registered"):
        monitor.unregister_event_handler(handle)


def test_refused():
    with pytest.raises(TypeError, match="str, int, float or bool"):
        Event("e", datetime.now(), {"a": [1]})
    with pytest.raises(TypeError, match="datetime"):
        Event("e", 3.0, {})
    with pytest.raises(TypeError, match="callable"):
        monitor.register_event_handler(3)
