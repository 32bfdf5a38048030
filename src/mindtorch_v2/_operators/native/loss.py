"""Losses with kernels of their own.

Where a gradient of the gradient is asked for, it is spelled in differentiable operators (as in norm.py).
"""

from __future__ import annotations

from ... import _C
from ..table import S, T, aten, op, rule

_NONE, _MEAN, _SUM = 0, 1, 2


def _scaled(slope, grad, reduction):
    """The gradient through the reduction of an element-wise loss with derivative ``slope``."""
    return slope * grad / slope.numel() if reduction == _MEAN else slope * grad


# ---- squared error ----


def _mse_grad(grad, self, target, reduction, needs) -> tuple:
    if not _C.is_grad_enabled():
        by_self = aten.mse_loss_backward(grad, self, target, reduction)
    else:
        by_self = _scaled(2 * (self - target), grad, reduction)
    return by_self if needs[0] else None, -by_self if needs[1] else None


def _mse_backward_grad(grad, grad_output, self, target, reduction) -> tuple:
    by_self = _scaled(2 * grad, grad_output, reduction)
    return _through(grad, _scaled(2 * (self - target), 1, reduction), reduction), by_self, -by_self


def _through(grad, slope, reduction):
    """The gradient by grad_output of ``slope * grad_output``."""
    return grad * slope if reduction == _NONE else (grad * slope).sum()


# ---- smooth L1, Huber ----


def _smooth_l1_slope(self, target, beta):
    d = self - target
    return aten.where(d.abs() < beta, d / beta if beta > 0 else d, d.sign())


def _smooth_l1_grad(grad, self, target, reduction, beta, needs) -> tuple:
    if not _C.is_grad_enabled():
        by_self = aten.smooth_l1_loss_backward(grad, self, target, reduction, beta)
    else:
        by_self = _scaled(_smooth_l1_slope(self, target, beta), grad, reduction)
    return by_self if needs[0] else None, -by_self if needs[1] else None


def _smooth_l1_backward_grad(grad, grad_output, self, target, reduction, beta) -> tuple:
    inside = ((self - target).abs() < beta) / (beta or 1.0)
    by_self = _scaled(grad * inside, grad_output, reduction)
    return _through(grad, _scaled(_smooth_l1_slope(self, target, beta), 1, reduction), reduction), by_self, -by_self


def _huber_slope(self, target, delta):
    return (self - target).clamp(-delta, delta)


def _huber_grad(grad, self, target, reduction, delta, needs) -> tuple:
    if not _C.is_grad_enabled():
        by_self = aten.huber_loss_backward(grad, self, target, reduction, delta)
    else:
        by_self = _scaled(_huber_slope(self, target, delta), grad, reduction)
    return by_self if needs[0] else None, -by_self if needs[1] else None


def _huber_backward_grad(grad, grad_output, self, target, reduction, delta) -> tuple:
    by_self = _scaled(grad * ((self - target).abs() < delta), grad_output, reduction)
    return _through(grad, _scaled(_huber_slope(self, target, delta), 1, reduction), reduction), by_self, -by_self


# ---- binary cross entropy ----


def _bce_slope(self, target, weight):
    slope = (self - target) / ((1 - self) * self).clamp(min=1e-12)
    return slope if weight is None else slope * weight


def _bce_grad(grad, self, target, weight, reduction, needs) -> tuple:
    if not _C.is_grad_enabled():
        by_self = aten.binary_cross_entropy_backward(grad, self, target, weight, reduction) if needs[0] else None
    else:
        by_self = _scaled(_bce_slope(self, target, weight), grad, reduction) if needs[0] else None
    by_target = None
    if needs[1]:
        slope = (1 - self).log().clamp(min=-100) - self.log().clamp(min=-100)
        by_target = _scaled(slope if weight is None else slope * weight, grad, reduction)
    return by_self, by_target


def _bce_backward_grad(grad, grad_output, self, target, weight, reduction) -> tuple:
    tiny = 1e-12
    bend = (self.square() - 2 * self * target + target) / ((self + tiny) * (1 - self + tiny)).square()
    by_target = -1 / ((1 - self) * self).clamp(min=tiny)
    if weight is not None:
        bend, by_target = bend * weight, by_target * weight
    by_grad = _through(grad, _scaled(_bce_slope(self, target, weight), 1, reduction), reduction)
    return by_grad, _scaled(bend * grad, grad_output, reduction), _scaled(by_target * grad, grad_output, reduction)


