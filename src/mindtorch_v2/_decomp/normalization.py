"""Normalizations and their gradients in terms of simpler operators."""

from __future__ import annotations

from collections.abc import Sequence

import mindtorch_v2 as torch
from mindtorch_v2._decomp._precision import in_float32
from mindtorch_v2._decomp._registry import register_decomposition

aten = torch.ops.aten

__all__: list[str] = []

Gradients = tuple[torch.Tensor | None, torch.Tensor | None, torch.Tensor | None]


@register_decomposition(aten.native_batch_norm_backward.default)
@in_float32
def native_batch_norm_backward(
    grad_out: torch.Tensor,
    input: torch.Tensor,
    weight: torch.Tensor | None,
    running_mean: torch.Tensor | None,
    running_var: torch.Tensor | None,
    save_mean: torch.Tensor | None,
    save_invstd: torch.Tensor | None,
    train: bool,
    eps: float,
    output_mask: Sequence[bool],
) -> Gradients:
    shape = [1] * input.dim()
    shape[1] = input.shape[1]
    others = [dim for dim in range(input.dim()) if dim != 1]
    if train:
        assert save_mean is not None and save_invstd is not None
        mean, invstd = save_mean, save_invstd
    else:
        assert running_mean is not None and running_var is not None
        mean, invstd = running_mean, torch.rsqrt(running_var + eps)
    mean, invstd = mean.reshape(shape), invstd.reshape(shape)
    normal = (input - mean) * invstd
    of_weight = (grad_out * normal).sum(others)
    of_bias = grad_out.sum(others)
    scale = invstd if weight is None else invstd * weight.reshape(shape)
    if train:
        count = input.numel() // input.shape[1]
        centred = grad_out - of_bias.reshape(shape) / count - normal * of_weight.reshape(shape) / count
        of_input = centred * scale
    else:
        of_input = grad_out * scale
    wanted = zip((of_input, of_weight, of_bias), output_mask, strict=True)
    found = [gradient if asked else None for gradient, asked in wanted]
    return found[0], found[1], found[2]


@register_decomposition(aten.native_batch_norm.default)
def native_batch_norm(
    input: torch.Tensor,
    weight: torch.Tensor | None,
    bias: torch.Tensor | None,
    running_mean: torch.Tensor | None,
    running_var: torch.Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    if not training:
        return aten._native_batch_norm_legit_no_training.default(
            input, weight, bias, running_mean, running_var, momentum, eps
        )
    if running_mean is None:
        return aten._native_batch_norm_legit.no_stats(input, weight, bias, training, momentum, eps)
    assert running_var is not None
    out, mean, invstd, new_mean, new_var = aten._native_batch_norm_legit_functional.default(
        input, weight, bias, running_mean, running_var, training, momentum, eps
    )
    running_mean.copy_(new_mean)
    running_var.copy_(new_var)
    return out, mean, invstd


@register_decomposition(aten._fused_rms_norm.default)
@in_float32
def fused_rms_norm(
    input: torch.Tensor, normalized_shape: Sequence[int], weight: torch.Tensor | None, eps: float | None
) -> tuple[torch.Tensor, torch.Tensor]:
    dims = list(range(input.dim() - len(normalized_shape), input.dim()))
    rstd = torch.rsqrt(
        (input * input).mean(dims, keepdim=True) + (torch.finfo(input.dtype).eps if eps is None else eps)
    )
    normal = input * rstd
    return normal if weight is None else normal * weight, rstd


@register_decomposition(aten._fused_rms_norm_backward.default)
@in_float32
def fused_rms_norm_backward(
    grad_out: torch.Tensor,
    input: torch.Tensor,
    normalized_shape: Sequence[int],
    rstd: torch.Tensor,
    weight: torch.Tensor | None,
    output_mask: Sequence[bool],
) -> tuple[torch.Tensor | None, torch.Tensor | None]:
    inner = list(range(input.dim() - len(normalized_shape), input.dim()))
    outer = list(range(input.dim() - len(normalized_shape)))
    normal = input * rstd
    weighted = grad_out if weight is None else grad_out * weight
    of_input = (weighted - normal * (weighted * normal).mean(inner, keepdim=True)) * rstd
    of_weight = None
    if weight is not None:
        of_weight = (grad_out * normal).sum(outer) if outer else grad_out * normal
    return of_input if output_mask[0] else None, of_weight if output_mask[1] else None
