"""The best of boxes that overlap, class by class, in half precision as the device's operator takes them."""

from __future__ import annotations

import mindtorch_v2 as torch

__all__ = ["npu_batched_multiclass_nms", "npu_multiclass_nms"]


def npu_batched_multiclass_nms(
    multi_bboxes: torch.Tensor,
    multi_scores: torch.Tensor,
    score_thr: float = 0.05,
    nms_thr: float = 0.45,
    max_num: int = 50,
    score_factors: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Of each image the max_num best boxes with their scores, (B, max_num, 5), and their classes; zeros where there are fewer.

    Boxes are (B, n, 4) or (B, n, classes, 4); scores (B, n, classes + 1), the last of which, the background's, is left out.
    """
    scores = multi_scores[..., :-1]
    if score_factors is not None:
        scores = scores * score_factors[..., None]
    batch, count, _ = scores.shape
    boxes = multi_bboxes.reshape(batch, count, -1, 4)
    found, best, kinds, _ = torch.ops.npu.npu_batch_nms(
        boxes.half(), scores.half(), score_thr, nms_thr, max_num, max_num
    )
    return torch.cat([found, best[..., None]], -1), kinds


def npu_multiclass_nms(
    multi_bboxes: torch.Tensor,
    multi_scores: torch.Tensor,
    score_thr: float = 0.05,
    nms_thr: float = 0.45,
    max_num: int = 50,
    score_factors: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """`npu_batched_multiclass_nms` of one image, without the first dimension."""
    factors = None if score_factors is None else score_factors[None]
    boxes, kinds = npu_batched_multiclass_nms(
        multi_bboxes[None], multi_scores[None], score_thr, nms_thr, max_num, factors
    )
    return boxes[0], kinds[0]
