"""Mixtures of experts: who takes a token, tokens in the order of their experts, and back."""

from __future__ import annotations

from typing import Any

from ...._core.dtype import DTYPES
from ...._operators.table import aten
from .kernels import OUT, fused

_INT32 = DTYPES["int32"]

fused("npu::npu_moe_gating_top_k_softmax", "aclnnMoeGatingTopKSoftmax", "x finished k out0 out1 out2")


@fused("npu::npu_moe_gating_top_k", "aclnnMoeGatingTopK")
def moe_gating_top_k(
    x: Any, k: int, bias: Any, input_ids: Any, tid2eid: Any, k_group: int, group_count: int, group_select_mode: int,
    renorm: int, norm_type: int, out_flag: bool, routed_scaling_factor: float, eps: float,
) -> tuple | None:  # fmt: skip
    if input_ids is not None or tid2eid is not None or x.dim() != 2:
        return None
    groups = (k_group, group_count, group_select_mode)
    return x, bias, k, *groups, renorm, norm_type, out_flag, routed_scaling_factor, eps, *OUT[:3]


@fused("npu::npu_moe_init_routing", "aclnnMoeInitRouting")
def moe_init_routing(x: Any, row_idx: Any, expert_idx: Any, active_num: int) -> tuple:
    return x, row_idx.to(_INT32), expert_idx.to(_INT32), active_num, *OUT[:3]


def _routed(
    x: Any, expert_idx: Any, scale: Any, offset: Any, active_num: int, expert_capacity: int, expert_num: int, *options: Any,
) -> list[Any]:  # fmt: skip
    """Results of npu_moe_init_routing_v2. Rows behind those of the experts in range are zeros, which the operator leaves."""
    count, active_range = expert_idx.numel(), options[4]
    room = min(active_num, count) if active_num > 0 else count
    first, last = active_range or (0, expert_num)
    scales = [room] if scale is not None else [0]
    return [
        aten.zeros([room, x.shape[1]], dtype=x.dtype, device=x.device),
        aten.empty([count], dtype=_INT32, device=x.device),
        aten.empty([last - first], dtype=DTYPES["int64"], device=x.device),
        aten.zeros(scales, dtype=DTYPES["float32"], device=x.device),
    ]


@fused("npu::npu_moe_init_routing_v2", "aclnnMoeInitRoutingV3", results=_routed)
def moe_init_routing_v2(
    x: Any, expert_idx: Any, scale: Any, offset: Any, active_num: int, expert_capacity: int, expert_num: int,
    drop_pad_mode: int, expert_tokens_num_type: int, expert_tokens_num_flag: bool, quant_mode: int,
    active_expert_range: Any, row_idx_type: int, x_dtype: Any,
) -> tuple | None:  # fmt: skip
    plain = drop_pad_mode == 0 and quant_mode == -1 and offset is None and x_dtype is None
    if not plain or not expert_tokens_num_flag or expert_tokens_num_type not in (0, 1) or not x.numel():
        return None
    first, last = active_expert_range or (0, expert_num)
    if not 0 <= first < last <= expert_num or row_idx_type not in (0, 1):  # the composition says what is wrong
        return None
    modes = (drop_pad_mode, expert_tokens_num_type, expert_tokens_num_flag, quant_mode)
    indices = expert_idx.to(_INT32)
    counts = (max(active_num, 0), max(expert_capacity, 0), expert_num)
    return x, indices, scale, None, *counts, *modes, [first, last], row_idx_type, *OUT[:4]


@fused("npu::npu_moe_compute_expert_tokens", "aclnnMoeComputeExpertTokens")
def moe_compute_expert_tokens(sorted_expert_for_source_row: Any, num_expert: int) -> tuple:
    return sorted_expert_for_source_row.to(_INT32), num_expert, OUT[0]


@fused("npu::npu_moe_token_permute", "aclnnMoeTokenPermute")
def moe_token_permute(tokens: Any, indices: Any, num_out_tokens: Any, padded_mode: bool) -> tuple | None:
    return None if padded_mode else (tokens, indices, num_out_tokens or 0, padded_mode, *OUT[:2])


@fused("npu::npu_moe_token_permute_grad", "aclnnMoeTokenPermuteGrad")
def moe_token_permute_grad(
    tokens: Any, grad_permuted_tokens: Any, indices: Any, sorted_indices: Any, padded_mode: bool,
) -> tuple | None:  # fmt: skip
    if padded_mode:
        return None
    return grad_permuted_tokens, sorted_indices, 1 if indices.dim() == 1 else indices.shape[1], padded_mode, OUT[0]


@fused("npu::npu_moe_token_unpermute", "aclnnMoeTokenUnpermute")
def moe_token_unpermute(
    permuted_tokens: Any, sorted_indices: Any, probs: Any, padded_mode: bool, restore_shape: Any,
) -> tuple | None:  # fmt: skip
    if padded_mode or restore_shape is not None or sorted_indices.dtype != _INT32:
        return None
    return permuted_tokens, sorted_indices, probs, padded_mode, None, OUT[0]


@fused("npu::npu_moe_token_unpermute_grad", "aclnnMoeTokenUnpermuteGrad")
def moe_token_unpermute_grad(
    permuted_tokens: Any, grad_unpermuted_tokens: Any, sorted_indices: Any, probs: Any, padded_mode: bool,
    restore_shape: Any,
) -> tuple | None:  # fmt: skip
    if padded_mode or restore_shape is not None or sorted_indices.dtype != _INT32:
        return None
    return permuted_tokens, grad_unpermuted_tokens, sorted_indices, probs, padded_mode, None, *OUT[:2]


@fused("npu::npu_moe_finalize_routing", "aclnnMoeFinalizeRoutingV2")
def moe_finalize_routing(
    expanded_permuted_rows: Any, skip1: Any, skip2: Any, bias: Any, scales: Any, expanded_src_to_dst_row: Any,
    export_for_source_row: Any, drop_pad_mode: Any, k: Any,
) -> tuple | None:  # fmt: skip
    if expanded_src_to_dst_row.dtype != _INT32 or (skip2 is not None and skip1 is None):
        return None
    skips = (skip1, skip2, bias, scales)
    return expanded_permuted_rows, expanded_src_to_dst_row, *skips, export_for_source_row, drop_pad_mode, OUT[0]
