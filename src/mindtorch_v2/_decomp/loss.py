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
