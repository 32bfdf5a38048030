"""Records for a logging service: there is none, so nothing is sent."""

from __future__ import annotations


def open_source_signpost(subsystem: str, name: str, parameters: str | None = None) -> None:
    """Note that something happened: nobody reads it."""
