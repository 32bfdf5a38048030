"""Modules of settings, whose names hold other values for a while."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Any

__all__ = ["Patch"]


class Patch:
    """`patch` of a module of settings: ``patch("name", value)``, ``patch({"name": value})`` or ``patch(name=value)``.

    A context and a decorator. "triton.cudagraphs" is a setting of a class. Raises AttributeError for one that does not exist.
    """

    def __init__(self, module: str) -> None:
        self._module = module

    @contextlib.contextmanager
    def __call__(self, changes: str | dict[str, Any] | None = None, value: Any = None, **names: Any) -> Iterator[None]:
        wanted = {changes: value} if isinstance(changes, str) else {**(changes or {}), **names}
        before: list[tuple[Any, str, Any]] = []
        try:
            for name, new in wanted.items():
                *path, last = name.split(".")
                place: Any = sys.modules[self._module]
                for part in path:
                    place = getattr(place, part)
                before.append((place, last, getattr(place, last)))
                setattr(place, last, new)
            yield
        finally:
            for place, last, old in reversed(before):
                setattr(place, last, old)
