"""Outcomes of the operator database: read, counted, and written down."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tests.operator_database.columns import COLUMNS

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "operator-database.md"
BEGIN = {
    "cpu": "<!-- made by python -m tests.operator_database --record: -->",
    "cuda": "<!-- made by python -m tests.operator_database --device cuda --record: -->",
}
END = "<!-- end -->"


def record_of(device: str) -> pathlib.Path:
    """Where the shares of a device are kept."""
    return ROOT / "tests" / "snapshots" / f"operator_database_{'whole' if device == 'cpu' else device}.json"


class Outcome(NamedTuple):
    """Of an entry and a column: samples that count, those that agree, and what the others differ in."""

    count: int
    agree: int
    problems: list[str]


def _lines(file: pathlib.Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()] if file.exists() else []


def read(folder: pathlib.Path, names: Sequence[str]) -> dict[str, dict[str, Outcome]]:
    """The outcomes of entries by column."""
    found: dict[str, dict[str, Outcome]] = {}
    for name in names:
        for line in _lines(folder / "ours" / f"{name}.jsonl"):
            if "count" in line:
                outcome = Outcome(line["count"], line["agree"], line["problems"])
                found.setdefault(name, {})[line["column"]] = outcome
    return found


def forget(folder: pathlib.Path, names: Sequence[str], columns: Sequence[str], failed: bool) -> None:
    """Drop the outcomes of entries and columns, all or those that differ, so that they run again."""
    for name in names:
        file = folder / "ours" / f"{name}.jsonl"
        kept = [
            line
            for line in _lines(file)
            if "count" in line
            and ((columns and line["column"] not in columns) or (failed and line["agree"] == line["count"]))
        ]
        if file.exists():
            file.write_text("".join(json.dumps(line) + "\n" for line in kept), "utf-8")


def shares(found: Mapping[str, Mapping[str, Outcome]]) -> dict[str, list[int]]:
    """Of each column: entries that count, those that agree in all samples, samples, and those that agree."""
    result = {}
    for column in [*COLUMNS, "error inputs"]:
        outcomes = [each[column] for each in found.values() if column in each and each[column].count]
        if outcomes:
            result[column] = [
                len(outcomes),
                sum(each.agree == each.count for each in outcomes),
                sum(each.count for each in outcomes),
                sum(each.agree for each in outcomes),
            ]
    return result


def rest(found: Mapping[str, Mapping[str, Outcome]]) -> dict[str, dict[str, list[int]]]:
    """Shares of what does not agree: entry -> column -> [samples, those that agree]."""
    result: dict[str, dict[str, list[int]]] = {}
    for name, columns in sorted(found.items()):
        for column, outcome in columns.items():
            if outcome.agree < outcome.count:
                result.setdefault(name, {})[column] = [outcome.count, outcome.agree]
    return result


def table(counted: Mapping[str, Sequence[int]]) -> str:
    """The shares of columns in Markdown."""
    lines = ["| Column | operators | agree | | samples | agree | |", "|---|---:|---:|---:|---:|---:|---:|"]
    for column, (operators, whole, samples, agree) in counted.items():
        lines.append(
            f"| {column} | {operators} | {whole} | {whole / operators:.1%} | {samples} | {agree} | {agree / samples:.2%} |"
        )
    return "\n".join(lines)


def with_table(page: str, counted: Mapping[str, Sequence[int]], device: str = "cpu") -> str:
    """A page with the table of a device, between its marks, made anew."""
    before, after = page.split(BEGIN[device])
    return f"{before}{BEGIN[device]}\n{table(counted)}\n{END}{after.partition(END)[2]}"


def record(
    counted: Mapping[str, Sequence[int]], differing: Mapping[str, Mapping[str, Sequence[int]]], device: str = "cpu"
) -> None:
    """Write the shares of a device and what differs into the snapshots, and the table onto its page."""
    lines = [f"{json.dumps(name)}: {json.dumps(columns)}" for name, columns in sorted(differing.items())]
    text = f'{{\n"columns": {json.dumps(counted)},\n"differ": {{\n' + ",\n".join(lines) + "\n}\n}\n"
    record_of(device).write_text(text, "utf-8")
    PAGE.write_text(with_table(PAGE.read_text("utf-8"), counted, device), "utf-8")
