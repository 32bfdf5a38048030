"""The order in which patterns are tried."""

from __future__ import annotations

from typing import Any

__all__: list[str] = []


def _length(pattern: Any) -> int:
    return sum(map(_length, pattern)) if isinstance(pattern, tuple) else 1


def _sorted_patterns_dict(patterns_dict: dict[Any, Any]) -> dict[Any, Any]:
    """Patterns, the longest first."""
    return dict(sorted(patterns_dict.items(), key=lambda item: -_length(item[0]) if isinstance(item[0], tuple) else 1))
