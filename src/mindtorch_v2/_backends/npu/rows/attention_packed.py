"""Attention of the ATB library over packed prompts and mixed batches, and forms that take their workspace and result from the caller."""

from __future__ import annotations

from typing import Any

from ...._core.dtype import DTYPES
from ...._operators.table import aten, namespace
from . import operations
from .attention import Call, Sequence, attend
from .attention_masks import WITHOUT_END, Masking
from .cache import paged_rows
from .checks import composite, no_gradient, require, require_choice
from .numbers import numbers_of
from .other_libraries import add_product

npu = namespace("npu")


def _call(operator, heads, scale) -> Call:
    everything = Masking(operator, None, 0, WITHOUT_END, WITHOUT_END, None, None, None)
    return Call(operator, heads, "BNSD", scale, 1.0, everything, False, 0, 0)


def _of_rows(mask):
    """A mask of (1, columns / 16, rows, 16), as the cube unit lays it out, by rows; any other as it is."""
    if mask.dim() == 4 and mask.shape[-1] == 16:
        return mask.permute([0, 2, 1, 3]).reshape(mask.shape[2], mask.shape[1] * 16)
    return mask


def _prompts(operator, query, key, value, seq_len, scale, heads, out, mask=None) -> None:
    start, call = 0, _call(operator, heads, scale)
    for length in numbers_of(seq_len, []):
        rows = slice(start, start + length)
        q, k, v = (x[rows].unsqueeze(0).transpose(1, 2) for x in (query, key, value))
        shift = None if mask is None else mask[:length, :length].reshape(1, 1, length, length)
        made = attend(call, Sequence(q, k, v, shift, -1, None))[0].squeeze(0).transpose(0, 1)
        aten.copy_(out[rows], made.reshape(out[rows].shape))
        start += length


@composite(
    "atb::_npu_flash_attention_unpad(Tensor query, Tensor key, Tensor value, Tensor seq_len, float scale_value, int "
    "num_heads, int num_kv_heads, Tensor(a!) out) -> ()",
    "Packed prompts without a mask, written to `out`.",
    explicit=True,
    devices={"seq_len": "host"},
)
def _npu_flash_attention_unpad(
    query: Any, key: Any, value: Any, seq_len: Any, scale_value: float, num_heads: int, num_kv_heads: int, out: Any,
) -> None:  # fmt: skip
    _prompts("_npu_flash_attention_unpad", query, key, value, seq_len, scale_value, num_heads, out)


@composite(
    "atb::_npu_flash_attention_unpad_v2(Tensor query, Tensor key, Tensor value, Tensor seq_len, float scale_value, "
    "int num_heads, int num_kv_heads, *, int? kernel_type=0, Tensor(a!) out) -> ()",
    "_npu_flash_attention_unpad with the kind of its kernel, which changes no number here.",
    explicit=True,
    devices={"seq_len": "host"},
)
def _npu_flash_attention_unpad_v2(
    query: Any, key: Any, value: Any, seq_len: Any, scale_value: float, num_heads: int, num_kv_heads: int, *,
    kernel_type: Any = 0, out: Any,
) -> None:  # fmt: skip
    _prompts("_npu_flash_attention_unpad_v2", query, key, value, seq_len, scale_value, num_heads, out)


@composite(
    "atb::_npu_flash_attention_v3(Tensor query, Tensor key, Tensor value, Tensor mask, Tensor seq_len, float "
    "scale_value, int num_heads, int num_kv_heads, *, int? mask_type=3, Tensor(a!) out) -> ()",
    "Packed prompts with a compressed additive mask, by rows or in blocks of 16 columns, written to `out`.",
    explicit=True,
    devices={"seq_len": "host"},
)
def _npu_flash_attention_v3(
    query: Any, key: Any, value: Any, mask: Any, seq_len: Any, scale_value: float, num_heads: int, num_kv_heads: int,
    *, mask_type: Any = 3, out: Any,
) -> None:  # fmt: skip
    operator = "_npu_flash_attention_v3"
    require_choice(operator, "mask_type", mask_type, (1, 3))
    table = _of_rows(mask)
    longest = max(numbers_of(seq_len, []), default=0)
    require(
        table.dim() == 2 and min(table.shape) >= longest,
        operator,
        f"mask must be as wide and high as the longest prompt, {longest}, but its sizes are {list(mask.shape)}",
    )
    _prompts(operator, query, key, value, seq_len, scale_value, num_heads, out, table)


