"""Apple's Metal, which is absent."""

from __future__ import annotations

__all__ = ["is_available", "is_built", "is_macos13_or_newer", "is_macos_or_newer"]


def is_built() -> bool:
    """Whether this was built for Metal: False."""
    return False


def is_available() -> bool:
    """Whether Metal can be used: False."""
    return False


def is_macos_or_newer(major: int, minor: int) -> bool:
    """Whether this system is macOS of at least that version; without Metal: False."""
    return False


def is_macos13_or_newer(minor: int = 0) -> bool:
    """Whether this system is macOS 13 or newer; without Metal: False."""
    return False
