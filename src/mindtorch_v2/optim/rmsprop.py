"""RMSprop (Hinton, lecture 6e; centred form of Graves, 2013) and its functional form."""

import mindtorch_v2 as torch
from mindtorch_v2.optim._lists import collect, set_group_defaults
from mindtorch_v2.optim.optimizer import (
    Optimizer,
    _check_capturable,
    _check_lr,
    _check_not_negative,
    _default_to_fused_or_foreach,
    _get_value,
    _require_tensor_steps,
    _run_closure,
    _step_counters_to_tensors,
    _to_scalar,
    _use_grad_for_differentiable,
)

__all__ = ["RMSprop", "rmsprop"]


class RMSprop(Optimizer):
    """RMSprop (`torch.optim.RMSprop`).

    v = alpha v + (1 - alpha) g^2; p -= lr * g / (sqrt(v) + eps), through a momentum buffer if `momentum` > 0; with
    `centered`, v is lessened by the square of the running mean of g.
    State: `step`, `square_avg`, `momentum_buffer`, `grad_avg`.
    """

    def __init__(
        self,
        params,
        lr=1e-2,
        alpha=0.99,
        eps=1e-8,
        weight_decay=0,
        momentum=0,
        centered=False,
        capturable=False,
        foreach=None,
        maximize=False,
        differentiable=False,
    ):
        _check_lr(lr)
        _check_not_negative(epsilon=eps, momentum=momentum, weight_decay=weight_decay, alpha=alpha)
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "alpha": alpha,
            "eps": eps,
            "centered": centered,
            "weight_decay": weight_decay,
            "capturable": capturable,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def __setstate__(self, state):
        super().__setstate__(state)
        set_group_defaults(
            self, momentum=0, centered=False, foreach=None, maximize=False, differentiable=False, capturable=False
        )
        _step_counters_to_tensors(self)

    @_use_grad_for_differentiable
    def step(self, closure=None):
        """Makes one step; returns the loss of `closure` if one is given."""
        loss = _run_closure(closure)
        for group in self.param_groups:
            names = ["step", "square_avg"]
            if group["momentum"] > 0:
                names.append("momentum_buffer")
            if group["centered"]:
                names.append("grad_avg")

            def create(p, names=names):
                return {name: torch.zeros_like(p, memory_format=torch.preserve_format) for name in names[1:]}

            has_complex, params, grads, *columns = collect(
                self, group, create, names, "RMSprop does not support sparse gradients"
            )
            columns = dict(zip(names, columns, strict=True))
            rmsprop(
                params,
                grads,
                columns["square_avg"],
                columns.get("grad_avg", []),
                columns.get("momentum_buffer", []),
                columns["step"],
                lr=group["lr"],
                alpha=group["alpha"],
                eps=group["eps"],
                weight_decay=group["weight_decay"],
                momentum=group["momentum"],
                centered=group["centered"],
                foreach=group["foreach"],
                maximize=group["maximize"],
                differentiable=group["differentiable"],
                capturable=group["capturable"],
                has_complex=has_complex,
            )
        return loss


def rmsprop(
    params,
    grads,
    square_avgs,
    grad_avgs,
    momentum_buffer_list,
    state_steps,
    foreach=None,
    maximize=False,
    differentiable=False,
    capturable=False,
    has_complex=False,
    *,
    lr,
    alpha,
    eps,
    weight_decay,
    momentum,
    centered,
):
    """One RMSprop step on parallel lists, in place."""
    _require_tensor_steps(state_steps)
    if capturable:
        _check_capturable(params, state_steps)
    lr = _to_scalar(lr)
    if foreach is None and not capturable and params:
        fused, _ = _default_to_fused_or_foreach(params, differentiable, use_fused=True)
        if fused:
            torch._foreach_add_(state_steps, 1)
            torch.ops.aten._fused_rmsprop_(
                params,
                grads,
                square_avgs,
                grad_avgs if centered else [],
                momentum_buffer_list if momentum > 0 else [],
                lr=_get_value(lr),
                alpha=alpha,
                eps=eps,
                weight_decay=weight_decay,
                momentum=momentum,
                centered=centered,
                maximize=maximize,
            )
            return
    for i, param in enumerate(params):
        grad, square_avg, step = grads[i], square_avgs[i], state_steps[i]
        grad_avg = grad_avgs[i] if centered else None
        buffer = momentum_buffer_list[i] if momentum > 0 else None
        step += 1
        if maximize:
            grad = -grad
        if weight_decay != 0:
            grad = grad.add(param, alpha=weight_decay)
        if torch.is_complex(param):
            param, grad, square_avg = (torch.view_as_real(t) for t in (param, grad, square_avg))
            grad_avg = torch.view_as_real(grad_avg) if centered else None
            buffer = torch.view_as_real(buffer) if momentum > 0 else None
        square_avg.mul_(alpha).addcmul_(grad, grad, value=1 - alpha)
        if centered:
            grad_avg.lerp_(grad, 1 - alpha)
            avg = square_avg.addcmul(grad_avg, grad_avg, value=-1).sqrt_()
        else:
            avg = square_avg.sqrt()
        avg = avg.add(eps) if differentiable else avg.add_(eps)
        update = grad
        if momentum > 0:
            buffer.mul_(momentum).addcdiv_(grad, avg)
            update, avg = buffer, None
        if isinstance(lr, torch.Tensor) and (capturable or differentiable):
            param.sub_(lr * (update if avg is None else update / avg))
        elif avg is None:
            param.add_(update, alpha=-_get_value(lr))
        else:
            param.addcdiv_(update, avg, value=-_get_value(lr))
