"""Measurements, and what can be said of them."""

from __future__ import annotations

import math
import statistics
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any

_WARN, _GROSS_WARN = 0.1, 0.25  # of the median: how far the middle half of the times may spread
_UNITS = (("ns", 1e-9, "nanosecond"), ("us", 1e-6, "microsecond"), ("ms", 1e-3, "millisecond"), ("s", 1, "second"))


def select_unit(t: float) -> tuple[str, float]:
    """The unit to show a time in seconds by, and how many seconds it is.

    >>> torch.utils.benchmark.select_unit(0.002), torch.utils.benchmark.select_unit(3e-6)
    (('ms', 0.001), ('us', 1e-06))
    """
    power = math.floor(math.log10(t) / 3)
    return _UNITS[power + 3][:2] if -3 <= power < 0 else _UNITS[3][:2]


def unit_to_english(u: str) -> str:
    """The name of a unit: "microsecond" of "us".

    >>> torch.utils.benchmark.unit_to_english("us")
    'microsecond'
    """
    return next(english for name, _, english in _UNITS if name == u)


def trim_sigfig(x: float, n: int) -> float:
    """`x` rounded to `n` significant figures.

    >>> from mindtorch_v2.utils.benchmark import trim_sigfig
    >>> trim_sigfig(314.0, 2)
    310.0
    """
    scale = 10.0 ** (math.ceil(math.log10(abs(x))) - n)
    return round(x / scale) * scale


@dataclass(frozen=True)
class TaskSpec:
    """The task of a timer, and its name in tables.

    >>> from mindtorch_v2.utils.benchmark import TaskSpec
    >>> TaskSpec(stmt="x + 1", setup="x = 2", label="add", num_threads=1).title
    'add'
    """

    stmt: str
    setup: str
    global_setup: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    @property
    def title(self) -> str:
        """The label, or the statement itself."""
        if self.label is None and "\n" in self.stmt:
            return f"stmt:{f' ({self.sub_label})' if self.sub_label else ''}\n{textwrap.indent(self.stmt, '  ')}"
        return (self.stmt if self.label is None else self.label) + (f": {self.sub_label}" if self.sub_label else "")

    def setup_str(self) -> str:
        """The setup as shown; empty where there is none."""
        if self.setup in ("", "pass"):
            return ""
        return f"setup:\n{textwrap.indent(self.setup, '  ')}" if "\n" in self.setup else f"setup: {self.setup}"

    def summarize(self) -> str:
        """Title, description and setup, each on lines of its own."""
        parts = [part for part in (self.title, self.description, self.setup_str()) if part]
        return "\n".join(part + "\n" if "\n" in part else part for part in parts)


_FIELDS = tuple(field.name for field in fields(TaskSpec))


class Measurement:
    """The times, in seconds, that `number_per_run` runs of a statement took, each time anew. Statistics are of one run.

    >>> from mindtorch_v2.utils.benchmark import Measurement, TaskSpec
    >>> task = TaskSpec(stmt="x + 1", setup="pass")
    >>> runs = Measurement(number_per_run=10, raw_times=[1.0, 2.0, 3.0], task_spec=task)
    >>> runs.times, runs.median
    ([0.1, 0.2, 0.3], 0.2)
    """

    def __init__(
        self, number_per_run: int, raw_times: list[float], task_spec: TaskSpec, metadata: dict | None = None
    ) -> None:
        self.number_per_run = number_per_run
        self.raw_times = raw_times
        self.task_spec = task_spec
        self.metadata = metadata

    def __getattr__(self, name: str) -> Any:
        if name in _FIELDS:
            return getattr(self.task_spec, name)
        raise AttributeError(f"'Measurement' object has no attribute {name!r}")

    @property
    def times(self) -> list[float]:
        """The time of one run, in each repetition."""
        return [time / self.number_per_run for time in self.raw_times]

    def _quantile(self, share: float) -> float:
        times = sorted(self.times)
        place = share * (len(times) - 1)
        low = math.floor(place)
        high = min(low + 1, len(times) - 1)
        return times[low] + (times[high] - times[low]) * (place - low)

    @property
    def median(self) -> float:
        return self._quantile(0.5)

    @property
    def mean(self) -> float:
        return statistics.fmean(self.times)

    @property
    def iqr(self) -> float:
        """How far the middle half of the times spreads."""
        return self._quantile(0.75) - self._quantile(0.25)

    @property
    def significant_figures(self) -> int:
        """How many figures of the median mean something, 1 to 5: estimated from the middle half of the times."""
        times = sorted(self.times)
        middle = times[len(times) // 4 : math.ceil(3 * len(times) / 4)]
        error = max(1.645 * statistics.pstdev(middle) / math.sqrt(len(middle)), 25e-9)
        return min(max(math.floor(math.log10(self.median / error)), 1), 5)

    def meets_confidence(self, threshold: float = _WARN) -> bool:
        """Whether the middle half spreads less than this part of the median."""
        return self.iqr / self.median < threshold

    @property
    def has_warnings(self) -> bool:
        """Whether the times spread so far that something else was at work."""
        return not self.meets_confidence()

    @property
    def title(self) -> str:
        return self.task_spec.title

    @property
    def as_row_name(self) -> str:
        """The name of its row in a table."""
        return self.task_spec.sub_label or self.task_spec.stmt or "[Unknown]"

    def __repr__(self) -> str:
        unit, scale = select_unit(self.median)
        n, threads = len(self.raw_times), self.task_spec.num_threads
        lines = [object.__repr__(self), self.task_spec.summarize()]
        lines.append(f"  {'Median: ' if n > 1 else ''}{self.median / scale:.2f} {unit}")
        if n >= 4:
            low, high = self._quantile(0.25) / scale, self._quantile(0.75) / scale
            lines.append(f"  IQR:    {self.iqr / scale:.2f} {unit} ({low:.2f} to {high:.2f})")
        lines.append(
            f"  {n} measurement{'s' if n > 1 else ''}, {self.number_per_run} runs "
            f"{'per measurement,' if n > 1 else ','} {threads} thread{'s' if threads > 1 else ''}"
        )
        if self.has_warnings:
            gross = not self.meets_confidence(_GROSS_WARN)
            lines.append(
                f"  WARNING: Interquartile range is {self.iqr / self.median * 100:.1f}% of the median measurement.\n"
                + " " * 11
                + ("This suggests significant environmental influence." if gross
                   else "This could indicate system fluctuation.")
            )  # fmt: skip
        return "\n".join(lines)

    @staticmethod
    def merge(measurements: Iterable[Measurement]) -> list[Measurement]:
        """One measurement for each task, with the times of all."""
        groups: dict[TaskSpec, list[float]] = {}
        for each in measurements:
            groups.setdefault(each.task_spec, []).extend(each.times)
        return [Measurement(1, times, task) for task, times in groups.items()]
