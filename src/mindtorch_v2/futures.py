"""`torch.futures`: a value that a thread will give, and what is to be done with it then."""

from __future__ import annotations

import sys
import threading
import traceback
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from mindtorch_v2 import device as _device

__all__ = ["Future", "collect_all", "wait_all"]

T = TypeVar("T")
S = TypeVar("S")


class Future(Generic[T]):
    """A value, or an error, that is set once and may be waited for from any thread.

    >>> future = torch.futures.Future()
    >>> doubled = future.then(lambda done: 2 * done.value())
    >>> future.set_result(3)
    >>> doubled.wait()
    6
    """

    def __init__(self, *, devices: list | None = None) -> None:
        for each in devices or ():
            if _device(each).index is None:
                raise ValueError(f"Expected devices to have indices, got {_device(each)}")
        self._condition = threading.Condition()
        self._done = False
        self._value: Any = None
        self._error: BaseException | None = None
        self._callbacks: list[Callable[[], None]] = []

    def done(self) -> bool:
        """Whether the value or the error is there."""
        return self._done

    def wait(self) -> T:
        """The value, once it is there; raises the error if that was set instead."""
        with self._condition:
            self._condition.wait_for(lambda: self._done)
        return self._result()

    def value(self) -> T:
        """The value, which has to be there: RuntimeError otherwise. Raises the error if that was set instead."""
        if not self._done:
            raise RuntimeError(
                "the value of a Future was asked for before the Future was completed; wait() waits for it"
            )
        return self._result()

    def _result(self) -> Any:
        if self._error is not None:
            raise self._error
        return self._value

    def then(self, callback: Callable[[Future[T]], S]) -> Future[S]:
        """A future of what ``callback`` gives for this one, called when it is done, or now if it is."""
        made: Future = Future()

        def run() -> None:
            try:
                made._complete(callback(self), None)
            except Exception as error:  # noqa: BLE001  (whatever a callback raises is what its future holds)
                made._complete(None, _of_callback(error))

        self._when_done(run)
        return made

    def add_done_callback(self, callback: Callable[[Future[T]], None]) -> None:
        """Call ``callback`` with this future when it is done, or now if it is. What it raises is written to stderr."""

        def run() -> None:
            try:
                callback(self)
            except Exception as error:  # noqa: BLE001  (whatever a callback raises is what its future holds)
                print(_of_callback(error), file=sys.stderr)

        self._when_done(run)

    def _when_done(self, run: Callable[[], None]) -> None:
        with self._condition:
            if not self._done:
                self._callbacks.append(run)
                return
        run()

    def set_result(self, result: T) -> None:
        """Give the value, and run what waits for it. RuntimeError if the future is done."""
        self._complete(result, None)

    def set_exception(self, result: T) -> None:
        """Give an exception instead of a value."""
        if not isinstance(result, Exception):
            raise AssertionError(f"{result} is of type {type(result)}, not an Exception.")
        self._complete(None, result)

    def _complete(self, value: Any, error: BaseException | None) -> None:
        with self._condition:
            if self._done:
                raise RuntimeError(
                    "Attempting to mark a completed Future as complete again. Note that a Future can only be marked "
                    "completed once."
                )
            self._value, self._error, self._done = value, error, True
            callbacks, self._callbacks = self._callbacks, []
            self._condition.notify_all()
        for run in callbacks:
            run()


def _of_callback(error: Exception) -> RuntimeError:
    frames = "".join(
        f"  {frame.filename}({frame.lineno}): {frame.name}\n" for frame in traceback.extract_tb(error.__traceback__)
    )
    return RuntimeError(
        f"Got the following error when running the callback: {type(error).__name__}: {error}\n\nAt:\n{frames}"
    )


def collect_all(futures: list[Future]) -> Future[list[Future]]:
    """A future that is done when all ``futures`` are; its value is the list of them.

    >>> a, b = torch.futures.Future(), torch.futures.Future()
    >>> both = torch.futures.collect_all([a, b])
    >>> a.set_result(1)
    >>> b.set_result(2)
    >>> [each.value() for each in both.wait()]
    [1, 2]
    """
    made: Future = Future()
    missing = len(futures)
    lock = threading.Lock()

    def one_less(_: Future) -> None:
        nonlocal missing
        with lock:
            missing -= 1
            last = missing == 0
        if last:
            made._complete(list(futures), None)

    if not futures:
        made._complete([], None)
    for future in futures:
        future.add_done_callback(one_less)
    return made


def wait_all(futures: list[Future]) -> list:
    """The values of all ``futures``, once they are there; raises the first error among them.

    >>> a = torch.futures.Future()
    >>> a.set_result(1)
    >>> torch.futures.wait_all([a])
    [1]
    """
    return [future.wait() for future in collect_all(futures).wait()]
