"""Normalization functions."""

from __future__ import annotations

import math

import mindtorch_v2 as torch
from mindtorch_v2._core.overridable import overridable

__all__ = [
    "batch_norm",
    "group_norm",
    "instance_norm",
    "local_response_norm",
    "normalize",
]


def _verify_batch_size(size) -> None:
    """Raise where a channel has one value only, of which the variance is zero."""
    size_prods = size[0] * math.prod(size[2:])
    if size_prods == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {size}")


def _verify_spatial_size(size) -> None:
    if math.prod(size[2:]) == 1:
        raise ValueError(f"Expected more than 1 spatial element when training, got input size {size}")


@overridable
def batch_norm(
    input: torch.Tensor,
    running_mean: torch.Tensor | None,
    running_var: torch.Tensor | None,
    weight: torch.Tensor | None = None,
    bias: torch.Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> torch.Tensor:
    """Normalize each channel of `(N, C, *)`: by the batch's statistics if `training`, else by the running ones.

    >>> torch.nn.functional.batch_norm(torch.tensor([[1.0], [3.0]]), None, None, training=True)
    tensor([[-1.0000],
            [ 1.0000]])
    """
    if training:
        _verify_batch_size(input.size())
    return torch.batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, True)


@overridable
def instance_norm(
    input: torch.Tensor,
    running_mean: torch.Tensor | None = None,
    running_var: torch.Tensor | None = None,
    weight: torch.Tensor | None = None,
    bias: torch.Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> torch.Tensor:
    """Normalize each channel of each sample of `(N, C, *)`.

    >>> torch.nn.functional.instance_norm(torch.ones(2, 3, 8)).shape
    torch.Size([2, 3, 8])
    """
    if use_input_stats:
        _verify_spatial_size(input.size())
    return torch.instance_norm(input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, True)


@overridable
def group_norm(
    input: torch.Tensor,
    num_groups: int,
    weight: torch.Tensor | None = None,
    bias: torch.Tensor | None = None,
    eps: float = 1e-5,
) -> torch.Tensor:
    """Normalize over each of `num_groups` groups of channels of each sample of `(N, C, *)`.

    >>> torch.nn.functional.group_norm(torch.ones(1, 4, 8, 8), 2).shape
    torch.Size([1, 4, 8, 8])
    """
    if input.dim() < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {input.dim()}")
    size = input.size()
    _verify_batch_size([size[0] * size[1] // num_groups, num_groups, *size[2:]])
    return torch.group_norm(input, num_groups, weight, bias, eps)


@overridable
def local_response_norm(
    input: torch.Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> torch.Tensor:
    """Divide `(N, C, *)` by `(k + alpha * mean square over size neighbouring channels) ** beta`.

    >>> torch.nn.functional.local_response_norm(torch.ones(1, 3, 4, 4), 2).shape
    torch.Size([1, 3, 4, 4])
    """
    dim = input.dim()
    if dim < 3:
        raise ValueError(f"Expected 3D or higher dimensionality                          input (got {dim} dimensions)")
    if input.numel() == 0:
        return input
    div = input.mul(input)
    if dim == 3:
        div = div.unsqueeze(1)
        div = torch.nn.functional.pad(div, (0, 0, size // 2, (size - 1) // 2))
        div = torch.nn.functional.avg_pool2d(div, (size, 1), stride=1).squeeze(1)
    else:
        sizes = input.size()
        div = div.view(sizes[0], 1, sizes[1], sizes[2], -1)
        div = torch.nn.functional.pad(div, (0, 0, 0, 0, size // 2, (size - 1) // 2))
        div = torch.nn.functional.avg_pool3d(div, (size, 1, 1), stride=1).squeeze(1)
        div = div.view(sizes)
    return input / div.mul(alpha).add(k).pow(beta)


@overridable
def normalize(
    input: torch.Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12, out: torch.Tensor | None = None
) -> torch.Tensor:
    """Divide by the p-norm along `dim`, but by no less than `eps`.

    >>> torch.nn.functional.normalize(torch.tensor([[3.0, 4.0]]))
    tensor([[0.6000, 0.8000]])
    """
    denom = input.norm(p, dim, keepdim=True).clamp_min(eps).expand_as(input)
    if out is None:
        return input / denom
    return torch.div(input, denom, out=out)
