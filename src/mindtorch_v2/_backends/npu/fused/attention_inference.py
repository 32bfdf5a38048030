"""Fused attention for inference. The operators take 16-bit numbers; what else they do not take the compositions compute."""

from __future__ import annotations

from typing import Any

from .kernels import OUT, Use, fused

_LAYOUTS = ("BSH", "BSND", "BNSD", "TND")


def _taken(query: Any, layout: str, pse: Any, key: Any, options: dict[str, Any]) -> bool:
    if query.dtype.itemsize != 2 or not query.dtype.is_floating_point or query.numel() == 0 or key.numel() == 0:
        return False
    if layout not in _LAYOUTS or any(value is not None for value in options.values()):
        return False
    return pse is None or pse.dim() == 4


def _numbers(lengths: Any) -> Any:
    return None if lengths is None else [int(n) for n in lengths]


def _call(
    query: Any, key: Any, value: Any, rope: tuple, pse: Any, mask: Any, q_lengths: Any, kv_lengths: Any, table: Any,
    heads: int, scale: float, before: int, after: int, layout: str, key_heads: int, mode: int, precise: int, block: int,
    logs: bool,
) -> tuple:  # fmt: skip
    tensors = (query, [key], [value], pse, mask, _numbers(q_lengths), _numbers(kv_lengths))
    unquantised = (None,) * 7
    numbers = (heads, scale, before, after, layout, key_heads, mode, precise, block, 0, logs)
    if rope[0] is None:
        return *tensors, *unquantised, table, None, None, *numbers, *OUT[:2]
    return (
        Use("aclnnFusedInferAttentionScoreV3"), *tensors, *unquantised, table, None, None, *(None,) * 7, *rope, None,
        *numbers, 0, 0, *OUT[:2],
    )  # fmt: skip


@fused(
    "npu::npu_fused_infer_attention_score",
    "aclnnFusedInferAttentionScore",
    others=("aclnnFusedInferAttentionScoreV3",),
)
def fused_infer_attention_score(
    query: Any, key: Any, value: Any, pse_shift: Any, atten_mask: Any, actual_seq_lengths: Any, actual_seq_lengths_kv: Any,
    dequant_scale1: Any, quant_scale1: Any, dequant_scale2: Any, quant_scale2: Any, quant_offset2: Any,
    antiquant_scale: Any, antiquant_offset: Any, key_antiquant_scale: Any, key_antiquant_offset: Any,
    value_antiquant_scale: Any, value_antiquant_offset: Any, block_table: Any, query_padding_size: Any,
    kv_padding_size: Any, key_shared_prefix: Any, value_shared_prefix: Any, actual_shared_prefix_len: Any,
    query_rope: Any, key_rope: Any, key_rope_antiquant_scale: Any, num_heads: int, scale: float, pre_tokens: int,
    next_tokens: int, input_layout: str, num_key_value_heads: int, sparse_mode: int, inner_precise: int, block_size: int,
    antiquant_mode: int, key_antiquant_mode: int, value_antiquant_mode: int, softmax_lse_flag: bool,
) -> tuple | None:  # fmt: skip
    if not _taken(query, input_layout, pse_shift, key, {}):
        return None
    return _call(
        query, key, value, (query_rope, key_rope), pse_shift, atten_mask, actual_seq_lengths, actual_seq_lengths_kv,
        block_table, num_heads, scale, pre_tokens, next_tokens, input_layout, num_key_value_heads, sparse_mode,
        inner_precise, block_size, softmax_lse_flag,
    )  # fmt: skip


@fused(
    "npu::npu_fused_infer_attention_score_v2",
    "aclnnFusedInferAttentionScore",
    others=("aclnnFusedInferAttentionScoreV3",),
)
def fused_infer_attention_score_v2(
    query: Any, key: Any, value: Any, query_rope: Any, key_rope: Any, pse_shift: Any, atten_mask: Any,
    actual_seq_qlen: Any, actual_seq_kvlen: Any, block_table: Any, dequant_scale_query: Any, dequant_scale_key: Any,
    dequant_offset_key: Any, dequant_scale_value: Any, dequant_offset_value: Any, dequant_scale_key_rope: Any,
    quant_scale_out: Any, quant_offset_out: Any, quant_scale_p: Any, learnable_sink: Any, num_query_heads: int,
    num_key_value_heads: int, softmax_scale: float, pre_tokens: int, next_tokens: int, input_layout: str,
    sparse_mode: int, block_size: int, query_quant_mode: int, key_quant_mode: int, value_quant_mode: int,
    inner_precise: int, return_softmax_lse: bool, *dtypes: Any,
) -> tuple | None:  # fmt: skip
    if not _taken(query, input_layout, pse_shift, key, {"learnable_sink": learnable_sink}):
        return None
    return _call(
        query, key, value, (query_rope, key_rope), pse_shift, atten_mask, actual_seq_qlen, actual_seq_kvlen, block_table,
        num_query_heads, softmax_scale, pre_tokens, next_tokens, input_layout, num_key_value_heads, sparse_mode,
        inner_precise, block_size, return_softmax_lse,
    )  # fmt: skip


@fused("npu::npu_prompt_flash_attention", "aclnnPromptFlashAttentionV3")
def prompt_flash_attention(
    query: Any, key: Any, value: Any, padding_mask: Any, atten_mask: Any, pse_shift: Any, actual_seq_lengths: Any,
    deq_scale1: Any, quant_scale1: Any, deq_scale2: Any, quant_scale2: Any, quant_offset2: Any, num_heads: int,
    scale_value: float, pre_tokens: int, next_tokens: int, input_layout: str, num_key_value_heads: int,
    actual_seq_lengths_kv: Any, sparse_mode: int,
) -> tuple | None:  # fmt: skip
    if input_layout == "TND" or not _taken(query, input_layout, pse_shift, key, {"padding_mask": padding_mask}):
        return None
    lengths = (_numbers(actual_seq_lengths), _numbers(actual_seq_lengths_kv))
    numbers = (num_heads, scale_value, pre_tokens, next_tokens, input_layout, num_key_value_heads, sparse_mode, 1)
    return query, key, value, pse_shift, atten_mask, *lengths, *(None,) * 5, *numbers, OUT[0]


@fused("npu::npu_incre_flash_attention", "aclnnIncreFlashAttentionV4")
def incre_flash_attention(
    query: Any, key: Any, value: Any, padding_mask: Any, atten_mask: Any, pse_shift: Any, actual_seq_lengths: Any,
    antiquant_scale: Any, antiquant_offset: Any, block_table: Any, dequant_scale1: Any, quant_scale1: Any,
    dequant_scale2: Any, quant_scale2: Any, quant_offset2: Any, kv_padding_size: Any, num_heads: int, scale_value: float,
    input_layout: str, num_key_value_heads: int, block_size: int, inner_precise: int,
) -> tuple | None:  # fmt: skip
    taken = _taken(query, input_layout, pse_shift, key, {"padding_mask": padding_mask})
    if input_layout == "TND" or not taken:
        return None
    lengths = _numbers(actual_seq_lengths)
    numbers = (num_heads, scale_value, input_layout, num_key_value_heads, block_size, inner_precise)
    return query, [key], [value], pse_shift, atten_mask, lengths, *(None,) * 7, block_table, None, *numbers, OUT[0]
