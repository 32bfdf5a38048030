"""`torch.monitor`: numbers of a running program, gathered over windows of time, and events for whoever listens."""

from __future__ import annotations

import enum
import itertools
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mindtorch_v2.utils.tensorboard import SummaryWriter

__all__ = [
    "STAT_EVENT",
    "Aggregation",
    "Event",
    "EventHandlerHandle",
    "Stat",
    "TensorboardEventHandler",
    "data_value_t",
    "log_event",
    "register_event_handler",
    "unregister_event_handler",
]

STAT_EVENT = "torch.monitor.Stat"
data_value_t = int | float | bool | str


class Aggregation(enum.Enum):
    """A number made of the values of one window of a `Stat`: the last one, or all of them together.

    >>> torch.monitor.Aggregation.MEAN.name, torch.monitor.Aggregation.MAX.name
    ('MEAN', 'MAX')
    """

    VALUE = 0
    MEAN = 2
    COUNT = 3
    SUM = 4
    MAX = 5
    MIN = 6


VALUE, MEAN, COUNT, SUM, MAX, MIN = Aggregation


class Event:
    """Something that happened: a name, a time, and values (str, int, float, bool) by their names.

    TypeError for a timestamp that is no datetime, or a value of another type.

    >>> from datetime import datetime
    >>> from mindtorch_v2 import monitor
    >>> monitor.Event("checkpoint", datetime.now(), {"step": 3}).data["step"]
    3
    """

    def __init__(self, name: str, timestamp: datetime, data: Mapping[str, data_value_t]) -> None:
        if not isinstance(timestamp, datetime):
            raise TypeError(f"Event(name, timestamp, data): expected a datetime, got {type(timestamp).__name__}")
        for key, value in data.items():
            if not isinstance(key, str) or not isinstance(value, (str, int, float)):
                raise TypeError(
                    f"Event(name, timestamp, data): data has str, int, float or bool by str, got {value!r} of type "
                    f"{type(value).__name__} by {key!r}"
                )
        self.name = name
        self.timestamp = timestamp
        self.data = dict(data)


class EventHandlerHandle:
    """A registered handler, for `unregister_event_handler`.

    >>> handle = torch.monitor.register_event_handler(lambda event: None)
    >>> type(handle).__name__
    'EventHandlerHandle'
    >>> torch.monitor.unregister_event_handler(handle)
    """

    def __init__(self, number: int) -> None:
        self._number = number


_lock = threading.RLock()
_numbers = itertools.count()
_handlers: dict[int, Callable[[Event], Any]] = {}


def register_event_handler(callback: Callable[[Event], Any]) -> EventHandlerHandle:
    """Call `callback(event)` for each event from now on, on the thread that logs it.

    >>> import datetime
    >>> handle = torch.monitor.register_event_handler(lambda event: print(event.name))
    >>> torch.monitor.log_event(torch.monitor.Event(name="epoch", timestamp=datetime.datetime.now(), data={}))
    epoch
    >>> torch.monitor.unregister_event_handler(handle)
    """
    if not callable(callback):
        raise TypeError(f"register_event_handler(callback): expected a callable, got {type(callback).__name__}")
    with _lock:
        handle = EventHandlerHandle(next(_numbers))
        _handlers[handle._number] = callback
    return handle


def unregister_event_handler(handler: EventHandlerHandle) -> None:
    """Call it no longer. RuntimeError where it is not registered.

    >>> handle = torch.monitor.register_event_handler(print)
    >>> torch.monitor.unregister_event_handler(handle)
    >>> try:
    ...     torch.monitor.unregister_event_handler(handle)
    ... except RuntimeError as error:
    ...     print(type(error).__name__)
    RuntimeError
    """
    with _lock:
        if _handlers.pop(handler._number, None) is None:
            raise RuntimeError("unregister_event_handler(handler): the handler is not registered, or no longer")


def log_event(event: Event) -> None:
    """Give an event to all handlers, in the order of their registration.

    >>> import datetime
    >>> handle = torch.monitor.register_event_handler(lambda event: print(event.name, event.data))
    >>> event = torch.monitor.Event(name="epoch", timestamp=datetime.datetime.now(), data={"loss": 0.5})
    >>> torch.monitor.log_event(event)
    epoch {'loss': 0.5}
    >>> torch.monitor.unregister_event_handler(handle)
    """
    with _lock:
        handlers = list(_handlers.values())
    for handler in handlers:
        handler(event)


