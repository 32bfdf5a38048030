"""Work: what a collective that was started gives back; and the thread that does the work of a group."""

import queue
import threading
from concurrent.futures import Future as Outcome

from mindtorch_v2.distributed._stores import seconds_of
from mindtorch_v2.futures import Future

__all__ = ["Work"]


class Work:
    """A collective under way.

    `wait` returns when its results can be used, and raises what went wrong.
    """

    def __init__(self, outcome, result=(), description="operation", seconds=None, source=None, on_timeout=None) -> None:
        self._outcome = outcome  # a concurrent.futures.Future
        self._result = result
        self._description, self._seconds, self._on_timeout = description, seconds, on_timeout
        self._source = source

    def wait(self, timeout=None) -> bool:
        """Wait, at most for `timeout` (a `datetime.timedelta`); True. RuntimeError if it failed or is not done in time."""
        seconds = self._seconds if not timeout else seconds_of(timeout)
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

    def is_completed(self):
        """Whether it is done or has failed."""
        return self._outcome.done()

    def is_success(self):
        """Whether it is done and has not failed."""
        return self._outcome.done() and self._outcome.exception() is None

    def exception(self):
        """The error, or None."""
        return self._outcome.exception() if self._outcome.done() else None

    def result(self) -> list:
        """The tensors that were written."""
        return list(self._result)

    def source_rank(self):
        """Who sent what was received; for receiving from anyone."""
        return self._outcome.result() if self._source is None else self._source

    _source_rank = source_rank

    def get_future(self):
        """A `torch.futures.Future` of the tensors that were written."""
        future = Future()

        def complete(outcome) -> None:
            error = outcome.exception()
            if error is None:
                future.set_result(self.result())
            else:
                future.set_exception(error)

        self._outcome.add_done_callback(complete)
        return future


class Worker:
    """A thread that does one piece of work after the other. It ends with the process."""

    def __init__(self):
        self._queue = queue.SimpleQueue()
        self._thread = None

    def submit(self, function):
        """A `concurrent.futures.Future` of `function()`."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="torch.distributed work", daemon=True)
            self._thread.start()
        outcome = Outcome()
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


def run_now(function, outcome):
    """Complete a future by what a function returns or raises."""
    try:
        outcome.set_result(function())
    except Exception as error:  # noqa: BLE001  (whoever waits for the work gets it)
        outcome.set_exception(error)
    return outcome
