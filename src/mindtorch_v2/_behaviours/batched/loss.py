"""Rules of vmap for the family loss: each slice's result, made for all slices at once."""

from __future__ import annotations

from typing import Any

from ..._operators.native.loss import _cross_entropy_share
from ..._operators.table import aten
from ._call import Batch, _arguments, is_tensor, rule
from ._shared import pointwise

_NONE, _MEAN = 0, 1


@rule("mse_loss", "huber_loss", "smooth_l1_loss", "binary_cross_entropy")
def _loss(batch: Batch, op: Any, values: list) -> Any:
    place = [name for name, _ in _arguments(op)[0]].index("reduction")
    made = pointwise(batch, op, [*values[:place], _NONE, *values[place + 1 :]])
    if values[place] == _NONE:
        return made
    return made.mean() if values[place] == _MEAN else made.sum()


@rule("mse_loss_backward", "huber_loss_backward", "smooth_l1_loss_backward", "binary_cross_entropy_backward")
def _loss_backward(batch: Batch, op: Any, values: list) -> Any:
    place = [name for name, _ in _arguments(op)[0]].index("reduction")
    gradient, x, target = values[:3]
    if values[place] == _MEAN:
        gradient = gradient / x.numel()
    shape = aten.broadcast_tensors([x, target])[0].shape
    whole = [batch.wrap(batch.full(v)) if is_tensor(v) else v for v in (gradient.expand(shape), *values[1:place])]
    return pointwise(batch, op, [*whole, _NONE, *values[place + 1 :]])


@rule("_cross_entropy", "nll_loss_forward", "nll_loss2d_forward")
def _labels_loss(batch: Batch, op: Any, values: list) -> Any:
    """Each slice's loss from its own scores: written out, as one kernel call reduces over everything that it is given."""
    names = [name for name, _ in _arguments(op)[0]]
    given = dict(zip(names, values, strict=True))
    scores, target, weight = given["self"], given["target"], given["weight"]
    if op.name == "_cross_entropy":
        scores = aten.log_softmax(scores, 1)
    made, total = _picked(scores, target, weight, given["ignore_index"], given.get("label_smoothing", 0.0))
    if given["reduction"] == _NONE:
        result = made
    else:
        result = made.sum()
        if given["reduction"] == _MEAN:
            result = result / total
    if op.name == "_cross_entropy":
        highest = given["self"].amax(1)
        return result, aten.stack([highest, aten.logsumexp(given["self"], 1) - highest]), total
    return result, total


def _picked(scores: Any, target: Any, weight: Any, ignore: int, smoothing: float) -> tuple[Any, Any]:
    """Minus the weighted log-probabilities of the targets, and the sum of the weights."""
    classes = 1 if scores.dim() > 1 else 0
    kept = target != ignore
    index = aten.where(kept, target, aten.zeros_like(target))
    picked = -aten.gather(scores, classes, index.unsqueeze(classes)).squeeze(classes)
    weights = kept.to(scores.dtype) if weight is None else weight.take(index) * kept
    made = picked * weights
    if smoothing:
        n = scores.shape[classes]
        shape = [1] * scores.dim()
        shape[classes] = n
        spread = -(scores if weight is None else scores * weight.reshape(shape)).sum(classes) * kept
        made = made * (1 - smoothing) + spread * (smoothing / n)
    return made, weights.sum()


@rule("_cross_entropy_backward")
def _cross_entropy_backward(batch: Batch, op: Any, values: list) -> Any:
    gradient, scores, target, weight, reduction, ignore, smoothing, statistics, total = values
    share, taken = _cross_entropy_share(scores, target, weight, reduction, ignore, smoothing, total, gradient)
    return share * (scores - statistics.sum(0).unsqueeze(1)).exp() - taken


@rule("nll_loss_backward", "nll_loss2d_backward")
def _labels_loss_backward(batch: Batch, op: Any, values: list) -> Any:
    gradient, scores, target, weight, reduction, ignore, total = values
    classes = 1 if scores.dim() > 1 else 0
    kept = target != ignore
    index = aten.where(kept, target, aten.zeros_like(target))
    own = gradient * kept if weight is None else gradient * weight.take(index) * kept
    own = own / total if reduction == _MEAN else own
    return aten.zeros_like(scores).scatter(classes, index.unsqueeze(classes), -own.unsqueeze(classes))
