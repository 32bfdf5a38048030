"""Outcomes of work: of a `concurrent.futures.Future` what collectives need, at a fraction of its cost."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any

__all__ = ["Outcome"]

_guard = threading.Lock()  # of all outcomes: it is held for a few instructions


class Outcome:
    """The result or the error of work that another thread does, or this one later. The first that is set stays."""

    __slots__ = ("_callbacks", "_done", "_error", "_event", "_value")

    def __init__(self) -> None:
        self._done = False
        self._value: Any = None
        self._error: BaseException | None = None
        self._event: threading.Event | None = None  # only where a thread waits
        self._callbacks: list[Callable[[Outcome], Any]] | None = None

    @classmethod
    def done_with(cls, value: Any) -> Outcome:
        """One that has ended well already."""
        outcome = cls()
        outcome.set_result(value)
        return outcome

    def done(self) -> bool:
        """Whether there is a result or an error."""
        return self._done

    def set_result(self, value: Any) -> None:
        """End well."""
        self._set(value, None)

    def set_exception(self, error: BaseException) -> None:
        """End with an error, which whoever waits gets."""
        self._set(None, error)

    def result(self, seconds: float | None = None) -> Any:
        """The result; raises the error, or TimeoutError if there is neither in that many seconds."""
        self._wait(seconds)
        if self._error is not None:
            raise self._error
        return self._value

    def exception(self, seconds: float | None = None) -> BaseException | None:
        """The error, or None for a result; TimeoutError if there is neither in that many seconds."""
        self._wait(seconds)
        return self._error

    def add_done_callback(self, function: Callable[[Outcome], Any]) -> None:
        """Call `function(self)` when it is done: in the thread that ends it, or now."""
        with _guard:
            if not self._done:
                self._callbacks = [*(self._callbacks or ()), function]
                return
        _call(function, self)

    def _wait(self, seconds: float | None) -> None:
        if self._done:
            return
        with _guard:
            if self._event is None:
                self._event = threading.Event()
                if self._done:
                    self._event.set()
        if not self._event.wait(seconds):
            raise TimeoutError

    def _set(self, value: Any, error: BaseException | None) -> None:
        with _guard:
            if self._done:
                return
            self._value, self._error, self._done = value, error, True
            event, callbacks = self._event, self._callbacks
        if event is not None:
            event.set()
        for function in callbacks or ():
            _call(function, self)


def _call(function: Callable[[Outcome], Any], outcome: Outcome) -> None:
    try:
        function(outcome)
    except Exception:
        logging.getLogger("torch.distributed").exception("a function that a finished collective calls failed")
