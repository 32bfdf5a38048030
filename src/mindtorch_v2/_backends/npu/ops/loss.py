"""Losses and their gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...._operators.table import aten
from ..fused.kernels import OUT, fused
from ..table import aclnn, call, kernel

if TYPE_CHECKING:
    from ...._tensor import Tensor


_NONE, _MEAN = 0, 1


def _weights(self, weight):
    """Class weights, which the operator wants in any case."""
    classes = self.shape[0] if self.dim() == 1 else self.shape[1]
    return aten.new_ones(self, [classes]) if weight is None else weight


def _losses(log_probabilities, target, weight, reduction, ignore_index) -> tuple:
    """(output, total weight)"""
    each = reduction == _NONE and log_probabilities.dim() > 1
    out = log_probabilities.new_empty(target.shape if each else [])
    total = log_probabilities.new_empty([])
    call("aclnnNLLLoss", log_probabilities, target, weight, reduction, ignore_index, out, total)
    return out, total


@kernel("nll_loss_forward", "nll_loss2d_forward")
def nll_loss_forward(
    self: Tensor, target: Tensor, weight: Tensor, reduction: int, ignore_index: int, out: Tensor, total_weight: Tensor
) -> None:
    call("aclnnNLLLoss", self, target, _weights(self, weight), reduction, ignore_index, out, total_weight)
    if reduction == 0:  # as PyTorch's, which has no use for the sum then
        call("aclnnInplaceZero", total_weight)


@kernel("nll_loss_backward", "nll_loss2d_backward")
def nll_loss_backward(
    grad_output: Tensor,
    self: Tensor,
    target: Tensor,
    weight: Tensor,
    reduction: int,
    ignore_index: int,
    total_weight: Tensor,
    out: Tensor,
) -> None:
    weights = _weights(self, weight)
    call("aclnnNLLLossBackward", grad_output, self, target, weights, reduction, ignore_index, total_weight, out)


def _class_rows(self, target) -> tuple:
    """Scores as [samples, classes] and targets as [samples]: what the fused row is about."""
    if self.dim() <= 2:
        return self, target
    return self.movedim(1, -1).reshape(-1, self.shape[1]), target.reshape(-1)


def _smoothed(log_probabilities, target, weight, ignore_index):
    """The average of label smoothing: the sum over classes of the weighted losses, 0 where the target is ignored."""
    return -(log_probabilities * weight).sum(-1).masked_fill(target == ignore_index, 0.0)


@kernel("_cross_entropy")
def cross_entropy(
    self: Tensor,
    target: Tensor,
    weight: Tensor,
    reduction: int,
    ignore_index: int,
    label_smoothing: float,
    out: Tensor,
    statistics: Any,
    total_weight: Tensor,
) -> None:
    weights = _weights(self, weight)
    rows, targets = _class_rows(self, target)
    log_probabilities = aten._log_softmax(rows, rows.dim() - 1, False)
    loss, total = _losses(log_probabilities, targets, weights, reduction, ignore_index)
    if label_smoothing:
        even = _smoothed(log_probabilities, targets, weights, ignore_index)
        if reduction != _NONE:
            even = even.sum() / total if reduction == _MEAN else even.sum()
        loss = loss * (1 - label_smoothing) + even * (label_smoothing / weights.numel())
    call("aclnnInplaceCopy", out, loss.view(out.shape))
    call("aclnnInplaceCopy", total_weight, total.view(total_weight.shape))
    if statistics is not None and statistics.numel():
        call("aclnnInplaceZero", statistics)  # the gradient makes its own


@kernel("_cross_entropy_backward")
def cross_entropy_backward(
    grad_output: Tensor,
    self: Tensor,
    target: Tensor,
    weight: Tensor,
    reduction: int,
    ignore_index: int,
    label_smoothing: float,
    statistics: Any,
    total_weight: Tensor,
    out: Tensor,
) -> None:
    weights = _weights(self, weight)
    log_probabilities = aten._log_softmax(self, self.dim() - 1, False)
    upstream = aten.empty_like(self)
    total = total_weight.view(()).to(self.dtype)
    call(
        "aclnnNLLLossBackward",
        grad_output,
        log_probabilities,
        target,
        weights,
        reduction,
        ignore_index,
        total,
        upstream,
    )
    if label_smoothing:
        share = grad_output / total if reduction == _MEAN else grad_output
        share = (share * (label_smoothing / weights.numel())).expand(target.shape)
        share = share.masked_fill(target == ignore_index, 0.0)
        upstream = upstream * (1 - label_smoothing) - share.unsqueeze(-1) * weights
    call("aclnnLogSoftmaxBackward", upstream, log_probabilities, self.dim() - 1, out)


aclnn("binary_cross_entropy", "aclnnBinaryCrossEntropy")
aclnn("binary_cross_entropy_backward", "aclnnBinaryCrossEntropyBackward")
aclnn("mse_loss", "aclnnMseLoss")
aclnn("mse_loss_backward", "aclnnMseLossBackward")
aclnn("smooth_l1_loss", "aclnnSmoothL1Loss")
aclnn("smooth_l1_loss_backward", "aclnnSmoothL1LossBackward")


@kernel("huber_loss")
def huber_loss(self: Tensor, target: Tensor, reduction: int, delta: float, out: Tensor) -> None:
    call("aclnnSmoothL1Loss", self, target, reduction, delta, out)
    call("aclnnMuls", out, delta, out)


@kernel("huber_loss_backward")
def huber_loss_backward(
    grad_output: Tensor, self: Tensor, target: Tensor, reduction: int, delta: float, out: Tensor
) -> None:
    call("aclnnSmoothL1LossBackward", grad_output, self, target, reduction, delta, out)
    call("aclnnMuls", out, delta, out)


@kernel("_ctc_loss")
def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Sequence[int],
    target_lengths: Sequence[int],
    blank: int = 0,
    zero_infinity: bool = False,
) -> tuple:
    steps, samples = log_probs.shape[:2]
    losses = log_probs.new_empty([samples])
    alphas = log_probs.new_empty([samples, steps, 2 * max(target_lengths, default=0) + 1])
    call("aclnnCtcLoss", log_probs, targets, input_lengths, target_lengths, blank, zero_infinity, losses, alphas)
    return losses, alphas


@kernel("_ctc_loss_backward")
def ctc_loss_backward(
    grad: Tensor,
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Sequence[int],
    target_lengths: Sequence[int],
    losses: Tensor,
    alphas: Tensor,
    blank: int,
    zero_infinity: bool = False,
) -> Tensor:
    out = aten.empty_like(log_probs)
    lengths = input_lengths, target_lengths
    call("aclnnCtcLossBackward", grad, log_probs, targets, *lengths, losses, alphas, blank, zero_infinity, out)
    return out


@kernel("_ctc_loss.Tensor")
def ctc_loss_tensor(
    log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor, *rest: Any
) -> tuple[Tensor, Tensor]:
    return ctc_loss(log_probs, targets, input_lengths.tolist(), target_lengths.tolist(), *rest)


@kernel("_ctc_loss_backward.Tensor")
def ctc_loss_backward_tensor(
    grad: Tensor, log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor, *rest: Any
) -> Tensor:
    return ctc_loss_backward(grad, log_probs, targets, input_lengths.tolist(), target_lengths.tolist(), *rest)


@fused("aten::binary_cross_entropy_with_logits", "aclnnBinaryCrossEntropyWithLogits")
def binary_cross_entropy_with_logits(
    self: Tensor, target: Tensor, weight: Tensor | None, pos_weight: Tensor | None, reduction: int
) -> tuple | None:
    others = [each for each in (target, weight, pos_weight) if each is not None]
    if self.numel() == 0 or self.shape != target.shape or any(each.dtype is not self.dtype for each in others):
        return None
    return self, target, weight, pos_weight, reduction, OUT[0]
