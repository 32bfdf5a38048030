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


__all__ = ["Work", "of_future", "together"]


class Work:
    """A collective under way.

    `wait` returns when its results can be used, and raises what went wrong.

    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> x = torch.tensor([1.0, 2.0])
    >>> work = dist.all_reduce(x, async_op=True)
    >>> work.wait(), work.is_completed(), x
    (True, True, tensor([1., 2.]))
    >>> dist.destroy_process_group()
    """

    def __init__(
        self,
        outcome: Any = None,
        result: Sequence[Tensor] = (),
        description: str = "operation",
        seconds: float | None = None,
        source: int | None = None,
        on_timeout: Callable[..., Any] | None = None,
    ) -> None:
        self._outcome = (
            Outcome.done_with(None) if outcome is None else outcome
        )  # None: a subclass says itself how it ends
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


def of_future(future: Any) -> Work:
    """Work that is done when a `torch.futures.Future` is, with its value as result; PyTorch's `_create_work_from_future`.

    >>> future = torch.futures.Future()
    >>> work = torch._C._distributed_c10d._create_work_from_future(future)
    >>> future.set_result([torch.ones(2)])
    >>> work.wait(), work.result()
    (True, [tensor([1., 1.])])
    """
    return _OfFuture(future)


class _OfFuture(Work):
    """Work that a future ends."""

    def __init__(self, future: Any) -> None:
        outcome = Outcome()
        super().__init__(outcome)
        self._future = future

        def end(done: Any) -> None:
            try:
                self._result = done.value()
            except Exception as error:  # noqa: BLE001  (whoever waits for the work gets it)
                outcome.set_exception(error)
            else:
                outcome.set_result(None)

        future.add_done_callback(end)

    def get_future(self) -> Any:
        """The future itself."""
        return self._future


def together(works: Sequence[Work]) -> Work:
    """One work that is done when all are, with the results of all in their order; the first error is its own."""
    return _Together(works)


class _Together(Work):
    """Several works as one."""

    def __init__(self, works: Sequence[Work]) -> None:
        outcome = Outcome()
        super().__init__(outcome, [tensor for work in works for tensor in work._result], works[0]._description)
        self._works, left, guard = works, [len(works)], threading.Lock()

        def count(done: Any) -> None:
            error = done.exception()
            if error is not None:
                outcome.set_exception(error)
            with guard:
                left[0] -= 1
                last = not left[0]
            if last:
                outcome.set_result(None)

        for work in works:
            work._outcome.add_done_callback(count)

    def wait(self, timeout: Any = None) -> bool:
        """Wait for all; each at most for `timeout`."""
        return all([work.wait(timeout) for work in self._works])


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
