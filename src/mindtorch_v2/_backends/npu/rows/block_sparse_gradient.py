"""The gradient of attention with blocks of queries and keys left out, from its result and the logarithms of its sums."""

from __future__ import annotations

from typing import Any

from ...._core.dtype import DTYPES
from ...._operators.table import aten
from .checks import HALF_AND_FLOAT, composite, require, require_choice, require_dtype, wide
from .sparse_attention import _spans


def _of_sequences(layout: str, q_sizes: list[int], k_sizes: list[int]) -> list[tuple[Any, Any]]:
    """Of each sequence the index of its queries and of its keys, into tensors whose heads come after their tokens."""
    if layout == "BNSD":
        return [((i, slice(0, q)), (i, slice(0, k))) for i, (q, k) in enumerate(zip(q_sizes, k_sizes, strict=True))]
    made, first, start = [], 0, 0
    for q, k in zip(q_sizes, k_sizes, strict=True):
        made.append((slice(first, first + q), slice(start, start + k)))
        first, start = first + q, start + k
    return made


@composite(
    "npu::npu_block_sparse_attention_backward(Tensor d_out, Tensor query, Tensor key, Tensor value, Tensor attention_out, Tensor "
    "softmax_lse, Tensor block_sparse_mask, int[]? block_shape, int[]? actual_seq_lengths, int[]? actual_seq_lengths_kv, str "
    "q_input_layout, str kv_input_layout, int num_key_value_heads, float scale_value) -> (Tensor, Tensor, Tensor)",
    "Gradients of npu_block_sparse_attention by query, key and value, from its result and the logarithms of its sums.",
    explicit=True,
)
def npu_block_sparse_attention_backward(
    d_out: Any, query: Any, key: Any, value: Any, attention_out: Any, softmax_lse: Any, block_sparse_mask: Any,
    block_shape: Any, actual_seq_lengths: Any, actual_seq_lengths_kv: Any, q_input_layout: str, kv_input_layout: str,
    num_key_value_heads: int, scale_value: float,
) -> tuple:  # fmt: skip
    operator = "npu_block_sparse_attention_backward"
    for name, x in (("query", query), ("key", key), ("value", value), ("d_out", d_out)):
        require_dtype(operator, name, x, HALF_AND_FLOAT)
    require_choice(operator, "q_input_layout", q_input_layout, ("TND", "BNSD"))
    require_choice(operator, "kv_input_layout", kv_input_layout, (q_input_layout,))
    heads = query.shape[1]
    require(
        key.shape[1] == num_key_value_heads and heads % num_key_value_heads == 0,
        operator,
        f"num_key_value_heads must be the key's heads, {key.shape[1]}, and divide the {heads} of the query, but it is "
        f"{num_key_value_heads}",
    )
    packed = q_input_layout == "TND"
    given = actual_seq_lengths is not None and actual_seq_lengths_kv is not None
    require(given or not packed, operator, "layout TND takes actual_seq_lengths and actual_seq_lengths_kv")
    require(
        list(softmax_lse.shape) == [*query.shape[:-1], 1],
        operator,
        f"softmax_lse must be {[*query.shape[:-1], 1]}, a number for each row, but its sizes are {list(softmax_lse.shape)}",
    )
    rows, columns = block_shape or (128, 128)
    count = block_sparse_mask.shape[0]
    q_sizes = list(actual_seq_lengths) if given else [query.shape[2]] * count
    k_sizes = list(actual_seq_lengths_kv) if given else [key.shape[2]] * count
    grads = [aten.zeros(x.shape, dtype=wide(x).dtype, device=x.device) for x in (query, key, value)]
    # Tokens before heads, as they are packed.
    dq, dk, dv, q, k, v, g, out, lse = (
        x if packed else x.transpose(1, 2) for x in (*grads, query, key, value, d_out, attention_out, softmax_lse)
    )
    for number, (queries, keys) in enumerate(_of_sequences(q_input_layout, q_sizes, k_sizes)):
        tokens, length = q_sizes[number], k_sizes[number]
        own_k, own_v = (wide(x[keys]).transpose(0, 1).unsqueeze(1) for x in (k, v))  # (heads of keys, 1, tokens, width)
        taken = aten.repeat_interleave(block_sparse_mask[number].to(DTYPES["bool"]), columns, -1)[:, :, :length]
        own_q, own_g, own_out, own_lse = (
            wide(x[queries]).transpose(0, 1).unflatten(0, [num_key_value_heads, -1]) for x in (q, g, out, lse)
        )
        for first, last in _spans(tokens, heads, length):
            part, by_out = own_q[:, :, first:last], own_g[:, :, first:last]
            seen = taken[:, aten.arange(first, last, device=query.device) // rows].unflatten(
                0, [num_key_value_heads, -1]
            )
            scores = aten.matmul(part, own_k.transpose(-1, -2)) * scale_value
            p = aten.where(seen, aten.exp(scores - own_lse[:, :, first:last]), 0)
            through = (by_out * own_out[:, :, first:last]).sum([-1], True)
            by_score = p * (aten.matmul(by_out, own_v.transpose(-1, -2)) - through) * scale_value
            aten.copy_(dq[queries][first:last], aten.matmul(by_score, own_k).flatten(0, 1).transpose(0, 1))
            for target, weights, made in ((dk, by_score, part), (dv, p, by_out)):
                more = aten.matmul(weights.transpose(-1, -2), made).sum([1])
                aten.add_(target[keys], more.transpose(0, 1))
    return tuple(grad.to(x.dtype) for grad, x in zip(grads, (query, key, value), strict=True))
