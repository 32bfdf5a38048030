"""Channels of two halves in turn."""

from __future__ import annotations

import mindtorch_v2 as torch
from mindtorch_v2 import Tensor, nn

__all__ = ["ChannelShuffle"]


class ChannelShuffle(nn.Module):
    """Channels of two inputs, joined, taken from `groups` groups in turn; in two halves with `split_shuffle`.

    Shape:
        (n, c, ...) twice, where `in_channels` is 2 c; (n, 2 c, ...), or (n, c, ...) twice.
    """

    def __init__(self, in_channels: int, groups: int = 2, split_shuffle: bool = True) -> None:
        super().__init__()
        self.in_channels, self.groups, self.split_shuffle = in_channels, groups, split_shuffle

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor | tuple[Tensor, Tensor]:
        """The channels in their new order."""
        order = torch.arange(self.in_channels, device=x1.device).reshape(self.groups, -1).t().reshape(-1)
        made = torch.cat([x1, x2], 1).index_select(1, order)
        half = self.in_channels // self.groups
        return (made[:, :half], made[:, half:]) if self.split_shuffle else made
