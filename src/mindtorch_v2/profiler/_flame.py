"""Flame graphs: what `export_stacks` writes, as a picture."""

from __future__ import annotations

import html
import zlib
from collections.abc import Iterable

__all__ = ["flame_graph"]

_WIDTH, _ROW, _TOP = 1200.0, 18, 40
_NARROWEST = 0.4  # pixels: what is narrower is not drawn
_CHARACTER = 6.6


class _Call:
    """A function as called by those before it: its weight, with what it calls."""

    def __init__(self) -> None:
        self.weight = 0
        self.calls: dict[str, _Call] = {}


def _tree(lines: Iterable[str]) -> _Call:
    root = _Call()
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        stack, _, weight = line.rstrip("\n").rpartition(" ")
        if not stack or not weight.isdecimal():
            raise ValueError(
                f"line {number}: expected functions with semicolons between and a number, got {line.strip()!r}"
            )
        at = root
        at.weight += int(weight)
        for name in stack.split(";"):
            at = at.calls.setdefault(name, _Call())
            at.weight += int(weight)
    if not root.weight:
        raise ValueError("expected at least one stack with a time: profile with with_stack=True, then export_stacks")
    return root


def _depth(call: _Call) -> int:
    deepest, level = 0, [call]
    while level:
        level = [each for one in level for each in one.calls.values()]
        deepest += bool(level)
    return deepest


def flame_graph(lines: Iterable[str], title: str = "Flame graph") -> str:
    """A flame graph as SVG text: a bar a function, above those that it calls, as wide as it took time.

    `lines` are those of `profile.export_stacks`: functions from the outermost, semicolons between, then microseconds.
    ValueError for others, or none.

    >>> from mindtorch_v2.profiler._flame import flame_graph
    >>> flame_graph(["main;step;forward 30", "main;step;backward 60"]).count("<rect")
    6
    """
    root = _tree(lines)
    parts = []
    bars: list[tuple[str, _Call, float, int]] = [("all", root, 0.0, 0)]
    while bars:
        name, call, left, level = bars.pop()
        width = call.weight / root.weight * _WIDTH
        if width < _NARROWEST:
            continue
        y = _TOP + level * _ROW
        shade = zlib.crc32(name.encode())
        color = f"hsl({15 + shade % 40}, {70 + shade // 64 % 25}%, {62 + shade // 4096 % 14}%)"
        share = f"{call.weight / root.weight:.1%}"
        text = name if len(name) * _CHARACTER < width else name[: max(int(width / _CHARACTER) - 2, 0)] + ".."
        label = f'<text x="{left + 3:.1f}" y="{y + 13}">{html.escape(text)}</text>' if width > 4 * _CHARACTER else ""
        parts.append(
            f'<g><title>{html.escape(name)}: {call.weight} us, {share}</title><rect x="{left:.1f}" y="{y}" '
            f'width="{width:.1f}" height="{_ROW - 1}" rx="2" fill="{color}"/>{label}</g>'
        )
        for inner, each in sorted(call.calls.items()):
            bars.append((inner, each, left, level + 1))
            left += each.weight / root.weight * _WIDTH
    height = _TOP + (_depth(root) + 1) * _ROW + 10
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH:.0f}" height="{height}" font-family="monospace" '
        f'font-size="11"><rect width="100%" height="100%" fill="#fffdf8"/><text x="8" y="24" font-size="15">'
        f"{html.escape(title)}: {root.weight / 1000:.3f} ms</text>{''.join(parts)}</svg>\n"
    )
