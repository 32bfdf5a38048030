"""The table that a profiler prints: PyTorch's columns, widths and units."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

_WIDTH = 12
_FLOPS = ("FLOPs", "KFLOPs", "MFLOPs", "GFLOPs", "TFLOPs", "PFLOPs")
_UNITS = {"s": 1e6, "ms": 1e3, "us": 1.0}


def format_time(microseconds: float, unit: str | None = None) -> str:
    """A time in the unit asked for, or in the one that suits it."""
    if unit not in _UNITS:
        unit = next(name for name, size in _UNITS.items() if microseconds >= size or name == "us")
    return f"{microseconds / _UNITS[unit]:.3f}{unit}"


def format_share(part: float, whole: float) -> str:
    """A part of the whole in percent."""
    return f"{100.0 * part / whole:.2f}%" if whole else "NaN"


def format_memory(size: int) -> str:
    """A number of bytes, which may be negative: freed."""
    for name, scale in (("GB", 1 << 30), ("MB", 1 << 20), ("KB", 1 << 10)):
        if abs(size) >= scale:
            return f"{size / scale:.2f} {name}"
    return f"{size} B"


def _shortened(text: str, width: int | None) -> str:
    return text[: width - 3] + "..." if width is not None and len(text) >= width - 3 else text


def _end_of(text: str, width: int) -> str:
    return "..." + text[len(text) - width + 3 :] if len(text) > width else text


def _capped(width: int, limit: int | None) -> int:
    return width if limit is None else min(width, limit)


def _spent(events: Sequence[Any]) -> float:
    """The microseconds of all kernels; an operator's kernels are events of their own."""
    return sum(event.self_device_time_total for event in events if event.device_type and not event.is_user_annotation)


def build_table(
    events: Sequence[Any],
    sort_by: str | None = None,
    header: str | None = None,
    row_limit: int = 100,
    max_src_column_width: int | None = 75,
    max_name_column_width: int | None = 55,
    max_shapes_column_width: int | None = 80,
    with_flops: bool = False,
    profile_memory: bool = False,
    top_level_events_only: bool = False,
    time_unit: str | None = None,
) -> str:
    """One line for each event, with those columns for which there is something to show."""
    if not events:
        return ""
    if sort_by is not None:
        key = sort_by.replace("cuda", "device").replace("xpu", "device").replace("privateuse1", "device")
        events = sorted(events, key=lambda event: getattr(event, key), reverse=True)
    total, last_line = sum(event.self_cpu_time_total for event in events), ""
    name_width = _capped(max(len(event.key) for event in events) + 4, max_name_column_width)

    columns: list[tuple[str, int, Callable[[Any], str]]] = [
        ("Name", name_width, lambda e: _shortened(e.key, max_name_column_width))
    ]

    def add(title: str, cell: Callable[[Any], str], width: int = _WIDTH) -> None:
        columns.append((title, width, cell))

    if any(event.overload_name for event in events):
        add("Overload Name", lambda e: _shortened(e.overload_name, max_name_column_width), name_width)
    add("Self CPU %", lambda e: format_share(e.self_cpu_time_total, total))
    add("Self CPU", lambda e: format_time(e.self_cpu_time_total, time_unit))
    add("CPU total %", lambda e: format_share(e.cpu_time_total, total))
    add("CPU total", lambda e: format_time(e.cpu_time_total, time_unit))
    add("CPU time avg", lambda e: format_time(e.cpu_time, time_unit))
    if any(event.self_device_time_total > 0 for event in events):
        device, spent = (events[0].use_device or "None").upper(), _spent(events)
        add(f"Self {device}", lambda e: format_time(e.self_device_time_total, time_unit))
        add(f"Self {device} %", lambda e: format_share(e.self_device_time_total, spent))
        add(f"{device} total", lambda e: format_time(e.device_time_total, time_unit))
        add(f"{device} time avg", lambda e: format_time(e.device_time, time_unit))
        last_line = f"\nSelf {device} time total: {format_time(spent, time_unit)}"
    if profile_memory:
        add("CPU Mem", lambda e: format_memory(e.cpu_memory_usage))
        add("Self CPU Mem", lambda e: format_memory(e.self_cpu_memory_usage))
    add("# of Calls", lambda e: str(e.count))
    if any(event.input_shapes for event in events):
        width = _capped(max(len(str(event.input_shapes)) for event in events) + 4, max_shapes_column_width)
        add("Input Shapes", lambda e: str(e.input_shapes)[:width], width)
    entries = [entry for event in events for entry in event.stack or ()]
    source_width = _capped(max(map(len, entries)) + 4, max_src_column_width) if entries else 0
    counted = [event.flops for event in events if event.flops] if with_flops else []
    if counted:
        power = max(0, min(int(math.log10(min(counted)) / 3), len(_FLOPS) - 1))
        flops = (f"Total {_FLOPS[power]}", lambda e: f"{e.flops / 1000**power:8.3f}" if e.flops else "--")

    def line(cells: list[str], source: str, last: str) -> str:
        parts = [cell.rjust(width) for cell, (_, width, _) in zip(cells, columns, strict=False)]
        parts += [" " * width for _, width, _ in columns[len(parts) :]]
        if source_width:
            parts.append(source.ljust(source_width))
        if counted:
            parts.append(last.rjust(_WIDTH))
        return "".join(part + "  " for part in parts)

    widths = [width for _, width, _ in columns] + [source_width] * bool(source_width) + [_WIDTH] * bool(counted)
    rule = "".join("-" * width + "  " for width in widths)
    double = "=" * (len(rule) - 2)
    lines = [double, header] if header is not None else []
    if top_level_events_only:
        lines += [double, "This report only display top-level ops statistics"]
    lines += [rule, line([title for title, _, _ in columns], "Source Location", flops[0] if counted else ""), rule]
    shown = [event for event in events if not (top_level_events_only and event.cpu_parent is not None)]
    for event in shown if row_limit < 0 else shown[:row_limit]:
        stack = [_end_of(entry, source_width) for entry in event.stack or ()]
        lines.append(
            line([cell(event) for _, _, cell in columns], stack[0] if stack else "", flops[1](event) if counted else "")
        )
        if source_width:
            lines += [line([], entry, "") for entry in [*stack[1:], ""]]
    lines += [rule, f"Self CPU time total: {format_time(total, time_unit)}{last_line}"]
    return "\n".join(lines) + "\n"
