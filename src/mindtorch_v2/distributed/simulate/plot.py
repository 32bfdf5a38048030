"""A drawing of predictions: the parts of a step over the number of ranks."""

from __future__ import annotations

import math
from collections.abc import Sequence

from mindtorch_v2.distributed.simulate.replay import Prediction

__all__ = ["drawing"]

_WIDTH, _HEIGHT, _LEFT, _BOTTOM, _TOP = 640, 360, 60, 40, 20
_LINES = {"step": "#1f4e79", "compute": "#4c9f70", "communication": "#c0504d", "exposed": "#e0a030"}


def drawing(found: Sequence[Prediction]) -> str:
    """An SVG with a line for each part, the ranks by their logarithm."""
    most = max(max(getattr(each, name) for name in _LINES) for each in found) or 1.0
    first, last = math.log2(found[0].ranks), math.log2(found[-1].ranks)

    def x(ranks: int) -> float:
        return _LEFT + (_WIDTH - _LEFT - 130) * (math.log2(ranks) - first) / ((last - first) or 1.0)

    def y(seconds: float) -> float:
        return _HEIGHT - _BOTTOM - (_HEIGHT - _BOTTOM - _TOP) * seconds / most

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" font-family="sans-serif" font-size="12">',
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>',
    ]
    for quarter in range(5):
        level = most * quarter / 4
        parts.append(f'<path d="M{_LEFT} {y(level):.1f}H{_WIDTH - 130}" stroke="#ddd"/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{y(level) + 4:.1f}" text-anchor="end">{1e3 * level:.4g} ms</text>')
    for each in found:
        parts.append(f'<text x="{x(each.ranks):.1f}" y="{_HEIGHT - 20}" text-anchor="middle">{each.ranks}</text>')
    parts.append(f'<text x="{(_WIDTH - 130 + _LEFT) / 2}" y="{_HEIGHT - 4}" text-anchor="middle">ranks</text>')
    for place, (name, colour) in enumerate(_LINES.items()):
        points = " ".join(f"{x(each.ranks):.1f},{y(getattr(each, name)):.1f}" for each in found)
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts.append(f'<text x="{_WIDTH - 122}" y="{40 + 18 * place}" fill="{colour}">{name}</text>')
    return "\n".join([*parts, "</svg>\n"])