def _mixed(operator, query, caches, block_table, context_lens, mask, seq_len, heads, scale, out) -> None:
    """The new tokens of each sequence over its pages; the mask is by token of the batch, or by place in a sequence."""
    table = _of_rows(mask)
    table = table.reshape(table.shape[-2:]) if table.dim() > 2 else table
    start, call = 0, _call(operator, heads, scale)
    whole = query.shape[0]
    for i, (count, length) in enumerate(zip(numbers_of(seq_len, []), numbers_of(context_lens, []), strict=True)):
        rows = slice(start, start + count)
        by_place = table.shape[0] != whole or table.shape[0] == table.shape[1]
        require(
            table.shape[1] >= length and (not by_place or table.shape[0] >= length),
            operator,
            f"mask must reach over the {length} tokens of a sequence, but its sizes are {list(mask.shape)}",
        )
        shift = (table[length - count : length] if by_place else table[rows])[:, :length]
        q = query[rows].reshape(1, count, heads, -1).transpose(1, 2)
        k, v = (paged_rows(cache, block_table[i], length).transpose(0, 1).unsqueeze(0) for cache in caches)
        made = attend(call, Sequence(q, k, v, shift.reshape(1, 1, count, length), -1, None))[0]
        aten.copy_(out[rows], made.squeeze(0).transpose(0, 1).reshape(out[rows].shape))
        start += count


@composite(
    "atb::_npu_paged_attention_splitfuse(Tensor query, Tensor key_cache, Tensor value_cache, Tensor block_table, "
    "Tensor context_lens, Tensor mask, Tensor seq_len, int num_kv_heads, int num_heads, float scale_value, "
    "Tensor(a!) out) -> ()",
    "Prompts and single tokens in one packed batch over paged caches with an additive mask, written to `out`.",
    explicit=True,
    devices={"seq_len": "host", "context_lens": "host"},
)
def _npu_paged_attention_splitfuse(
    query: Any, key_cache: Any, value_cache: Any, block_table: Any, context_lens: Any, mask: Any, seq_len: Any,
    num_kv_heads: int, num_heads: int, scale_value: float, out: Any,
) -> None:  # fmt: skip
    operator = "_npu_paged_attention_splitfuse"
    _mixed(
        operator, query, (key_cache, value_cache), block_table, context_lens, mask, seq_len, num_heads, scale_value, out
    )


@composite(
    "atb::_npu_paged_attention_splitfuse_v2(Tensor query, Tensor key_cache, Tensor value_cache, Tensor block_table, "
    "Tensor context_lens, Tensor mask, Tensor seq_len, int num_kv_heads, int num_heads, float scale_value, *, int? "
    "mask_type=5, Tensor(a!) out) -> ()",
    "_npu_paged_attention_splitfuse whose mask may be compressed, or in blocks of 16 columns.",
    explicit=True,
    devices={"seq_len": "host", "context_lens": "host"},
)
def _npu_paged_attention_splitfuse_v2(
    query: Any, key_cache: Any, value_cache: Any, block_table: Any, context_lens: Any, mask: Any, seq_len: Any,
    num_kv_heads: int, num_heads: int, scale_value: float, *, mask_type: Any = 5, out: Any,
) -> None:  # fmt: skip
    operator = "_npu_paged_attention_splitfuse_v2"
    require_choice(operator, "mask_type", mask_type, (1, 3, 5))
    _mixed(
        operator, query, (key_cache, value_cache), block_table, context_lens, mask, seq_len, num_heads, scale_value, out
    )


@composite(
    "atb::_npu_matmul_add_fp32(Tensor x, Tensor weight, Tensor(a!) C) -> ()",
    "Adds x.T @ weight, summed in float32, to `C`.",
    explicit=True,
)
def _npu_matmul_add_fp32(x: Any, weight: Any, C: Any) -> None:
    add_product("_npu_matmul_add_fp32", x, weight, C)


def no_workspace(like: Any) -> Any:
    """Nothing: the composition takes its memory as it goes."""
    return aten.empty([0], dtype=DTYPES["uint8"], device=like.device)


@composite(
    "atb::_npu_paged_attention_get_workspace(Tensor query, Tensor key_cache, Tensor value_cache, int num_kv_heads, "
    "int num_heads, float scale_value, Tensor block_table, Tensor context_lens, Tensor(a!) out) -> Tensor",
    "The memory that _npu_paged_attention asks for beforehand: none here.",
    explicit=True,
    devices={"context_lens": "host"},
)
def _npu_paged_attention_get_workspace(
    query: Any, key_cache: Any, value_cache: Any, num_kv_heads: int, num_heads: int, scale_value: float,
    block_table: Any, context_lens: Any, out: Any,
) -> Any:  # fmt: skip
    return no_workspace(query)


