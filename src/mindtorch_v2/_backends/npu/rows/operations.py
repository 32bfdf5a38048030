"""Floating point operations of products and attention: what `flops=` of their rows says, as `torch.utils.flop_counter` counts.

A product of M x K and K x N counts 2 M K N; attention the products over all pairs of queries and keys, whatever a mask hides.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...._core.dtype import DTYPES
from .numbers import numbers_of


def _columns(weight: Any) -> int:
    """The columns of a weight, of which eight of 4 bits lie in an int32."""
    return weight.shape[-1] * (8 if weight.dtype == DTYPES["int32"] else 1)


def of_product(x: Any, weight: Any) -> int:
    """Rows of x by a weight (..., K, N)."""
    return 2 * x.numel() * _columns(weight)


def of_factors(x1: Any, x2: Any) -> int:
    """`of_product` by other names; x1 may have eight numbers of 4 bits in an int32."""
    return of_product(x1, x2) * (8 if x1.dtype == DTYPES["int32"] else 1)


def of_own_rows(input: Any, x2: Any) -> int:
    """This process' rows by x2."""
    return of_product(input, x2)


def of_all_rows(input: Any, x2: Any, world_size: int) -> int:
    """The rows of all processes by x2."""
    return of_product(input, x2) * world_size


def of_groups(x: Any, weight: Any) -> int:
    """Lists of rows by lists of weights, or one list of rows by groups of weights."""
    weights = weight if len(weight) == len(x) else [weight[0]] * len(x)
    return sum(of_product(a, b) for a, b in zip(x, weights, strict=True))


def _sizes(x: Any, layout: str, heads: int) -> tuple[int, int, int]:
    """Sequences, tokens of each (packed: of all) and width of a head."""
    if layout == "BSH":
        return x.shape[0], x.shape[1], x.shape[2] // heads
    if layout == "SBH":
        return x.shape[1], x.shape[0], x.shape[2] // heads
    if layout == "BSND":
        return x.shape[0], x.shape[1], x.shape[3]
    if layout == "BNSD":
        return x.shape[0], x.shape[2], x.shape[3]
    return 1, x.shape[1] if layout == "NTD" else x.shape[0], x.shape[-1]


def _counts(ends: Sequence[int]) -> list[int]:
    return [b - a for a, b in zip([0, *ends[:-1]], ends, strict=True)]


def _pairs(query: int, key: int, batch: int, layout: str, q_lengths: Any, k_lengths: Any, paged: bool) -> int:
    """Pairs of a query and a key that a head looks at."""
    if layout in ("TND", "NTD"):
        ends = numbers_of(q_lengths, [query]) if q_lengths is not None else [query]
        keys = ends if k_lengths is None else numbers_of(k_lengths, [key])
        return sum(q * k for q, k in zip(_counts(ends), keys if paged else _counts(keys), strict=False))
    queries = [query] * batch if q_lengths is None else numbers_of(q_lengths, [query] * batch)
    keys = [key] * batch if k_lengths is None else numbers_of(k_lengths, [key] * batch)
    queries, keys = (each * batch if len(each) == 1 else each for each in (queries, keys))
    return sum(q * k for q, k in zip(queries, keys, strict=False))


def _attention(
    query: Any, key: Any, value: Any, heads: int, layout: str, q_lengths: Any, k_lengths: Any, key_heads: int = 0,
    table: Any = None, rope: Any = None,
) -> tuple[int, int, int]:  # fmt: skip
    """Pairs of all heads, the width of their products of queries and keys, and of those with values."""
    layout = layout.partition("_")[0]
    batch, queries, width = _sizes(query, layout, heads)
    if rope is not None:
        width += _sizes(rope, layout, heads)[2]
    if table is not None:  # pages of rows: the last dimension is a head's, or that of all
        of_head = value.shape[-1] if value.dim() == 4 else value.shape[-1] // (key_heads or heads)
        lengths = [] if k_lengths is None else k_lengths
        return heads * _pairs(queries, 0, batch, layout, q_lengths, lengths, True), width, of_head
    if layout in ("BSH", "SBH") and not key_heads:
        key_heads = key.shape[2] // (query.shape[2] // heads)
    of_value = _sizes(value, layout, key_heads or heads)[2]
    keys = _sizes(key, layout, 1)[1]
    return heads * _pairs(queries, keys, batch, layout, q_lengths, k_lengths, False), width, of_value


