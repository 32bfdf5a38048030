"""Rearranging channels and pixels, and grids for sampling."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ... import _C
from ..table import S, T, aten, composite

if TYPE_CHECKING:
    from ..._tensor import Tensor


def _channels_come_last(x: Tensor) -> bool:
    """Whether the order of the strides says so, be the pictures or volumes dense or a view with steps."""
    if x.dim() not in (4, 5) or x.stride(1) == 0:
        return False
    least = 0
    for d in (1, *range(x.dim() - 1, 1, -1), 0):
        if x.size(d) == 0 or x.stride(d) < least or (d == 0 and least == x.stride(1)):
            return False
        least = x.stride(d) * max(x.size(d), 1)
    return True


def _regrouped(given: Tensor, permuted: Tensor, sizes: Sequence[int]) -> Tensor:
    """`permuted` in memory of its own and in `sizes`, with the channels last where those that were given come last."""
    made = aten._unsafe_view(permuted.clone(memory_format=_C.contiguous_format), sizes)
    if not _channels_come_last(given):
        return made
    return made.clone(memory_format=_C.channels_last if given.dim() == 4 else _C.channels_last_3d)


@composite(
    "affine_grid_generator(Tensor theta, SymInt[] size, bool align_corners) -> Tensor",
    "Sampling positions of affine maps: (batch, 2, 3) or (batch, 3, 4) matrices to grids.",
    bind="function generated_out",
    samples=[S(T(2, 2, 3), [2, 1, 3, 4], False), S(T(2, 3, 4), [2, 1, 2, 3, 4], True)],
    node="AffineGridGeneratorBackward0",
)
def affine_grid_generator(theta: Tensor, size: Sequence[int], align_corners: bool) -> Tensor:
    if len(size) not in (4, 5):
        raise RuntimeError("AffineGridGenerator needs 4d (spatial) or 5d (volumetric) inputs.")
    spatial = list(size[2:])
    axes = []
    for i, count in enumerate(spatial):
        if count == 1:
            axis = aten.zeros([1], dtype=theta.dtype, device=theta.device)
        else:
            axis = aten.linspace(-1, 1, count, dtype=theta.dtype, device=theta.device)
            axis = axis if align_corners else axis * ((count - 1) / count)
        axes.append(axis.reshape([count if j == i else 1 for j in range(len(spatial))]).expand(spatial))
    columns = [axis.reshape(-1) for axis in reversed(axes)]
    base = aten.stack([*columns, aten.ones_like(columns[0])], -1)
    grid = aten.matmul(base.expand([size[0], *base.shape]), theta.transpose(1, 2))
    return grid.reshape([size[0], *spatial, len(spatial)])


@composite(
    "channel_shuffle(Tensor self, SymInt groups) -> Tensor",
    "Takes channels from the groups in turn.",
    bind="function generated_out",
    functional="channel_shuffle native_channel_shuffle",
    alias="native_channel_shuffle",
    samples=[S(T(2, 6, 3, 2), 3)],
    node="ChannelShuffleBackward0",
)
def channel_shuffle(self: Tensor, groups: int) -> Tensor:
    if self.dim() <= 2:
        raise RuntimeError(f"channel_shuffle expects input with > 2 dims, but got input with sizes {list(self.shape)}")
    channels = self.size(1)
    if groups <= 0:
        raise RuntimeError(f"Number of groups to divide channels in must be positive. Value of groups:{groups}")
    if channels % groups:
        raise RuntimeError(
            f"Number of channels must be divisible by groups. Got {channels} channels and {groups} groups."
        )
    grouped = self.reshape([self.size(0), groups, channels // groups, *self.shape[2:]])
    return _regrouped(self, grouped.transpose(1, 2), self.shape)


@composite(
    "grid_sampler(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> Tensor",
    "An image read at the positions of a grid.",
    bind="function",
    autocast="float32",
)
def grid_sampler(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    if input.dim() == 5:
        return aten.grid_sampler_3d(input, grid, interpolation_mode, padding_mode, align_corners)
    return aten.grid_sampler_2d(input, grid, interpolation_mode, padding_mode, align_corners)


@composite(
    "pixel_shuffle(Tensor self, int upscale_factor) -> Tensor",
    "Channels become pixels: (..., C r r, H, W) to (..., C, H r, W r).",
    bind="function generated_out",
    functional="pixel_shuffle",
    samples=[S(T(2, 8, 2, 3), 2)],
    node="PixelShuffleBackward0",
)
def pixel_shuffle(self: Tensor, upscale_factor: int) -> Tensor:
    if self.dim() < 3:
        raise RuntimeError(
            f"pixel_shuffle expects input to have at least 3 dimensions, but got input with {self.dim()} dimension(s)"
        )
    if upscale_factor <= 0:
        raise RuntimeError(f"pixel_shuffle expects a positive upscale_factor, but got {upscale_factor}")
    factor = upscale_factor
    if factor * factor >= 1 << 63:
        raise ValueError(f"upscale factor is too large, (upscale_factor)^2 overflowed: upscale_factor={upscale_factor}")
    channels, height, width = self.shape[-3:]
    if channels % (factor * factor):
        raise RuntimeError(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, "
            f"but input.size(-3)={channels} is not divisible by {factor * factor}"
        )
    lead = list(self.shape[:-3])
    n = len(lead)
    split = self.reshape([*lead, channels // (factor * factor), factor, factor, height, width])
    order = [*range(n), n, n + 3, n + 1, n + 4, n + 2]
    sizes = [*lead, channels // (factor * factor), height * factor, width * factor]
    return _regrouped(self, split.permute(order), sizes)


@composite(
    "pixel_unshuffle(Tensor self, int downscale_factor) -> Tensor",
    "Pixels become channels: (..., C, H r, W r) to (..., C r r, H, W).",
    bind="function generated_out",
    functional="pixel_unshuffle",
    samples=[S(T(2, 2, 4, 6), 2)],
    node="PixelUnshuffleBackward0",
)
def pixel_unshuffle(self: Tensor, downscale_factor: int) -> Tensor:
    if self.dim() < 3:
        raise RuntimeError(
            f"pixel_unshuffle expects input to have at least 3 dimensions, but got input with {self.dim()} dimension(s)"
        )
    if downscale_factor <= 0:
        raise RuntimeError(f"pixel_unshuffle expects a positive downscale_factor, but got {downscale_factor}")
    factor = downscale_factor
    channels, height, width = self.shape[-3:]
    for name, size in (("height", height), ("width", width)):
        if size % factor:
            raise RuntimeError(
                f"pixel_unshuffle expects {name} to be divisible by downscale_factor, but "
                f"input.size({-2 if name == 'height' else -1})={size} is not divisible by {factor}"
            )
    if self.numel() == 0:
        return self.clone()  # PyTorch gives an empty tensor back as it came
    lead = list(self.shape[:-3])
    n = len(lead)
    split = self.reshape([*lead, channels, height // factor, factor, width // factor, factor])
    order = [*range(n), n, n + 2, n + 4, n + 1, n + 3]
    sizes = [*lead, channels * factor * factor, height // factor, width // factor]
    return _regrouped(self, split.permute(order), sizes)
