"""The results as a table, as JSON and as a picture."""

import json
import math
from dataclasses import asdict, dataclass
from pathlib import Path

import matplotlib

matplotlib.use("Agg")  # files only

from matplotlib import pyplot


@dataclass
class Row:
    """One line of the table. `reference` and `ours` are in `unit`; `bar` is the least speed that passes."""

    group: str
    name: str
    threads: int
    reference: float | None = None
    ours: float | None = None
    unit: str = "s"
    bar: float | None = None
    error: str | None = None

    @property
    def speed(self) -> float | None:
        """Reference divided by ours: above 1, ours needs less."""
        return self.reference / self.ours if self.reference is not None and self.ours else None

    @property
    def verdict(self) -> str:
        """`pass` or `FAIL` for rows with a bar, empty for the others."""
        if self.bar is None:
            return ""
        return "pass" if self.speed is not None and self.speed >= self.bar else "FAIL"


def geometric_mean(speeds: list[float]) -> float:
    """The mean that suits ratios."""
    return math.exp(sum(map(math.log, speeds)) / len(speeds))


def table(rows: list[Row]) -> str:
    """All rows, group by group, as Markdown."""
    lines = []
    for group in dict.fromkeys(row.group for row in rows):
        lines += [
            f"\n## {group}\n",
            "| case | threads | PyTorch | ours | speed | bar | |",
            "|---|--:|--:|--:|--:|--:|---|",
        ]
        for row in (row for row in rows if row.group == group):
            if row.error:
                lines.append(f"| {row.name} | {row.threads} | | | | {_bar(row)} | {row.verdict} {row.error[:100]} |")
                continue
            values = (_quantity(row.reference, row.unit), _quantity(row.ours, row.unit))
            speed = f"{row.speed:.2f}" if row.speed is not None else ""
            lines.append(
                f"| {row.name} | {row.threads} | {values[0]} | {values[1]} | {speed} | {_bar(row)} | {row.verdict} |"
            )
    held = [row for row in rows if row.bar is not None]
    passed = sum(row.verdict == "pass" for row in held)
    lines.append(f"\n{passed} of {len(held)} bars passed.")
    return "\n".join(lines).strip() + "\n"


def save(rows: list[Row], machine: dict[str, str], folder: Path) -> None:
    """Write table.md, results.json and speed.png to `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    heading = "# Speed against PyTorch\n\n" + "".join(f"{name}: {value}  \n" for name, value in machine.items())
    (folder / "table.md").write_text(heading + "\n" + table(rows), encoding="utf-8")
    results = [{**asdict(row), "speed": row.speed, "verdict": row.verdict} for row in rows]
    (folder / "results.json").write_text(json.dumps({"machine": machine, "rows": results}, indent=1) + "\n")
    _picture([row for row in rows if row.speed], folder / "speed.png")


def _picture(rows: list[Row], path: Path) -> None:
    figure, axes = pyplot.subplots(figsize=(9, 1.5 + 0.17 * len(rows)), layout="constrained")
    places = range(len(rows))
    speeds = [row.speed or 0.0 for row in rows]
    bars = [row.bar or 1.0 for row in rows]
    colours = ["tab:green" if speed >= bar else "tab:red" for speed, bar in zip(speeds, bars, strict=True)]
    axes.barh(places, speeds, color=colours)
    axes.set_yticks(places, [f"{row.name} ({row.threads})" for row in rows], fontsize=6)
    axes.scatter([row.bar or math.nan for row in rows], places, marker="|", color="black", s=40, label="bar")
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set(xscale="log", xlabel="times as fast as PyTorch (threads in brackets)", ylim=(len(rows), -1))
    axes.legend()
    figure.savefig(path, dpi=130)
    pyplot.close(figure)


def _bar(row: Row) -> str:
    return "" if row.bar is None else f"{row.bar:.2f}"


def _quantity(value: float | None, unit: str) -> str:
    if value is None:
        return ""
    scales = {"s": ((1e-6, 1e9, "ns"), (1e-3, 1e6, "us"), (1, 1e3, "ms")), "B": ((1e9, 1e-6, "MB"),)}.get(unit, ())
    for below, factor, name in scales:
        if value < below:
            return f"{value * factor:.3g} {name}"
    return f"{value / 1e9:.2f} GB" if unit == "B" else f"{value:.3g} {unit}"
