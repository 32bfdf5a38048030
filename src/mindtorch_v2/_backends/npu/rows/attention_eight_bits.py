"""Attention of inference over paged caches of 8-bit numbers."""

from __future__ import annotations

from typing import Any

from ...._core.dtype import DTYPES
from ...._operators.table import aten
from .attention import _softmax
from .cache import paged_rows
from .checks import composite, require, require_choice, require_dtype, wide
from .numbers import numbers_of

_TYPES = {1: DTYPES["float16"], 27: DTYPES["bfloat16"]}
_OF_CACHES, _OF_EVERYTHING = 1, 3  # quant_type
_MOST = 127


def _by_channel(rows: Any, scales: Any) -> Any:
    """(heads, tokens, width) of rows times a scale for each number of a token."""
    return (wide(rows) * wide(scales).reshape(rows.shape[1:])).transpose(0, 1)


@composite(
    "atb::_npu_paged_attention_quant(Tensor query, Tensor key_cache, Tensor value_cache, int num_kv_heads, int num_heads, float "
    "scale_value, Tensor block_table, Tensor context_lens, int quant_type, int outdata_type, Tensor k_descale, Tensor v_descale, "
    "Tensor(a!) out) -> ()",
    "Single tokens over paged caches of int8, written to `out`: caches whose numbers have scales (quant_type 1), or int8 queries too, "
    "with a scale for each head, and probabilities rounded to 127ths of the largest (3).",
    explicit=True,
    devices={"context_lens": "host"},
)
def _npu_paged_attention_quant(
    query: Any, key_cache: Any, value_cache: Any, num_kv_heads: int, num_heads: int, scale_value: float, block_table: Any,
    context_lens: Any, quant_type: int, outdata_type: int, k_descale: Any, v_descale: Any, out: Any,
) -> None:  # fmt: skip
    operator = "_npu_paged_attention_quant"
    require_choice(operator, "quant_type", quant_type, (_OF_CACHES, _OF_EVERYTHING))
    require_choice(operator, "outdata_type", outdata_type, tuple(_TYPES))
    require_dtype(operator, "query", query, ("int8",) if quant_type == _OF_EVERYTHING else ("float16", "bfloat16"))
    for name, x in (("key_cache", key_cache), ("value_cache", value_cache)):
        require_dtype(operator, name, x, ("int8",))
        require(
            x.dim() == 4 and x.shape[2] == num_kv_heads and num_kv_heads > 0 and num_heads % num_kv_heads == 0,
            operator,
            f"{name} must be (blocks, block, {num_kv_heads}, width) and its heads divide the {num_heads} of query, but its sizes "
            f"are {list(x.shape)}",
        )
    count = num_heads if quant_type == _OF_EVERYTHING else num_kv_heads * key_cache.shape[3]
    for name, x in (("k_descale", k_descale), ("v_descale", v_descale)):
        require_dtype(operator, name, x, ("float32",))
        require(
            x.numel() == count,
            operator,
            f"{name} must have {count} numbers for quant_type {quant_type}, not {x.numel()}",
        )
    require(
        out.dtype == _TYPES[outdata_type],
        operator,
        f"out must be {_TYPES[outdata_type]}, as outdata_type {outdata_type} says",
    )
    for number, length in enumerate(numbers_of(context_lens, [])):
        if length == 0:
            continue
        k, v = (paged_rows(x, block_table[number], length) for x in (key_cache, value_cache))
        q = wide(query[number]).reshape([num_kv_heads, num_heads // num_kv_heads, -1])
        if quant_type == _OF_CACHES:
            k, v = _by_channel(k, k_descale), _by_channel(v, v_descale)
            scores = aten.matmul(q, k.transpose(-1, -2)) * scale_value
            numerators, _, total = _softmax(scores, None)
            made = aten.matmul(numerators, v) / total
        else:
            k, v = (wide(x).transpose(0, 1) for x in (k, v))
            by_head = [num_kv_heads, -1, 1]
            scores = aten.matmul(q, k.transpose(-1, -2)) * (k_descale.reshape(by_head) * scale_value)
            numerators, _, total = _softmax(scores, None)  # the largest of a row is 1
            made = aten.matmul(aten.round(numerators * _MOST), v) * (v_descale.reshape(by_head) / _MOST) / total
        aten.copy_(out[number], made.reshape(out[number].shape))
