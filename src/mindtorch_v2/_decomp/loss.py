"""Losses in terms of simpler operators."""

from __future__ import annotations

import mindtorch_v2 as torch
from mindtorch_v2._decomp._precision import in_float32
from mindtorch_v2._decomp._registry import register_decomposition

aten = torch.ops.aten

__all__: list[str] = []

_MEAN, _SUM = 1, 2


def _reduced(loss: torch.Tensor, reduction: int) -> torch.Tensor:
    return loss.mean() if reduction == _MEAN else loss.sum() if reduction == _SUM else loss


@register_decomposition(aten.mse_loss.default)
@in_float32
def mse_loss(self: torch.Tensor, target: torch.Tensor, reduction: int = _MEAN) -> torch.Tensor:
    difference = self - target
    return _reduced(difference * difference, reduction)


@register_decomposition(aten.smooth_l1_loss.default)
@in_float32
def smooth_l1_loss(self: torch.Tensor, target: torch.Tensor, reduction: int = _MEAN, beta: float = 1.0) -> torch.Tensor:
    size = torch.abs(self - target)
    if beta == 0:
        return _reduced(size, reduction)
    return _reduced(torch.where(size < beta, 0.5 * size * size / beta, size - 0.5 * beta), reduction)


@register_decomposition(aten.huber_loss.default)
@in_float32
def huber_loss(self: torch.Tensor, target: torch.Tensor, reduction: int = _MEAN, delta: float = 1.0) -> torch.Tensor:
    size = torch.abs(self - target)
    return _reduced(torch.where(size < delta, 0.5 * size * size, delta * (size - 0.5 * delta)), reduction)


@register_decomposition(aten.binary_cross_entropy.default)
@in_float32
def binary_cross_entropy(
    self: torch.Tensor, target: torch.Tensor, weight: torch.Tensor | None = None, reduction: int = _MEAN
) -> torch.Tensor:
    smallest = -100.0  # PyTorch's bound of the logarithms
    yes, no = torch.log(self).clamp(min=smallest), torch.log1p(-self).clamp(min=smallest)
    loss = (target - 1) * no - target * yes
    return _reduced(loss if weight is None else loss * weight, reduction)


# ---- gradients ----


def _share(grad_output: torch.Tensor, self: torch.Tensor, reduction: int) -> torch.Tensor:
    """The gradient of each element's loss."""
    return grad_output / self.numel() if reduction == _MEAN else grad_output


@register_decomposition(aten.mse_loss_backward.default)
@in_float32
def mse_loss_backward(
    grad_output: torch.Tensor, self: torch.Tensor, target: torch.Tensor, reduction: int
) -> torch.Tensor:
    return 2.0 * _share(grad_output, self, reduction) * (self - target)


@register_decomposition(aten.smooth_l1_loss_backward.default)
@in_float32
def smooth_l1_loss_backward(
    grad_output: torch.Tensor, self: torch.Tensor, target: torch.Tensor, reduction: int, beta: float
) -> torch.Tensor:
    difference = self - target
    share = _share(grad_output, self, reduction)
    if beta == 0:
        return torch.sign(difference) * share
    inside = torch.abs(difference) < beta
    return torch.where(inside, share * difference / beta, share * torch.sign(difference))


@register_decomposition(aten.huber_loss_backward.default)
@in_float32
def huber_loss_backward(
    grad_output: torch.Tensor, self: torch.Tensor, target: torch.Tensor, reduction: int, delta: float
) -> torch.Tensor:
    return _share(grad_output, self, reduction) * torch.clamp(self - target, -delta, delta)


@register_decomposition(aten.binary_cross_entropy_backward.default)
@in_float32
def binary_cross_entropy_backward(
    grad_output: torch.Tensor,
    self: torch.Tensor,
    target: torch.Tensor,
    weight: torch.Tensor | None = None,
    reduction: int = _MEAN,
) -> torch.Tensor:
    spread = torch.clamp(self * (1 - self), min=1e-12)  # PyTorch's bound
    made = grad_output * (self - target) / spread
    made = made if weight is None else made * weight
    return made / self.numel() if reduction == _MEAN else made


# ---- losses of classes ----


def _class_losses(
    self: torch.Tensor, target: torch.Tensor, weight: torch.Tensor | None, ignore_index: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """The negative log-likelihood of each sample and its weight; both 0 where the class is to be ignored."""
    dim = 0 if self.dim() < 2 else 1
    kept = target != ignore_index
    at = torch.where(kept, target, 0)
    chosen = -torch.gather(self, dim, at.unsqueeze(dim)).squeeze(dim)
    weights = (
        torch.ones_like(chosen) if weight is None else torch.index_select(weight, 0, at.reshape(-1)).reshape(at.shape)
    )
    weights = torch.where(kept, weights, 0)
    return torch.where(kept, chosen * weights, 0), weights


@register_decomposition([aten.nll_loss_forward.default, aten.nll_loss2d_forward.default])
@in_float32
def nll_loss_forward(
    self: torch.Tensor, target: torch.Tensor, weight: torch.Tensor | None, reduction: int, ignore_index: int
) -> tuple[torch.Tensor, torch.Tensor]:
    losses, weights = _class_losses(self, target, weight, ignore_index)
    total = weights.sum()
    if reduction == _MEAN:
        return losses.sum() / total, total
    if reduction == _SUM:
        return losses.sum(), total
    return losses, torch.zeros_like(total)


@register_decomposition([aten.nll_loss_backward.default, aten.nll_loss2d_backward.default])
@in_float32
def nll_loss_backward(
    grad_output: torch.Tensor,
    self: torch.Tensor,
    target: torch.Tensor,
    weight: torch.Tensor | None,
    reduction: int,
    ignore_index: int,
    total_weight: torch.Tensor,
) -> torch.Tensor:
    dim = 0 if self.dim() < 2 else 1
    weights = _class_losses(self, target, weight, ignore_index)[1]
    grad_output = grad_output / total_weight if reduction == _MEAN else grad_output
    at = torch.where(target != ignore_index, target, 0).unsqueeze(dim)
    return torch.scatter(torch.zeros_like(self), dim, at, (-weights * grad_output).unsqueeze(dim))
