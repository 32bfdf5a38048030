"""How the values of both sides compare, and the table of it."""

from __future__ import annotations

import json
import math
import pathlib
from typing import Any, NamedTuple

BEGIN, END = "<!-- made by python -m tests.ecosystem --record: -->", "<!-- end -->"
CLOSE = {"float64": 1e-4, "complex128": 1e-6, "float16": 5e-3, "bfloat16": 2e-2}
"""How far two values may be apart to be close, for the size of the larger; other floating-point numbers: 1e-3. Much of what is float64 here are numbers
that a library computed in float32 and hands out as Python's."""


class Row(NamedTuple):
    """One program: its status, how many values were compared, how many of them are equal to the last bit, and why not all."""

    status: str
    values: int
    equal: int
    why: str


def read(path: pathlib.Path) -> dict[str, Any]:
    """The outcome of a program on one side."""
    return json.loads(path.read_text()) if path.exists() else {"error": "it did not run", "place": ""}


def compare(ours: dict[str, Any], theirs: dict[str, Any]) -> Row:
    """Status: equal, close, differs, fails (here only), or neither, where the program fails on PyTorch too."""
    if "error" in theirs:
        return Row("neither", 0, 0, theirs["error"])
    if "error" in ours:
        return Row("fails", 0, 0, f"{ours['error']} ({ours.get('place', '')})")
    ours, theirs = ours["values"], theirs["values"]
    if list(ours) != list(theirs):
        return Row("differs", len(theirs), 0, f"other values: {sorted({*ours} ^ {*theirs})[:4]}")
    equal = sum(ours[name] == theirs[name] for name in theirs)
    apart = [name for name in theirs if not _close(ours[name], theirs[name])]
    if apart:
        first = apart[0]
        return Row(
            "differs",
            len(theirs),
            equal,
            f"{len(apart)} values, {first}: {_shown(ours[first])}, PyTorch {_shown(theirs[first])}",
        )
    return Row("equal" if equal == len(theirs) else "close", len(theirs), equal, "")


def _close(ours: dict[str, Any], theirs: dict[str, Any]) -> bool:
    if "text" in theirs or "text" in ours:
        return ours == theirs
    if (ours["shape"], ours["dtype"]) != (theirs["shape"], theirs["dtype"]):
        return False
    exact = not theirs["dtype"].startswith(("float", "bfloat", "complex"))
    rate = 0.0 if exact else CLOSE.get(theirs["dtype"], 1e-3)
    scale = max((abs(each) for each in theirs["values"] if math.isfinite(each)), default=0.0)
    return all(
        _near(a, b, rate * scale + (0.0 if exact else 1e-7)) for a, b in zip(ours["values"], theirs["values"])
    ) and _near(ours["sums"][0], theirs["sums"][0], rate * theirs["sums"][1] + (0.0 if exact else 1e-6))


def _near(a: float, b: float, distance: float) -> bool:
    return a == b or (math.isnan(a) and math.isnan(b)) or abs(a - b) <= distance


def _shown(value: dict[str, Any]) -> str:
    if "text" in value:
        return value["text"][:60]
    return f"{value['dtype']}{value['shape']} {[round(each, 5) for each in value['values'][:3]]}"


def table(rows: dict[str, Row], libraries: dict[str, str]) -> str:
    """The rows as a table of a page, and their sum."""
    lines = ["| Program | Library | | Values | Equal to the last bit |", "|---|---|---|---:|---:|"]
    for name, row in sorted(rows.items(), key=lambda item: item[0].partition(".")[2]):
        short = name.partition(".")[2]
        lines.append(
            f"| {short} | {libraries[name]} | {row.status}{': ' + _brief(row.why) if row.why else ''} | {row.values} | {row.equal} |"
        )
    counted = [row for row in rows.values() if row.status != "neither"]
    good = sum(row.status in ("equal", "close") for row in counted)
    lines.append(
        f"| **{len(counted)} programs** | | **{good} equal or close, {good / max(len(counted), 1):.1%}** | {sum(row.values for row in counted)} | {sum(row.equal for row in counted)} |"
    )
    return "\n".join(lines)


def _brief(why: str) -> str:
    return " ".join(why.split()).replace("|", "/")[:160]
