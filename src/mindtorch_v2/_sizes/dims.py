"""Statements of a program about sizes that may differ: `Dim`, a size by its name, and hints for those without one."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

__all__ = ["Dim", "DimHint", "dims"]


@dataclasses.dataclass(frozen=True)
class DimHint:
    """Fate of a size without a name: "AUTO" may differ if the program lets it, "DYNAMIC" must, "STATIC" does not."""

    type: str
    min: int | None = None
    max: int | None = None

    def __call__(self, min: int | None = None, max: int | None = None) -> Any:
        """The same, with bounds."""
        if min is not None and min < 0 or max is not None and max < 0:
            raise AssertionError("min and max must be non-negative")
        if min is not None and max is not None and min > max:
            raise AssertionError(f"min must be <= max, got min={min}, max={max}")
        return DimHint(self.type, min, max)

    def __repr__(self) -> str:
        bounds = [f"{n}={v}" for n, v in (("min", self.min), ("max", self.max)) if v is not None]
        return f"DimHint({', '.join([self.type, *bounds])})"


class Dim:
    """A size by its name, between `min` and `max`: inputs with the same `Dim` have the same size.

    ``2 * Dim("half")`` and ``Dim("n") + 1`` are sizes that follow from another. AssertionError for bounds that fit no size,
    and for a name that is no identifier.

    >>> Dim("batch", max=64)
    Dim('batch', min=0, max=64)
    >>> 2 * Dim("half") + 1
    2*half + 1
    """

    __module__ = "mindtorch_v2.export.dynamic_shapes"  # where programs and pickles find it

    AUTO = DimHint("AUTO")
    DYNAMIC = DimHint("DYNAMIC")
    STATIC = DimHint("STATIC")

    def __init__(self, name: str, *, min: int | None = None, max: int | None = None) -> None:
        least, most = 0 if min is None else min, math.inf if max is None else max
        if most < least:
            raise AssertionError(f"Cannot create Dim with inconsistent min={min}, max={max}")
        if not name.isidentifier():
            raise AssertionError(f"Dim name must be a valid identifier, got {name}")
        self.__name__ = name
        self.min, self.max = least, most

    # The expression of the name: `_factor * root + _start`.
    root = property(lambda self: self)
    _factor, _start = 1, 0

    def __add__(self, other: Any) -> Any:
        return self._derived(self._factor, self._start + _whole("+", other))

    def __radd__(self, other: Any) -> Any:
        return self + other

    def __sub__(self, other: Any) -> Any:
        return self._derived(self._factor, self._start - _whole("-", other))

    def __rsub__(self, other: Any) -> Any:
        raise NotImplementedError(f"Attempted to negate {self.__name__}. Only increasing linear operations with integer "
                                  "coefficients are supported.")  # fmt: skip

    def __mul__(self, other: Any) -> Any:
        if _whole("*", other) <= 0:
            raise NotImplementedError(f"Attempted to multiply {other} with {self.__name__}, where a positive integer was "
                                      "expected. Only increasing linear operations with integer coefficients are supported.")  # fmt: skip
        return self._derived(self._factor * other, self._start * other)

    def __rmul__(self, other: Any) -> Any:
        return self * other

    def _derived(self, factor, start):
        name = self.root.__name__ if factor == 1 else f"{factor}*{self.root.__name__}"
        if start:
            name += f" {'+' if start > 0 else '-'} {abs(start)}"
        return _DerivedDim(name, self.root, factor, start)

    def __repr__(self) -> str:
        bounds = [f"min={self.min}"] if self.min != 2 else []
        if self.max is not math.inf:
            bounds.append(f"max={self.max}")
        return f"Dim('{self.__name__}'{''.join(f', {each}' for each in bounds)})"


class _DerivedDim(Dim):
    """A size that is computed of a `Dim`, its `root`."""

    def __init__(self, name: str, root: Any, factor: int, start: int) -> None:
        self.__name__ = name
        self._root, self._factor, self._start = root, factor, start
        self.min = root.min * factor + start
        self.max = root.max if root.max is math.inf else root.max * factor + start

    root = property(lambda self: self._root)

    def __repr__(self) -> str:
        return self.__name__


def _whole(sign, other):
    if type(other) is not int:
        raise NotImplementedError(
            f"Attempted to use {sign} of a Dim with {other}, where an integer was expected. Only increasing linear "
            "operations with integer coefficients are supported."
        )
    return other


def dims(*names: Any, min: int | None = None, max: int | None = None) -> tuple:
    """A tuple of `Dim`s with these names and the same bounds.

    >>> rows, columns = torch.export.dims("rows", "columns", min=2)
    >>> rows.__name__, columns.min
    ('rows', 2)
    """
    return tuple(Dim(name, min=min, max=max) for name in names)
