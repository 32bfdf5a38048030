"""Boxes of detection: how much of them overlaps, their differences as numbers to learn, and the best of those that overlap.

A box is (x1, y1, x2, y2), its corners, or with `trans` (x, y, width, height), its centre and size.
"""

from __future__ import annotations

import math
from typing import Any

from ...._core.dtype import DTYPES
from ...._operators.table import S, T, aten, namespace
from .checks import composite, no_gradient, require, require_choice, wide

npu = namespace("npu")
_TINY = 1e-9  # keeps quotients finite where boxes are empty
_MARGIN = 0.001  # of the areas that npu_iou and npu_ptiou divide


def _columns(operator: str, name: str, boxes: Any) -> Any:
    """The four numbers of boxes that come as rows."""
    require(
        boxes.dim() == 2 and boxes.shape[1] == 4,
        operator,
        f"{name} must have the sizes (n, 4), but it has {list(boxes.shape)}",
    )
    return aten.unbind(wide(boxes), 1)


def _sides(operator: str, name: str, boxes: Any, trans: bool) -> tuple:
    """Left, top, right and bottom of boxes that come as columns, (4, n)."""
    require(
        boxes.dim() == 2 and boxes.shape[0] == 4,
        operator,
        f"{name} must have the sizes (4, n), but it has {list(boxes.shape)}",
    )
    a, b, c, d = aten.unbind(wide(boxes), 0)
    return (a - c / 2, b - d / 2, a + c / 2, b + d / 2) if trans else (a, b, c, d)


def _common(one: tuple, other: tuple) -> Any:
    """The area that two boxes share."""
    across = aten.minimum(one[2], other[2]) - aten.maximum(one[0], other[0])
    down = aten.minimum(one[3], other[3]) - aten.maximum(one[1], other[1])
    return across.clamp(0) * down.clamp(0)


def _overlap(operator: str, bboxes: Any, gtboxes: Any, mode: int, margin_above: float) -> Any:
    require_choice(operator, "mode", mode, (0, 1))
    one = tuple(each.unsqueeze(0) for each in _columns(operator, "bboxes", bboxes))
    other = tuple(each.unsqueeze(1) for each in _columns(operator, "gtboxes", gtboxes))
    shared = _common(one, other)
    area = (other[2] - other[0]) * (other[3] - other[1])
    if mode == 0:
        area = (one[2] - one[0]) * (one[3] - one[1]) + area - shared
    return ((shared + margin_above) / (area + _MARGIN)).to(bboxes.dtype)


@composite(
    "npu::npu_iou(Tensor bboxes, Tensor gtboxes, int mode=0) -> Tensor",
    "The shared area of each pair of boxes by that of both (mode 0) or of the second (1), each and 0.001: (of the second, of the first).",
    grad=no_gradient("npu_iou", "bboxes", "gtboxes"),
    explicit=True,
)
def npu_iou(bboxes: Any, gtboxes: Any, mode: int = 0) -> Any:
    return _overlap("npu_iou", bboxes, gtboxes, mode, _MARGIN)


@composite(
    "npu::npu_ptiou(Tensor bboxes, Tensor gtboxes, int mode=0) -> Tensor",
    "npu_iou with 0.001 added to the divisor alone.",
    grad=no_gradient("npu_ptiou", "bboxes", "gtboxes"),
    explicit=True,
)
def npu_ptiou(bboxes: Any, gtboxes: Any, mode: int = 0) -> Any:
    return _overlap("npu_ptiou", bboxes, gtboxes, mode, 0.0)


def _pairs(operator: str, input: Any, gtboxes: Any, trans: bool, is_cross: bool, mode: int) -> tuple:
    """Sides, widths and heights of boxes by pairs, the share that they have in common, and the box around both."""
    require(not is_cross, operator, "is_cross must be False: boxes are compared one to one")
    require(input.shape == gtboxes.shape, operator, f"as many boxes are needed: {input.shape} and {gtboxes.shape}")
    require_choice(operator, "mode", mode, (0, 1))
    one, other = _sides(operator, "input", input, trans), _sides(operator, "gtboxes", gtboxes, trans)
    sizes = [(each[2] - each[0], each[3] - each[1] + _TINY) for each in (one, other)]
    shared = _common(one, other)
    (w1, h1), (w2, h2) = sizes
    area = w2 * h2 + _TINY if mode == 1 else w1 * h1 + w2 * h2 - shared + _TINY
    width = aten.maximum(one[2], other[2]) - aten.minimum(one[0], other[0])
    height = aten.maximum(one[3], other[3]) - aten.minimum(one[1], other[1])
    return one, other, sizes, shared / area, area, (width, height)


