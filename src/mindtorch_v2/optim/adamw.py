"""AdamW (Loshchilov & Hutter, 2019): Adam whose weight decay shrinks the parameters, apart from the gradient."""

from mindtorch_v2.optim.adam import Adam, adam

__all__ = ["AdamW", "adamw"]


def adamw(
    params,
    grads,
    exp_avgs,
    exp_avg_sqs,
    max_exp_avg_sqs,
    state_steps,
    foreach=None,
    capturable=False,
    differentiable=False,
    fused=None,
    grad_scale=None,
    found_inf=None,
    has_complex=False,
    *,
    amsgrad,
    beta1,
    beta2,
    lr,
    weight_decay,
    eps,
    maximize,
) -> None:
    """One AdamW step on parallel lists, in place."""
    adam(**locals(), decoupled_weight_decay=True)


class AdamW(Adam):
    """AdamW (`torch.optim.AdamW`): p *= 1 - lr * weight_decay, then Adam's step."""

    def __init__(
        self,
        params,
        lr=1e-3,
        betas=(0.9, 0.999),
        eps=1e-8,
        weight_decay=1e-2,
        amsgrad=False,
        *,
        maximize=False,
        foreach=None,
        capturable=False,
        differentiable=False,
        fused=None,
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

    def __setstate__(self, state) -> None:
        super().__setstate__(state)
        # State dicts from before the flag existed carry none, or Adam's False.
        for group in self.param_groups:
            group["decoupled_weight_decay"] = True
