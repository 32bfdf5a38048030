"""The guards of one trace: each condition that the program's values were found to meet, once.

Owns the list that becomes the guards of the captured graph, in the order in which they were noted.
"""

from __future__ import annotations

from typing import Any

from mindtorch_v2._capture._guard_kinds import is_constant
from mindtorch_v2._capture._guards import Guard
from mindtorch_v2._capture._sources import Source

__all__ = ["NotedGuards"]


class NotedGuards:
    """Part of a recorder: guards. `kept` is where objects go whose ids tell guards apart."""

    def __init__(self, kept: list[Any]) -> None:
        self.noted: list[Guard] = []
        self._kept = kept
        self._keys: set[tuple[Any, ...]] = set()

    def note(self, kind: str, source: Source | None, value: Any = None) -> None:
        """A guard, once."""
        key = self._key(kind, source, value)
        if key not in self._keys:
            self._keys.add(key)
            self._kept.append(value)
            self.noted.append(Guard(kind, source, value))

    @staticmethod
    def _key(kind: str, source: Source | None, value: Any) -> tuple[Any, ...]:
        if kind in ("absent", "constant", "has", "keys"):
            return kind, source, _key_of(value)
        if kind == "result":
            return kind, id(value[0]), _key_of(value[1])
        if kind == "function":
            return kind, id(value[0])
        if kind == "super":
            return kind, *map(id, value[:2]), value[2]
        return kind, source, value if isinstance(value, int) else id(value)


def _key_of(value: Any) -> Any:
    """The key that tells a guarded value from others: its text where it is a constant, else which object it is."""
    if type(value) is tuple:
        return tuple(map(_key_of, value))
    return (type(value), repr(value)) if is_constant(value) else id(value)