# ---- negative log likelihood ----


def _nll_grad(grad, self, target, weight, reduction, ignore_index, result1):
    return aten.nll_loss_backward(grad, self, target, weight, reduction, ignore_index, result1)


def _nll2d_grad(grad, self, target, weight, reduction, ignore_index, result1):
    return aten.nll_loss2d_backward(grad, self, target, weight, reduction, ignore_index, result1)


def _nll_backward_grad(forward, grad, target, weight, reduction, ignore_index, total_weight):
    """By grad_output; the gradient is linear in it and does not depend on the scores."""
    if reduction == _MEAN:
        return forward(grad, target, weight, _SUM, ignore_index)[0] / total_weight
    return forward(grad, target, weight, reduction, ignore_index)[0]


# ---- cross entropy ----


def _cross_entropy_share(self, target, weight, reduction, ignore_index, label_smoothing, total_weight, grad) -> tuple:
    """The factors of each row's softmax and of each one-hot entry in the gradient."""
    kept = target != ignore_index
    index = target.clamp(0, self.size(1) - 1)
    own = aten.ones_like(index, dtype=self.dtype) if weight is None else weight.to(self.dtype)[index]
    factor = grad * kept
    if reduction == _MEAN:
        factor = factor / total_weight.to(self.dtype)
    classes = self.size(1)
    weights = aten.ones([classes], dtype=self.dtype, device=self.device) if weight is None else weight.to(self.dtype)
    even = (factor * (label_smoothing / classes)).unsqueeze(1) * weights
    hit = factor * (1 - label_smoothing) * own
    share = hit.unsqueeze(1) + even.sum(1, keepdim=True)
    one_hot = aten.zeros_like(self).scatter(1, index.unsqueeze(1), hit.unsqueeze(1))
    return share, one_hot + even


def _cross_entropy_grad(grad, self, target, weight, reduction, ignore_index, label_smoothing, result1, result2):
    if not _C.is_grad_enabled():
        return aten._cross_entropy_backward(
            grad, self, target, weight, reduction, ignore_index, label_smoothing, result1, result2
        )
    share, taken = _cross_entropy_share(self, target, weight, reduction, ignore_index, label_smoothing, result2, grad)
    return share * aten._softmax(self, 1, False) - taken


op(
    "_cross_entropy(Tensor self, Tensor target, Tensor? weight, int reduction, SymInt ignore_index,"
    " float label_smoothing) -> (Tensor, Tensor, Tensor)",
    "Cross entropy of rows of scores with class indices, without the tensor of log-probabilities.",
    meta=rule("cross_entropy", "self", "target", "weight", "reduction"),
    grad={"self": _cross_entropy_grad},
    nondiff=(1, 2),
    node="CrossEntropyBackward0",
)
op(
    "_cross_entropy_backward(Tensor grad_output, Tensor self, Tensor target, Tensor? weight, int reduction,"
    " SymInt ignore_index, float label_smoothing, Tensor statistics, Tensor total_weight) -> Tensor",
    "The gradient of `_cross_entropy`.",
    meta=rule("contiguous_like", "self"),
    grad=None,
    underived=True,
)


def _ctc_loss_meta(log_probs, targets, input_lengths, target_lengths, blank=0, zero_infinity=False) -> tuple:
    steps, batch, _ = log_probs.shape
    longest = max(target_lengths, default=0)
    return log_probs.new_empty((batch,)), log_probs.new_empty((batch, steps, 2 * longest + 1))


