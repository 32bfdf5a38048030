"""Cross entropy as Ascend's programs call it: with what its gradient needs, and a penalty of the partition sum."""

from __future__ import annotations

from typing import Any

from ...._core.dtype import DTYPES
from ...._operators.table import S, T, aten, composite
from .checks import require, require_choice, wide


@composite(
    "npu::npu_cross_entropy_loss(Tensor input, Tensor target, Tensor? weight=None, str reduction='mean', "
    "int ignore_index=-100, float label_smoothing=0.0, float lse_square_scale_for_zloss=0.0, bool return_zloss=False) "
    "-> (Tensor, Tensor, Tensor, Tensor)",
    "Cross entropy of (N, C) scores: the loss, the logarithms of the probabilities, and the z-loss with its logarithms "
    "of sums where it is asked for.",
    samples=[
        S(T(4, 6), T(4, dtype="int64", low=0, high=5)),
        S(T(4, 6), T(4, dtype="int64", low=0, high=5), None, "none"),
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
    require_choice(operator, "reduction", reduction, ("none", "mean", "sum"))
    require(
        not return_zloss and lse_square_scale_for_zloss == 0.0, operator, "the z-loss is not supported; leave it out"
    )
    x = wide(input)
    log_prob = aten.log_softmax(x, -1)
    number = {"none": 0, "mean": 1, "sum": 2}[reduction]
    loss = aten.cross_entropy_loss(
        x, target.to(DTYPES["int64"]), None if weight is None else wide(weight), number, ignore_index, label_smoothing
    )
    empty = aten.empty([0], dtype=x.dtype, device=x.device)
    return (loss if reduction == "none" else loss.reshape(1)).to(input.dtype), log_prob.to(input.dtype), empty, empty
