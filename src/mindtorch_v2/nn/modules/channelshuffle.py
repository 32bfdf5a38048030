"""Channel shuffle."""

from .. import functional as F
from .module import Module

__all__ = ["ChannelShuffle"]


class ChannelShuffle(Module):
    """Interleaves `groups` groups of channels of `(*, C, H, W)`; `C` must be divisible by it."""

    __constants__ = ["groups"]

    def __init__(self, groups) -> None:
        super().__init__()
        self.groups = groups

    def forward(self, input):
        return F.channel_shuffle(input, self.groups)

    def extra_repr(self) -> str:
        return f"groups={self.groups}"
