"""Intel MKL, which is absent."""

from __future__ import annotations

from typing import Any, Literal, Self

__all__ = ["VERBOSE_OFF", "VERBOSE_ON", "is_available", "verbose"]

VERBOSE_OFF = 0
VERBOSE_ON = 1


def is_available() -> bool:
    """Whether MKL computes: False.

    >>> torch.backends.mkl.is_available()
    False
    """
    return False


class verbose:
    """A context in which MKL prints what it does; entering it raises RuntimeError.

    >>> try:
    ...     with torch.backends.mkl.verbose(torch.backends.mkl.VERBOSE_ON):
    ...         pass
    ... except RuntimeError as error:
    ...     print(error)
    mkl.verbose(): MKL is not part of this build; set ONEDNN_VERBOSE=1 for oneDNN
    """

    def __init__(self, enable: int) -> None:
        self.enable = enable

    def __enter__(self) -> Self:
        if self.enable != VERBOSE_OFF:
            raise RuntimeError("mkl.verbose(): MKL is not part of this build; set ONEDNN_VERBOSE=1 for oneDNN")
        return self

    def __exit__(self, *exception: Any) -> Literal[False]:
        return False
