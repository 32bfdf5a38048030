"""Which anchors answer for boxes."""

from __future__ import annotations

from collections.abc import Sequence

import mindtorch_v2 as torch

from .iou import _floating

__all__ = ["npu_single_level_responsible_flags"]


def npu_single_level_responsible_flags(
    featmap_size: Sequence[int], gt_bboxes: torch.Tensor, stride: Sequence[int], num_base_anchors: int
) -> torch.Tensor:
    """1 for each anchor of the cells of a map (height, width) in which a box (n, 4) has its centre, else 0: uint8."""
    flags = torch.ops.npu.npu_anchor_response_flags
    return flags(_floating(gt_bboxes), list(featmap_size), list(stride), num_base_anchors)
