"""AdamW (Loshchilov & Hutter, 2019): Adam whose weight decay shrinks the parameters, apart from the gradient."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mindtorch_v2.optim.adam import Adam, adam

if TYPE_CHECKING:
    from mindtorch_v2._tensor import Tensor
    from mindtorch_v2.optim.optimizer import ParamsT


__all__ = ["AdamW", "adamw"]


def adamw(
    params: list[Tensor],
    grads: list[Tensor],
    exp_avgs: list[Tensor],
    exp_avg_sqs: list[Tensor],
    max_exp_avg_sqs: list[Tensor],
    state_steps: list[Tensor],
    foreach: bool | None = None,
    capturable: bool = False,
    differentiable: bool = False,
    fused: bool | None = None,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
    has_complex: bool = False,
    *,
    amsgrad: bool,
    beta1: float | Tensor,
    beta2: float | Tensor,
    lr: float | Tensor,
    weight_decay: float,
    eps: float,
    maximize: bool,
) -> None:
    """One AdamW step on parallel lists, in place.

    >>> from mindtorch_v2.optim.adamw import adamw
    >>> x, grad = torch.tensor([1.0]), torch.tensor([0.5])
    >>> first, second, step = [torch.zeros(1)], [torch.zeros(1)], [torch.zeros(())]
    >>> adamw(
    ...     [x], [grad], first, second, [], step,
    ...     amsgrad=False, beta1=0.9, beta2=0.999, lr=0.1, weight_decay=0.5, eps=1e-8, maximize=False,
    ... )
    >>> x
    tensor([0.8500])
    """
    adam(**locals(), decoupled_weight_decay=True)


class AdamW(Adam):
    """AdamW (`torch.optim.AdamW`): p *= 1 - lr * weight_decay, then Adam's step.

    >>> x = torch.ones(2, requires_grad=True)
    >>> optimizer = torch.optim.AdamW([x], lr=0.1)
    >>> x.sum().backward()
    >>> optimizer.step()
    >>> x.detach()
    tensor([0.8990, 0.8990])
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            amsgrad,
            foreach=foreach,
            maximize=maximize,
            capturable=capturable,
            differentiable=differentiable,
            fused=fused,
            decoupled_weight_decay=True,
        )

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        # State dicts from before the flag existed carry none, or Adam's False.
        for group in self.param_groups:
            group["decoupled_weight_decay"] = True
