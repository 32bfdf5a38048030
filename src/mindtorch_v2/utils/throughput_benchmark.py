"""`ThroughputBenchmark`: how many examples a module handles in a second, called by several threads."""

from __future__ import annotations

import contextlib
import dataclasses
import random
import threading
import time
from typing import Any

import mindtorch_v2 as torch

__all__ = ["ExecutionStats", "ThroughputBenchmark", "format_time"]


def format_time(time_us: float | None = None, time_ms: float | None = None, time_s: float | None = None) -> str:
    """A time in microseconds, milliseconds or seconds as text; AssertionError unless one of them is given.

    >>> from mindtorch_v2.utils.throughput_benchmark import format_time
    >>> format_time(time_us=1500), format_time(time_s=2), format_time(time_ms=0.5)
    ('1.500ms', '2.000s', '500.000us')
    """
    given = [each for each in ((time_us, 1), (time_ms, 1e3), (time_s, 1e6)) if each[0] is not None]
    if len(given) != 1:
        raise AssertionError("Expected only one of time_us, time_ms, time_s is given.")
    value, factor = given[0]
    time = (value or 0) * factor
    for size, unit in ((1e6, "s"), (1e3, "ms")):
        if time >= size:
            return f"{time / size:.3f}{unit}"
    return f"{time:.3f}us"


@dataclasses.dataclass
class _Settings:
    num_calling_threads: int
    num_warmup_iters: int
    num_iters: int
    profiler_output_path: str


@dataclasses.dataclass
class _Measured:
    latency_avg_ms: float
    num_iters: int


class ExecutionStats:
    """Outcome of a measurement: how long one example took on average, and how many were handled.

    >>> from mindtorch_v2.utils import ThroughputBenchmark
    >>> bench = ThroughputBenchmark(torch.nn.ReLU())
    >>> bench.add_input(torch.ones(2))
    >>> stats = bench.benchmark(num_calling_threads=1, num_warmup_iters=1, num_iters=5)
    >>> stats.num_iters, stats.total_time_seconds > 0
    (5, True)
    """

    def __init__(self, c_stats: Any, benchmark_config: Any) -> None:
        self._c_stats = c_stats
        self.benchmark_config = benchmark_config

    @property
    def latency_avg_ms(self) -> float:
        """The time of one example."""
        return self._c_stats.latency_avg_ms

    @property
    def num_iters(self) -> int:
        """The number of examples."""
        return self._c_stats.num_iters

    @property
    def iters_per_second(self) -> float:
        """The examples in a second, of all threads together."""
        return self.num_iters / self.total_time_seconds

    @property
    def total_time_seconds(self) -> float:
        """The time that all examples took, on the threads beside each other."""
        return self.num_iters * (self.latency_avg_ms / 1000) / self.benchmark_config.num_calling_threads

    def __str__(self) -> str:
        return "\n".join(
            [
                f"Average latency per example: {format_time(time_ms=self.latency_avg_ms)}",
                f"Total number of iterations: {self.num_iters}",
                f"Total number of iterations per second (across all threads): {self.iters_per_second:.2f}",
                f"Total time: {format_time(time_s=self.total_time_seconds)}",
            ]
        )


class ThroughputBenchmark:
    """A module, called by several threads at once with inputs that were added before; Python runs one of them at a time.

    Calls run without gradients, on inputs that are drawn at random from the added ones.

    >>> from mindtorch_v2.utils import ThroughputBenchmark
    >>> bench = ThroughputBenchmark(torch.nn.Linear(2, 3))
    >>> bench.add_input(torch.ones(4, 2))
    >>> bench.run_once(torch.ones(4, 2)).shape
    torch.Size([4, 3])
    """

    def __init__(self, module: torch.nn.Module) -> None:
        if not isinstance(module, torch.nn.Module):
            raise TypeError(f"ThroughputBenchmark(): expected a Module, but got {type(module).__name__}")
        self._module = module
        self._inputs: list[tuple[tuple[Any, ...], dict[str, Any]]] = []

    def run_once(self, *args: Any, **kwargs: Any) -> Any:
        """The module's result for these arguments."""
        return self._module(*args, **kwargs)

    def add_input(self, *args: Any, **kwargs: Any) -> None:
        """Add the arguments of a call."""
        self._inputs.append((args, kwargs))

    def benchmark(
        self,
        num_calling_threads: int = 1,
        num_warmup_iters: int = 10,
        num_iters: int = 100,
        profiler_output_path: str = "",
    ) -> ExecutionStats:
        """Call the module `num_iters` times in all, after `num_warmup_iters` calls in each thread that are not counted.

        `profiler_output_path` is a file for the trace of the counted calls. RuntimeError if no input was added.
        """
        if not self._inputs:
            raise RuntimeError("benchmark(): expected inputs, but none was added: call add_input() before")
        settings = _Settings(num_calling_threads, num_warmup_iters, num_iters, profiler_output_path)
        if not profiler_output_path:
            return self._measured(settings)
        with torch.profiler.profile() as profile:
            stats = self._measured(settings)
        profile.export_chrome_trace(profiler_output_path)
        return stats

    def _measured(self, settings: _Settings) -> ExecutionStats:
        draw = random.Random(0)
        chosen = [draw.choice(self._inputs) for _ in range(settings.num_iters)]
        ready = threading.Barrier(settings.num_calling_threads + 1)
        left = iter(chosen)
        guard = threading.Lock()
        failures: list[BaseException] = []

        def work() -> None:
            try:
                with torch.no_grad():
                    for place in range(settings.num_warmup_iters):
                        args, kwargs = self._inputs[place % len(self._inputs)]
                        self._module(*args, **kwargs)
                    ready.wait()
                    while True:
                        with guard:
                            call = next(left, None)
                        if call is None:
                            return
                        self._module(*call[0], **call[1])
            except threading.BrokenBarrierError:  # another thread failed, and says why
                return
            except BaseException as error:  # noqa: BLE001  (it is raised in the caller's thread)
                failures.append(error)
                ready.abort()

        threads = [threading.Thread(target=work) for _ in range(settings.num_calling_threads)]
        for each in threads:
            each.start()
        with contextlib.suppress(threading.BrokenBarrierError):  # a thread failed: its error is raised below
            ready.wait()
        begin = time.perf_counter()
        for each in threads:
            each.join()
        if failures:
            raise failures[0]
        seconds = time.perf_counter() - begin
        latency = seconds * 1000 * settings.num_calling_threads / settings.num_iters
        return ExecutionStats(_Measured(latency, settings.num_iters), settings)