def _apart(one: tuple, other: tuple, around: tuple) -> Any:
    """The squared distance of two centres by that of the corners of the box around both."""
    squared = (other[0] + other[2] - one[0] - one[2]) ** 2 + (other[1] + other[3] - one[1] - one[3]) ** 2
    return squared / 4 / (around[0] ** 2 + around[1] ** 2 + _TINY)


@composite(
    "npu::npu_giou(Tensor input, Tensor gtboxes, bool trans=False, bool is_cross=False, int mode=0) -> Tensor",
    "The share that boxes of two (4, n) have in common, less what of the box around both is in neither: (n, 1).",
    samples=[S(T(4, 3, low=1.0, high=2.0), T(4, 3, low=1.5, high=2.5), True)],
)
def npu_giou(input: Any, gtboxes: Any, trans: bool = False, is_cross: bool = False, mode: int = 0) -> Any:
    *_, share, area, (width, height) = _pairs("npu_giou", input, gtboxes, trans, is_cross, mode)
    around = width * height
    return (share - (around - area) / around).unsqueeze(1).to(input.dtype)


@composite(
    "npu::npu_diou(Tensor input, Tensor gtboxes, bool trans=False, bool is_cross=False, int mode=0) -> Tensor",
    "The share that boxes of two (4, n) have in common, less how far their centres are apart: (1, n).",
    samples=[S(T(4, 3, low=1.0, high=2.0), T(4, 3, low=1.5, high=2.5), True)],
)
def npu_diou(input: Any, gtboxes: Any, trans: bool = False, is_cross: bool = False, mode: int = 0) -> Any:
    one, other, _, share, _, around = _pairs("npu_diou", input, gtboxes, trans, is_cross, mode)
    return (share - _apart(one, other, around)).unsqueeze(0).to(input.dtype)


@composite(
    "npu::npu_ciou(Tensor input, Tensor gtboxes, bool trans=False, bool is_cross=True, int mode=0, bool "
    "atan_sub_flag=False) -> Tensor",
    "npu_diou, less how much the boxes' proportions differ, whose weight is a constant to the gradient: (1, n).",
)
def npu_ciou(
    input: Any, gtboxes: Any, trans: bool = False, is_cross: bool = True, mode: int = 0, atan_sub_flag: bool = False
) -> Any:
    one, other, sizes, share, _, around = _pairs("npu_ciou", input, gtboxes, trans, is_cross, mode)
    (w1, h1), (w2, h2) = sizes
    unlike = (aten.atan(w2 / h2) - aten.atan(w1 / h1)) ** 2 * (4 / math.pi**2)
    weight = (unlike / (1 + _TINY - share + unlike)).detach()
    return (share - _apart(one, other, around) - weight * unlike).unsqueeze(0).to(input.dtype)


def _centres(boxes: tuple) -> tuple:
    """Centre and size of boxes whose last pixel belongs to them."""
    x1, y1, x2, y2 = boxes
    return (x1 + x2) / 2, (y1 + y2) / 2, x2 - x1 + 1, y2 - y1 + 1


@composite(
    "npu::npu_bounding_box_encode(Tensor anchor_box, Tensor ground_truth_box, float means0, float means1, float means2, "
    "float means3, float stds0, float stds1, float stds2, float stds3) -> Tensor",
    "How boxes lie to others: the way between centres by the size, and the logarithms of the sizes' quotients, less means, by stds.",
    grad=no_gradient("npu_bounding_box_encode", "anchor_box", "ground_truth_box"),
    explicit=True,
)
def npu_bounding_box_encode(
    anchor_box: Any, ground_truth_box: Any, means0: float, means1: float, means2: float, means3: float,
    stds0: float, stds1: float, stds2: float, stds3: float,
) -> Any:  # fmt: skip
    operator = "npu_bounding_box_encode"
    px, py, pw, ph = _centres(_columns(operator, "anchor_box", anchor_box))
    gx, gy, gw, gh = _centres(_columns(operator, "ground_truth_box", ground_truth_box))
    found = (gx - px) / pw, (gy - py) / ph, aten.log(gw / pw), aten.log(gh / ph)
    numbers = zip(found, (means0, means1, means2, means3), (stds0, stds1, stds2, stds3), strict=True)
    return aten.stack([(value - mean) / std for value, mean, std in numbers], 1).to(anchor_box.dtype)


