"""Losses. `reduction` is "none", "mean" or "sum"; `size_average` and `reduce` are its deprecated forms."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2._core.overridable import overridable

from .. import _reduction as _Reduction

__all__ = [
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "cosine_embedding_loss",
    "cross_entropy",
    "ctc_loss",
    "gaussian_nll_loss",
    "hinge_embedding_loss",
    "huber_loss",
    "kl_div",
    "l1_loss",
    "linear_cross_entropy",
    "margin_ranking_loss",
    "mse_loss",
    "multi_margin_loss",
    "multilabel_margin_loss",
    "multilabel_soft_margin_loss",
    "nll_loss",
    "poisson_nll_loss",
    "smooth_l1_loss",
    "soft_margin_loss",
    "triplet_margin_loss",
    "triplet_margin_with_distance_loss",
]


def _number(reduction, size_average=None, reduce=None) -> int:
    """The operators' number for a reduction."""
    if size_average is not None or reduce is not None:
        return _Reduction.legacy_get_enum(size_average, reduce)
    return _Reduction.get_enum(reduction)


def _name(reduction, size_average=None, reduce=None) -> str:
    if size_average is not None or reduce is not None:
        return _Reduction.legacy_get_string(size_average, reduce)
    return reduction


def _reduced(ret, reduction) -> torch.Tensor:
    if reduction == "mean":
        return ret.mean()
    if reduction == "sum":
        return ret.sum()
    return ret


def _no_gradient_by(weight: torch.Tensor | None, name: str, function: str) -> None:
    """Raise where a gradient by `weight` is asked for, which the function has none of."""
    if weight is not None and weight.requires_grad and torch.is_grad_enabled():
        raise RuntimeError(
            f"The function '{function}' is not differentiable with respect to argument '{name}'. "
            "This input cannot have requires_grad True."
        )


