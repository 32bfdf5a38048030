"""Dropout by its older name."""

from __future__ import annotations

from mindtorch_v2 import nn

__all__ = ["DropoutWithByteMask"]


class DropoutWithByteMask(nn.Dropout):
    """`torch.nn.Dropout`; the mask is one of booleans here, as everywhere."""

    def __init__(self, p: float = 0.5, inplace: bool = False, max_seed: int = 2**10 - 1) -> None:
        super().__init__(p, inplace)