def of_training(
    query: Any, key: Any, value: Any, head_num: int, input_layout: str, actual_seq_qlen: Any, actual_seq_kvlen: Any,
    query_rope: Any = None,
) -> int:  # fmt: skip
    """The two products of attention; queries may have a turned part beside."""
    pairs, width, of_value = _attention(
        query, key, value, head_num, input_layout, actual_seq_qlen, actual_seq_kvlen, rope=query_rope
    )
    return 2 * pairs * (width + of_value)


def of_gradient(
    query: Any, key: Any, value: Any, head_num: int, input_layout: str, actual_seq_qlen: Any, actual_seq_kvlen: Any,
    query_rope: Any = None,
) -> int:  # fmt: skip
    """The five products of attention's gradient, of which one makes the scores again."""
    pairs, width, of_value = _attention(
        query, key, value, head_num, input_layout, actual_seq_qlen, actual_seq_kvlen, rope=query_rope
    )
    return 2 * pairs * (3 * width + 2 * of_value)


def of_inference(
    query: Any, key: Any, value: Any, num_heads: int, input_layout: str, num_key_value_heads: int,
    actual_seq_lengths: Any, actual_seq_lengths_kv: Any, block_table: Any = None, query_rope: Any = None,
) -> int:  # fmt: skip
    """The two products of attention, over a cache in pages too."""
    pairs, width, of_value = _attention(
        query, key, value, num_heads, input_layout, actual_seq_lengths, actual_seq_lengths_kv, num_key_value_heads,
        block_table, query_rope,
    )  # fmt: skip
    return 2 * pairs * (width + of_value)


def of_inference_v2(
    query: Any, key: Any, value: Any, num_query_heads: int, input_layout: str, num_key_value_heads: int,
    actual_seq_qlen: Any, actual_seq_kvlen: Any, block_table: Any, query_rope: Any,
) -> int:  # fmt: skip
    """`of_inference` by the second version's names."""
    return of_inference(
        query, key, value, num_query_heads, input_layout, num_key_value_heads, actual_seq_qlen, actual_seq_kvlen,
        block_table, query_rope,
    )  # fmt: skip


def of_single_tokens(
    query: Any, key: Any, value: Any, num_heads: int, input_layout: str, num_key_value_heads: int,
    actual_seq_lengths: Any, block_table: Any,
) -> int:  # fmt: skip
    """The two products of attention of single tokens, whose lengths are those of keys."""
    return of_inference(
        query, key, value, num_heads, input_layout, num_key_value_heads, None, actual_seq_lengths, block_table
    )  # fmt: skip


def of_quantised_groups(x: Any, weight: Any) -> int:
    """Rows of x by the weight of their group: one of (groups, K, N), or that in blocks of (groups, N / n, K / k, k, n)."""
    whole = weight[0] if isinstance(weight, (list, tuple)) else weight
    columns = whole.shape[-4] * whole.shape[-1] if whole.dim() == 5 else _columns(whole)
    return 2 * x.numel() * (8 if x.dtype == DTYPES["int32"] else 1) * columns


def of_routed_groups(x: Any, w: Any) -> int:
    """`of_quantised_groups` of a weight by its other name."""
    return of_quantised_groups(x, w)


def of_feed_forward(x: Any, weight1: Any, weight2: Any) -> int:
    """The two products, of which gates leave half of the first's columns to the second."""
    rows = x.numel() // x.shape[-1]
    return of_product(x, weight1) + 2 * rows * weight2.shape[-2] * weight2.shape[-1]
