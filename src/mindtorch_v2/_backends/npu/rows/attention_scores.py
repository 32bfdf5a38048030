"""Scores of attention made probabilities where they lie, the way back, and scores with a mask and a shift by position."""

from __future__ import annotations

from typing import Any

from ...._operators.table import aten
from .checks import HALF_AND_FLOAT, composite, no_gradient, require, require_choice, require_dtype, wide


@composite(
    "npu::npu_attn_softmax_(Tensor(a!) input) -> Tensor(a!)",
    "Softmax over the last dimension, in the memory of the scores.",
    explicit=True,
)
def npu_attn_softmax_(input: Any) -> Any:
    return aten.copy_(input, aten.softmax(wide(input), -1))


@composite(
    "npu::npu_attn_softmax_backward_(Tensor(a!) input, Tensor grad_output, Tensor values) -> Tensor(a!)",
    "Gradient of the scores in the memory of the probabilities that npu_attn_softmax_ made of them, by that of probabilities @ values.",
    explicit=True,
)
def npu_attn_softmax_backward_(input: Any, grad_output: Any, values: Any) -> Any:
    probabilities = wide(input)
    weighted = probabilities * aten.matmul(wide(grad_output), wide(values).transpose(-2, -1))
    return aten.copy_(input, weighted - probabilities * weighted.sum([-1], True))


@composite(
    "npu::npu_masked_softmax_with_rel_pos_bias(Tensor x, Tensor? atten_mask, Tensor relative_pos_bias, float scale_value=1.0, int "
    "inner_precision_mode=0) -> Tensor",
    "Softmax over the last dimension of x (batch, windows, heads, s, s), or of one window each, times a scale, plus a mask of each "
    "window and a shift of each head.",
    explicit=True,
    grad=no_gradient("npu_masked_softmax_with_rel_pos_bias", "x", "relative_pos_bias"),
)
def npu_masked_softmax_with_rel_pos_bias(
    x: Any, atten_mask: Any, relative_pos_bias: Any, scale_value: float = 1.0, inner_precision_mode: int = 0
) -> Any:
    operator = "npu_masked_softmax_with_rel_pos_bias"
    require_choice(operator, "inner_precision_mode", inner_precision_mode, (0, 1))
    require_dtype(operator, "x", x, HALF_AND_FLOAT)
    require(x.dim() in (4, 5), operator, f"x must have 4 or 5 dimensions, but it has {x.dim()}")
    scores = wide(x) * scale_value
    if atten_mask is not None:
        mask = wide(atten_mask)
        scores = scores + (mask.unsqueeze(1) if mask.dim() == 3 else mask)
    return aten.softmax(scores + wide(relative_pos_bias), -1).to(x.dtype)
