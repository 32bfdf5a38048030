"""Steps of an optimizer, samples of the likeliest, rows written by their places."""

from __future__ import annotations

from typing import Any

from ...._core.dtype import DTYPES
from ...._operators.table import aten
from .kernels import OUT, fused


@fused("npu::npu_apply_adam_w.out", "aclnnApplyAdamW")
def apply_adam_w(
    beta1_power: Any, beta2_power: Any, lr: Any, weight_decay: Any, beta1: Any, beta2: Any, epsilon: Any, grad: Any,
    max_grad_norm: Any, amsgrad: Any, maximize: Any, var: Any, m: Any, v: Any,
) -> tuple | None:  # fmt: skip
    if amsgrad or max_grad_norm is not None or any(each.dtype != var.dtype for each in (grad, m, v)):
        return None
    numbers = (beta1_power, beta2_power, lr, weight_decay, beta1, beta2, epsilon)
    cells = (aten.full([1], number, dtype=DTYPES["float32"], device=var.device) for number in numbers)
    return var, m, v, *cells, grad, None, False, bool(maximize)


@fused("npu::npu_top_k_top_p", "aclnnApplyTopKTopP")
def top_k_top_p(logits: Any, p: Any, k: Any) -> tuple | None:
    if logits.dim() != 2 or logits.numel() == 0 or (p is None and k is None):
        return None
    return logits, None if p is None else p.to(logits.dtype), None if k is None else k.to(DTYPES["int32"]), OUT[0]


def _fits(input: Any, indices: Any, updates: Any) -> bool:
    return updates.dtype == input.dtype and indices.dim() > 0 and 0 < indices.shape[-1] <= input.dim()


@fused("npu::npu_scatter_nd_update_", "aclnnScatterNdUpdate")
def scatter_nd_update_(input: Any, indices: Any, updates: Any) -> tuple | None:
    return (input, indices, updates) if _fits(input, indices, updates) else None


@fused("npu::npu_scatter_nd_update", "aclnnScatterNdUpdate", results=lambda input, *_: [aten.clone(input)])
def scatter_nd_update(input: Any, indices: Any, updates: Any) -> tuple | None:
    return (OUT[0], indices, updates) if _fits(input, indices, updates) else None
