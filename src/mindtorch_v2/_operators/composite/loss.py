"""Losses made of other operators, and the losses' public forms."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..._core.dtype import DTYPES
from ..table import S, T, aten, class_name, composite

if TYPE_CHECKING:
    from ..._tensor import Tensor
    from ...types import Number


_NONE, _MEAN, _SUM = 0, 1, 2


def _reduced(loss, reduction: int):
    return loss.mean() if reduction == _MEAN else loss.sum() if reduction == _SUM else loss


def _check_dtype(tensor, dtype) -> None:
    if tensor.dtype != dtype:
        raise RuntimeError(f"expected scalar type {class_name(dtype)} but found {class_name(tensor.dtype)}")


@composite(
    "binary_cross_entropy_with_logits(Tensor self, Tensor target, Tensor? weight=None, Tensor? pos_weight=None,"
    " int reduction=Mean) -> Tensor",
    "Cross entropy of sigmoid(self) with targets in [0, 1], computed without the sigmoid.",
    bind="function generated_out",
    autocast="float32",
    samples=[S(T(3, 4), T(3, 4, low=0, high=1, grad=False))],
    node="BinaryCrossEntropyWithLogitsBackward0",
)
def binary_cross_entropy_with_logits(
    self: Tensor, target: Tensor, weight: Tensor | None = None, pos_weight: Tensor | None = None, reduction: int = 1
) -> Tensor:
    log_sigmoid = aten.log_sigmoid(self)
    if pos_weight is not None:
        log_sigmoid = log_sigmoid * ((pos_weight - 1) * target + 1)
    # -t log s(x) - (1 - t) log s(-x), with log s(-x) = log s(x) - x
    loss = (1 - target) * self - log_sigmoid
    if weight is not None:
        loss = loss * weight
    return _reduced(loss.to(target.dtype) if target.is_floating_point() else loss, reduction)


@composite(
    "cosine_embedding_loss(Tensor input1, Tensor input2, Tensor target, float margin=0.0, int reduction=Mean) -> Tensor",
    "1 - cos where the target is 1, max(0, cos - margin) where it is -1.",
    bind="function",
    autocast="float32",
    samples=[],
)
def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 1
) -> Tensor:
    if target.dim() not in (0, 1):
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if target.dim() == 1 and (input1.dim() != 2 or input2.dim() != 2):
        raise RuntimeError(
            "1D target tensor expects 2D input tensors, but found inputs with sizes "
            f"{list(input1.shape)} and {list(input2.shape)}."
        )
    if target.dim() == 0 and (input1.dim() != 1 or input2.dim() != 1):
        raise RuntimeError(
            "0D target tensor expects 1D input tensors, but found inputs with sizes "
            f"{list(input1.shape)} and {list(input2.shape)}."
        )
    dim = target.dim()
    tiny = 1e-12
    dot = (input1 * input2).sum(dim)
    size = ((input1.square().sum(dim) + tiny) * (input2.square().sum(dim) + tiny)).sqrt()
    cos = dot / size
    zeros = aten.zeros_like(cos)
    loss = aten.where(target == 1, 1 - cos, zeros) + aten.where(target == -1, (cos - margin).clamp_min(0), zeros)
    return _reduced(loss, reduction)


def _cross_entropy_with_probabilities(self, target, weight, reduction, label_smoothing):
    axis = 1 if self.dim() > 1 else 0
    if tuple(self.shape) != tuple(target.shape):
        raise RuntimeError(f"Expected target size {list(self.shape)}, got {list(target.shape)}")
    if not target.is_floating_point():
        raise RuntimeError(
            f"Expected floating point type for target with class probabilities, got {_class_name(target)}"
        )
    classes = self.size(axis)
    if label_smoothing > 1:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing:g}")
    if label_smoothing > 0:
        target = target * (1 - label_smoothing) + label_smoothing / classes
    log_p = aten.log_softmax(self, axis)
    if weight is not None:
        shape = [1] * self.dim()
        shape[axis] = classes
        log_p = log_p * weight.view(shape)
    loss = -(log_p * target).sum(axis)
    if reduction == _MEAN:
        return loss.sum() / (self.numel() / classes if classes else math.nan)
    return _reduced(loss, reduction)


def _class_name(tensor) -> str:
    return {"int64": "Long", "int32": "Int", "int16": "Short", "int8": "Char", "uint8": "Byte", "bool": "Bool"}.get(
        str(tensor.dtype).rpartition(".")[2], str(tensor.dtype)
    )


def _cross_entropy_of_places(self, target, weight, reduction, ignore_index, label_smoothing):
    """Class indices for scores of any shape, through log_softmax."""
    axis = 1 if self.dim() > 1 else 0
    log_p = aten.log_softmax(self, axis)
    nll = aten.nll_loss_nd(log_p, target, weight, reduction, ignore_index)
    if label_smoothing == 0:
        return nll
    classes = self.size(axis)
    kept = target != ignore_index
    shape = [1] * self.dim()
    shape[axis] = classes
    smooth = -(log_p if weight is None else log_p * weight.view(shape)).sum(axis)
    smooth = smooth.masked_fill(kept.logical_not(), 0)
    if reduction == _MEAN:
        if weight is None:
            total = kept.sum()
        else:
            total = weight[target.masked_fill(kept.logical_not(), 0)].masked_fill(kept.logical_not(), 0).sum()
        smooth = smooth.sum() / total
    elif reduction == _SUM:
        smooth = smooth.sum()
    return (1 - label_smoothing) * nll + smooth * (label_smoothing / classes)


@composite(
    "cross_entropy_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=Mean, SymInt ignore_index=-100,"
    " float label_smoothing=0.0) -> Tensor",
    "Cross entropy of scores with class indices or class probabilities.",
    bind="nn",
    autocast="float32",
    samples=[
        S(T(3, 5), T(3, dtype="int64", low=0, high=5)),
        S(T(3, 5), T(3, dtype="int64", low=0, high=5), label_smoothing=0.2),
        S(T(3, 5), T(3, 5, low=0, high=1, grad=False)),
    ],
)
def cross_entropy_loss(
    self: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    reduction: int = 1,
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
) -> Tensor:
    return cross_entropy(self, target, weight, reduction, ignore_index, label_smoothing)


def cross_entropy(
    self: Tensor,
    target: Tensor,
    weight: Tensor | None,
    reduction: int,
    ignore_index: int,
    label_smoothing: float,
    whole: bool = True,
) -> Tensor:
    """`cross_entropy_loss`, by one kernel where there is one, or always in the parts that PyTorch makes it of."""
    if target.shape == self.shape and self.dim() > 0:
        if ignore_index >= 0:
            raise RuntimeError("ignore_index is not supported for floating point target")
        return _cross_entropy_with_probabilities(self, target, weight, reduction, label_smoothing)
    if not 0 <= label_smoothing <= 1:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing:g}")
    rows = self.dim() == 2 and target.dim() == 1 and self.size(0) == target.size(0)
    if whole and rows and (self.is_cpu or self.is_cuda):
        return aten._cross_entropy(self, target, weight, reduction, ignore_index, label_smoothing)[0]
    return _cross_entropy_of_places(self, target, weight, reduction, ignore_index, label_smoothing)


def _ctc(log_probs, targets, input_lengths, target_lengths, blank, reduction, zero_infinity, lengths):
    batched = log_probs.dim() == 3
    if not batched:
        log_probs = log_probs.unsqueeze(1)
        if targets.dim() == 1:
            targets = targets.unsqueeze(0)
    loss = aten._ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, zero_infinity)[0]
    if zero_infinity:
        loss = aten.where(loss == float("inf"), aten.zeros_like(loss), loss)
    if reduction == _MEAN:
        return (loss / lengths.clamp_min(1).to(loss.dtype)).mean()
    if reduction == _SUM:
        return loss.sum()
    return loss if batched else loss.squeeze(0)


@composite(
    "ctc_loss.IntList(Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, int blank=0,"
    " int reduction=Mean, bool zero_infinity=False) -> Tensor",
    "Connectionist temporal classification.",
    bind="function",
    autocast="float32",
)
def ctc_loss_of_lists(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Sequence[int],
    target_lengths: Sequence[int],
    blank: int = 0,
    reduction: int = 1,
    zero_infinity: bool = False,
) -> Tensor:
    lengths = aten.tensor(target_lengths, device=log_probs.device) if hasattr(aten, "tensor") else None
    if lengths is None:
        lengths = targets.new_zeros([len(target_lengths)])
        for i, n in enumerate(target_lengths):
            lengths[i] = n
    return _ctc(log_probs, targets, input_lengths, target_lengths, blank, reduction, zero_infinity, lengths)


@composite(
    "ctc_loss.Tensor(Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, int blank=0,"
    " int reduction=Mean, bool zero_infinity=False) -> Tensor",
    "Connectionist temporal classification, lengths given as tensors.",
    bind="function",
    autocast="float32",
)
def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor,
    target_lengths: Tensor,
    blank: int = 0,
    reduction: int = 1,
    zero_infinity: bool = False,
) -> Tensor:
    if input_lengths.is_floating_point():
        raise RuntimeError("input_lengths must be integral")
    if target_lengths.is_floating_point():
        raise RuntimeError("target_lengths must be integral")
    return _ctc(
        log_probs,
        targets,
        input_lengths.reshape([-1]),
        target_lengths.reshape([-1]),
        blank,
        reduction,
        zero_infinity,
        target_lengths.to(log_probs.device),
    )


@composite(
    "hinge_embedding_loss(Tensor self, Tensor target, float margin=1.0, int reduction=Mean) -> Tensor",
    "The input where the target is 1, max(0, margin - input) where it is -1.",
    bind="function",
    autocast="float32",
)
def hinge_embedding_loss(self: Tensor, target: Tensor, margin: float = 1.0, reduction: int = 1) -> Tensor:
    zeros = aten.zeros_like(self)
    loss = aten.where(target != 1, (margin - self).clamp_min(0), zeros) + aten.where(target != -1, self, zeros)
    return _reduced(loss, reduction)


@composite(
    "kl_div(Tensor self, Tensor target, int reduction=Mean, *, bool log_target=False) -> Tensor",
    "target * (log target - self), pointwise; `self` holds log-probabilities.",
    bind="function",
    autocast="float32",
    samples=[S(T(3, 4), T(3, 4, low=0.1, high=1))],
)
def kl_div(self: Tensor, target: Tensor, reduction: int = 1, *, log_target: bool = False) -> Tensor:
    if log_target:
        difference = target - self
        loss = target.exp() * difference
    else:
        loss = aten.xlogy(target, target) - target * self
    return _reduced(loss, reduction)


@composite(
    "l1_loss(Tensor self, Tensor target, int reduction=Mean) -> Tensor",
    "Absolute error.",
    bind="nn",
    autocast="float32",
    samples=[S(T(3, 4), T(3, 4)), S(T(3, 4), T(3, 4), 0)],
)
def l1_loss(self: Tensor, target: Tensor, reduction: int = 1) -> Tensor:
    return _reduced((self - target).abs(), reduction)


@composite(
    "margin_ranking_loss(Tensor input1, Tensor input2, Tensor target, float margin=0.0, int reduction=Mean) -> Tensor",
    "max(0, -target * (input1 - input2) + margin).",
    bind="function",
    autocast="float32",
)
def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 1
) -> Tensor:
    difference = input1 - input2
    return _reduced((-target * difference + margin).clamp_min_(0), reduction)


@composite(
    "multi_margin_loss(Tensor self, Tensor target, Scalar p=1, Scalar margin=1, Tensor? weight=None, int reduction=Mean)"
    " -> Tensor",
    "Hinge of every other class's score against the target's.",
    bind="nn out",
    out_dtype="expected scalar type {result} but found {out}",
    autocast="float32",
    samples=[S(T(3, 5), T(3, dtype="int64", low=0, high=5))],
    node="MultiMarginLossBackward0",
)
def multi_margin_loss(
    self: Tensor, target: Tensor, p: Number = 1, margin: Number = 1, weight: Tensor | None = None, reduction: int = 1
) -> Tensor:
    if p not in (1, 2):
        raise RuntimeError("only p == 1 and p == 2 supported")
    if self.dim() > 2 or 0 in self.shape[1 if self.dim() == 2 else 0 :]:
        raise RuntimeError(
            f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {list(self.shape)}"
        )
    scores = self if self.dim() == 2 else self.reshape([1, -1])
    if target.dim() > 1 or target.numel() != scores.size(0):
        raise RuntimeError(
            "multi_margin_loss: target tensor should be 1-D with size equal to the number of input samples (batch "
            f"size). Expected target size [{scores.size(0)}], but got {list(target.shape)}. Input has shape "
            f"{list(self.shape)}."
        )
    if weight is not None and (weight.dim() > 1 or weight.numel() != scores.size(1)):
        raise RuntimeError(f"inconsistent weight size, expected {scores.size(1)} but got {list(weight.shape)}")
    _check_dtype(target, DTYPES["int64"])
    if weight is not None:
        _check_dtype(weight, self.dtype)
    index = target.reshape([-1, 1])
    own = scores.gather(1, index)
    loss = (margin - own + scores).clamp_min(0)
    if p == 2:
        loss = loss.square()
    if weight is not None:
        loss = loss * weight[index]
    loss = loss.scatter(1, index, 0.0).sum(1) / scores.size(1)
    return _reduced(loss if self.dim() == 2 else loss.squeeze(0), reduction)


@composite(
    "multilabel_margin_loss(Tensor self, Tensor target, int reduction=Mean) -> Tensor",
    "Hinge of every class's score against each target class's; targets end at the first -1.",
    bind="nn out",
    out_dtype="expected scalar type {result} but found {out}",
    autocast="float32",
    samples=[S(T(3, 4), T(3, 4, dtype="int64", low=0, high=4))],
    node="MultilabelMarginLossBackward0",
)
def multilabel_margin_loss(self: Tensor, target: Tensor, reduction: int = 1) -> Tensor:
    if self.dim() > 2 or 0 in self.shape[1 if self.dim() == 2 else 0 :]:
        raise RuntimeError(
            f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {list(self.shape)}"
        )
    if target.shape != self.shape and (self.dim() == 2 or target.numel() != self.numel()):
        raise RuntimeError(f"inconsistent target size: {list(target.shape)} for input of size: {list(self.shape)}")
    _check_dtype(target, DTYPES["int64"])
    scores, labels = (self, target) if self.dim() == 2 else (self.reshape([1, -1]), target.reshape([1, -1]))
    listed = (labels < 0).cumsum(1) == 0
    index = labels.clamp_min(0)
    is_target = aten.zeros_like(scores).scatter_add(1, index, listed.to(scores.dtype)) > 0
    own = scores.gather(1, index)
    hinge = (1 - own.unsqueeze(2) + scores.unsqueeze(1)).clamp_min(0)
    counted = listed.unsqueeze(2).logical_and(is_target.logical_not().unsqueeze(1))
    loss = (hinge * counted).sum([1, 2]) / scores.size(1)
    return _reduced(loss if self.dim() == 2 else loss.squeeze(0), reduction)


@composite(
    "nll_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=Mean, SymInt ignore_index=-100) -> Tensor",
    "Negative log likelihood of rows of log-probabilities.",
    bind="nn out",
    out_dtype="exact",
    autocast="float32",
    samples=[S(T(3, 5), T(3, dtype="int64", low=0, high=5))],
)
def nll_loss(
    self: Tensor, target: Tensor, weight: Tensor | None = None, reduction: int = 1, ignore_index: int = -100
) -> Tensor:
    return aten.nll_loss_forward(self, target, weight, reduction, ignore_index)[0]


@composite(
    "nll_loss2d(Tensor self, Tensor target, Tensor? weight=None, int reduction=Mean, SymInt ignore_index=-100) -> Tensor",
    "Negative log likelihood at each place of a grid.",
    bind="nn out",
    out_dtype="expected scalar type {result} but found {out}",
    autocast="float32",
    samples=[S(T(2, 3, 4, 4), T(2, 4, 4, dtype="int64", low=0, high=3))],
)
def nll_loss2d(
    self: Tensor, target: Tensor, weight: Tensor | None = None, reduction: int = 1, ignore_index: int = -100
) -> Tensor:
    return aten.nll_loss2d_forward(self, target, weight, reduction, ignore_index)[0]


@composite(
    "nll_loss_nd(Tensor self, Tensor target, Tensor? weight=None, int reduction=Mean, SymInt ignore_index=-100) -> Tensor",
    "Negative log likelihood of log-probabilities with any number of places.",
    bind="nn",
    autocast="float32",
    samples=[S(T(3, 5), T(3, dtype="int64", low=0, high=5)), S(T(2, 3, 4), T(2, 4, dtype="int64", low=0, high=3))],
)
def nll_loss_nd(
    self: Tensor, target: Tensor, weight: Tensor | None = None, reduction: int = 1, ignore_index: int = -100
) -> Tensor:
    if self.dim() < 1:
        raise ValueError(f"Expected 1 or more dimensions (got {self.dim()})")
    if self.dim() != 1 and self.size(0) != target.size(0):
        raise ValueError(f"Expected input batch_size ({self.size(0)}) to match target batch_size ({target.size(0)}).")
    if self.dim() in (1, 2):
        return aten.nll_loss(self, target, weight, reduction, ignore_index)
    if self.dim() == 4:
        return aten.nll_loss2d(self, target, weight, reduction, ignore_index)
    n, c, places = self.size(0), self.size(1), list(self.shape[2:])
    if list(target.shape[1:]) != places:
        raise RuntimeError(f"Expected target size {[n, *places]}, got {list(target.shape)}")
    flat = math.prod(places)
    loss = aten.nll_loss2d(self.reshape([n, c, 1, flat]), target.reshape([n, 1, flat]), weight, reduction, ignore_index)
    return loss.view([n, *places]) if reduction == _NONE else loss


@composite(
    "poisson_nll_loss(Tensor input, Tensor target, bool log_input, bool full, float eps, int reduction) -> Tensor",
    "Negative log likelihood of counts under a Poisson distribution.",
    bind="function",
    autocast="float32",
    samples=[S(T(3, 4), T(3, 4, low=1, high=3, grad=False), True, False, 1e-8, 1)],
)
def poisson_nll_loss(input: Tensor, target: Tensor, log_input: bool, full: bool, eps: float, reduction: int) -> Tensor:
    product = target * (input if log_input else (input + eps).log())
    loss = input.exp() - product if log_input else input - product
    if full:
        half = 0.5 * (2 * 3.141592653589793 * target).log()
        stirling = target * target.log() - target + half
        loss = loss + stirling.masked_fill(target <= 1, 0)
    return _reduced(loss, reduction)


@composite(
    "soft_margin_loss(Tensor self, Tensor target, int reduction=Mean) -> Tensor",
    "log(1 + exp(-target * self)).",
    bind="nn out",
    out_dtype="found",
    autocast="float32",
    samples=[S(T(3, 4), T(3, 4))],
    node="SoftMarginLossBackward0",
)
def soft_margin_loss(self: Tensor, target: Tensor, reduction: int = 1) -> Tensor:
    loss = (-self * target).exp().log1p()
    return _reduced(loss.to(self.dtype) if self.is_floating_point() else loss, reduction)


@composite(
    "triplet_margin_loss(Tensor anchor, Tensor positive, Tensor negative, float margin=1.0, float p=2.0,"
    " float eps=1e-06, bool swap=False, int reduction=Mean) -> Tensor",
    "max(0, margin + |anchor - positive| - |anchor - negative|).",
    bind="function",
    autocast="float32",
    samples=[S(T(3, 4), T(3, 4), T(3, 4))],
)
def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: int = 1,
) -> Tensor:
    if not anchor.dim() == positive.dim() == negative.dim():
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got:"
            f" anchor {anchor.dim()}D, positive {positive.dim()}D, and negative {negative.dim()}D inputs"
        )
    near = aten.pairwise_distance(anchor, positive, p, eps)
    far = aten.pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = aten.minimum(far, aten.pairwise_distance(positive, negative, p, eps))
    return _reduced((margin + near - far).clamp_min(0), reduction)
