"""Attention to chosen blocks of a paged cache, as vllm-ascend's csrc/attention/sparse_attention_score documents and tests it."""

from __future__ import annotations

from typing import Any

from ...._core.dtype import DTYPES
from ...._operators.table import aten
from .attention import _softmax
from .cache import paged_rows
from .checks import composite, no_gradient, require, require_choice, require_dtype, until_a_library_defines, wide
from .numbers import numbers_of

_INT64 = DTYPES["int64"]
_TYPES = ("float16", "bfloat16", "float32", "float64", "float8_e4m3fn")
_BLOCK = 128
_ROWS = 256  # queries whose scores are held at a time


def _seen(chosen: Any, counts: Any, last: Any, keys: int) -> Any:
    """True where a query (heads, tokens) sees a key: one of its chosen blocks has it, and it is not behind the query's own place."""
    blocks = -(-keys // _BLOCK)
    places = chosen.to(_INT64)
    order = aten.arange(places.shape[-1], device=places.device)
    unused = (places < 0) | (places >= blocks)
    if counts is not None:
        unused = unused | (order >= counts.unsqueeze(-1))
    taken = aten.zeros([*places.shape[:-1], blocks + 1], dtype=DTYPES["bool"], device=places.device)
    taken = taken.scatter_(-1, aten.where(unused, blocks, places), True)[..., :blocks]
    taken = aten.repeat_interleave(taken, _BLOCK, -1)[..., :keys]
    return taken & (aten.arange(keys, device=places.device) <= last.unsqueeze(-1))


def _of_rows(scales: Any, places: Any) -> Any:
    """The scales (heads, blocks, 1) of one sequence for rows at `places`: (rows, heads, 1)."""
    return aten.index_select(wide(scales), 1, places // _BLOCK).transpose(0, 1)


@composite(
    "npu::npu_sparse_attention_score(Tensor query, Tensor key, Tensor value, Tensor select_idx, Tensor block_table, *, Tensor? "
    "select_num_idx=None, Tensor? q_dequant_scale=None, Tensor? k_dequant_scale=None, Tensor? v_dequant_scale=None, Tensor? "
    'actual_seq_lengths=None, Tensor? actual_seq_lengths_kv=None, str q_input_layout="TND", str kv_input_layout="BNSD", int '
    "num_key_value_heads=1, float scale_value=1.0, int block_size=128, int top_k=16, int inner_precise=0) -> Tensor",
    "Attention of packed queries to the blocks of keys that select_idx names for each head of keys and query, up to the query's own "
    "place, counted from its sequence's end. A query that sees nothing gives zeros.",
    explicit=True,
    grad=no_gradient("npu_sparse_attention_score", "query", "key", "value"),
)
def npu_sparse_attention_score(
    query: Any, key: Any, value: Any, select_idx: Any, block_table: Any, *, select_num_idx: Any = None,
    q_dequant_scale: Any = None, k_dequant_scale: Any = None, v_dequant_scale: Any = None, actual_seq_lengths: Any = None,
    actual_seq_lengths_kv: Any = None, q_input_layout: str = "TND", kv_input_layout: str = "BNSD", num_key_value_heads: int = 1,
    scale_value: float = 1.0, block_size: int = 128, top_k: int = 16, inner_precise: int = 0,
) -> Any:  # fmt: skip
    operator = "npu_sparse_attention_score"
    for name, x in (("query", query), ("key", key), ("value", value)):
        require_dtype(operator, name, x, _TYPES)
    require_choice(operator, "q_input_layout", q_input_layout, ("TND",))
    require_choice(operator, "block_size", block_size, (_BLOCK,))
    require(query.dim() == 3, operator, f"query must be (tokens, heads, width), but it has {query.dim()} dimensions")
    tokens, heads, width = query.shape
    kv_heads = num_key_value_heads
    require(
        kv_heads > 0 and heads % kv_heads == 0,
        operator,
        f"num_key_value_heads must divide the {heads} heads of query, but it is {kv_heads}",
    )
    for name, x in (("key", key), ("value", value)):
        require(
            list(x.shape[1:]) == [_BLOCK, kv_heads, width],
            operator,
            f"{name} must be (blocks, {_BLOCK}, {kv_heads}, {width}), but its sizes are {list(x.shape)}",
        )
    require(
        list(select_idx.shape) == [kv_heads, tokens, top_k],
        operator,
        f"select_idx must be ({kv_heads}, {tokens}, {top_k}): heads of keys, tokens, top_k; its sizes are {list(select_idx.shape)}",
    )
    require(
        actual_seq_lengths is not None and actual_seq_lengths_kv is not None,
        operator,
        "actual_seq_lengths and actual_seq_lengths_kv are needed, the tokens of each sequence",
    )
    count = block_table.shape[0]
    lengths = numbers_of(actual_seq_lengths, [tokens] + [0] * (count - 1))
    kv_lengths = numbers_of(actual_seq_lengths_kv, lengths)
    require(
        len(lengths) == len(kv_lengths) == count and sum(lengths) == tokens,
        operator,
        f"actual_seq_lengths and actual_seq_lengths_kv must have {count} numbers, and the former the sum {tokens}, but they are "
        f"{lengths} and {kv_lengths}",
    )
    eight_bits = str(query.dtype).endswith("float8_e4m3fn")
    out = aten.zeros(query.shape, dtype=DTYPES["float16"] if eight_bits else query.dtype, device=query.device)
    first = 0
    for number, (length, keys) in enumerate(zip(lengths, kv_lengths, strict=True)):
        require(keys >= length, operator, f"sequence {number} has {length} queries, but only {keys} keys")
        k, v = (wide(paged_rows(x, block_table[number], keys)) for x in (key, value))
        places = aten.arange(keys, device=query.device)
        if k_dequant_scale is not None:
            k = k * _of_rows(k_dequant_scale[number], places)
        if v_dequant_scale is not None:
            v = v * _of_rows(v_dequant_scale[number], places)
        k, v = k.permute([1, 2, 0]).unsqueeze(1), v.transpose(0, 1).unsqueeze(1)
        for start in range(first, first + length, _ROWS):
            at = slice(start, min(start + _ROWS, first + length))
            last = aten.arange(at.start, at.stop, device=query.device) + (keys - length - first)
            q = wide(query[at])
            if q_dequant_scale is not None:
                q = q * _of_rows(q_dequant_scale[number], last)
            q = q.transpose(0, 1).reshape([kv_heads, heads // kv_heads, at.stop - at.start, width])
            counts = None if select_num_idx is None else select_num_idx[:, at]
            seen = _seen(select_idx[:, at], counts, last, keys).unsqueeze(1)
            scores = aten.masked_fill(aten.matmul(q, k) * scale_value, ~seen, float("-inf"))
            numerators, _, total = _softmax(scores, None)
            made = aten.matmul(numerators, v) / aten.where(total == 0, 1, total)
            aten.copy_(out[at], made.flatten(0, 1).transpose(0, 1))
        first += length
    return out


until_a_library_defines("npu_sparse_attention_score")
