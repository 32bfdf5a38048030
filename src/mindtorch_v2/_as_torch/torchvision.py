"""Operators that torchvision counts on when it is imported; its compiled part, made for PyTorch, is not loaded here."""

from __future__ import annotations

import mindtorch_v2 as torch
from mindtorch_v2.library import Library

__all__ = ["nms"]

_library = Library("torchvision", "FRAGMENT")
_library.define("nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
_library.define("qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")  # of quantized tensors: no kernel


def nms(dets: torch.Tensor, scores: torch.Tensor, iou_threshold: float) -> torch.Tensor:
    """Non-maximum suppression: the indices of the boxes to keep, best score first.

    `dets` is (n, 4), each x1, y1, x2, y2; `scores` is (n,). A box goes that shares more than `iou_threshold` of the area of both
    with a better one that stays; of equal scores the first is the better one.
    """
    order = scores.argsort(descending=True, stable=True)
    boxes = dets[order]
    areas = (boxes[:, 2:] - boxes[:, :2]).prod(1)
    stays = torch.ones(len(boxes), dtype=torch.bool, device=dets.device)
    for i in range(len(boxes) - 1):
        if not stays[i]:
            continue
        low = torch.maximum(boxes[i, :2], boxes[i + 1 :, :2])
        high = torch.minimum(boxes[i, 2:], boxes[i + 1 :, 2:])
        shared = (high - low).clamp(min=0).prod(1)
        stays[i + 1 :] &= shared / (areas[i] + areas[i + 1 :] - shared) <= iou_threshold
    return order[stays]


_library.impl("nms", nms, "CPU")
