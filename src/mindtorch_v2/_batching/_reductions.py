"""Reductions and losses: over one slice's dimensions, which come after the mapped ones."""

from __future__ import annotations

from typing import Any

from .._dtype import DTYPES
from .._ops._native.loss import _cross_entropy_share
from .._ops._table import aten
from ._call import Batch, _arguments, call, is_tensor, rule
from ._pointwise import pointwise
from ._shapes import past, wrapped

_BOOL, _UINT8 = DTYPES["bool"], DTYPES["uint8"]


def _slice_dims(batch: Batch, whole: Any) -> list:
    return list(range(batch.n, whole.dim()))


@rule(
    "sum.dim_IntList", "mean.dim", "nansum", "prod.dim_int", "amax", "amin", "aminmax", "argmax", "argmin", "max.dim",
    "min.dim", "median.dim", "nanmedian.dim", "mode", "kthvalue", "all.dim", "all.dims", "any.dim", "any.dims", "logsumexp",
    "linalg_vector_norm", "std.correction", "var.correction", "std_mean.correction", "var_mean.correction",
    "count_nonzero", "count_nonzero.dim_IntList",
)  # fmt: skip
def _reduction(batch: Batch, op: Any, values: list) -> Any:
    names = [name for name, _ in _arguments(op)[0]]
    place = names.index("dim")
    x, dim = values[0], values[place]
    keepdim = "keepdim" in names and values[names.index("keepdim")]
    whole = batch.full(x)
    lift = x.dim() == 0
    if lift:
        whole = whole.unsqueeze(-1)
    everything = dim is None or (isinstance(dim, (list, tuple)) and not dim)
    if everything and dim is not None and op.name in ("all", "any"):  # these reduce nothing then
        return x.to(x.dtype if x.dtype == _UINT8 else _BOOL) if x.dtype != _BOOL else x.clone()
    args = list(values)
    if everything and op.name in ("argmax", "argmin", "count_nonzero", "aminmax"):
        whole = whole.reshape(*batch.sizes, x.numel())
        args[place] = batch.n
    elif everything:
        args[place] = _slice_dims(batch, whole)
    elif isinstance(dim, (list, tuple)):
        args[place] = [past(batch, d, x.dim()) for d in dim]
    else:
        args[place] = past(batch, dim, x.dim())
    args[0] = whole
    if lift and keepdim:
        args[names.index("keepdim")] = False
    made = call(op, args)
    if everything and keepdim and op.name in ("argmax", "argmin", "aminmax"):
        ones = (1,) * x.dim()
        flat = made if not is_tensor(made) else (made,)
        flat = [m.reshape(*batch.sizes, *ones) for m in flat]
        made = flat[0] if is_tensor(made) else tuple(flat)
    return wrapped(batch, made)


@rule("sum", "mean")
def _total(batch: Batch, op: Any, values: list) -> Any:
    x, dtype = values
    whole = batch.full(x)
    if not x.dim():
        whole = whole.unsqueeze(-1)
    return batch.wrap(getattr(aten, op.name)(whole, _slice_dims(batch, whole), dtype=dtype))


@rule("prod")
def _product(batch: Batch, op: Any, values: list) -> Any:
    x, dtype = values
    return batch.wrap(aten.prod(batch.full(x).reshape(*batch.sizes, x.numel()), batch.n, dtype=dtype))


@rule("max", "min", "median", "nanmedian", "all", "any")
def _over_all(batch: Batch, op: Any, values: list) -> Any:
    (x,) = values
    flat = batch.full(x).reshape(*batch.sizes, x.numel())
    name = {"max": "amax", "min": "amin"}.get(op.name, op.name)
    made = getattr(aten, name)(flat, batch.n)
    return batch.wrap(made if is_tensor(made) else made[0])


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
        scores = aten.log_softmax(scores, 1 if scores.dim() > 1 else 0)
    made, total = _picked(scores, target, weight, given["ignore_index"], given.get("label_smoothing", 0.0))
    if given["reduction"] == _NONE:
        result = made
    else:
        result = made.sum()
        if given["reduction"] == _MEAN:
            result = result / total
    if op.name == "_cross_entropy":
        lse = aten.logsumexp(given["self"], 1 if given["self"].dim() > 1 else 0)
        return result, lse, total
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
    gradient, scores, target, weight, reduction, ignore, smoothing, _, total = values
    share, taken = _cross_entropy_share(scores, target, weight, reduction, ignore, smoothing, total, gradient)
    return share * aten._softmax(scores, 1, False) - taken


@rule("nll_loss_backward", "nll_loss2d_backward")
def _labels_loss_backward(batch: Batch, op: Any, values: list) -> Any:
    gradient, scores, target, weight, reduction, ignore, total = values
    classes = 1 if scores.dim() > 1 else 0
    kept = target != ignore
    index = aten.where(kept, target, aten.zeros_like(target))
    own = gradient * kept if weight is None else gradient * weight.take(index) * kept
    own = own / total if reduction == _MEAN else own
    return aten.zeros_like(scores).scatter(classes, index.unsqueeze(classes), -own.unsqueeze(classes))