op(
    "_ctc_loss(Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, int blank=0,"
    " bool zero_infinity=False) -> (Tensor, Tensor)",
    "Negative log likelihoods of label sequences, and the forward variables.",
    bind="function generated_out",
    tags="dynamic_output_shape",
    sizes_by_values=False,  # the lengths are numbers
    meta_kernel=_ctc_loss_meta,
    grad={
        "log_probs": lambda grad, log_probs, targets, input_lengths, target_lengths, blank, zero_infinity, result0, result1: (
            aten._ctc_loss_backward(
                grad, log_probs, targets, input_lengths, target_lengths, result0, result1, blank, zero_infinity
            )
        )
    },
    nondiff=(1,),
)
op(
    "_ctc_loss.Tensor(Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, int blank=0,"
    " bool zero_infinity=False) -> (Tensor, Tensor)",
    "Negative log likelihoods of label sequences, lengths given as tensors.",
    bind="function generated_out",
    tags="dynamic_output_shape",
    grad={
        "log_probs": lambda grad, log_probs, targets, input_lengths, target_lengths, blank, zero_infinity, result0, result1: (
            aten._ctc_loss_backward(
                grad, log_probs, targets, input_lengths, target_lengths, result0, result1, blank, zero_infinity
            )
        )
    },
    nondiff=(1,),
    devices={"input_lengths": "host", "target_lengths": "host"},
)
op(
    "_ctc_loss_backward(Tensor grad, Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths,"
    " Tensor neg_log_likelihood, Tensor log_alpha, int blank, bool zero_infinity=False) -> Tensor",
    "The gradient of `_ctc_loss`.",
    bind="generated_out",
    meta_kernel=lambda grad, log_probs, *_: log_probs.new_empty(log_probs.shape),
    grad=None,
    underived=True,
)
op(
    "_ctc_loss_backward.Tensor(Tensor grad, Tensor log_probs, Tensor targets, Tensor input_lengths,"
    " Tensor target_lengths, Tensor neg_log_likelihood, Tensor log_alpha, int blank, bool zero_infinity=False)"
    " -> Tensor",
    "The gradient of `_ctc_loss`, lengths given as tensors.",
    meta_kernel=lambda grad, log_probs, *_: log_probs.new_empty(log_probs.shape),
    grad=None,
    underived=True,
    devices={"input_lengths": "host", "target_lengths": "host"},
)
op(
    "binary_cross_entropy(Tensor self, Tensor target, Tensor? weight=None, int reduction=Mean) -> Tensor",
    "Cross entropy of probabilities with targets in [0, 1].",
    bind="nn out",
    out_dtype="found",
    autocast="float32",
    meta=rule("loss_of_one_dtype", "self", "target", "reduction"),
    grad={("self", "target"): _bce_grad},
    samples=[S(T(3, 4, low=0.1, high=0.9), T(3, 4, low=0.1, high=0.9))],
)
op(
    "binary_cross_entropy_backward(Tensor grad_output, Tensor self, Tensor target, Tensor? weight=None,"
    " int reduction=Mean) -> Tensor",
    "The gradient of binary_cross_entropy.",
    bind="nn out",
    out_dtype="found",
    out_overload="grad_input grad_input",
    meta=rule("loss_backward", "self", "target"),
    grad={("grad_output", "self", "target"): _bce_backward_grad},
    samples=[
        S(T(3, 4), T(3, 4, low=0.1, high=0.9), T(3, 4, low=0, high=1, grad=False), None, 0),
        S(T(), T(3, 4, low=0.1, high=0.9), T(3, 4, low=0, high=1, grad=False)),
    ],
)
op(
    "huber_loss(Tensor self, Tensor target, int reduction=Mean, float delta=1.0) -> Tensor",
    "Squared error up to `delta`, linear beyond.",
    bind="nn out",
    autocast="float32",
    meta=rule("loss_like_self", "self", "target", "reduction"),
    grad={("self", "target"): _huber_grad},
    samples=[S(T(3, 4), T(3, 4)), S(T(3, 4), T(3, 4), 0, 0.5)],
)
op(
    "huber_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction, float delta) -> Tensor",
    "The gradient of huber_loss.",
    bind="out",
    out_dtype="found",
    out_overload="out grad_input",
    meta=rule("loss_backward", "self", "target"),
    grad={("grad_output", "self", "target"): _huber_backward_grad},
    samples=[S(T(3, 4), T(3, 4), T(3, 4), 0, 0.5), S(T(), T(3, 4), T(3, 4), 1, 1.0)],
)
op(
    "mse_loss(Tensor self, Tensor target, int reduction=Mean) -> Tensor",
    "Squared error.",
    bind="nn out",
    autocast="float32",
    meta=rule("loss", "self", "target", "reduction"),
    grad={("self", "target"): _mse_grad},
    samples=[S(T(3, 4), T(3, 4)), S(T(3, 4), T(3, 4), 0), S(T(3, 4), T(3, 4), 2)],
)
op(
    "mse_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction) -> Tensor",
    "The gradient of mse_loss.",
    bind="out",
    out_overload="grad_input grad_input",
    meta=rule("loss_backward", "self", "target"),
    grad={("grad_output", "self", "target"): _mse_backward_grad},
    samples=[S(T(3, 4), T(3, 4), T(3, 4), 0), S(T(), T(3, 4), T(3, 4), 1)],
)
op(
    "nll_loss2d_backward(Tensor grad_output, Tensor self, Tensor target, Tensor? weight, int reduction,"
    " SymInt ignore_index, Tensor total_weight) -> Tensor",
    "The gradient of nll_loss2d_forward.",
    bind="nn out",
    out_dtype="expected scalar type {result} but found {out}",
    out_overload="grad_input grad_input",
    meta=rule("contiguous_like", "self"),
    grad={
        "grad_output": lambda grad, target, weight, reduction, ignore_index, total_weight: _nll_backward_grad(
            aten.nll_loss2d_forward, grad, target, weight, reduction, ignore_index, total_weight
        ),
        "self": lambda self: aten.zeros_like(self),
    },
    samples=[S(T(), T(2, 4, 3, 2), T(2, 3, 2, dtype="int64", low=0, high=4), None, 2, -100, T(grad=False))],
)
op(
    "nll_loss2d_forward(Tensor self, Tensor target, Tensor? weight, int reduction, SymInt ignore_index)"
    " -> (Tensor output, Tensor total_weight)",
    "Negative log likelihood at each place of a grid, and the weights' sum.",
    bind="nn",
    meta=rule("nll_loss2d", "self", "target", "weight", "reduction"),
    grad={"self": _nll2d_grad},
    nondiff=(1,),
    samples=[S(T(2, 3, 4, 4), T(2, 4, 4, dtype="int64", low=0, high=3), None, 1, -100)],
    node="NllLoss2DBackward0",
)
op(
    "nll_loss_backward(Tensor grad_output, Tensor self, Tensor target, Tensor? weight, int reduction,"
    " SymInt ignore_index, Tensor total_weight) -> Tensor",
    "The gradient of nll_loss_forward.",
    bind="nn out",
    out_dtype="exact",
    out_overload="grad_input grad_input",
    meta=rule("contiguous_like", "self"),
    grad={
        "grad_output": lambda grad, target, weight, reduction, ignore_index, total_weight: _nll_backward_grad(
            aten.nll_loss_forward, grad, target, weight, reduction, ignore_index, total_weight
        ),
        "self": lambda self: aten.zeros_like(self),
    },
    samples=[
        S(T(), T(3, 4), T(3, dtype="int64", low=0, high=4), None, 1, -100, T(low=3, high=3, grad=False)),
        S(T(3), T(3, 4), T(3, dtype="int64", low=0, high=4), T(4, grad=False), 0, 1, T(grad=False)),
    ],
)
op(
    "nll_loss_forward(Tensor self, Tensor target, Tensor? weight, int reduction, SymInt ignore_index)"
    " -> (Tensor output, Tensor total_weight)",
    "Negative log likelihood of rows of log-probabilities, and the weights' sum.",
    bind="nn",
    meta=rule("nll_loss", "self", "target", "weight", "reduction"),
    grad={"self": _nll_grad},
    nondiff=(1,),
    samples=[S(T(3, 5), T(3, dtype="int64", low=0, high=5), None, 1, -100)],
    node="NllLossBackward0",
)
op(
    "smooth_l1_loss(Tensor self, Tensor target, int reduction=Mean, float beta=1.0) -> Tensor",
    "Squared error over 2 beta up to `beta`, absolute error less beta / 2 beyond.",
    bind="nn out",
    autocast="float32",
    meta=rule("loss", "self", "target", "reduction"),
    grad={("self", "target"): _smooth_l1_grad},
    samples=[S(T(3, 4), T(3, 4)), S(T(3, 4), T(3, 4), 0, 0.5)],
    node="SmoothL1LossBackward0",
)
op(
    "smooth_l1_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction, float beta) -> Tensor",
    "The gradient of smooth_l1_loss.",
    bind="out",
    out_overload="grad_input grad_input",
    meta=rule("loss_backward", "self", "target"),
    grad={("grad_output", "self", "target"): _smooth_l1_backward_grad},
    samples=[S(T(3, 4), T(3, 4), T(3, 4), 0, 0.5), S(T(), T(3, 4), T(3, 4), 1, 1.0)],
)
