"""Activations that gate one half of a tensor by the other, and softmax with its scale and mask."""

from __future__ import annotations

from typing import Any

from .kernels import OUT, fused

fused("npu::npu_swiglu", "aclnnSwiGlu", "input dim out0")
fused("npu::npu_swiglu_backward", "aclnnSwiGluGrad", "grad_output input dim out0")
fused("npu::npu_clipped_swiglu", "aclnnClippedSwiglu", "x group_index dim alpha limit bias interleaved out0")
fused("npu::npu_geglu", "aclnnGeGluV3", "input dim approximate activate_left out0 out1")
fused("npu::npu_gelu_mul", "aclnnGeluMul", "input approximate out0")
fused("npu::npu_fast_gelu", "aclnnFastGelu", "input out0")
fused("npu::npu_scaled_masked_softmax", "aclnnScaledMaskedSoftmax", "x mask scale fixed_triu_mask out0")


@fused("npu::npu_scaled_masked_softmax_backward", "aclnnScaledMaskedSoftmaxBackward")
def scaled_masked_softmax_backward(
    y_grad: Any, y: Any, mask: Any, scale: float, fixed_triu_mask: bool,
) -> tuple | None:  # fmt: skip
    # The operator's own limits; the composition has none.
    if y.dim() != 4 or any(size % 32 or not 32 <= size <= 4096 for size in y.shape[2:]):
        return None
    return y_grad, y, mask, scale, fixed_triu_mask, OUT[0]
