"""Gradients of attention to chosen keys, and of the indexer that chooses them."""

from __future__ import annotations

from typing import Any

from ...._core.dtype import DTYPES
from ...._operators.table import aten
from .checks import HALF_AND_FLOAT, composite, require, require_choice, require_dtype, wide
from .sparse_attention import _chosen, _runs, _sees, _unbounded

_INT64 = DTYPES["int64"]


def _zeros_wide(x) -> Any:
    return aten.zeros(x.shape, dtype=wide(x[:0]).dtype, device=x.device)


@composite(
    "npu::npu_lightning_indexer_grad(Tensor query, Tensor key, Tensor dy, Tensor sparse_indices, Tensor weights, Tensor? "
    'actual_seq_lengths_query=None, Tensor? actual_seq_lengths_key=None, str? layout="BSND", int? sparse_mode=3, int? '
    "pre_tokens=9223372036854775807, int? next_tokens=9223372036854775807) -> (Tensor, Tensor, Tensor)",
    "Gradients of npu_lightning_indexer's sums by queries, keys and weights.",
    explicit=True,
)
def npu_lightning_indexer_grad(
    query: Any, key: Any, dy: Any, sparse_indices: Any, weights: Any, actual_seq_lengths_query: Any = None,
    actual_seq_lengths_key: Any = None, layout: Any = "BSND", sparse_mode: Any = 3,
    pre_tokens: Any = 9223372036854775807, next_tokens: Any = 9223372036854775807,
) -> tuple:  # fmt: skip
    operator = "npu_lightning_indexer_grad"
    require_dtype(operator, "query", query, HALF_AND_FLOAT)
    require_choice(operator, "sparse_mode", sparse_mode, (0, 3))
    _unbounded(operator, pre_tokens, next_tokens)
    dkey = _zeros_wide(key)
    runs = _runs(operator, query, layout, actual_seq_lengths_query, [key, dkey], layout, actual_seq_lengths_key, None)
    dquery, dweights = (aten.zeros_like(x) for x in (query, weights))
    for run in (part for whole in runs for part in whole.parts(query.shape[-2])):
        q, w, k = wide(query[run.place]), wide(weights[run.place]), wide(run.keys[0][:, 0])
        keys = k.shape[0]
        places = sparse_indices[run.place][:, 0].to(_INT64)
        # What is not chosen gets nothing; -1 stands for none.
        spread = aten.zeros([places.shape[0], keys + 1], dtype=q.dtype, device=q.device)
        given = wide(dy[run.place])[:, 0].to(q.dtype)
        spread = spread.scatter_add_(1, aten.where(places < 0, keys, places), given)[:, :keys].unsqueeze(1)
        dots = aten.relu(aten.matmul(q, k.transpose(0, 1)))
        through = spread * w.unsqueeze(-1) * (dots > 0).to(q.dtype)
        aten.copy_(dquery[run.place], aten.matmul(through, k))
        aten.copy_(dweights[run.place], (spread * dots).sum([-1]))
        run.keys[1][:, 0].add_(aten.matmul(aten.flatten(through, 0, 1).transpose(0, 1), aten.flatten(q, 0, 1)))
    return dquery, dkey.to(key.dtype), dweights


