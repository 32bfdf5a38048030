"""`Compare`: measurements side by side."""

from __future__ import annotations

import math
from collections.abc import Iterable

from ._measurement import Measurement, select_unit, trim_sigfig, unit_to_english


class Compare:
    """Tables of measurements, one for each label: a row for each sub-label (and number of threads), a column for each
    description. Replicates of one task are taken together. Environments and colors are missing.

    >>> from mindtorch_v2.utils.benchmark import Compare, Measurement, TaskSpec
    >>> task = TaskSpec(stmt="x + 1", setup="pass", label="add", sub_label="small", description="ours")
    >>> table = str(Compare([Measurement(number_per_run=1, raw_times=[2e-6], task_spec=task)]))
    >>> "add" in table, "small" in table
    (True, True)
    """

    def __init__(self, results: Iterable[Measurement]) -> None:
        self._results: list[Measurement] = []
        self._trim = self._warn = False
        self.extend_results(results)

    def extend_results(self, results: Iterable[Measurement]) -> None:
        """Add measurements. Raises ValueError for what is none."""
        for each in results:
            if not isinstance(each, Measurement):
                raise ValueError(
                    "Expected an instance of `Measurement`, "  # PyTorch's class has the same name
                    f"got {type(each)} instead."
                )
            self._results.append(each)

    def trim_significant_figures(self) -> None:
        """Show only the figures that mean something."""
        self._trim = True

    def highlight_warnings(self) -> None:
        """Show how far the times spread where it is too far."""
        self._warn = True

    def colorize(self, rowwise: bool = False) -> None:
        """Missing: raises NotImplementedError."""
        raise NotImplementedError("torch.utils.benchmark.Compare.colorize is not implemented in mindtorch_v2")

    def print(self) -> None:
        """Print the tables."""
        print(str(self))

    def __str__(self) -> str:
        merged = Measurement.merge(self._results)
        labels = dict.fromkeys(each.task_spec.label for each in merged)
        return "\n".join(self._table(label, [m for m in merged if m.task_spec.label == label]) for label in labels)

    def _cells(self, column: list[Measurement | None], scale: float) -> list[str]:
        digits = {id(m): math.ceil(math.log10(m.median / scale)) for m in column if m is not None}
        decimals = 1
        if self._trim:
            decimals = min(max(m.significant_figures - digits[id(m)], 0) for m in column if m is not None)
        width = max(digits.values()) + decimals + (decimals > 0)
        notes = 7 if self._warn and any(m is not None and m.has_warnings for m in column) else 0

        def cell(m: Measurement | None) -> str:
            if m is None:
                return " " * (width + notes)
            value = m.median / scale
            note = f" (! {m.iqr / m.median * 100:.0f}%)" if notes and m.has_warnings else ""
            return f"{trim_sigfig(value, m.significant_figures) if self._trim else value:{width}.{decimals}f}{note:>{notes}}"

        return [cell(m) for m in column]

    def _table(self, label: str | None, results: list[Measurement]) -> str:
        unit, scale = select_unit(min(m.median for m in results))
        rows = sorted(dict.fromkeys((m.task_spec.num_threads, m.as_row_name) for m in results), key=lambda row: row[0])
        names = list(dict.fromkeys(m.task_spec.description for m in results))
        at = {(m.task_spec.num_threads, m.as_row_name, m.task_spec.description): m for m in results}
        columns = [["", *(" " * 6 + name for _, name in rows)]]
        for name in names:
            columns.append([name or "", *self._cells([at.get((*row, name)) for row in rows], scale)])
        widths = [max(map(len, column)) for column in columns]
        lines = ["  |  ".join(column[0].center(width) for column, width in zip(columns, widths, strict=True))]
        overall, threads = len(lines[0]), None
        for place, (number, _) in enumerate(rows, 1):
            if number != threads:
                lines.append(f"{number} threads: ".ljust(overall, "-"))
                threads = number
            cells = [column[place].center(width) for column, width in zip(columns[1:], widths[1:], strict=True)]
            lines.append("  |  ".join([columns[0][place].ljust(widths[0]), *cells]))
        title = f" {label or ''} ".center(overall - 2, "-")
        note = ""
        if self._warn and any(m.has_warnings for m in results):
            note = "(! XX%) Measurement has high variance, where XX is the IQR / median * 100.\n"
        return "\n".join([f"[{title}]", *lines, "", f"Times are in {unit_to_english(unit)}s ({unit}).", note])
