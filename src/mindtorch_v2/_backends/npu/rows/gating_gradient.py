"""The gradient of the weights that a router gives the experts it takes."""

from __future__ import annotations

from typing import Any

from ...._core.dtype import DTYPES
from ...._operators.table import aten
from .checks import composite, require_choice, wide


@composite(
    "npu::npu_moe_gating_top_k_backward(Tensor x_norm, Tensor grad_y, Tensor expertIdx, *, int renorm=0, int norm_type=0, float "
    "routed_scaling_factor=1.0, float eps=1e-20) -> Tensor",
    "Gradient of npu_moe_gating_top_k by its input, from the probabilities that out_flag asks for.",
    explicit=True,
)
def npu_moe_gating_top_k_backward(
    x_norm: Any, grad_y: Any, expertIdx: Any, *, renorm: int = 0, norm_type: int = 0, routed_scaling_factor: float = 1.0,
    eps: float = 1e-20,
) -> Any:  # fmt: skip
    operator = "npu_moe_gating_top_k_backward"
    require_choice(operator, "renorm", renorm, (0,))
    require_choice(operator, "norm_type", norm_type, (0, 1))
    p, places = wide(x_norm), expertIdx.to(DTYPES["int64"])
    g = wide(grad_y).to(p.dtype) * routed_scaling_factor
    if norm_type == 1:
        taken = aten.gather(p, -1, places)
        total = taken.sum([-1], True) + eps
        g = g / total - (g * taken).sum([-1], True) / (total * total)
    dp = aten.zeros_like(p).scatter_add_(-1, places, g)
    if norm_type == 1:
        return (dp * p * (1 - p)).to(grad_y.dtype)
    return (p * (dp - (dp * p).sum([-1], True))).to(grad_y.dtype)
