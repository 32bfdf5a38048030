"""Normalisations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...._core.dtype import finfo
from ...._operators.table import aten
from ..table import aclnn, call, kernel

if TYPE_CHECKING:
    from ...._tensor import Tensor


def _gain(input, normalized_shape, weight):
    """The gain, which the operator wants in any case."""
    return aten.new_ones(input, list(normalized_shape)) if weight is None else weight


@kernel("_fused_rms_norm")
def rms_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor, eps: float | None, out: Tensor, rstd: Tensor
) -> None:
    eps = finfo(input.dtype).eps if eps is None else eps
    call("aclnnRmsNorm", input, _gain(input, normalized_shape, weight), eps, out, rstd)


@kernel("_fused_rms_norm_backward")
def rms_norm_backward(
    grad_out: Tensor,
    input: Tensor,
    normalized_shape: Sequence[int],
    rstd: Tensor,
    weight: Tensor,
    output_mask: Sequence[bool],
    grad_input: Tensor | None,
    grad_weight: Tensor | None,
) -> None:
    gain = _gain(input, normalized_shape, weight)
    by_input = aten.empty_like(input) if grad_input is None else grad_input
    by_gain = aten.empty_like(gain) if grad_weight is None else grad_weight
    call("aclnnRmsNormGrad", grad_out, input, rstd, gain, by_input, by_gain)


@kernel("native_batch_norm", "_native_batch_norm_legit")
def batch_norm(
    input: Tensor,
    weight: Tensor,
    bias: Tensor,
    running_mean: Tensor,
    running_var: Tensor,
    training: bool,
    momentum: float,
    eps: float | None,
    out: Tensor,
    mean: Tensor,
    invstd: Tensor,
) -> None:
    call("aclnnBatchNorm", input, weight, bias, running_mean, running_var, training, momentum, eps, out, mean, invstd)


@kernel("_native_batch_norm_legit_no_training")
def batch_norm_frozen(
    input: Tensor,
    weight: Tensor,
    bias: Tensor,
    running_mean: Tensor,
    running_var: Tensor,
    momentum: float,
    eps: float | None,
    out: Tensor,
    mean: Tensor,
    invstd: Tensor,
) -> None:
    batch_norm(input, weight, bias, running_mean, running_var, False, momentum, eps, out, mean, invstd)


@kernel("_native_batch_norm_legit.no_stats")
def batch_norm_without_statistics(
    input: Tensor,
    weight: Tensor,
    bias: Tensor,
    training: bool,
    momentum: float,
    eps: float | None,
    out: Tensor,
    mean: Tensor,
    invstd: Tensor,
) -> None:
    batch_norm(input, weight, bias, None, None, True, momentum, eps, out, mean, invstd)


aclnn("native_batch_norm_backward", "aclnnBatchNormBackward")
aclnn("native_group_norm", "aclnnGroupNorm")
aclnn("native_group_norm_backward", "aclnnGroupNormBackward")
aclnn("native_layer_norm", "aclnnLayerNorm", "input normalized_shape weight bias eps out0 out1 out2")
aclnn("native_layer_norm_backward", "aclnnLayerNormBackward")
