"""The schedule of a training step: when it computes, which collectives it begins, and where it waits for them.

While a `Recorder` is set, `Collectives`, `Work` and the futures of work tell it what the program does. `mindtorch_v2.distributed.simulate`
replays what it recorded on clusters that are described only. Others may listen to what is begun (`listening`).
"""

from __future__ import annotations

import contextlib
import itertools
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from mindtorch_v2.distributed._collectives import Collectives

__all__ = ["Recorder", "listening", "recorded", "set_recorder", "waited"]

_Result = TypeVar("_Result")

_PARTS = ("all_gather", "gather", "scatter")  # whose operand is one rank's part of the whole


class Recorder:
    """The events of the thread that makes it, in their order.

    Attributes:
        events: ["compute", seconds]; ["begin", number, kind, bytes of the whole, group, peer]; ["wait", number]. The peer is the
            other rank of a message, else None.
        backends: the groups' back ends; an event names one by its place here.
    """

    def __init__(self) -> None:
        self.events: list[list[Any]] = []
        self.backends: list[Collectives] = []
        self._numbers = itertools.count()
        self._thread = threading.get_ident()
        self._inside = False  # of a wait, or of a collective: what they call in turn is theirs
        self._since = time.perf_counter()

    def elsewhere(self) -> bool:
        """Whether what happens now is not the program's own: another thread's, or a part of what is recorded already."""
        return self._inside or threading.get_ident() != self._thread

    def compute(self) -> None:
        """The program has computed until now."""
        now = time.perf_counter()
        self.events.append(["compute", now - self._since])
        self._since = now

    def begin(self, backend: Collectives, kind: str, nbytes: int, peer: int | None) -> int:
        """The program begins a collective or a message; its number."""
        self.compute()
        if not any(each is backend for each in self.backends):
            self.backends.append(backend)
        place = next(i for i, each in enumerate(self.backends) if each is backend)
        number = next(self._numbers)
        self.events.append(["begin", number, kind, nbytes, place, peer])
        return number

    def inside(self, function: Callable[[], _Result]) -> _Result:
        """Call what is recorded as one event."""
        self._inside = True
        try:
            return function()
        finally:
            self._inside = False

    def waits(self, number: int, function: Callable[[], _Result]) -> _Result:
        """Call what waits for a number: its time is not the program's."""
        result = self.inside(function)
        self.events.append(["wait", number])
        self._since = time.perf_counter()
        return result


_recorder: Recorder | None = None
_listeners: list[Callable[[str, Sequence[Any]], None]] = []


@contextlib.contextmanager
def listening(listener: Callable[[str, Sequence[Any]], None]) -> Iterator[None]:
    """Within this block, `listener(kind, operands)` is called for each collective or message that this process begins."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


def set_recorder(recorder: Recorder | None) -> None:
    """Let a recorder see what the program does from now on, or nobody."""
    global _recorder
    _recorder = recorder


def recorded(
    backend: Collectives,
    kind: str,
    operands: Sequence[Any],
    asynchronous: bool,
    start: Callable[[], Any],
    peer: int | None = None,
) -> Any:
    """Begin work by `start()`, seen by the recorder if there is one; its `Work`."""
    for listener in _listeners:
        listener(kind, operands)
    recorder = _recorder
    if recorder is None or recorder.elsewhere():
        return start()
    number = recorder.begin(backend, kind, _bytes(kind, operands, backend.size), peer)
    if asynchronous:
        work = recorder.inside(start)
    else:
        work = recorder.waits(number, start)
    work.recorded = number, asynchronous
    return work


def waited(work: Any, wait: Callable[[], _Result]) -> _Result:
    """Wait for work by `wait()`, seen by the recorder if there is one."""
    recorder = _recorder
    number, asynchronous = work.recorded
    if recorder is None or not asynchronous or recorder.elsewhere():
        return wait()
    recorder.compute()
    return recorder.waits(number, wait)


def _bytes(kind: str, operands: Sequence[Any], size: int) -> int:
    """The bytes of all that a collective hands round or combines: those that stay the same when there are more ranks."""
    if not operands:
        return 0
    sent = operands[1 if kind == "reduce_scatter" else 0]  # of that one, the first operand is what a rank gets
    tensors = sent if isinstance(sent, (list, tuple)) else [sent]
    return sum(each.numel() * each.element_size() for each in tensors) * (size if kind in _PARTS else 1)
