"""KleidiAI, which is absent."""

from __future__ import annotations

__all__ = ["is_available"]


def is_available() -> bool:
    """Whether Arm's KleidiAI computes: False.

    >>> torch.backends.kleidiai.is_available()
    False
    """
    return False
