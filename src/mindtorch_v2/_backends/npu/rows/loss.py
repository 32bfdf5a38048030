"""Cross entropy as Ascend's programs call it: with what its gradient needs, and a penalty of the partition sum."""

from __future__ import annotations

from typing import Any

from ...._core.dtype import DTYPES
from ...._operators.table import S, T, aten, namespace
from .checks import composite, require, require_choice, wide

npu = namespace("npu")
_REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}


@composite(
    "npu::npu_cross_entropy_loss(Tensor input, Tensor target, Tensor? weight=None, str reduction='mean', "
    "int ignore_index=-100, float label_smoothing=0.0, float lse_square_scale_for_zloss=0.0, bool return_zloss=False) "
    "-> (Tensor, Tensor, Tensor, Tensor)",
    "Cross entropy of (N, C) scores: the loss, the logarithms of the probabilities, and the z-loss with its logarithms "
    "of sums where it is asked for.",
    explicit=True,
    grad={
        "input": lambda grad, result1, target, weight, reduction, ignore_index, label_smoothing: (
            npu.npu_cross_entropy_loss_backward(
                grad, result1, target, weight, None, None, reduction, ignore_index, label_smoothing
            )
        )
    },
    nondiff=(1, 2, 3),
    samples=[
        S(T(4, 6), T(4, dtype="int64", low=0, high=5)),
        S(T(4, 6), T(4, dtype="int64", low=0, high=5), None, "none"),
        S(T(4, 6), T(4, dtype="int64", low=0, high=5), T(6, low=0.5, high=2.0, grad=False), "mean", 3, 0.25),
        S(T(4, 6), T(4, dtype="int64", low=0, high=5), None, "sum", -100, 0.125),
    ],
)
def npu_cross_entropy_loss(
    input: Any, target: Any, weight: Any = None, reduction: str = "mean", ignore_index: int = -100,
    label_smoothing: float = 0.0, lse_square_scale_for_zloss: float = 0.0, return_zloss: bool = False,
) -> tuple:  # fmt: skip
    operator = "npu_cross_entropy_loss"
    require(
        input.dim() == 2 and target.dim() == 1 and input.shape[0] == target.shape[0],
        operator,
        f"input must be (N, C) and target (N), but their sizes are {list(input.shape)} and {list(target.shape)}",
    )
    require_choice(operator, "reduction", reduction, tuple(_REDUCTIONS))
    require(
        not return_zloss and lse_square_scale_for_zloss == 0.0, operator, "the z-loss is not supported; leave it out"
    )
    x = wide(input)
    log_prob = aten.log_softmax(x, -1)
    weights = None if weight is None else wide(weight).to(x.dtype)
    classes = target.to(DTYPES["int64"])
    if label_smoothing:
        loss = aten.cross_entropy_loss(x, classes, weights, _REDUCTIONS[reduction], ignore_index, label_smoothing)
    else:
        loss = aten.nll_loss(log_prob, classes, weights, _REDUCTIONS[reduction], ignore_index)
    empty = aten.empty([0], dtype=x.dtype, device=x.device)
    return (loss if reduction == "none" else loss.reshape(1)).to(input.dtype), log_prob.to(input.dtype), empty, empty


@composite(
    "npu::npu_cross_entropy_loss_backward(Tensor grad_loss, Tensor log_prob, Tensor target, Tensor? weight=None, "
    "Tensor? grad_zloss=None, Tensor? lse_for_zloss=None, str reduction='mean', int ignore_index=-100, float label_smoothing=0.0, "
    "float lse_square_scale_for_zloss=0.0) -> Tensor",
    "Gradient of npu_cross_entropy_loss by its scores, from the logarithms of the probabilities.",
    samples=[
        S(T(1), T(4, 6), T(4, dtype="int64", low=0, high=5)),
        S(
            T(4),
            T(4, 6),
            T(4, dtype="int64", low=0, high=5),
            T(6, low=0.5, high=2.0, grad=False),
            None,
            None,
            "none",
            3,
            0.25,
        ),
    ],
)
def npu_cross_entropy_loss_backward(
    grad_loss: Any, log_prob: Any, target: Any, weight: Any = None, grad_zloss: Any = None, lse_for_zloss: Any = None,
    reduction: str = "mean", ignore_index: int = -100, label_smoothing: float = 0.0,
    lse_square_scale_for_zloss: float = 0.0,
) -> Any:  # fmt: skip
    operator = "npu_cross_entropy_loss_backward"
    require_choice(operator, "reduction", reduction, tuple(_REDUCTIONS))
    require(grad_zloss is None and lse_for_zloss is None, operator, "the z-loss is not supported; leave it out")
    logs = wide(log_prob)
    classes = logs.shape[1]
    kept = target != ignore_index
    of = aten.where(kept, target, 0).to(DTYPES["int64"])
    own = kept.to(logs.dtype)
    weights = None if weight is None else wide(weight).to(logs.dtype)
    if weights is not None:
        own = aten.where(kept, weights[of], 0)
    grad = wide(grad_loss).to(logs.dtype).reshape(-1)
    if reduction == "mean":
        grad = grad / own.sum()
    # The loss of a row is -sum(share * log p): a share for its class, and with smoothing one for each.
    hit = grad * own * (1 - label_smoothing)
    if not label_smoothing:
        made = aten.exp(logs) * hit.unsqueeze(1)
    else:
        even = (grad * kept * (label_smoothing / classes)).unsqueeze(1)
        even = even.expand([logs.shape[0], classes]) if weights is None else even * weights
        made = aten.exp(logs) * (hit.unsqueeze(1) + even.sum([1], True)) - even
    return aten.scatter_add(made, 1, of.unsqueeze(1), -hit.unsqueeze(1)).to(log_prob.dtype)
