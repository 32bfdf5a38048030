"""Fused attention for training and its gradient, and partial attentions made one."""

from __future__ import annotations

from typing import Any

from .kernels import OUT, Use, fused

_PACKED = "TND"


def _taken(query: Any, layout: str, pse: Any, sink: Any, keep_prob: float, dropout_mask: Any) -> bool:
    """Whether the operator's first version computes this: no sink, no shift of packed rows, dropout by a mask that is there."""
    if sink is not None or (pse is not None and (layout == _PACKED or pse.dim() != 4)):
        return False
    return keep_prob == 1 or dropout_mask is not None


@fused("npu::npu_fusion_attention", "aclnnFlashAttentionScore", others=("aclnnFlashAttentionVarLenScore",))
def fusion_attention(
    query: Any, key: Any, value: Any, head_num: int, input_layout: str, pse: Any, padding_mask: Any, atten_mask: Any,
    scale: float, keep_prob: float, pre_tockens: int, next_tockens: int, inner_precise: int, prefix: Any,
    actual_seq_qlen: Any, actual_seq_kvlen: Any, sparse_mode: int, gen_mask_parallel: bool, sync: bool,
    softmax_layout: str, sink: Any, dropout_mask: Any, seed: int, offset: int,
) -> tuple | None:  # fmt: skip
    if not _taken(query, input_layout, pse, sink, keep_prob, dropout_mask):
        return None
    tensors = (query, key, value, pse, dropout_mask if keep_prob < 1 else None, padding_mask, atten_mask)
    numbers = (scale, keep_prob, pre_tockens, next_tockens, head_num, input_layout, inner_precise, sparse_mode)
    results = (OUT[1], OUT[2], OUT[3], OUT[0])
    if input_layout != _PACKED:
        return *tensors, prefix, *numbers, *results
    ends = (actual_seq_qlen, actual_seq_kvlen)
    return Use("aclnnFlashAttentionVarLenScore"), *tensors, prefix, *ends, *numbers, *results


@fused(
    "npu::npu_fusion_attention_grad", "aclnnFlashAttentionScoreGrad", others=("aclnnFlashAttentionUnpaddingScoreGrad",)
)
def fusion_attention_grad(
    query: Any, key: Any, value: Any, dy: Any, head_num: int, input_layout: str, pse: Any, padding_mask: Any,
    atten_mask: Any, softmax_max: Any, softmax_sum: Any, softmax_in: Any, attention_in: Any, scale_value: float,
    keep_prob: float, pre_tockens: int, next_tockens: int, inner_precise: int, seed: int, offset: int, numels: int,
    prefix: Any, actual_seq_qlen: Any, actual_seq_kvlen: Any, sparse_mode: int, gen_mask_parallel: bool, sync: bool,
    softmax_layout: str, sink: Any,
) -> tuple | None:  # fmt: skip
    if not _taken(query, input_layout, pse, sink, keep_prob, None):
        return None
    statistics = (softmax_max, softmax_sum, softmax_in, attention_in)
    tensors = (query, key, value, dy, pse, None, padding_mask, atten_mask, *statistics)
    numbers = (scale_value, keep_prob, pre_tockens, next_tockens, head_num, input_layout, inner_precise, sparse_mode)
    if input_layout != _PACKED:
        return *tensors, prefix, *numbers, *OUT[:4]
    ends = (actual_seq_qlen, actual_seq_kvlen)
    return Use("aclnnFlashAttentionUnpaddingScoreGrad"), *tensors, prefix, *ends, *numbers, *OUT[:4]


fused(
    "npu::npu_ring_attention_update",
    "aclnnRingAttentionUpdate",
    "prev_attn_out prev_softmax_max prev_softmax_sum cur_attn_out cur_softmax_max cur_softmax_sum actual_seq_qlen "
    "input_layout out0 out1 out2",
)
