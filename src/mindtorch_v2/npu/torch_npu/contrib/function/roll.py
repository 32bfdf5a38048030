"""Turning the rows and columns of images."""

from __future__ import annotations

import mindtorch_v2 as torch

__all__ = ["roll"]


def roll(x: torch.Tensor, shifts: tuple[int, int], dims: tuple[int, int]) -> torch.Tensor:
    """`torch.roll` of images (n, height, width, channels) by two dimensions."""
    if x.dim() != 4 or len(shifts) != 2 or len(dims) != 2:
        raise ValueError(
            f"roll(): four dimensions, two shifts and two dims were expected, but it is {x.dim()}, {shifts} and {dims}"
        )
    return torch.roll(x, shifts, dims)
