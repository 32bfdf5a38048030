"""Convolutions, linear maps and what they are made of: blocks, padding, shuffles."""

import mindtorch_v2 as torch
from mindtorch_v2._torch_function import hand_over_locals, overridden

from .._sizes import _pair
from ._bind import op

bilinear = op("bilinear")
channel_shuffle = op("channel_shuffle")
conv1d = op("conv1d")
conv2d = op("conv2d")
conv3d = op("conv3d")
conv_tbc = op("conv_tbc")
conv_transpose1d = op("conv_transpose1d")
conv_transpose2d = op("conv_transpose2d")
conv_transpose3d = op("conv_transpose3d")
linear = op("linear")
native_channel_shuffle = op("native_channel_shuffle")
one_hot = op("one_hot")
pixel_shuffle = op("pixel_shuffle")
pixel_unshuffle = op("pixel_unshuffle")


def pad(input, pad, mode="constant", value=None):
    """Pads the last dimensions by `pad`, pairs of (before, after), last dimension first.

    `mode` is "constant" (with `value`, default 0), "reflect", "replicate" or "circular"; negative pads cut.
    """
    if overridden(input):
        return hand_over_locals(torch.nn.functional.pad, locals())
    return torch._C._nn.pad(input, pad, mode, value)


def unfold(input, kernel_size, dilation=1, padding=0, stride=1):
    """Extracts sliding blocks: `(N, C, H, W)` or `(C, H, W)` to `(N, C * prod(kernel_size), L)`."""
    if overridden(input):
        return hand_over_locals(unfold, locals())
    return torch._C._nn.im2col(input, _pair(kernel_size), _pair(dilation), _pair(padding), _pair(stride))


def fold(input, output_size, kernel_size, dilation=1, padding=0, stride=1):
    """Sums sliding blocks: `(N, C * prod(kernel_size), L)` or unbatched, to `(N, C, *output_size)`."""
    if overridden(input):
        return hand_over_locals(fold, locals())
    return torch._C._nn.col2im(
        input, _pair(output_size), _pair(kernel_size), _pair(dilation), _pair(padding), _pair(stride)
    )
