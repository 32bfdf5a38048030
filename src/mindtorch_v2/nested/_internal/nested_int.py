"""Sizes that differ from entry to entry: a symbol, equal to itself and to no number."""

from __future__ import annotations

import itertools
from typing import Any

import mindtorch_v2 as torch

__all__ = ["NestedInt", "ragged_size"]

_numbers = itertools.count(1)


class NestedInt(torch.SymInt):
    """The size of a ragged dimension, shown as "j1"; sizes with the same offsets are equal.

    A multiple of one is one too. Nothing else is computed with it: that raises RuntimeError.
    """

    def __init__(self, number: int, factor: int = 1) -> None:
        self.number, self.factor = number, factor

    def __repr__(self) -> str:
        return f"j{self.number}" if self.factor == 1 else f"{self.factor}*j{self.number}"

    __str__ = __repr__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NestedInt) and (other.number, other.factor) == (self.number, self.factor)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((self.number, self.factor))

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, int) and not isinstance(other, torch.SymInt):
            return NestedInt(self.number, self.factor * other)
        return self._refuse("multiplied with", other)

    __rmul__ = __mul__

    def _refuse(self, what: str, other: Any = "") -> Any:
        raise RuntimeError(f"{self}, the size of a ragged dimension, cannot be {what} {other}: it is not one number")

    def __ge__(self, other: Any) -> bool:
        return True if isinstance(other, int) and other <= 2 or self == other else self._refuse("compared with", other)

    def __gt__(self, other: Any) -> bool:
        return True if isinstance(other, int) and other <= 1 else self._refuse("compared with", other)

    def __lt__(self, other: Any) -> bool:
        return not self >= other

    def __le__(self, other: Any) -> bool:
        return self == other or not self > other

    def __int__(self) -> int:
        return self._refuse("taken for", "an int")

    __index__ = __float__ = __int__

    def __bool__(self) -> bool:
        return True

    def __add__(self, other: Any) -> Any:
        return self._refuse("added to", other)

    __radd__ = __sub__ = __rsub__ = __floordiv__ = __add__


def ragged_size(offsets: Any) -> NestedInt:
    """The symbol of the sizes that a tensor of offsets states: the same for the same tensor."""
    if not hasattr(offsets, "_ragged_number"):
        offsets._ragged_number = next(_numbers)
    return NestedInt(offsets._ragged_number)