@composite(
    "npu::_npu_fused_infer_attention_score_get_max_workspace(Tensor query, Tensor key, Tensor value, *, Tensor? "
    "pse_shift=None, Tensor? atten_mask=None, SymInt[]? actual_seq_lengths=None, SymInt[]? "
    "actual_seq_lengths_kv=None, Tensor? dequant_scale1=None, Tensor? quant_scale1=None, Tensor? "
    "dequant_scale2=None, Tensor? quant_scale2=None, Tensor? quant_offset2=None, Tensor? antiquant_scale=None, "
    "Tensor? antiquant_offset=None, Tensor? key_antiquant_scale=None, Tensor? key_antiquant_offset=None, Tensor? "
    "value_antiquant_scale=None, Tensor? value_antiquant_offset=None, Tensor? block_table=None, Tensor? "
    "query_padding_size=None, Tensor? kv_padding_size=None, Tensor? key_shared_prefix=None, Tensor? "
    "value_shared_prefix=None, SymInt[]? actual_shared_prefix_len=None, Tensor? query_rope=None, Tensor? "
    "key_rope=None, Tensor? key_rope_antiquant_scale=None, int num_heads=1, float scale=1.0, int "
    'pre_tokens=2147483647, int next_tokens=2147483647, str input_layout="BSH", int num_key_value_heads=0, int '
    "sparse_mode=0, int inner_precise=0, int block_size=0, int antiquant_mode=0, int key_antiquant_mode=0, int "
    "value_antiquant_mode=0, bool softmax_lse_flag=False) -> Tensor",
    "The memory that npu_fused_infer_attention_score asks for beforehand: none here.",
    explicit=True,
    grad=no_gradient("_npu_fused_infer_attention_score_get_max_workspace", "query", "key", "value"),
)
def _npu_fused_infer_attention_score_get_max_workspace(query: Any, key: Any, value: Any, **options: Any) -> Any:
    return no_workspace(query)


@composite(
    "npu::_npu_fused_infer_attention_score_v2_get_max_workspace(Tensor query, Tensor key, Tensor value, *, Tensor? "
    "query_rope=None, Tensor? key_rope=None, Tensor? pse_shift=None, Tensor? atten_mask=None, SymInt[]? "
    "actual_seq_qlen=None, SymInt[]? actual_seq_kvlen=None, Tensor? block_table=None, Tensor? "
    "dequant_scale_query=None, Tensor? dequant_scale_key=None, Tensor? dequant_offset_key=None, Tensor? "
    "dequant_scale_value=None, Tensor? dequant_offset_value=None, Tensor? dequant_scale_key_rope=None, Tensor? "
    "quant_scale_out=None, Tensor? quant_offset_out=None, Tensor? quant_scale_p=None, Tensor? learnable_sink=None, "
    "int num_query_heads=1, int num_key_value_heads=0, float softmax_scale=1.0, int pre_tokens=2147483647, int "
    'next_tokens=2147483647, str input_layout="BSH", int sparse_mode=0, int block_size=0, int query_quant_mode=0, '
    "int key_quant_mode=0, int value_quant_mode=0, int inner_precise=0, bool return_softmax_lse=False, int? "
    "query_dtype=None, int? key_dtype=None, int? value_dtype=None, int? query_rope_dtype=None, int? "
    "key_rope_dtype=None, int? key_shared_prefix_dtype=None, int? value_shared_prefix_dtype=None, int? "
    "dequant_scale_query_dtype=None, int? dequant_scale_key_dtype=None, int? dequant_scale_value_dtype=None, int? "
    "dequant_scale_key_rope_dtype=None, int? out_dtype=None) -> Tensor",
    "The memory that npu_fused_infer_attention_score_v2 asks for beforehand: none here.",
    explicit=True,
    grad=no_gradient("_npu_fused_infer_attention_score_v2_get_max_workspace", "query", "key", "value"),
)
def _npu_fused_infer_attention_score_v2_get_max_workspace(query: Any, key: Any, value: Any, **options: Any) -> Any:
    return no_workspace(query)


def _into(operator, results, targets) -> tuple:
    """Results written to the tensors that the caller gave; one of no elements is left."""
    for name, (made, target) in zip(("attention_out", "softmax_lse"), zip(results, targets, strict=True), strict=True):
        if made.numel() == 0:
            continue
        require(
            made.numel() == target.numel(),
            operator,
            f"{name} must have {made.numel()} elements for a result of {list(made.shape)}, but its sizes are "
            f"{list(target.shape)}",
        )
        aten.copy_(target, made.reshape(target.shape))
    return targets


