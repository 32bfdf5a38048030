"""Padding layers: each pads the last one, two or three dimensions of `(N, C, *)` or `(C, *)`.

`padding` is an int for all sides, or a tuple, last dimension first: `(left, right, top, bottom, front, back)`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .. import functional as F
from .module import Module
from .utils import _ntuple, _pair, _quadruple

if TYPE_CHECKING:
    from ..._tensor import Tensor


__all__ = [
    "CircularPad1d",
    "CircularPad2d",
    "CircularPad3d",
    "ConstantPad1d",
    "ConstantPad2d",
    "ConstantPad3d",
    "ReflectionPad1d",
    "ReflectionPad2d",
    "ReflectionPad3d",
    "ReplicationPad1d",
    "ReplicationPad2d",
    "ReplicationPad3d",
    "ZeroPad1d",
    "ZeroPad2d",
    "ZeroPad3d",
]

_sextuple = _ntuple(6, "_sextuple")


def _check_dim(input, *allowed) -> None:
    if input.dim() not in allowed:
        text = " or ".join(f"{d}D" for d in allowed)
        raise ValueError(f"expected {text} input (got {input.dim()}D input)")


class _CircularPadNd(Module):
    __constants__ = ["padding"]

    def _check_input_dim(self, input):
        raise NotImplementedError

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        return F.pad(input, self.padding, "circular")

    def extra_repr(self) -> str:
        return f"{self.padding}"


class CircularPad1d(_CircularPadNd):
    """Pad with the values of the other end.

    >>> torch.nn.CircularPad1d(1)(torch.tensor([[1.0, 2.0, 3.0]]))
    tensor([[3., 1., 2., 3., 1.]])
    """

    def __init__(self, padding: int | Sequence[int]) -> None:
        super().__init__()
        self.padding = _pair(padding)

    def _check_input_dim(self, input) -> None:
        _check_dim(input, 2, 3)


class CircularPad2d(_CircularPadNd):
    """Pad with the values of the other end.

    >>> torch.nn.CircularPad2d(1)(torch.ones(1, 3, 4, 4)).shape
    torch.Size([1, 3, 6, 6])
    """

    def __init__(self, padding: int | Sequence[int]) -> None:
        super().__init__()
        self.padding = _quadruple(padding)

    def _check_input_dim(self, input) -> None:
        _check_dim(input, 3, 4)


class CircularPad3d(_CircularPadNd):
    """Pad with the values of the other end.

    >>> torch.nn.CircularPad3d(1)(torch.ones(1, 3, 4, 4, 4)).shape
    torch.Size([1, 3, 6, 6, 6])
    """

    def __init__(self, padding: int | Sequence[int]) -> None:
        super().__init__()
        self.padding = _sextuple(padding)

    def _check_input_dim(self, input) -> None:
        _check_dim(input, 4, 5)


class _ConstantPadNd(Module):
    __constants__ = ["padding", "value"]

    def __init__(self, value: float) -> None:
        super().__init__()
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPadNd):
    """Pad with `value`.

    >>> torch.nn.ConstantPad1d((1, 0), 9.0)(torch.tensor([[1.0, 2.0]]))
    tensor([[9., 1., 2.]])
    """

    def __init__(self, padding: int | Sequence[int], value: float) -> None:
        super().__init__(value)
        self.padding = _pair(padding)


class ConstantPad2d(_ConstantPadNd):
    """Pad with `value`.

    >>> torch.nn.ConstantPad2d(1, 9.0)(torch.ones(1, 3, 4, 4)).shape
    torch.Size([1, 3, 6, 6])
    """

    __constants__ = ["padding", "value"]

    def __init__(self, padding: int | Sequence[int], value: float) -> None:
        super().__init__(value)
        self.padding = _quadruple(padding)


class ConstantPad3d(_ConstantPadNd):
    """Pad with `value`.

    >>> torch.nn.ConstantPad3d(1, 9.0)(torch.ones(1, 3, 4, 4, 4)).shape
    torch.Size([1, 3, 6, 6, 6])
    """

    def __init__(self, padding: int | Sequence[int], value: float) -> None:
        super().__init__(value)
        self.padding = _sextuple(padding)


class _ReflectionPadNd(Module):
    __constants__ = ["padding"]

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "reflect")

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ReflectionPad1d(_ReflectionPadNd):
    """Pad with the reflection of the input, the edge not repeated.

    >>> torch.nn.ReflectionPad1d(1)(torch.tensor([[1.0, 2.0, 3.0]]))
    tensor([[2., 1., 2., 3., 2.]])
    """

    def __init__(self, padding: int | Sequence[int]) -> None:
        super().__init__()
        self.padding = _pair(padding)


class ReflectionPad2d(_ReflectionPadNd):
    """Pad with the reflection of the input, the edge not repeated.

    >>> torch.nn.ReflectionPad2d(1)(torch.ones(1, 3, 4, 4)).shape
    torch.Size([1, 3, 6, 6])
    """

    def __init__(self, padding: int | Sequence[int]) -> None:
        super().__init__()
        self.padding = _quadruple(padding)


class ReflectionPad3d(_ReflectionPadNd):
    """Pad with the reflection of the input, the edge not repeated.

    >>> torch.nn.ReflectionPad3d(1)(torch.ones(1, 3, 4, 4, 4)).shape
    torch.Size([1, 3, 6, 6, 6])
    """

    def __init__(self, padding: int | Sequence[int]) -> None:
        super().__init__()
        self.padding = _sextuple(padding)


class _ReplicationPadNd(Module):
    __constants__ = ["padding"]

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "replicate")

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ReplicationPad1d(_ReplicationPadNd):
    """Pad with the value at the edge.

    >>> torch.nn.ReplicationPad1d(1)(torch.tensor([[1.0, 2.0, 3.0]]))
    tensor([[1., 1., 2., 3., 3.]])
    """

    def __init__(self, padding: int | Sequence[int]) -> None:
        super().__init__()
        self.padding = _pair(padding)


class ReplicationPad2d(_ReplicationPadNd):
    """Pad with the value at the edge.

    >>> torch.nn.ReplicationPad2d(1)(torch.ones(1, 3, 4, 4)).shape
    torch.Size([1, 3, 6, 6])
    """

    def __init__(self, padding: int | Sequence[int]) -> None:
        super().__init__()
        self.padding = _quadruple(padding)


class ReplicationPad3d(_ReplicationPadNd):
    """Pad with the value at the edge.

    >>> torch.nn.ReplicationPad3d(1)(torch.ones(1, 3, 4, 4, 4)).shape
    torch.Size([1, 3, 6, 6, 6])
    """

    def __init__(self, padding: int | Sequence[int]) -> None:
        super().__init__()
        self.padding = _sextuple(padding)


class ZeroPad1d(ConstantPad1d):
    """Pad with zero.

    >>> torch.nn.ZeroPad1d(1)(torch.tensor([[1.0, 2.0]]))
    tensor([[0., 1., 2., 0.]])
    """

    def __init__(self, padding: int | Sequence[int]) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ZeroPad2d(ConstantPad2d):
    """Pad with zero.

    >>> torch.nn.ZeroPad2d(1)(torch.ones(1, 3, 4, 4)).shape
    torch.Size([1, 3, 6, 6])
    """

    def __init__(self, padding: int | Sequence[int]) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ZeroPad3d(ConstantPad3d):
    """Pad with zero.

    >>> torch.nn.ZeroPad3d(1)(torch.ones(1, 3, 4, 4, 4)).shape
    torch.Size([1, 3, 6, 6, 6])
    """

    def __init__(self, padding: int | Sequence[int]) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"
