"""Differences of boxes as numbers that detectors learn, by the names of contrib; the operators are torch.ops.npu's."""

from __future__ import annotations

from collections.abc import Sequence

import mindtorch_v2 as torch

from .iou import _floating

__all__ = ["npu_bbox_coder_decode_xywh2xyxy", "npu_bbox_coder_encode_xyxy2xywh", "npu_bbox_coder_encode_yolo"]

_NO_MEANS, _NO_STDS = (0.0, 0.0, 0.0, 0.0), (1.0, 1.0, 1.0, 1.0)


def _rows(function: str, one: torch.Tensor, other: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    if one.shape != other.shape or one.shape[-1] != 4:
        raise ValueError(
            f"{function}(): two tensors of the sizes (n, 4) were expected, but they are {tuple(one.shape)} and {tuple(other.shape)}"
        )
    return _floating(one), _floating(other)


def npu_bbox_coder_encode_yolo(bboxes: torch.Tensor, gt_bboxes: torch.Tensor, stride: torch.Tensor) -> torch.Tensor:
    """How gt_bboxes lie to bboxes (both (n, 4), corners), in strides of the feature map (n)."""
    bboxes, gt_bboxes = _rows("npu_bbox_coder_encode_yolo", bboxes, gt_bboxes)
    return torch.ops.npu.npu_yolo_boxes_encode(bboxes, gt_bboxes, stride.int())


def npu_bbox_coder_encode_xyxy2xywh(
    bboxes: torch.Tensor,
    gt_bboxes: torch.Tensor,
    means: Sequence[float] | None = None,
    stds: Sequence[float] | None = None,
    is_normalized: bool = False,
    normalized_scale: float = 10000.0,
) -> torch.Tensor:
    """How gt_bboxes lie to bboxes (both (n, 4), corners in pixels, or from 0 to 1 with `is_normalized`)."""
    bboxes, gt_bboxes = _rows("npu_bbox_coder_encode_xyxy2xywh", bboxes, gt_bboxes)
    if is_normalized:
        bboxes, gt_bboxes = bboxes * normalized_scale, gt_bboxes * normalized_scale
    return torch.ops.npu.npu_bounding_box_encode(bboxes, gt_bboxes, *(means or _NO_MEANS), *(stds or _NO_STDS))


def npu_bbox_coder_decode_xywh2xyxy(
    bboxes: torch.Tensor,
    pred_bboxes: torch.Tensor,
    means: Sequence[float] | None = None,
    stds: Sequence[float] | None = None,
    max_shape: Sequence[int] | None = None,
    wh_ratio_clip: float = 16 / 1000,
) -> torch.Tensor:
    """The corners of the boxes that `pred_bboxes` tells of, within an image of `max_shape` (height, width)."""
    bboxes, pred_bboxes = _rows("npu_bbox_coder_decode_xywh2xyxy", bboxes, pred_bboxes)
    shape = list(max_shape or (9999, 9999))
    numbers = *(means or _NO_MEANS), *(stds or _NO_STDS)
    return torch.ops.npu.npu_bounding_box_decode(bboxes, pred_bboxes, *numbers, shape, wh_ratio_clip)