@overridable
def ctc_loss(
    log_probs: torch.Tensor,
    targets: torch.Tensor,
    input_lengths: torch.Tensor | Sequence[int],
    target_lengths: torch.Tensor | Sequence[int],
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> torch.Tensor:
    """Connectionist temporal classification loss: log-probabilities `(T, N, C)` or `(T, C)`.

    >>> scores = torch.zeros(5, 1, 3).log_softmax(2)
    >>> torch.nn.functional.ctc_loss(scores, torch.tensor([[1, 2]]), torch.tensor([5]), torch.tensor([2]))
    tensor(0.9689)
    """
    lengths: tuple[Any, Any] = (input_lengths, target_lengths)  # both tensors, or both sequences
    return torch.ctc_loss(
        log_probs,
        targets,
        *lengths,
        blank,
        _Reduction.get_enum(reduction),
        zero_infinity,
    )


def _nll_name(input: torch.Tensor) -> str:
    return "nll_loss_forward" if input.dim() <= 2 else "nll_loss2d_forward"


@overridable
def nll_loss(
    input: torch.Tensor,
    target: torch.Tensor,
    weight: torch.Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> torch.Tensor:
    """Negative log likelihood: log-probabilities `(N, C, *)` or `(C)`, class indices `(N, *)` or `()`.

    >>> torch.nn.functional.nll_loss(torch.zeros(2, 4).log_softmax(1), torch.tensor([0, 3]))
    tensor(1.3863)
    """
    number = _number(reduction, size_average, reduce)
    _no_gradient_by(weight, "weight", _nll_name(input))
    return torch._C._nn.nll_loss_nd(input, target, weight, number, ignore_index)


@overridable
def poisson_nll_loss(
    input: torch.Tensor,
    target: torch.Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: bool | None = None,
    eps: float = 1e-8,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> torch.Tensor:
    """Negative log likelihood of counts under Poisson distributions with (log) rate `input`; any shape.

    >>> torch.nn.functional.poisson_nll_loss(torch.zeros(2), torch.tensor([1.0, 2.0]))
    tensor(1.)
    """
    reduction = _name(reduction, size_average, reduce)
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return torch.poisson_nll_loss(input, target, log_input, full, eps, _Reduction.get_enum(reduction))


@overridable
def gaussian_nll_loss(
    input: torch.Tensor,
    target: torch.Tensor,
    var: torch.Tensor,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> torch.Tensor:
    """Negative log likelihood under normal distributions of mean `input` and variance `var`, at least `eps`.

    `var` is a number or a tensor of the input's shape, or of it without the last dimension or with that as 1.

    >>> torch.nn.functional.gaussian_nll_loss(torch.zeros(2), torch.ones(2), torch.ones(2))
    tensor(0.5000)
    """
    if isinstance(var, (int, float)) and not isinstance(var, bool):
        if var < 0:
            raise ValueError("var has negative entry/entries")
        var = var * torch.ones_like(input)
    elif (var < 0).any():
        raise ValueError("var has negative entry/entries")
    if var.size() != input.size():
        if input.size()[:-1] == var.size():
            # One variance for each row.
            var = var.unsqueeze(-1)
        elif input.ndim == var.ndim and sum(y for x, y in zip(input.size(), var.size(), strict=True) if x != y) == 1:
            pass
        else:
            raise ValueError("var is of incorrect size")
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(reduction + " is not valid")
    # The clamp keeps the logarithm finite and takes no part in the gradient.
    var = var.clone()
    with torch.no_grad():
        var.clamp_(min=eps)
    loss = 0.5 * (torch.log(var) + (input - target) ** 2 / var)
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return _reduced(loss, reduction)


@overridable
def kl_div(
    input: torch.Tensor,
    target: torch.Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> torch.Tensor:
    """Kullback-Leibler divergence, pointwise: log-probabilities and (with `log_target` log-)probabilities `(*)`.

    `reduction` "batchmean" divides the sum by the first dimension, as the mathematical definition wants.

    >>> log_p, q = torch.tensor([0.5, 0.5]).log(), torch.tensor([0.9, 0.1])
    >>> torch.nn.functional.kl_div(log_p, q, reduction="sum")
    tensor(0.3681)
    """
    if size_average is not None or reduce is not None:
        number = _Reduction.legacy_get_enum(size_average, reduce)
    else:
        if reduction == "mean":
            warnings.warn(
                "reduction: 'mean' divides the total loss by both the batch size and the support size."
                "'batchmean' divides only by the batch size, and aligns with the KL div math definition."
                "'mean' will be changed to behave the same as 'batchmean' in the next major release.",
                stacklevel=2,
            )
        number = 2 if reduction == "batchmean" else _Reduction.get_enum(reduction)
    reduced = torch.kl_div(input, target, number, log_target=log_target)
    if reduction == "batchmean" and input.dim() != 0:
        reduced = reduced / input.size()[0]
    return reduced


@overridable
def cross_entropy(
    input: torch.Tensor,
    target: torch.Tensor,
    weight: torch.Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> torch.Tensor:
    """Cross entropy of logits `(N, C, *)` or `(C)` with class indices `(N, *)` or `()`, or probabilities.

    >>> torch.nn.functional.cross_entropy(torch.zeros(2, 4), torch.tensor([0, 3]))
    tensor(1.3863)
    """
    number = _number(reduction, size_average, reduce)
    if not target.is_floating_point():
        _no_gradient_by(weight, "weight", _nll_name(input))
    return torch._C._nn.cross_entropy_loss(input, target, weight, number, ignore_index, label_smoothing)


@overridable
def linear_cross_entropy(
    input: torch.Tensor,
    linear_weight: torch.Tensor,
    target: torch.Tensor,
    *,
    linear_bias: torch.Tensor | None = None,
    weight: torch.Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: Any = None,
) -> torch.Tensor:
    """`cross_entropy(linear(input, linear_weight, linear_bias), target)`.

    `linear_weight` is `(C, in_features)` or `(C, *, in_features)`, which gives logits `(N, C, *)`. Computation in
    chunks (`options`) is not implemented.

    >>> x, weight = torch.tensor([[1.0, 0.0]]), torch.tensor([[2.0, 0.0], [0.0, 2.0]])
    >>> torch.nn.functional.linear_cross_entropy(x, weight, torch.tensor([0]))
    tensor(0.1269)
    """
    if options is not None:
        raise NotImplementedError("linear_cross_entropy: options (computation in chunks) are not implemented")
    if ignore_index is not None and target.is_floating_point():
        raise RuntimeError("ignore_index cannot be specified when target contains probabilities")
    if input.dim() not in (1, 2):
        raise RuntimeError(f"expected input with dimensionality 1 or 2, got {input.dim()}")
    if linear_weight.dim() < 2:
        raise RuntimeError(f"expected linear_weight with dimensionality at least 2, got {linear_weight.dim()}")
    in_features = linear_weight.shape[-1]
    if input.shape[-1] != in_features:
        raise RuntimeError(
            "expected equal input and linear_weight last dimensions (in_features), got "
            f"{input.shape[-1]} and {in_features}, respectively"
        )
    if linear_bias is not None and linear_bias.shape != linear_weight.shape[:-1]:
        raise RuntimeError(
            f"expected linear_bias shape {tuple(linear_weight.shape[:-1])}, got {tuple(linear_bias.shape)}"
        )
    spatial = linear_weight.shape[1:-1]
    if len(spatial) and input.dim() != 2:
        raise RuntimeError(
            f"K-dimensional loss defined by linear_weight shape {tuple(linear_weight.shape)} requires batched input, "
            f"(N, {in_features}), got unbatched input with shape {tuple(input.shape)}"
        )
    bias = linear_bias.reshape(-1) if linear_bias is not None else None
    logits = torch._C._nn.linear(input, linear_weight.reshape(-1, in_features), bias)
    if len(spatial):
        logits = logits.view(-1, linear_weight.shape[0], *spatial)
    return cross_entropy(
        logits,
        target,
        weight=weight,
        ignore_index=-100 if ignore_index is None else ignore_index,
        reduction=reduction,
        label_smoothing=label_smoothing,
    )


@overridable
def binary_cross_entropy(
    input: torch.Tensor,
    target: torch.Tensor,
    weight: torch.Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> torch.Tensor:
    """Binary cross entropy of probabilities in [0, 1]; input and target of one shape `(*)`.

    >>> torch.nn.functional.binary_cross_entropy(torch.tensor([0.5, 0.5]), torch.tensor([0.0, 1.0]))
    tensor(0.6931)
    """
    number = _number(reduction, size_average, reduce)
    if target.size() != input.size():
        raise ValueError(
            f"Using a target size ({target.size()}) that is different to the input size ({input.size()}) is "
            "deprecated. Please ensure they have the same size."
        )
    if weight is not None:
        _no_gradient_by(weight, "weight", "binary_cross_entropy")
        weight = weight.expand(torch.broadcast_shapes(target.size(), weight.size()))
    return torch._C._nn.binary_cross_entropy(input, target, weight, number)


@overridable
def binary_cross_entropy_with_logits(
    input: torch.Tensor,
    target: torch.Tensor,
    weight: torch.Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: torch.Tensor | None = None,
) -> torch.Tensor:
    """Binary cross entropy of `sigmoid(input)`, computed stably; `pos_weight` weighs the positive class; `(*)`.

    >>> torch.nn.functional.binary_cross_entropy_with_logits(torch.zeros(2), torch.tensor([0.0, 1.0]))
    tensor(0.6931)
    """
    number = _number(reduction, size_average, reduce)
    if not (target.size() == input.size()):
        raise ValueError(f"Target size ({target.size()}) must be the same as input size ({input.size()})")
    _no_gradient_by(weight, "weight", "binary_cross_entropy_with_logits")
    _no_gradient_by(pos_weight, "pos_weight", "binary_cross_entropy_with_logits")
    return torch.binary_cross_entropy_with_logits(input, target, weight, pos_weight, number)


def _same_size(input, target) -> tuple[torch.Tensor, torch.Tensor]:
    """Input and target broadcast together, with a warning where that was needed."""
    if target.size() != input.size():
        warnings.warn(
            f"Using a target size ({target.size()}) that is different to the input size ({input.size()}). "
            "This will likely lead to incorrect results due to broadcasting. "
            "Please ensure they have the same size.",
            stacklevel=3,
        )
        return torch.broadcast_tensors(input, target)
    return input, target


def _check_weight(input, weight) -> None:
    if weight.size() != input.size():
        raise ValueError("Weights and input must have the same size.")


@overridable
def smooth_l1_loss(
    input: torch.Tensor,
    target: torch.Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> torch.Tensor:
    """`0.5 * d**2 / beta` where `d = |x - y| < beta`, else `d - 0.5 * beta`; shapes `(*)`.

    >>> torch.nn.functional.smooth_l1_loss(torch.tensor([0.0, 3.0]), torch.tensor([0.5, 0.0]))
    tensor(1.3125)
    """
    input, target = _same_size(input, target)
    number = _number(reduction, size_average, reduce)
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    if beta == 0.0:
        return torch._C._nn.l1_loss(input, target, number)
    return torch._C._nn.smooth_l1_loss(input, target, number, beta)


@overridable
def huber_loss(
    input: torch.Tensor,
    target: torch.Tensor,
    reduction: str = "mean",
    delta: float = 1.0,
    weight: torch.Tensor | None = None,
) -> torch.Tensor:
    """`0.5 * d**2` where `d = |x - y| < delta`, else `delta * (d - 0.5 * delta)`, times `weight`; shapes `(*)`.

    The weighted mean divides by the number of elements.

    >>> torch.nn.functional.huber_loss(torch.tensor([0.0, 3.0]), torch.tensor([0.5, 0.0]))
    tensor(1.3125)
    """
    input, target = _same_size(input, target)
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    if weight is None:
        return torch._C._nn.huber_loss(input, target, _Reduction.get_enum(reduction), delta)
    _check_weight(input, weight)
    loss = torch._C._nn.huber_loss(input, target, 0, delta) * weight
    return _reduced_checked(loss, reduction)


def _reduced_checked(loss, reduction) -> torch.Tensor:
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"Invalid reduction mode: {reduction}. Expected one of 'none', 'mean', 'sum'.")
    return _reduced(loss, reduction)


@overridable
def l1_loss(
    input: torch.Tensor,
    target: torch.Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: torch.Tensor | None = None,
) -> torch.Tensor:
    """`|x - y|`, times `weight`; shapes `(*)`. The weighted mean divides by the sum of the weights.

    >>> torch.nn.functional.l1_loss(torch.tensor([1.0, 2.0]), torch.tensor([0.0, 4.0]))
    tensor(1.5000)
    """
    reduction = _name(reduction, size_average, reduce)
    input, target = _same_size(input, target)
    if weight is None:
        return torch._C._nn.l1_loss(input, target, _Reduction.get_enum(reduction))
    _check_weight(input, weight)
    loss = torch.abs(input - target) * weight
    if reduction == "mean":
        return loss.sum() / weight.sum()
    return _reduced_checked(loss, reduction)


@overridable
def mse_loss(
    input: torch.Tensor,
    target: torch.Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: torch.Tensor | None = None,
) -> torch.Tensor:
    """`(x - y)**2`, times `weight`; shapes `(*)`. The weighted mean divides by the sum of the weights.

    >>> torch.nn.functional.mse_loss(torch.tensor([1.0, 2.0]), torch.tensor([0.0, 4.0]))
    tensor(2.5000)
    """
    reduction = _name(reduction, size_average, reduce)
    input, target = _same_size(input, target)
    if weight is None:
        return torch._C._nn.mse_loss(input, target, _Reduction.get_enum(reduction))
    _check_weight(input, weight)
    loss = torch.square(input - target) * weight
    if reduction == "mean":
        return loss.sum() / weight.sum()
    return _reduced_checked(loss, reduction)


@overridable
def margin_ranking_loss(
    input1: torch.Tensor,
    input2: torch.Tensor,
    target: torch.Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> torch.Tensor:
    """`max(0, -y * (x1 - x2) + margin)` with targets 1 or -1; shapes `(N)` or `()`.

    >>> torch.nn.functional.margin_ranking_loss(torch.tensor([1.0]), torch.tensor([2.0]), torch.tensor([1.0]), margin=0.5)
    tensor(1.5000)
    """
    number = _number(reduction, size_average, reduce)
    if input1.dim() != input2.dim() or input1.dim() != target.dim():
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
            f"input1: {input1.size()}, input2: {input2.size()}, target: {target.size()} "
        )
    return torch.margin_ranking_loss(input1, input2, target, margin, number)


@overridable
def hinge_embedding_loss(
    input: torch.Tensor,
    target: torch.Tensor,
    margin: float = 1.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> torch.Tensor:
    """`x` where the target is 1, `max(0, margin - x)` where it is -1; shapes `(*)`.

    >>> torch.nn.functional.hinge_embedding_loss(torch.tensor([0.5, 0.5]), torch.tensor([1, -1]))
    tensor(0.5000)
    """
    return torch.hinge_embedding_loss(input, target, margin, _number(reduction, size_average, reduce))


@overridable
def multilabel_margin_loss(
    input: torch.Tensor,
    target: torch.Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> torch.Tensor:
    """Multi-class multi-label hinge loss: `(N, C)` or `(C)`, targets of the same shape ended by -1.

    >>> torch.nn.functional.multilabel_margin_loss(torch.tensor([[0.1, 0.2, 0.4, 0.8]]), torch.tensor([[3, 0, -1, 1]]))
    tensor(0.8500)
    """
    return torch._C._nn.multilabel_margin_loss(input, target, _number(reduction, size_average, reduce))


@overridable
def soft_margin_loss(
    input: torch.Tensor,
    target: torch.Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> torch.Tensor:
    """`log(1 + exp(-y * x))` with targets 1 or -1; shapes `(*)`.

    >>> torch.nn.functional.soft_margin_loss(torch.zeros(2), torch.tensor([1.0, -1.0]))
    tensor(0.6931)
    """
    _no_gradient_by(target, "target", "soft_margin_loss")
    return torch._C._nn.soft_margin_loss(input, target, _number(reduction, size_average, reduce))


@overridable
def multilabel_soft_margin_loss(
    input: torch.Tensor,
    target: torch.Tensor,
    weight: torch.Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> torch.Tensor:
    """Mean over the last dimension of binary cross entropy with logits: `(N, C)`, targets 0 or 1.

    >>> torch.nn.functional.multilabel_soft_margin_loss(torch.zeros(1, 2), torch.tensor([[0.0, 1.0]]))
    tensor(0.6931)
    """
    reduction = _name(reduction, size_average, reduce)
    logsigmoid = torch._C._nn.log_sigmoid
    loss = -(target * logsigmoid(input) + (1 - target) * logsigmoid(-input))
    if weight is not None:
        loss = loss * weight
    class_dim = input.dim() - 1
    loss = loss.sum(dim=class_dim) / input.size(class_dim)
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(reduction + " is not valid")
    return _reduced(loss, reduction)


@overridable
def cosine_embedding_loss(
    input1: torch.Tensor,
    input2: torch.Tensor,
    target: torch.Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> torch.Tensor:
    """`1 - cos(x1, x2)` where the target is 1, `max(0, cos(x1, x2) - margin)` where it is -1: `(N, D)` or `(D)`.

    >>> a, b = torch.tensor([[1.0, 0.0]]), torch.tensor([[0.0, 1.0]])
    >>> torch.nn.functional.cosine_embedding_loss(a, b, torch.tensor([1]))
    tensor(1.)
    """
    return torch.cosine_embedding_loss(input1, input2, target, margin, _number(reduction, size_average, reduce))


@overridable
def multi_margin_loss(
    input: torch.Tensor,
    target: torch.Tensor,
    p: float = 1,
    margin: float = 1.0,
    weight: torch.Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> torch.Tensor:
    """Multi-class hinge loss with exponent `p` 1 or 2: `(N, C)` or `(C)`, class indices `(N)` or `()`.

    >>> torch.nn.functional.multi_margin_loss(torch.tensor([[0.1, 0.2, 0.4, 0.8]]), torch.tensor([3]))
    tensor(0.3250)
    """
    number = _number(reduction, size_average, reduce)
    if p != 1 and p != 2:
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.dim() != 1:
        raise ValueError("weight must be one-dimensional")
    _no_gradient_by(weight, "weight", "multi_margin_loss")
    return torch._C._nn.multi_margin_loss(input, target, p, margin, weight, number)


@overridable
def triplet_margin_loss(
    anchor: torch.Tensor,
    positive: torch.Tensor,
    negative: torch.Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> torch.Tensor:
    """`max(0, d(anchor, positive) - d(anchor, negative) + margin)` with p-norm distances: `(N, D)` or `(D)`.

    >>> near, far = torch.tensor([[1.0, 0.0]]), torch.tensor([[3.0, 0.0]])
    >>> torch.nn.functional.triplet_margin_loss(torch.zeros(1, 2), near, far)
    tensor(0.)
    """
    number = _number(reduction, size_average, reduce)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    return torch.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, number)


@overridable
def triplet_margin_with_distance_loss(
    anchor: torch.Tensor,
    positive: torch.Tensor,
    negative: torch.Tensor,
    *,
    distance_function: Callable[..., Any] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> torch.Tensor:
    """`triplet_margin_loss` with any distance function, `(N, *)` pairs to `(N)`; the default is the 2-norm.

    >>> near, far = torch.tensor([[1.0, 0.0]]), torch.tensor([[3.0, 0.0]])
    >>> torch.nn.functional.triplet_margin_with_distance_loss(torch.zeros(1, 2), near, far)
    tensor(0.)
    """
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    a_dim, p_dim, n_dim = anchor.ndim, positive.ndim, negative.ndim
    if not (a_dim == p_dim and p_dim == n_dim):
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have "
            f"the same number of dimensions, but got: anchor {a_dim}D, "
            f"positive {p_dim}D, and negative {n_dim}D inputs"
        )
    if distance_function is None:
        distance_function = torch.pairwise_distance
    dist_pos = distance_function(anchor, positive)
    dist_neg = distance_function(anchor, negative)
    if swap:
        dist_neg = torch.minimum(dist_neg, distance_function(positive, negative))
    return _reduced(torch.clamp_min(margin + dist_pos - dist_neg, 0), reduction)