@composite(
    "npu::npu_bounding_box_decode(Tensor rois, Tensor deltas, float means0, float means1, float means2, float means3, float stds0, "
    "float stds1, float stds2, float stds3, int[1] max_shape, float wh_ratio_clip) -> Tensor",
    "The boxes that npu_bounding_box_encode tells of, within an image of max_shape (height, width); sizes change by at most wh_ratio_clip.",
    grad=no_gradient("npu_bounding_box_decode", "rois", "deltas"),
    explicit=True,
)
def npu_bounding_box_decode(
    rois: Any, deltas: Any, means0: float, means1: float, means2: float, means3: float, stds0: float, stds1: float,
    stds2: float, stds3: float, max_shape: Any, wh_ratio_clip: float,
) -> Any:  # fmt: skip
    operator = "npu_bounding_box_decode"
    require(len(max_shape) == 2, operator, f"max_shape must be (height, width), but it is {tuple(max_shape)}")
    require(0 < wh_ratio_clip <= 1, operator, f"wh_ratio_clip must be in (0, 1], but it is {wh_ratio_clip}")
    px, py, pw, ph = _centres(_columns(operator, "rois", rois))
    numbers = zip(
        _columns(operator, "deltas", deltas), (means0, means1, means2, means3), (stds0, stds1, stds2, stds3),
        strict=True,
    )  # fmt: skip
    dx, dy, dw, dh = (value * std + mean for value, mean, std in numbers)
    most = abs(math.log(wh_ratio_clip))
    gw, gh = pw * aten.exp(dw.clamp(-most, most)), ph * aten.exp(dh.clamp(-most, most))
    gx, gy = px + pw * dx, py + ph * dy
    height, width = (size - 1 for size in max_shape)
    sides = [
        (gx - (gw - 1) / 2).clamp(0, width), (gy - (gh - 1) / 2).clamp(0, height),
        (gx + (gw - 1) / 2).clamp(0, width), (gy + (gh - 1) / 2).clamp(0, height),
    ]  # fmt: skip
    return aten.stack(sides, 1).to(rois.dtype)


@composite(
    "npu::npu_yolo_boxes_encode(Tensor input, Tensor gt_bboxes, Tensor stride, bool performance_mode=False) -> Tensor",
    "How boxes lie to others as YOLO learns it: the way between centres in strides, from 0 to 1, and the logarithms of the sizes' quotients.",
    grad=no_gradient("npu_yolo_boxes_encode", "input", "gt_bboxes"),
    explicit=True,
)
def npu_yolo_boxes_encode(input: Any, gt_bboxes: Any, stride: Any, performance_mode: bool = False) -> Any:
    operator, tiny = "npu_yolo_boxes_encode", 1e-6
    x1, y1, x2, y2 = _columns(operator, "input", input)
    a1, b1, a2, b2 = _columns(operator, "gt_bboxes", gt_bboxes)
    step = wide(stride)
    ways = (
        ((theirs / 2 - ours / 2) / step + 0.5).clamp(tiny, 1 - tiny)
        for theirs, ours in ((a1 + a2, x1 + x2), (b1 + b2, y1 + y2))
    )
    sizes = (aten.log((theirs / ours).clamp_min(tiny)) for theirs, ours in ((a2 - a1, x2 - x1), (b2 - b1, y2 - y1)))
    return aten.stack([*ways, *sizes], 1).to(input.dtype)