@composite(
    "npu::npu_fused_infer_attention_score.out(Tensor query, Tensor key, Tensor value, *, Tensor? pse_shift=None, "
    "Tensor? atten_mask=None, SymInt[]? actual_seq_lengths=None, SymInt[]? actual_seq_lengths_kv=None, Tensor? "
    "dequant_scale1=None, Tensor? quant_scale1=None, Tensor? dequant_scale2=None, Tensor? quant_scale2=None, Tensor? "
    "quant_offset2=None, Tensor? antiquant_scale=None, Tensor? antiquant_offset=None, Tensor? "
    "key_antiquant_scale=None, Tensor? key_antiquant_offset=None, Tensor? value_antiquant_scale=None, Tensor? "
    "value_antiquant_offset=None, Tensor? block_table=None, Tensor? query_padding_size=None, Tensor? "
    "kv_padding_size=None, Tensor? key_shared_prefix=None, Tensor? value_shared_prefix=None, SymInt[]? "
    "actual_shared_prefix_len=None, Tensor? query_rope=None, Tensor? key_rope=None, Tensor? "
    "key_rope_antiquant_scale=None, int num_heads=1, float scale=1.0, int pre_tokens=2147483647, int "
    'next_tokens=2147483647, str input_layout="BSH", int num_key_value_heads=0, int sparse_mode=0, int '
    "inner_precise=0, int block_size=0, int antiquant_mode=0, int key_antiquant_mode=0, int value_antiquant_mode=0, "
    "bool softmax_lse_flag=False, Tensor? workspace=None, Tensor(a!) attention_out, Tensor(b!) softmax_lse) -> "
    "(Tensor(a!), Tensor(b!))",
    "npu_fused_infer_attention_score written to the caller's tensors.",
    explicit=True,
    flops=operations.of_inference,
)
def npu_fused_infer_attention_score_out(
    query: Any, key: Any, value: Any, *, attention_out: Any, softmax_lse: Any, workspace: Any = None, **options: Any,
) -> tuple:  # fmt: skip
    made = npu.npu_fused_infer_attention_score(query, key, value, **options)
    return _into("npu_fused_infer_attention_score", made, (attention_out, softmax_lse))


@composite(
    "npu::npu_fused_infer_attention_score_v2.out(Tensor query, Tensor key, Tensor value, *, Tensor? query_rope=None, "
    "Tensor? key_rope=None, Tensor? pse_shift=None, Tensor? atten_mask=None, SymInt[]? actual_seq_qlen=None, "
    "SymInt[]? actual_seq_kvlen=None, Tensor? block_table=None, Tensor? dequant_scale_query=None, Tensor? "
    "dequant_scale_key=None, Tensor? dequant_offset_key=None, Tensor? dequant_scale_value=None, Tensor? "
    "dequant_offset_value=None, Tensor? dequant_scale_key_rope=None, Tensor? quant_scale_out=None, Tensor? "
    "quant_offset_out=None, Tensor? quant_scale_p=None, Tensor? learnable_sink=None, int num_query_heads=1, int "
    "num_key_value_heads=0, float softmax_scale=1.0, int pre_tokens=2147483647, int next_tokens=2147483647, str "
    'input_layout="BSH", int sparse_mode=0, int block_size=0, int query_quant_mode=0, int key_quant_mode=0, int '
    "value_quant_mode=0, int inner_precise=0, bool return_softmax_lse=False, int? query_dtype=None, int? "
    "key_dtype=None, int? value_dtype=None, int? query_rope_dtype=None, int? key_rope_dtype=None, int? "
    "key_shared_prefix_dtype=None, int? value_shared_prefix_dtype=None, int? dequant_scale_query_dtype=None, int? "
    "dequant_scale_key_dtype=None, int? dequant_scale_value_dtype=None, int? dequant_scale_key_rope_dtype=None, int? "
    "out_dtype=None, Tensor? workspace=None, Tensor(a!) attention_out, Tensor(b!) softmax_lse) -> (Tensor(a!), "
    "Tensor(b!))",
    "npu_fused_infer_attention_score_v2 written to the caller's tensors.",
    explicit=True,
    flops=operations.of_inference_v2,
)
def npu_fused_infer_attention_score_v2_out(
    query: Any, key: Any, value: Any, *, attention_out: Any, softmax_lse: Any, workspace: Any = None, **options: Any,
) -> tuple:  # fmt: skip
    made = npu.npu_fused_infer_attention_score_v2(query, key, value, **options)
    return _into("npu_fused_infer_attention_score_v2", made, (attention_out, softmax_lse))