@composite(
    "npu::npu_sparse_flash_attention_grad(Tensor query, Tensor key, Tensor? value, Tensor sparse_indices, Tensor d_out, Tensor "
    "out, Tensor softmax_max, Tensor softmax_sum, float scale_value, int sparse_block_size, Tensor? query_rope=None, Tensor? "
    'key_rope=None, Tensor? actual_seq_qlen=None, Tensor? actual_seq_kvlen=None, str? layout="BSND", int? sparse_mode=3, int? '
    "pre_tokens=9223372036854775807, int? next_tokens=9223372036854775807, int? attention_mode=0) -> (Tensor, Tensor, Tensor, "
    "Tensor, Tensor)",
    "Gradients of npu_sparse_flash_attention by queries, keys, values and their turned parts, empty for those that are not "
    "there, from its statistics.",
    explicit=True,
)
def npu_sparse_flash_attention_grad(
    query: Any, key: Any, value: Any, sparse_indices: Any, d_out: Any, out: Any, softmax_max: Any, softmax_sum: Any,
    scale_value: float, sparse_block_size: int, query_rope: Any = None, key_rope: Any = None,
    actual_seq_qlen: Any = None, actual_seq_kvlen: Any = None, layout: Any = "BSND", sparse_mode: Any = 3,
    pre_tokens: Any = 9223372036854775807, next_tokens: Any = 9223372036854775807, attention_mode: Any = 0,
) -> tuple:  # fmt: skip
    operator = "npu_sparse_flash_attention_grad"
    require_dtype(operator, "query", query, HALF_AND_FLOAT)
    _unbounded(operator, pre_tokens, next_tokens)
    require_choice(operator, "attention_mode", attention_mode, (0, 2))
    require((query_rope is None) == (key_rope is None), operator, "query_rope and key_rope belong together")
    values = key if value is None else value
    turned = [] if key_rope is None else [key_rope]
    sums = [_zeros_wide(x) for x in (key, values, *turned)]
    runs = _runs(
        operator, query, layout, actual_seq_qlen, [key, values, *turned, *sums], layout, actual_seq_kvlen, None
    )
    dquery = aten.zeros_like(query)
    dquery_rope = None if query_rope is None else aten.zeros_like(query_rope)
    largest, total = softmax_max.squeeze(-3), softmax_sum.squeeze(-3)
    for run in (part for whole in runs for part in whole.parts(query.shape[-2])):
        count = len(run.keys) // 2
        own, into = run.keys[:count], run.keys[count:]
        q, k, v = wide(query[run.place]), wide(own[0][:, 0]), wide(own[1][:, 0])
        width = q.shape[-1]
        if query_rope is not None:
            q, k = aten.cat([q, wide(query_rope[run.place])], -1), aten.cat([k, wide(own[2][:, 0])], -1)
        sees = _sees(operator, sparse_mode, run, k.shape[0], query.device)
        mask = _chosen(sparse_indices[run.place][:, 0], sparse_block_size, k.shape[0], sees).unsqueeze(1)
        rows, sum_of = largest[run.place].unsqueeze(-1).to(q.dtype), total[run.place].unsqueeze(-1).to(q.dtype)
        scores = aten.masked_fill(aten.matmul(q, k.transpose(0, 1)) * scale_value, ~mask, float("-inf"))
        p = aten.where(mask, aten.exp(scores - rows) / aten.where(sum_of == 0, 1, sum_of), 0)
        dy = wide(d_out[run.place])
        lost = (dy * wide(out[run.place])).sum([-1], True)
        through = p * (aten.matmul(dy, v.transpose(0, 1)) - lost) * scale_value  # (tokens, heads, keys)
        dq = aten.matmul(through, k)
        dk = aten.matmul(aten.flatten(through, 0, 1).transpose(0, 1), aten.flatten(q, 0, 1))
        into[1][:, 0].add_(aten.matmul(aten.flatten(p, 0, 1).transpose(0, 1), aten.flatten(dy, 0, 1)))
        into[0][:, 0].add_(dk[:, :width])
        aten.copy_(dquery[run.place], dq[..., :width])
        if dquery_rope is not None:
            into[2][:, 0].add_(dk[:, width:])
            aten.copy_(dquery_rope[run.place], dq[..., width:])
    nothing = aten.empty([0], dtype=query.dtype, device=query.device)
    dkey, dvalue = sums[0].to(key.dtype), sums[1].to(values.dtype)
    if dquery_rope is None:
        return dquery, dkey, dvalue, nothing, aten.empty_like(nothing)
    return dquery, dkey, dvalue, dquery_rope, sums[2].to(key_rope.dtype)
