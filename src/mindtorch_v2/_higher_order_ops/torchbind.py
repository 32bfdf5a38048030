"""Objects of C++ classes in graphs, under the name that programs import from here."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

__all__ = ["enable_torchbind_tracing"]


@contextlib.contextmanager
def enable_torchbind_tracing() -> Iterator[None]:
    """A context for traces that meet objects of C++ classes, which are taken into graphs in it and outside of it alike."""
    yield
