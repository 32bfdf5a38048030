"""cuSPARSELt, which is absent."""

from __future__ import annotations

__all__ = ["get_max_alg_id", "is_available", "version"]


def version() -> int | None:
    """The library's version: None.

    >>> torch.backends.cusparselt.version() is None
    True
    """
    return None


def is_available() -> bool:
    """Whether cuSPARSELt computes: False.

    >>> torch.backends.cusparselt.is_available()
    False
    """
    return False


def get_max_alg_id() -> int | None:
    """The number of the library's last algorithm: None.

    >>> torch.backends.cusparselt.get_max_alg_id() is None
    True
    """
    return None
