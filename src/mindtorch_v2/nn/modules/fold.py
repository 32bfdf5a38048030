"""Sliding blocks: their extraction into columns and the sum back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .. import functional as F
from .module import Module

if TYPE_CHECKING:
    from ..._tensor import Tensor


__all__ = ["Fold", "Unfold"]


class Fold(Module):
    """Sum sliding blocks into an image: `(N, C * prod(kernel_size), L)` to `(N, C, *output_size)`.

    >>> torch.nn.Fold(output_size=(4, 4), kernel_size=2, stride=2)(torch.ones(1, 12, 4)).shape
    torch.Size([1, 3, 4, 4])
    """

    __constants__ = ["output_size", "kernel_size", "dilation", "padding", "stride"]

    def __init__(
        self,
        output_size: int | Sequence[int],
        kernel_size: int | Sequence[int],
        dilation: int | Sequence[int] = 1,
        padding: int | Sequence[int] = 0,
        stride: int | Sequence[int] = 1,
    ) -> None:
        super().__init__()
        self.output_size = output_size
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: Tensor) -> Tensor:
        return F.fold(input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        return (
            f"output_size={self.output_size}, kernel_size={self.kernel_size}, dilation={self.dilation}, "
            f"padding={self.padding}, stride={self.stride}"
        )


class Unfold(Module):
    """Extract sliding blocks: `(N, C, *)` to `(N, C * prod(kernel_size), L)`, `L` the number of blocks.

    >>> torch.nn.Unfold(kernel_size=2)(torch.ones(1, 3, 4, 4)).shape
    torch.Size([1, 12, 9])
    """

    __constants__ = ["kernel_size", "dilation", "padding", "stride"]

    def __init__(
        self,
        kernel_size: int | Sequence[int],
        dilation: int | Sequence[int] = 1,
        padding: int | Sequence[int] = 0,
        stride: int | Sequence[int] = 1,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: Tensor) -> Tensor:
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, dilation={self.dilation}, padding={self.padding}, stride={self.stride}"
