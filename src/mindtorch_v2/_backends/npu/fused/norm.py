"""Normalisations, alone and with what programs put before and after them."""

from __future__ import annotations

from typing import Any

from ...._operators.table import aten
from .kernels import OUT, Use, fused

fused("npu::npu_rms_norm", "aclnnRmsNorm", "input gamma epsilon out0 out1")
fused("npu::npu_rms_norm_backward", "aclnnRmsNormGrad", "dy input rstd gamma out0 out1")
fused("npu::npu_gemma_rms_norm", "aclnnGemmaRmsNorm", "input gamma epsilon out0 out1")
fused("npu::npu_add_rms_norm", "aclnnAddRmsNorm", "x1 x2 gamma epsilon out0 out1 out2")
fused("npu::npu_add_rms_norm_v2", "aclnnAddRmsNorm", "x1 x2 gamma epsilon x1 out0 x2")
fused("npu::npu_add_rms_norm_v2_functional", "aclnnAddRmsNorm", "x1 x2 gamma epsilon out1 out0 out2")
fused("npu::npu_deep_norm", "aclnnDeepNorm", "x gx beta gamma alpha epsilon out0 out1 out2")
fused(
    "npu::npu_add_layer_norm",
    "aclnnAddLayerNorm",
    "x1 x2 gamma beta none epsilon additional_output out0 out1 out2 out3",
)


@fused("npu::npu_add_rms_norm_quant", "aclnnAddRmsNormQuant", others=("aclnnAddRmsNormQuantV2",))
def add_rms_norm_quant(
    x1: Any, x2: Any, gamma: Any, scales1: Any, zero_points1: Any, beta: Any, scales2: Any, zero_points2: Any, axis: int,
    epsilon: float, div_mode: bool, dst_type: Any,
) -> tuple | None:  # fmt: skip
    if x1.dtype.itemsize != 2:
        return None
    inputs = (x1, x2, gamma, scales1, scales2, zero_points1, zero_points2)
    if beta is None:
        return *inputs, axis, epsilon, div_mode, *OUT[:3]
    norm = aten.empty_like(x1)  # which the operator's second version gives as well
    return Use("aclnnAddRmsNormQuantV2"), *inputs, beta, axis, epsilon, div_mode, *OUT[:3], norm


@fused("npu::npu_add_rms_norm_dynamic_quant", "aclnnAddRmsNormDynamicQuant", others=("aclnnAddRmsNormDynamicQuantV2",))
def add_rms_norm_dynamic_quant(
    x1: Any, x2: Any, gamma: Any, smooth_scale1: Any, smooth_scale2: Any, beta: Any, epsilon: float, output_mask: Any,
    y_dtype: Any,
) -> tuple | None:  # fmt: skip
    if x1.dtype.itemsize != 2 or gamma.dim() != 1 or y_dtype not in (None, 1):
        return None
    smooth = (smooth_scale1, smooth_scale2)
    if beta is None and output_mask is None:
        return x1, x2, gamma, *smooth, epsilon, *OUT[:5]
    return Use("aclnnAddRmsNormDynamicQuantV2"), x1, x2, gamma, *smooth, beta, epsilon, output_mask, *OUT[:5]


@fused("npu::npu_group_norm_silu", "aclnnGroupNormSilu")
def group_norm_silu(input: Any, weight: Any, bias: Any, group: int, eps: float) -> tuple:
    channels = input.shape[1]
    gain = aten.new_ones(input, [channels]) if weight is None else weight
    shift = aten.new_zeros(input, [channels]) if bias is None else bias
    return input, gain, shift, group, eps, *OUT[:3]
