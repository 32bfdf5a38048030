"""Apple's Metal, which is absent."""

from __future__ import annotations

from typing import NoReturn

__all__ = ["is_available", "is_built", "is_macos13_or_newer", "is_macos_or_newer"]


def is_built() -> bool:
    """Whether this was built for Metal: False.

    >>> torch.backends.mps.is_built()
    False
    """
    return False


def is_available() -> bool:
    """Whether Metal can be used: False.

    >>> torch.backends.mps.is_available()
    False
    """
    return False


def is_macos_or_newer(major: int, minor: int) -> bool:
    """Whether this system is macOS of at least that version; without Metal, which knows: RuntimeError.

    >>> try:
    ...     torch.backends.mps.is_macos_or_newer(14, 0)
    ... except RuntimeError as error:
    ...     print(error)
    Cannot execute isOnMacOSorNewer() without MPS backend.
    """
    _absent()


def is_macos13_or_newer(minor: int = 0) -> bool:
    """Whether this system is macOS 13 or newer; without Metal, which knows: RuntimeError.

    >>> try:
    ...     torch.backends.mps.is_macos13_or_newer(1)
    ... except RuntimeError as error:
    ...     print(error)
    Cannot execute isOnMacOSorNewer() without MPS backend.
    """
    _absent()


def _absent() -> NoReturn:
    raise RuntimeError("Cannot execute isOnMacOSorNewer() without MPS backend.")
