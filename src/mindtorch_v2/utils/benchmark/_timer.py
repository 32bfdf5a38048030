"""`Timer`: runs a statement often enough to say how long it takes."""

from __future__ import annotations

import contextlib
import statistics
import textwrap
import timeit
from collections.abc import Callable, Iterator
from typing import Any

import mindtorch_v2 as torch

from ._measurement import Measurement, TaskSpec


def timer() -> float:
    """The time in seconds, after all that was enqueued on the current accelerator is done.

    >>> from mindtorch_v2.utils.benchmark import timer
    >>> start = timer()
    >>> timer() >= start
    True
    """
    if torch.accelerator.is_available():
        torch.accelerator.synchronize()
    return timeit.default_timer()


@contextlib.contextmanager
def _threads(number: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(number)
    try:
        yield
    finally:
        torch.set_num_threads(before)


class Timer:
    """Time the Python statement `stmt`, run with `globals` after `setup`, on `num_threads` threads (1 by default).

    `label`, `sub_label`, `description` and `env` say what it is called in tables: see `Compare`. Raises ValueError for
    a statement that is no text. Statements in C++ and counts of instructions are missing.

    >>> from mindtorch_v2.utils.benchmark import Timer
    >>> x = torch.ones(4)
    >>> measurement = Timer("x + 1", globals={"x": x}).timeit(100)
    >>> measurement.median > 0
    True
    """

    def __init__(
        self,
        stmt: str = "pass",
        setup: str = "pass",
        global_setup: str = "",
        timer: Callable[[], float] = timer,
        globals: dict[str, Any] | None = None,
        label: str | None = None,
        sub_label: str | None = None,
        description: str | None = None,
        env: str | None = None,
        num_threads: int = 1,
        language: Any = "python",
    ) -> None:
        if not isinstance(stmt, str):
            raise ValueError("Currently only a `str` stmt is supported.")
        if str(language).lower() in ("c++", "cpp"):
            raise NotImplementedError("torch.utils.benchmark.Timer: statements in C++ are not implemented")
        if str(language).lower() not in ("py", "python"):
            raise ValueError(f"Invalid language `{language}`.")
        if global_setup:
            raise ValueError(
                f"global_setup is C++ only, got `{global_setup}`. Most likely this code can simply be moved to `setup`."
            )
        names = {"torch": torch, **(globals or {})}
        stmt, setup = textwrap.dedent(stmt).strip(), textwrap.dedent(setup).strip()
        self._task = TaskSpec(stmt, setup, global_setup, label, sub_label, description, env, num_threads)
        self._timer = timeit.Timer(stmt, setup, timer, names)

    def _run(self, number: int) -> float:
        return max(self._timer.timeit(number), 1e-9)

    def timeit(self, number: int = 1000000) -> Measurement:
        """One measurement of `number` runs, after some to warm up."""
        with _threads(self._task.num_threads):
            self._run(max(number // 100, 2))
            return Measurement(number, [self._run(number)], self._task)

    def _block(self, min_run_time: float) -> int:
        """So many runs that the timer itself doesn't count; this warms up, too."""
        overhead = statistics.median(self._run(0) for _ in range(5))
        number = 1
        while True:
            taken = self._run(number)
            if taken > min_run_time or (overhead / taken <= 1e-4 and taken >= min_run_time / 1000):
                return number
            if number >= 10**9:
                return number
            number *= 10

    def _repeat(
        self, block_time: float, least: float, most: float, enough: Callable[[Measurement], bool], callback: Any
    ) -> Measurement:
        with _threads(self._task.num_threads):
            result = Measurement(self._block(block_time), [], self._task)
            while True:
                taken = self._run(result.number_per_run)
                result.raw_times.append(taken)
                if callback is not None:
                    callback(result.number_per_run, taken)
                total = sum(result.raw_times)
                if total > most or (total >= least and enough(result)):
                    return result

    def blocked_autorange(
        self, callback: Callable[[int, float], Any] | None = None, min_run_time: float = 0.2
    ) -> Measurement:
        """Measurements until `min_run_time` seconds are over, of as many runs each as make the timer's own time small."""
        return self._repeat(min_run_time, min_run_time, float("inf"), lambda _: True, callback)

    def adaptive_autorange(
        self,
        threshold: float = 0.1,
        *,
        min_run_time: float = 0.01,
        max_run_time: float = 10.0,
        callback: Callable[[int, float], Any] | None = None,
    ) -> Measurement:
        """Measurements until the middle half of them spreads less than `threshold` of the median, or time is up."""

        def steady(result: Measurement) -> bool:
            return len(result.raw_times) > 3 and result.meets_confidence(threshold)

        return self._repeat(0.05, min_run_time, max_run_time, steady, callback)

    def repeat(self, repeat: int = -1, number: int = -1) -> None:
        """Not there, as in PyTorch: raises NotImplementedError."""
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def autorange(self, callback: Any = None) -> None:
        """Not there, as in PyTorch: raises NotImplementedError."""
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def collect_callgrind(self, *args: Any, **kwargs: Any) -> None:
        """Missing: raises NotImplementedError."""
        raise NotImplementedError("torch.utils.benchmark.Timer.collect_callgrind is not implemented in mindtorch_v2")