class Stat:
    """Numbers that are added over windows of time; each window's aggregations become an event.

    Args:
        name: goes before the name of each aggregation in the event, as in "loss.mean".
        aggregations: kinds of `Aggregation`.
        window_size: a timedelta. A window ends with the first value that comes after it.
        max_samples: a window also ends with so many values.

    The last window becomes an event when the Stat goes. Threads may add at the same time.

    >>> from datetime import timedelta
    >>> from mindtorch_v2 import monitor
    >>> loss = monitor.Stat("loss", [monitor.Aggregation.MEAN], timedelta(hours=1), max_samples=2)
    >>> loss.add(1.0)
    >>> loss.add(3.0)
    >>> loss.get()
    {<Aggregation.MEAN: 2>: 2.0}
    """

    def __init__(
        self,
        name: str,
        aggregations: Iterable[Aggregation],
        window_size: timedelta,
        max_samples: int = 2**63 - 1,
    ) -> None:
        self._name = name
        self._aggregations = sorted(set(aggregations), key=lambda each: each.value)
        self._seconds = window_size.total_seconds()
        self._max_samples = max_samples
        self._guard = threading.Lock()
        self._values: list[float] = []
        self._window = self._window_now()
        self._last = {each: 0.0 for each in self._aggregations if each is not VALUE}

    @property
    def name(self) -> str:
        """The name that it was made with."""
        return self._name

    @property
    def count(self) -> int:
        """How many values the window has by now."""
        return len(self._values)

    def add(self, v: float) -> None:
        """Add a value, to a new window if the last one is over."""
        with self._guard:
            event = self._close() if self._values and self._window != self._window_now() else None
            if not self._values:
                self._window = self._window_now()
            self._values.append(float(v))
            full = self._close() if len(self._values) >= self._max_samples else None
        for each in (event, full):
            if each is not None:
                log_event(each)

    def get(self) -> dict[Aggregation, float]:
        """The aggregations of the last window that is over; zeros before there is one."""
        with self._guard:
            event = self._close() if self._values and self._window != self._window_now() else None
            last = dict(self._last)
        if event is not None:
            log_event(event)
        return last

    def _window_now(self) -> int:
        return int(time.monotonic() / self._seconds) if self._seconds else 0

    def _close(self) -> Event:
        values, self._values = self._values, []
        self._last = {each: _AGGREGATED[each](values) for each in self._aggregations}
        data = {f"{self._name}.{each.name.lower()}": value for each, value in self._last.items()}
        return Event(STAT_EVENT, datetime.now(), data)

    def __del__(self) -> None:
        if getattr(self, "_values", None):
            log_event(self._close())


_AGGREGATED: dict[Aggregation, Callable[[list[float]], float]] = {
    VALUE: lambda values: values[-1],
    MEAN: lambda values: sum(values) / len(values),
    COUNT: lambda values: float(len(values)),
    SUM: lambda values: float(sum(values)),
    MAX: max,
    MIN: min,
}


class TensorboardEventHandler:
    """A handler that writes the values of `Stat`s into a SummaryWriter.

    >>> from datetime import datetime
    >>> from mindtorch_v2 import monitor
    >>> class Printer:
    ...     def add_scalar(self, name, value, walltime):
    ...         print(name, value)
    >>> handler = monitor.TensorboardEventHandler(Printer())
    >>> handler(monitor.Event(monitor.STAT_EVENT, datetime.now(), {"loss.mean": 2.0}))
    loss.mean 2.0
    """

    def __init__(self, writer: SummaryWriter) -> None:
        self._writer = writer

    def __call__(self, event: Event) -> None:
        if event.name == STAT_EVENT:
            for key, value in event.data.items():
                self._writer.add_scalar(key, value, walltime=event.timestamp.timestamp())


class _WaitCounter:
    """A name for waiting: PyTorch hands the time within `guard()` to its operator's tools, of which there are none here."""

    def __init__(self, key: str) -> None:
        self._key = key

    @contextmanager
    def guard(self) -> Iterator[_WaitCounter]:
        """A block that waits."""
        yield self
