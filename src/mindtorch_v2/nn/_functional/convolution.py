"""Convolutions, linear maps and what they are made of: blocks, padding, shuffles."""

import mindtorch_v2 as torch
from mindtorch_v2._core.overridable import overridable

from .._sizes import _pair

__all__ = [
    "fold",
    "pad",
    "unfold",
]


@overridable
def pad(input, pad, mode="constant", value=None):
    """Pads the last dimensions by `pad`, pairs of (before, after), last dimension first.

    `mode` is "constant" (with `value`, default 0), "reflect", "replicate" or "circular"; negative pads cut.
    """
    return torch._C._nn.pad(input, pad, mode, value)


@overridable
def unfold(input, kernel_size, dilation=1, padding=0, stride=1):
    """Extracts sliding blocks: `(N, C, H, W)` or `(C, H, W)` to `(N, C * prod(kernel_size), L)`."""
    return torch._C._nn.im2col(input, _pair(kernel_size), _pair(dilation), _pair(padding), _pair(stride))


@overridable
def fold(input, output_size, kernel_size, dilation=1, padding=0, stride=1):
    """Sums sliding blocks: `(N, C * prod(kernel_size), L)` or unbatched, to `(N, C, *output_size)`."""
    return torch._C._nn.col2im(
        input, _pair(output_size), _pair(kernel_size), _pair(dilation), _pair(padding), _pair(stride)
    )
