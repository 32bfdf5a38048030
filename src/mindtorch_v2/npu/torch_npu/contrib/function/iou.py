"""How much boxes overlap, by the names of contrib; the operators are torch.ops.npu's."""

from __future__ import annotations

import warnings

import mindtorch_v2 as torch

__all__ = ["npu_ciou", "npu_diou", "npu_giou", "npu_iou", "npu_ptiou"]


def _floating(boxes: torch.Tensor) -> torch.Tensor:
    return boxes if boxes.dtype in (torch.float32, torch.float16) else boxes.float()


def _say(name: str) -> None:
    warnings.warn(f"torch_npu.contrib.function.{name} is deprecated; use torch_npu.{name}", FutureWarning, stacklevel=3)


def npu_iou(
    boxes1: torch.Tensor,
    boxes2: torch.Tensor,
    mode: str = "ptiou",
    is_normalized: bool = False,
    normalized_scale: float = 100.0,
) -> torch.Tensor:
    """The overlap of each of boxes1 (n, 4) with each of boxes2 (m, 4): (n, m). `mode` is "iou" or "ptiou".

    Coordinates from 0 to 1 are to be named so by `is_normalized`: they are multiplied by `normalized_scale`, since
    the operators add 0.001 to areas.
    """
    _say("npu_iou")
    if mode not in ("iou", "ptiou"):
        raise ValueError(f"npu_iou(): mode must be 'iou' or 'ptiou', but it is {mode!r}")
    boxes1, boxes2 = _floating(boxes1), _floating(boxes2)
    if is_normalized:
        boxes1, boxes2 = boxes1 * normalized_scale, boxes2 * normalized_scale
    return getattr(torch.ops.npu, f"npu_{mode}")(boxes2, boxes1)


npu_ptiou = npu_iou


def npu_giou(boxes1: torch.Tensor, boxes2: torch.Tensor, is_permuted: bool = True) -> torch.Tensor:
    """The generalised overlap of boxes (x, y, width, height) one to one: (n, 1). They are (n, 4), or (4, n) if not `is_permuted`."""
    _say("npu_giou")
    if boxes1.shape != boxes2.shape:
        raise ValueError(f"npu_giou(): as many boxes were expected, but they are {boxes1.shape} and {boxes2.shape}")
    boxes1, boxes2 = _floating(boxes1), _floating(boxes2)
    if is_permuted:
        boxes1, boxes2 = boxes1.t(), boxes2.t()
    return torch.ops.npu.npu_giou(boxes1, boxes2, trans=True, is_cross=False)


def npu_diou(
    boxes1: torch.Tensor, boxes2: torch.Tensor, trans: bool = True, is_cross: bool = False, mode: int = 0
) -> torch.Tensor:
    """The overlap of boxes (4, n) one to one, less the distance of their centres: (1, n)."""
    _say("npu_diou")
    return torch.ops.npu.npu_diou(boxes1, boxes2, trans, is_cross, mode)


def npu_ciou(
    boxes1: torch.Tensor, boxes2: torch.Tensor, trans: bool = True, is_cross: bool = False, mode: int = 0
) -> torch.Tensor:
    """`npu_diou`, less the difference of the boxes' proportions: (1, n)."""
    _say("npu_ciou")
    return torch.ops.npu.npu_ciou(boxes1, boxes2, trans, is_cross, mode, True)