@composite(
    "npu::npu_anchor_response_flags(Tensor input, int[2] featmap_size, int[2] stride, int num_base_anchors) -> Tensor",
    "1 for each anchor of the cells of a map (height, width) in which a box has its centre, 0 for the others: uint8.",
    explicit=True,
)
def npu_anchor_response_flags(input: Any, featmap_size: Any, stride: Any, num_base_anchors: int) -> Any:
    operator = "npu_anchor_response_flags"
    x1, y1, x2, y2 = _columns(operator, "input", input)
    height, width = featmap_size
    column = aten.floor((x1 + x2) / 2 / stride[0]).to(DTYPES["int64"])
    row = aten.floor((y1 + y2) / 2 / stride[1]).to(DTYPES["int64"])
    cell = row * width + column
    flags = aten.zeros([height * width], dtype=DTYPES["uint8"], device=input.device)
    flags = aten.index_fill(flags, 0, cell, 1)
    return flags.unsqueeze(1).expand([height * width, num_base_anchors]).reshape(-1)


@composite(
    "npu::npu_batch_nms(Tensor input, Tensor scores, float score_threshold, float iou_threshold, int max_size_per_class, int "
    "max_total_size, bool change_coordinate_frame=False, bool transpose_box=False) -> (Tensor, Tensor, Tensor, Tensor)",
    "Of each image's boxes (B, n, 1 or classes, 4) the best of those that overlap, class by class, best first: boxes, scores (B, n, "
    "classes), classes, zeros where there are fewer, and how many there are.",
    explicit=True,
    grad=no_gradient("npu_batch_nms", "input", "scores"),
    nondiff=(3,),
)
def npu_batch_nms(
    input: Any, scores: Any, score_threshold: float, iou_threshold: float, max_size_per_class: int, max_total_size: int,
    change_coordinate_frame: bool = False, transpose_box: bool = False,
) -> tuple:  # fmt: skip
    operator = "npu_batch_nms"
    require(
        input.dim() == 4 and input.shape[3] == 4, operator, f"input must be (B, n, q, 4), it is {list(input.shape)}"
    )
    require(
        scores.dim() == 3 and scores.shape[:2] == input.shape[:2] and input.shape[2] in (1, scores.shape[2]),
        operator,
        f"scores must be (B, n, classes) with q 1 or classes, but they are {list(scores.shape)} for {list(input.shape)}",
    )
    require(not transpose_box, operator, "transpose_box must be False")
    require(not change_coordinate_frame, operator, "change_coordinate_frame must be False")
    batch, count, classes = scores.shape
    boxes = wide(input).permute([0, 2, 1, 3]).expand([batch, classes, count, 4])
    left = wide(scores).permute([0, 2, 1])
    left = aten.where(left > score_threshold, left, -math.inf)
    found = []
    for _ in range(min(max_size_per_class, count)):
        best, place = aten.max(left, 2, True)
        box = aten.gather(boxes, 2, place.unsqueeze(-1).expand([batch, classes, 1, 4]))
        found.append((best.squeeze(2), box.squeeze(2)))
        one, other = aten.unbind(boxes, 3), aten.unbind(box, 3)
        shared = _common(one, other)
        both = (one[2] - one[0]) * (one[3] - one[1]) + (other[2] - other[0]) * (other[3] - other[1]) - shared
        gone = (shared / both > iou_threshold) | (aten.arange(count, device=input.device) == place)
        left = aten.where(gone, -math.inf, left)
    best = aten.stack([each for each, _ in found], 2).reshape(batch, -1)
    picked = aten.stack([each for _, each in found], 2).reshape(batch, -1, 4)
    kinds = aten.arange(classes, device=input.device).unsqueeze(1).expand([classes, len(found)]).reshape(1, -1)
    values, order = aten.sort(best, 1, True)
    wanted = min(max_total_size, order.shape[1])
    values, order = values[:, :wanted], order[:, :wanted]
    there = values > -math.inf
    chosen = aten.gather(picked, 1, order.unsqueeze(-1).expand([batch, wanted, 4]))
    results = [
        aten.where(there.unsqueeze(-1), chosen, 0.0),
        aten.where(there, values, 0.0),
        aten.where(there, aten.gather(kinds.expand([batch, kinds.shape[1]]), 1, order).to(values.dtype), 0.0),
    ]
    missing = max_total_size - wanted
    padded = [
        aten.constant_pad_nd(each, [0, 0] * (each.dim() - 2) + [0, missing], 0.0).to(input.dtype) for each in results
    ]
    return *padded, there.sum([1]).to(DTYPES["int32"])
