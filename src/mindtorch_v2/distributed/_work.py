"""Work: what a collective that was started gives back; and the thread that does the work of a group."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from mindtorch_v2.distributed._outcome import Outcome
from mindtorch_v2.distributed._schedule import waited
from mindtorch_v2.distributed._stores import seconds_of
from mindtorch_v2.futures import Future

if TYPE_CHECKING:
    from mindtorch_v2._tensor import Tensor


__all__ = ["Work"]


class Work:
    """A collective under way.

    `wait` returns when its results can be used, and raises what went wrong.
    """

    def __init__(
        self,
        outcome: Any,
        result: Sequence[Tensor] = (),
        description: str = "operation",
        seconds: float | None = None,
        source: int | None = None,
        on_timeout: Callable[..., Any] | None = None,
    ) -> None:
        self._outcome = outcome
        self._result = result
        self._description, self._seconds, self._on_timeout = description, seconds, on_timeout
        self._source = source

    recorded: tuple[int, bool] = -1, False  # its number in a schedule, and whether the program may go on beside it

    def wait(self, timeout: Any = None) -> bool:
        """Wait, at most for `timeout` (a `datetime.timedelta`); True. RuntimeError if it failed or is not done in time."""
        return waited(self, lambda: self._finish(timeout))

    def _finish(self, timeout: Any) -> bool:
        seconds: Any = self._seconds if not timeout else seconds_of(timeout)
        try:
            self._outcome.result(seconds)
        except TimeoutError:
            error = RuntimeError(
                f"Timed out waiting {round(seconds * 1000)}ms for {self._description} operation to complete"
            )
            if self._on_timeout is not None:
                self._on_timeout(error)
            raise error from None
        return True

    def synchronize(self) -> None:
        """Wait."""
        self.wait()

    def is_completed(self) -> bool:
        """Whether it is done or has failed."""
        return self._outcome.done()

    def is_success(self) -> bool:
        """Whether it is done and has not failed."""
        return self._outcome.done() and self._outcome.exception() is None

    def exception(self) -> Any:
        """The error, or None."""
        return self._outcome.exception() if self._outcome.done() else None

    def result(self) -> list:
        """The tensors that were written."""
        return list(self._result)

    def source_rank(self) -> int:
        """Who sent what was received; for receiving from anyone."""
        return self._outcome.result() if self._source is None else self._source

    _source_rank = source_rank

    def get_future(self) -> Future:
        """A `torch.futures.Future` of the tensors that were written."""
        future = _Results(self)

        def complete(outcome: Any) -> None:
            error = outcome.exception()
            if error is None:
                future.set_result(self.result())
            else:
                future.set_exception(error)

        self._outcome.add_done_callback(complete)
        return future


class _Results(Future):
    """The tensors that work wrote."""

    def __init__(self, work: Work) -> None:
        super().__init__()
        self._work = work

    def wait(self) -> Any:
        """Wait, and return them."""
        return waited(self._work, super().wait)


class Worker:
    """A thread that does one piece of work after the other. It ends with the process."""

    def __init__(self) -> None:
        self._queue: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._thread: Any = None

    def submit(self, function: Callable[..., Any]) -> Outcome:
        """An `Outcome` of `function()`."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="torch.distributed work", daemon=True)
            self._thread.start()
        outcome: Outcome = Outcome()
        self._queue.put((function, outcome))
        return outcome

    def close(self) -> None:
        """Do what is queued, and end."""
        if self._thread is not None:
            self._queue.put(None)
            self._thread.join()

    def _run(self) -> None:
        while (item := self._queue.get()) is not None:
            run_now(*item)


def run_now(function: Callable[..., Any], outcome: Any) -> Outcome:
    """Complete a future by what a function returns or raises."""
    try:
        outcome.set_result(function())
    except Exception as error:  # noqa: BLE001  (whoever waits for the work gets it)
        outcome.set_exception(error)
    return outcome
