"""Regions of feature maps as maps of one size."""

from __future__ import annotations

import mindtorch_v2 as torch
from mindtorch_v2 import Tensor, nn

__all__ = ["ROIAlign"]


class ROIAlign(nn.Module):
    """Means of `sampling_ratio` squared points in each cell of each region, read between pixels.

    Regions are multiplied by `spatial_scale`; `aligned` takes pixels' middles for their places.

    Shape:
        (n, c, height, width) and regions (k, 5): image, x1, y1, x2, y2; (k, c, *output_size).
    """

    def __init__(
        self, output_size: tuple[int, int], spatial_scale: float, sampling_ratio: int, aligned: bool = True
    ) -> None:
        super().__init__()
        self.output_size, self.spatial_scale = output_size, spatial_scale
        self.sampling_ratio, self.aligned = sampling_ratio, aligned

    def forward(self, input_tensor: Tensor, rois: Tensor) -> Tensor:
        """The regions, in float32."""
        mode = 3 if self.aligned else 0
        read = torch.ops.npu.npu_roi_align
        return read(input_tensor.float(), rois, self.spatial_scale, *self.output_size, self.sampling_ratio, mode)

    def extra_repr(self) -> str:
        """The settings."""
        return (
            f"output_size={self.output_size}, spatial_scale={self.spatial_scale}, sampling_ratio={self.sampling_ratio}, "
            f"aligned={self.aligned}"
        )
