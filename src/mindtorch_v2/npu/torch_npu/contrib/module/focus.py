"""The first layer of YOLOv5."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2 import Tensor, nn

__all__ = ["Conv", "Focus", "autopad", "fast_slice"]


def autopad(k: Any, p: Any = None) -> Any:
    """The padding that is given, or the one that keeps sizes for a kernel of the size k (a number or numbers)."""
    if p is not None:
        return p
    return k // 2 if isinstance(k, int) else [size // 2 for size in k]


def fast_slice(x: Tensor) -> list[Tensor]:
    """Each second pixel of images, in four ways: from the first, one below, one to the right, one of both."""
    return [x[..., row::2, column::2] for column in (0, 1) for row in (0, 1)]


class Conv(nn.Module):
    """Convolution, batch norm, and leaky ReLU of the slope 0.1 if `act`."""

    def __init__(self, c1: int, c2: int, k: Any = 1, s: Any = 1, p: Any = None, g: int = 1, act: bool = True) -> None:
        super().__init__()
        self.conv = nn.Conv2d(c1, c2, k, s, autopad(k, p), groups=g, bias=False)
        self.bn = nn.BatchNorm2d(c2)
        self.act = nn.LeakyReLU(0.1, inplace=True) if act else nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        """All three."""
        return self.act(self.bn(self.conv(x)))

    def fuseforward(self, x: Tensor) -> Tensor:
        """Convolution and activation, for weights that the norm was folded into."""
        return self.act(self.conv(x))


class Focus(nn.Module):
    """`Conv` of the four quarters of an image's pixels as channels.

    Shape:
        (n, c1, height, width), both even; (n, c2, ...) as a convolution of half of each.
    """

    def __init__(self, c1: int, c2: int, k: Any = 1, s: Any = 1, p: Any = None, g: int = 1, act: bool = True) -> None:
        super().__init__()
        self.conv = Conv(c1 * 4, c2, k, s, p, g, act)

    def forward(self, x: Tensor) -> Tensor:
        """The convolution of the quarters."""
        return self.conv(torch.cat(fast_slice(x), 1))
