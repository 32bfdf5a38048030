"""Pixel shuffle: channels into space and back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import functional as F
from .module import Module

if TYPE_CHECKING:
    from ..._tensor import Tensor


__all__ = ["PixelShuffle", "PixelUnshuffle"]


class PixelShuffle(Module):
    """`(*, C * r**2, H, W)` to `(*, C, H * r, W * r)`, with `r` the `upscale_factor`.

    >>> torch.nn.PixelShuffle(2)(torch.ones(1, 8, 4, 4)).shape
    torch.Size([1, 2, 8, 8])
    """

    __constants__ = ["upscale_factor"]

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_shuffle(input, self.upscale_factor)

    def extra_repr(self) -> str:
        return f"upscale_factor={self.upscale_factor}"


class PixelUnshuffle(Module):
    """`(*, C, H * r, W * r)` to `(*, C * r**2, H, W)`, with `r` the `downscale_factor`.

    >>> torch.nn.PixelUnshuffle(2)(torch.ones(1, 2, 8, 8)).shape
    torch.Size([1, 8, 4, 4])
    """

    __constants__ = ["downscale_factor"]

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_unshuffle(input, self.downscale_factor)

    def extra_repr(self) -> str:
        return f"downscale_factor={self.downscale_factor}"
