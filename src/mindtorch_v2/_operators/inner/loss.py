"""Losses with what their gradients need, and those gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..table import S, T, aten, composite

if TYPE_CHECKING:
    from ..._tensor import Tensor
    from ...types import Number

_NONE, _MEAN, _SUM = 0, 1, 2
_INT = {"dtype": "int64", "low": 0, "high": 4}


def _rows(x):
    """As a matrix: one sample is one row."""
    return x if x.dim() == 2 else x.reshape([1, -1])


def _each(grad, scores, reduction):
    """The gradient of every sample's loss, as a column, with the divisors of the means in it."""
    grad = grad.reshape([-1, 1]) if reduction == _NONE else grad.reshape([1, 1])
    return grad / (scores.size(1) * (scores.size(0) if reduction == _MEAN else 1))


def _is_target(scores, labels):
    """Which labels come before the first negative one, and which classes they name."""
    listed = (labels < 0).cumsum(1) == 0
    found = aten.zeros_like(scores).scatter_add(1, labels.clamp_min(0), listed.to(scores.dtype)) > 0
    return listed, found.to(scores.dtype)


@composite(
    "multilabel_margin_loss_forward(Tensor self, Tensor target, int reduction) -> (Tensor output, Tensor is_target)",
    "`multilabel_margin_loss`, and which classes are targets.",
    samples=[
        S(T(3, 4), T(3, 4, **_INT), 1),
        S(T(3, 4), T(3, 4, dtype="int64", low=-1, high=4), 0),
        S(T(4), T(4, **_INT), 2),
    ],
    node="MultilabelMarginLossBackward0",
    nondiff=(1,),
)
def multilabel_margin_loss_forward(self: Tensor, target: Tensor, reduction: int) -> tuple[Tensor, Tensor]:
    loss = aten.multilabel_margin_loss(self, target, reduction)
    if (
        target.numel()
        and not target.is_meta
        and not -1 <= target.min().item() <= target.max().item() < _rows(self).size(1)
    ):
        raise RuntimeError("argument #2 'target' is out of range")
    return loss, _is_target(_rows(self.detach()), _rows(target))[1].reshape(target.shape)


@composite(
    "multilabel_margin_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction, Tensor is_target)"
    " -> Tensor",
    "The gradient of `multilabel_margin_loss`.",
    bind="out",
    out_dtype="expected scalar type {result} but found {out}",
    out_overload="grad_input grad_input",
    explicit=True,
    samples=[
        S(T(), T(3, 4), T(3, 4, **_INT), 1, T(3, 4, low=0, high=2, grad=False)),
    ],
)
def multilabel_margin_loss_backward(
    grad_output: Tensor, self: Tensor, target: Tensor, reduction: int, is_target: Tensor
) -> Tensor:
    scores, labels, targets = _rows(self), _rows(target), _rows(is_target)
    listed = (labels < 0).cumsum(1) == 0
    index = labels.clamp_min(0)
    above = (1 - scores.gather(1, index).unsqueeze(2) + scores.unsqueeze(1)) > 0
    above = above.logical_and(listed.unsqueeze(2)).logical_and((targets == 0).unsqueeze(1)).to(scores.dtype)
    grad = above.sum(1).scatter_add(1, index, -above.sum(2))
    return (grad * _each(grad_output, scores, reduction)).reshape(self.shape)


@composite(
    "multi_margin_loss_backward(Tensor grad_output, Tensor self, Tensor target, Scalar p, Scalar margin,"
    " Tensor? weight=None, int reduction=Mean) -> Tensor",
    "The gradient of `multi_margin_loss`.",
    bind="out",
    out_dtype="expected scalar type {result} but found {out}",
    out_overload="grad_input grad_input",
    explicit=True,
    samples=[
        S(T(), T(3, 4), T(3, **_INT), 1, 1),
        S(T(3), T(3, 4), T(3, **_INT), 2, 0.5, T(4), 0),
        S(T(), T(4), T(1, **_INT), 1, 1, None, 2),
    ],
)
def multi_margin_loss_backward(
    grad_output: Tensor,
    self: Tensor,
    target: Tensor,
    p: Number,
    margin: Number,
    weight: Tensor | None = None,
    reduction: int = 1,
) -> Tensor:
    if p not in (1, 2):
        raise RuntimeError("only p == 1 and p == 2 supported")
    scores, index = _rows(self), target.reshape([-1, 1])
    above = margin - scores.gather(1, index) + scores
    slope = (above > 0).to(scores.dtype)
    if p == 2:
        slope = 2 * above * slope
    if weight is not None:
        slope = slope * weight[index]
    slope = slope.scatter(1, index, 0.0)
    slope = slope.scatter(1, index, -slope.sum(1, keepdim=True))
    return (slope * _each(grad_output, scores, reduction)).reshape(self.shape)


@composite(
    "soft_margin_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction) -> Tensor",
    "The gradient of `soft_margin_loss`.",
    bind="out",
    out_overload="grad_input grad_input",
    samples=[S(T(), T(3, 4), T(3, 4), 1), S(T(3, 4), T(3, 4), T(3, 4), 0)],
)
def soft_margin_loss_backward(grad_output: Tensor, self: Tensor, target: Tensor, reduction: int) -> Tensor:
    grad = -target * aten.sigmoid(-target * self) * grad_output
    return grad / self.numel() if reduction == _MEAN else grad
