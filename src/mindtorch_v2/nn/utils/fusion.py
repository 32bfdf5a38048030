"""Fusion of a batch normalization in evaluation mode into the layer before it."""

from __future__ import annotations

import copy

import mindtorch_v2 as torch

__all__ = ["fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"]


def _check_eval(a, b) -> None:
    if a.training or b.training:
        raise AssertionError("Fusion only for eval!")


def fuse_conv_bn_eval(conv: torch.nn.Module, bn: torch.nn.Module, transpose: bool = False) -> torch.nn.Module:
    """A copy of `conv` that does what `conv` and then `bn` do; both must be in evaluation mode.

    >>> fused = torch.nn.utils.fuse_conv_bn_eval(torch.nn.Conv2d(3, 8, 3).eval(), torch.nn.BatchNorm2d(8).eval())
    >>> fused(torch.ones(1, 3, 5, 5)).shape
    torch.Size([1, 8, 3, 3])
    """
    _check_eval(conv, bn)
    fused_conv = copy.deepcopy(conv)
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("bn.running_mean and bn.running_var must not be None")
    fused_conv.weight, fused_conv.bias = fuse_conv_bn_weights(
        fused_conv.weight,
        fused_conv.bias,
        bn.running_mean,
        bn.running_var,
        bn.eps,
        bn.weight,
        bn.bias,
        transpose,
    )
    return fused_conv


def fuse_conv_bn_weights(
    conv_w: torch.Tensor,
    conv_b: torch.Tensor | None,
    bn_rm: torch.Tensor,
    bn_rv: torch.Tensor,
    bn_eps: float,
    bn_w: torch.Tensor | None,
    bn_b: torch.Tensor | None,
    transpose: bool = False,
) -> tuple:
    """The weight and bias of a convolution that includes the batch normalization, as parameters.

    >>> one, zero, kernel = torch.ones(1), torch.zeros(1), torch.full((1, 1, 1, 1), 3.0)
    >>> weight, bias = torch.nn.utils.fuse_conv_bn_weights(kernel, one, zero, 4 * one, 0.0, 2 * one, zero)
    >>> weight.item(), bias.item()
    (3.0, 1.0)
    """
    conv_weight_dtype = conv_w.dtype
    conv_bias_dtype = conv_b.dtype if conv_b is not None else conv_weight_dtype
    if conv_b is None:
        conv_b = torch.zeros_like(bn_rm)
    if bn_w is None:
        bn_w = torch.ones_like(bn_rm)
    if bn_b is None:
        bn_b = torch.zeros_like(bn_rm)
    scale = bn_w * torch.rsqrt(bn_rv + bn_eps)
    # The output channels are the weight's first dimension, of a transposed convolution its second.
    shape = [1, -1] if transpose else [-1, 1]
    shape += [1] * (conv_w.dim() - 2)
    fused_w = (conv_w * scale.reshape(shape)).to(dtype=conv_weight_dtype)
    fused_b = ((conv_b - bn_rm) * scale + bn_b).to(dtype=conv_bias_dtype)
    return (
        torch.nn.Parameter(fused_w, conv_w.requires_grad),
        torch.nn.Parameter(fused_b, conv_b.requires_grad),
    )


def fuse_linear_bn_eval(linear: torch.nn.Module, bn: torch.nn.Module) -> torch.nn.Module:
    """A copy of `linear` that does what `linear` and then `bn` do; both must be in evaluation mode.

    >>> torch.nn.utils.fuse_linear_bn_eval(torch.nn.Linear(3, 8).eval(), torch.nn.BatchNorm1d(8).eval())
    Linear(in_features=3, out_features=8, bias=True)
    """
    _check_eval(linear, bn)
    fused_linear = copy.deepcopy(linear)
    if not (linear.out_features == bn.num_features or bn.num_features == 1):
        raise AssertionError(
            "To fuse, linear.out_features == bn.num_features or bn.num_features == 1, "
            f"got linear.out_features={linear.out_features} and bn.num_features={bn.num_features}"
        )
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("bn.running_mean and bn.running_var must not be None")
    fused_linear.weight, fused_linear.bias = fuse_linear_bn_weights(
        fused_linear.weight, fused_linear.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
    )
    return fused_linear


def fuse_linear_bn_weights(
    linear_w: torch.Tensor,
    linear_b: torch.Tensor | None,
    bn_rm: torch.Tensor,
    bn_rv: torch.Tensor,
    bn_eps: float,
    bn_w: torch.Tensor,
    bn_b: torch.Tensor,
) -> tuple:
    """The weight and bias of a linear layer that includes the batch normalization, as parameters.

    >>> one, zero, matrix = torch.ones(1), torch.zeros(1), torch.full((1, 1), 3.0)
    >>> weight, bias = torch.nn.utils.fuse_linear_bn_weights(matrix, one, zero, 4 * one, 0.0, 2 * one, zero)
    >>> weight.item(), bias.item()
    (3.0, 1.0)
    """
    linear_weight_dtype = linear_w.dtype
    linear_bias_dtype = linear_b.dtype if linear_b is not None else linear_weight_dtype
    if linear_b is None:
        linear_b = torch.zeros_like(bn_rm)
    scale = bn_w * torch.rsqrt(bn_rv + bn_eps)
    fused_w = linear_w * scale.unsqueeze(-1).to(dtype=linear_weight_dtype)
    fused_b = ((linear_b - bn_rm) * scale + bn_b).to(dtype=linear_bias_dtype)
    return (
        torch.nn.Parameter(fused_w, linear_w.requires_grad),
        torch.nn.Parameter(fused_b, linear_b.requires_grad),
    )
