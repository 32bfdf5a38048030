"""Upsampling layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .. import functional as F
from .module import Module

if TYPE_CHECKING:
    from ..._tensor import Tensor


__all__ = ["Upsample", "UpsamplingNearest2d", "UpsamplingBilinear2d"]


class Upsample(Module):
    """Resize the spatial dimensions of `(N, C, *)`, of which there are one to three, to a size or by a factor.

    `mode` is "nearest", "linear", "bilinear", "bicubic" or "trilinear"; see `functional.interpolate`.

    >>> torch.nn.Upsample(scale_factor=2)(torch.tensor([[[1.0, 2.0]]]))
    tensor([[[1., 1., 2., 2.]]])
    """

    __constants__ = ["size", "scale_factor", "mode", "align_corners", "name", "recompute_scale_factor"]

    def __init__(
        self,
        size: int | Sequence[int] | None = None,
        scale_factor: float | tuple[float, ...] | None = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        super().__init__()
        self.name = type(self).__name__
        self.size = size
        self.scale_factor: float | tuple[float, ...] | None
        if isinstance(scale_factor, tuple):
            self.scale_factor = tuple(float(factor) for factor in scale_factor)
        else:
            self.scale_factor = float(scale_factor) if scale_factor else None
        self.mode = mode
        self.align_corners = align_corners
        self.recompute_scale_factor = recompute_scale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.interpolate(
            input,
            self.size,
            self.scale_factor,
            self.mode,
            self.align_corners,
            recompute_scale_factor=self.recompute_scale_factor,
        )

    def __setstate__(self, state: dict[str, Any]) -> None:
        state.setdefault("recompute_scale_factor", True)
        super().__setstate__(state)

    def extra_repr(self) -> str:
        if self.scale_factor is not None:
            info = "scale_factor=" + repr(self.scale_factor)
        else:
            info = "size=" + repr(self.size)
        return info + ", mode=" + repr(self.mode)


class UpsamplingNearest2d(Upsample):
    """Nearest-neighbour upsampling of `(N, C, H, W)`.

    >>> torch.nn.UpsamplingNearest2d(scale_factor=2)(torch.ones(1, 3, 4, 4)).shape
    torch.Size([1, 3, 8, 8])
    """

    def __init__(
        self, size: int | Sequence[int] | None = None, scale_factor: float | tuple[float, ...] | None = None
    ) -> None:
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """Bilinear upsampling of `(N, C, H, W)` with aligned corners.

    >>> torch.nn.UpsamplingBilinear2d(scale_factor=2)(torch.ones(1, 3, 4, 4)).shape
    torch.Size([1, 3, 8, 8])
    """

    def __init__(
        self, size: int | Sequence[int] | None = None, scale_factor: float | tuple[float, ...] | None = None
    ) -> None:
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)
