"""Regions of feature maps whose cells read maps of their own."""

from __future__ import annotations

import mindtorch_v2 as torch
from mindtorch_v2 import Tensor, nn

__all__ = ["PSROIPool"]


class PSROIPool(nn.Module):
    """Means over the cells of each region, each cell from a map of its own: `npu_ps_roi_pooling`.

    Shape:
        (n, output_dim * group_size**2, height, width) and regions (n, 5, k): image, x1, y1, x2, y2;
        (n * k, output_dim, group_size, group_size).

    Raises:
        ValueError: the sizes of the cells differ.
    """

    def __init__(
        self,
        pooled_height: int = 7,
        pooled_width: int = 7,
        spatial_scale: float = 1 / 16.0,
        group_size: int = 7,
        output_dim: int = 22,
    ) -> None:
        super().__init__()
        if not pooled_height == pooled_width == group_size:
            raise ValueError(
                "PSROIPool: pooled_height, pooled_width and group_size must be equal, but they are "
                f"{pooled_height}, {pooled_width} and {group_size}"
            )
        self.group_size, self.spatial_scale, self.output_dim = group_size, spatial_scale, output_dim

    def forward(self, features: Tensor, rois: Tensor) -> Tensor:
        """The means."""
        return torch.ops.npu.npu_ps_roi_pooling(features, rois, self.spatial_scale, self.group_size, self.output_dim)

    def extra_repr(self) -> str:
        """The settings."""
        return f"group_size={self.group_size}, spatial_scale={self.spatial_scale}, output_dim={self.output_dim}"
