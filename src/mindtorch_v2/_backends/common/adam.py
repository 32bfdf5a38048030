"""The fused steps of Adam and AdamW: their operators, over a step that a back end has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from ..._tensor import Tensor


class AdamOptions(NamedTuple):
    """The numbers that hold for all parameters of a step. `lr`, `grad_scale` and `found_inf` may be tensors of one element."""

    lr: Any
    beta1: float
    beta2: float
    weight_decay: float
    eps: float
    amsgrad: bool
    maximize: bool
    grad_scale: Any
    found_inf: Any
    decoupled: bool


class AdamState(NamedTuple):
    """A parameter with what Adam keeps of it; `max_exp_avg_sq` is None without amsgrad."""

    param: Tensor
    grad: Tensor
    exp_avg: Tensor
    exp_avg_sq: Tensor
    max_exp_avg_sq: Tensor | None
    step: Tensor


def register_adam(
    kernel: Callable[..., Any],
    names: Sequence[str],
    decoupled: bool,
    step: Callable[[list[AdamState], AdamOptions], None],
) -> None:
    """Register operators that do a step of all parameters; `decoupled`: as AdamW takes weight decay."""

    @kernel(*names)
    def fused(
        self: Sequence[Tensor],
        grads: Sequence[Tensor],
        exp_avgs: Sequence[Tensor],
        exp_avg_sqs: Sequence[Tensor],
        max_exp_avg_sqs: Sequence[Tensor],
        state_steps: Sequence[Tensor],
        lr: float | Tensor,
        beta1: float,
        beta2: float,
        weight_decay: float,
        eps: float,
        amsgrad: bool,
        maximize: bool,
        grad_scale: Tensor | None = None,
        found_inf: Tensor | None = None,
    ) -> None:
        greatest = max_exp_avg_sqs if amsgrad else [None] * len(self)
        states = zip(self, grads, exp_avgs, exp_avg_sqs, greatest, state_steps, strict=True)
        options = AdamOptions(lr, beta1, beta2, weight_decay, eps, amsgrad, maximize, grad_scale, found_inf, decoupled)
        step([AdamState(*each) for each in states], options)
