"""Counts of an allocator as programs read them: nested, and as a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def nested(numbers: Mapping[str, Any]) -> dict[str, Any]:
    """Numbers whose names have dots as dictionaries by the parts of the names."""
    nested: dict[str, Any] = {}
    for name, value in numbers.items():
        *folders, last = name.split(".")
        place = nested
        for folder in folders:
            place = place.setdefault(folder, {})
        place[last] = value
    return nested


_WIDTH = 75  # of a summary
_SUMMARISED = {
    "allocated_bytes": "Allocated memory",
    "active_bytes": "Active memory",
    "requested_bytes": "Requested memory",
    "reserved_bytes": "{kind} reserved memory",
    "allocation": "Allocations",
    "active": "Active allocs",
    "segment": "{kind} reserved segs",
}


def _amount(number: int, is_bytes: bool) -> str:
    """A number in at most nine characters, with its unit."""
    units = ("B  ", "KiB", "MiB", "GiB", "TiB", "PiB") if is_bytes else (" ", "K", "M", "B")
    step, place = (1024, 0) if is_bytes else (1000, 0)
    while number >= 10 * step and place + 1 < len(units):
        number, place = number // step, place + 1
    return f"{number} {units[place]}"


def summary(named: str, memory: str, call: str, index: int, stats: Mapping[str, Any]) -> str:
    """A table to read, in PyTorch's form.

    Args:
        named: the kind of device in the title, "CUDA".
        memory: the kind of memory, "GPU".
        call: the allocation of the device's library, "cudaMalloc".
        index: of the device.
        stats: what `memory_stats` gives.
    """
    ooms, retries = f"{named} OOMs: {stats['num_ooms']}", f"{call} retries: {stats['num_alloc_retries']}"
    counts = f"  {'':9} {ooms:<23} | {'':6} {retries:<28}  "
    lines = [
        "=" * _WIDTH,
        f" {'':16} {f'PyTorch {named} memory summary, device ID {index}':<56} ",
        "-" * _WIDTH,
        counts,
        "=" * _WIDTH,
        "        Metric         | Cur Usage  | Peak Usage | Tot Alloc  | Tot Freed  ",
    ]
    for name, title in _SUMMARISED.items():
        numbers = (stats[f"{name}.all.{kind}"] for kind in ("current", "peak", "allocated", "freed"))
        cells = " | ".join(f"{_amount(number, name.endswith('bytes')):>10}" for number in numbers)
        lines += ["-" * _WIDTH, f" {title.format(kind=memory):<21} | {cells} "]
    lines.append("=" * _WIDTH)
    return "|" + "|\n|".join(lines) + "|\n"
