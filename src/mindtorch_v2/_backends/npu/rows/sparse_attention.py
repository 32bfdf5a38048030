"""Attention to chosen keys: which ones an indexer takes to be the most telling, and attention to those alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from ...._core.dtype import DTYPES
from ...._operators.table import S, T, aten, namespace
from .attention import _of_heads, _softmax
from .cache import paged_rows
from .checks import HALF_AND_FLOAT, composite, no_gradient, require, require_absent, require_choice, require_dtype, wide
from .numbers import numbers_of

npu = namespace("npu")

_INT32, _INT64, _BOOL = DTYPES["int32"], DTYPES["int64"], DTYPES["bool"]
_WITHOUT_END = (1 << 63) - 1


_AT_ONCE, _MOST_ROWS = 1 << 22, 128  # scores, and queries, that are looked at together


class _Run(NamedTuple):
    """Queries of one sequence: where they lie, and the keys' tensors, tokens first."""

    place: Any  # an index into (batch, tokens, ...) or into packed tokens
    tokens: int
    keys: list
    first: int = 0  # which of the sequence's queries the first is
    whole: int = 0  # how many the sequence has

    def parts(self, heads: int) -> Iterator[_Run]:
        """The queries some at a time, so that their scores are never there as a whole."""
        for first, last in _spans(self.tokens, heads, self.keys[0].shape[0]):
            if isinstance(self.place, slice):
                place: Any = slice(self.place.start + first, self.place.start + last)
            else:
                place = self.place[0], slice(first, last)
            yield _Run(place, last - first, self.keys, first, self.tokens)


def _spans(tokens: int, heads: int, keys: int) -> list[tuple[int, int]]:
    rows = max(1, min(_MOST_ROWS, _AT_ONCE // max(1, heads * keys)))
    return [(first, min(first + rows, tokens)) for first in range(0, tokens, rows)]


def _runs(operator, query, layout_query, q_lengths, keys, layout_key, k_lengths, table) -> list[_Run]:
    """The sequences of a call whose queries and keys are padded, packed or, keys only, paged."""
    require_choice(operator, "layout_query", layout_query, ("BSND", "TND"))
    require_choice(operator, "layout of keys", layout_key, ("BSND", "TND", "PA_BSND"))
    require(
        layout_key in ("PA_BSND", layout_query),
        operator,
        f"the keys' layout must be PA_BSND or that of the queries, {layout_query}, but it is {layout_key}",
    )
    if layout_query == "TND":
        require(q_lengths is not None, operator, "layout TND takes actual_seq_lengths_query, the ends of the sequences")
        ends = numbers_of(q_lengths, [query.shape[0]])
        spans = list(zip([0, *ends[:-1]], ends, strict=True))
        places: list[tuple[Any, int]] = [(slice(a, b), b - a) for a, b in spans]
    else:
        lengths = (
            [query.shape[1]] * query.shape[0]
            if q_lengths is None
            else numbers_of(q_lengths, [query.shape[1]] * query.shape[0])
        )
        places = [((i, slice(0, n)), n) for i, n in enumerate(lengths)]
    count = len(places)
    if layout_key == "BSND":
        sizes = [keys[0].shape[1]] * count if k_lengths is None else numbers_of(k_lengths, [keys[0].shape[1]] * count)
        parts = [[x[i, :n] for x in keys] for i, n in enumerate(sizes)]
    else:
        require(k_lengths is not None, operator, f"layout {layout_key} takes the actual lengths of keys")
        sizes = numbers_of(k_lengths, [keys[0].shape[0]] * count)
        if layout_key == "TND":
            parts = [[x[a:b] for x in keys] for a, b in zip([0, *sizes[:-1]], sizes, strict=True)]
        else:
            require(table is not None, operator, "layout PA_BSND takes block_table")
            parts = [[paged_rows(x, table[i], n) for x in keys] for i, n in enumerate(sizes)]
    require(len(parts) == count, operator, f"there are {count} sequences of queries, but {len(parts)} of keys")
    return [_Run(place, tokens, part) for (place, tokens), part in zip(places, parts, strict=True)]


def _sees(operator, mode, run, keys, device) -> Any:
    """True where a query may see a key: everywhere (0), or up to its own place from the end (3)."""
    require_choice(operator, "sparse_mode", mode, (0, 3))
    if mode == 0:
        return aten.ones([run.tokens, keys], dtype=_BOOL, device=device)
    own = aten.arange(run.tokens, device=device).unsqueeze(-1) + (run.first + keys - run.whole)
    return aten.arange(keys, device=device) <= own


def _unbounded(operator, pre_tokens, next_tokens) -> None:
    require(
        pre_tokens == next_tokens == _WITHOUT_END,
        operator,
        f"pre_tokens and next_tokens must be {_WITHOUT_END}, but they are {pre_tokens} and {next_tokens}",
    )


def _index_scores(query, key, weights) -> tuple:
    """sum over heads of weight * relu(query . key), (tokens, keys), and the relu, (tokens, heads, keys)."""
    dots = aten.relu(aten.matmul(wide(query), wide(key[:, 0]).transpose(0, 1)))
    return (dots * wide(weights).unsqueeze(-1)).sum([1]), dots


def _best(scores, sees, count) -> tuple:
    """The `count` best keys of each query, best first, -1 where there are fewer; and their scores."""
    scores = aten.masked_fill(scores, ~sees, float("-inf"))
    order = aten.argsort(scores, dim=-1, descending=True, stable=True)[:, :count]
    values = aten.gather(scores, -1, order)
    chosen = aten.where(values == float("-inf"), -1, order)
    missing = [0, count - chosen.shape[-1]]
    return aten.constant_pad_nd(chosen, missing, -1), aten.constant_pad_nd(values, missing, float("-inf"))


def _index(operator, runs, query, scores_of, sparse_count, sparse_mode, return_value) -> tuple:
    require(0 < sparse_count <= 8192, operator, f"sparse_count must be from 1 to 8192, but it is {sparse_count}")
    sizes = [*query.shape[:-2], 1, sparse_count]
    indices = aten.full(sizes, -1, dtype=_INT32, device=query.device)
    values = aten.zeros(sizes if return_value else [0], dtype=query.dtype, device=query.device)
    for run in (part for whole in runs for part in whole.parts(query.shape[-2])):
        scores = scores_of(run)
        sees = _sees(operator, sparse_mode, run, run.keys[0].shape[0], query.device)
        chosen, best = _best(scores, sees, sparse_count)
        aten.copy_(indices[run.place], chosen.unsqueeze(1))
        if return_value:
            aten.copy_(values[run.place], best.unsqueeze(1))
    return indices, values


def _index_gradients(
    grad, query, key, weights, q_lengths, k_lengths, layout_query, layout_key, sparse_mode, pre_tokens, next_tokens,
    return_value, chosen,
) -> tuple:  # fmt: skip
    """Gradients of the sums, which is what else than numbers the indexer gives."""
    operator = "npu_lightning_indexer"
    require(return_value, operator, "its gradient is that of the sums: return_value must be True")
    require(layout_key == layout_query, operator, f"keys in layout {layout_key} have no gradient")
    if grad is None:
        return None, None, None
    return npu.npu_lightning_indexer_grad(
        query, key, grad, chosen, weights, q_lengths, k_lengths, layout_query, sparse_mode, pre_tokens, next_tokens
    )


@composite(
    "npu::npu_lightning_indexer(Tensor query, Tensor key, Tensor weights, *, Tensor? actual_seq_lengths_query=None, "
    'Tensor? actual_seq_lengths_key=None, Tensor? block_table=None, str layout_query="BSND", str layout_key="BSND", '
    "int sparse_count=2048, int sparse_mode=3, int pre_tokens=9223372036854775807, int "
    "next_tokens=9223372036854775807, bool return_value=False) -> (Tensor, Tensor)",
    "The sparse_count keys of each query with the largest sum over heads of weight * relu(query . key), best first, "
    "-1 where there are fewer; their sums if asked for.",
    explicit=True,
    grad={
        (
            "query",
            "key",
            "weights",
        ): lambda grads, query, key, weights, actual_seq_lengths_query, actual_seq_lengths_key, layout_query, layout_key, sparse_mode, pre_tokens, next_tokens, return_value, result0: (
            _index_gradients(
                grads[1],
                query,
                key,
                weights,
                actual_seq_lengths_query,
                actual_seq_lengths_key,
                layout_query,
                layout_key,
                sparse_mode,
                pre_tokens,
                next_tokens,
                return_value,
                result0,
            )
        )
    },
    nondiff=(0,),
)
def npu_lightning_indexer(
    query: Any, key: Any, weights: Any, *, actual_seq_lengths_query: Any = None, actual_seq_lengths_key: Any = None,
    block_table: Any = None, layout_query: str = "BSND", layout_key: str = "BSND", sparse_count: int = 2048,
    sparse_mode: int = 3, pre_tokens: int = 9223372036854775807, next_tokens: int = 9223372036854775807,
    return_value: bool = False,
) -> tuple:  # fmt: skip
    operator = "npu_lightning_indexer"
    require_dtype(operator, "query", query, HALF_AND_FLOAT)
    _unbounded(operator, pre_tokens, next_tokens)
    runs = _runs(
        operator, query, layout_query, actual_seq_lengths_query, [key], layout_key, actual_seq_lengths_key, block_table
    )

    def scores(run: Any) -> Any:
        return _index_scores(query[run.place], run.keys[0], weights[run.place])[0]

    return _index(operator, runs, query, scores, sparse_count, sparse_mode, return_value)


@composite(
    "npu::npu_quant_lightning_indexer(Tensor query, Tensor key, Tensor weights, Tensor query_dequant_scale, Tensor "
    "key_dequant_scale, int query_quant_mode, int key_quant_mode, *, Tensor? actual_seq_lengths_query=None, Tensor? "
    'actual_seq_lengths_key=None, Tensor? block_table=None, str layout_query="BSND", str layout_key="BSND", int '
    "sparse_count=2048, int sparse_mode=3, int pre_tokens=9223372036854775807, int next_tokens=9223372036854775807, "
    "int? query_dtype=None, int? key_dtype=None) -> Tensor",
    "npu_lightning_indexer of int8 queries and keys with a scale for each token and head.",
    explicit=True,
    grad=no_gradient("npu_quant_lightning_indexer", "weights", "query_dequant_scale", "key_dequant_scale"),
)
def npu_quant_lightning_indexer(
    query: Any, key: Any, weights: Any, query_dequant_scale: Any, key_dequant_scale: Any, query_quant_mode: int,
    key_quant_mode: int, *, actual_seq_lengths_query: Any = None, actual_seq_lengths_key: Any = None,
    block_table: Any = None, layout_query: str = "BSND", layout_key: str = "BSND", sparse_count: int = 2048,
    sparse_mode: int = 3, pre_tokens: int = 9223372036854775807, next_tokens: int = 9223372036854775807,
    query_dtype: Any = None, key_dtype: Any = None,
) -> Any:  # fmt: skip
    operator = "npu_quant_lightning_indexer"
    require_absent(operator, query_dtype=query_dtype, key_dtype=key_dtype)
    require_choice(operator, "query_quant_mode", query_quant_mode, (0,))
    require_choice(operator, "key_quant_mode", key_quant_mode, (0,))
    require_dtype(operator, "query", query, ("int8",))
    require_dtype(operator, "key", key, ("int8",))
    _unbounded(operator, pre_tokens, next_tokens)
    keys = [key, key_dequant_scale]
    runs = _runs(
        operator, query, layout_query, actual_seq_lengths_query, keys, layout_key, actual_seq_lengths_key, block_table
    )

    def scores(run: Any) -> Any:
        rows = wide(query[run.place]) * wide(query_dequant_scale[run.place]).unsqueeze(-1)
        columns = wide(run.keys[0]) * wide(run.keys[1]).unsqueeze(-1)
        return _index_scores(rows, columns, weights[run.place])[0]

    return _index(operator, runs, query, scores, sparse_count, sparse_mode, False)[0]


def _chosen(indices, block, keys, sees) -> Any:
    """True where a query sees a key and one of its chosen blocks has it."""
    blocks = -(-keys // block)
    places = indices.to(_INT64)
    taken = aten.zeros([places.shape[0], blocks + 1], dtype=_BOOL, device=places.device)
    taken = taken.scatter_(1, aten.where(places < 0, blocks, places), True)[:, :blocks]
    return aten.repeat_interleave(taken, block, -1)[:, :keys] & sees


def _attended(q, k, v, mask, scale, sinks) -> tuple:
    """Attention of (tokens, heads, width) to (keys, width): the result, and the largest score and the sum of each row."""
    scores = aten.matmul(wide(q).transpose(0, 1), wide(k).transpose(0, 1)) * scale
    scores = aten.masked_fill(scores, ~mask, float("-inf"))
    numerators, top, total = _softmax(scores.unsqueeze(0), _of_heads(sinks))
    p = numerators / aten.where(total == 0, 1, total)
    out = aten.matmul(p[0], wide(v)).transpose(0, 1)
    return out, top[0, :, :, 0].transpose(0, 1), total[0, :, :, 0].transpose(0, 1)


def _attention_gradients(
    grad, tensors, indices, results, scale, block, lengths, layouts, modes, with_statistics
) -> tuple:  # fmt: skip
    operator = "npu_sparse_flash_attention"
    query, key, value, query_rope, key_rope = tensors
    require(with_statistics, operator, "its gradient is computed from the statistics: return_softmax_lse must be True")
    require(layouts[0] == layouts[1], operator, f"keys in layout {layouts[1]} have no gradient")
    made = npu.npu_sparse_flash_attention_grad(
        query, key, value, indices, grad, *results, scale, block, query_rope, key_rope, *lengths, layouts[0], *modes
    )
    own = [None if given is None else found for given, found in zip(tensors, made, strict=True)]
    if value is None and own[1] is not None:
        own[1] = made[1] + made[2]  # the keys are the values
    return tuple(own)


@composite(
    "npu::npu_sparse_flash_attention(Tensor query, Tensor key, Tensor? value, Tensor sparse_indices, float "
    "scale_value, *, Tensor? block_table=None, Tensor? actual_seq_lengths_query=None, Tensor? "
    "actual_seq_lengths_kv=None, Tensor? query_rope=None, Tensor? key_rope=None, int sparse_block_size=1, str "
    'layout_query="BSND", str layout_kv="BSND", int sparse_mode=3, int pre_tokens=9223372036854775807, int '
    "next_tokens=9223372036854775807, int attention_mode=0, bool return_softmax_lse=False, Tensor? sinks=None) -> "
    "(Tensor, Tensor, Tensor)",
    "Attention of each query to the blocks of keys that sparse_indices name; and, if asked for, the largest score "
    "and the sum of each row.",
    explicit=True,
    grad={
        (
            "query",
            "key",
            "value",
            "query_rope",
            "key_rope",
        ): lambda grads, query, key, value, sparse_indices, scale_value, actual_seq_lengths_query, actual_seq_lengths_kv, query_rope, key_rope, sparse_block_size, layout_query, layout_kv, sparse_mode, pre_tokens, next_tokens, attention_mode, return_softmax_lse, result0, result1, result2: (
            _attention_gradients(
                grads[0],
                (query, key, value, query_rope, key_rope),
                sparse_indices,
                (result0, result1, result2),
                scale_value,
                sparse_block_size,
                (actual_seq_lengths_query, actual_seq_lengths_kv),
                (layout_query, layout_kv),
                (sparse_mode, pre_tokens, next_tokens, attention_mode),
                return_softmax_lse,
            )
        )
    },
    nondiff=(1, 2),
)
def npu_sparse_flash_attention(
    query: Any, key: Any, value: Any, sparse_indices: Any, scale_value: float, *, block_table: Any = None,
    actual_seq_lengths_query: Any = None, actual_seq_lengths_kv: Any = None, query_rope: Any = None,
    key_rope: Any = None, sparse_block_size: int = 1, layout_query: str = "BSND", layout_kv: str = "BSND",
    sparse_mode: int = 3, pre_tokens: int = 9223372036854775807, next_tokens: int = 9223372036854775807,
    attention_mode: int = 0, return_softmax_lse: bool = False, sinks: Any = None,
) -> tuple:  # fmt: skip
    operator = "npu_sparse_flash_attention"
    require_dtype(operator, "query", query, HALF_AND_FLOAT)
    _unbounded(operator, pre_tokens, next_tokens)
    require_choice(operator, "attention_mode", attention_mode, (0, 2))
    require((query_rope is None) == (key_rope is None), operator, "query_rope and key_rope belong together")
    value = key if value is None else value
    keys = [key, value] if key_rope is None else [key, value, key_rope]
    runs = _runs(
        operator, query, layout_query, actual_seq_lengths_query, keys, layout_kv, actual_seq_lengths_kv, block_table
    )
    out = aten.zeros([*query.shape[:-1], value.shape[-1]], dtype=query.dtype, device=query.device)
    statistics = [aten.zeros(query.shape[:-1], dtype=DTYPES["float32"], device=query.device) for _ in range(2)]
    for run in runs:
        k = run.keys[0][:, 0]
        if key_rope is not None:
            k = aten.cat([k, run.keys[2][:, 0]], -1)
        for part in run.parts(query.shape[-2]):
            q = query[part.place]
            if query_rope is not None:
                q = aten.cat([q, query_rope[part.place]], -1)
            sees = _sees(operator, sparse_mode, part, k.shape[0], query.device)
            mask = _chosen(sparse_indices[part.place][:, 0], sparse_block_size, k.shape[0], sees)
            made = _attended(q, k, run.keys[1][:, 0], mask, scale_value, sinks)
            for target, found in zip((out, *statistics), made, strict=True):
                aten.copy_(target[part.place], found)
    if not return_softmax_lse:
        statistics = [aten.empty([0], dtype=DTYPES["float32"], device=query.device) for _ in range(2)]
    else:  # heads of the one key before the tokens
        statistics = [aten.contiguous(x.unsqueeze(-3)) for x in statistics]
    return out, *statistics


@composite(
    "npu::npu_kv_quant_sparse_flash_attention(Tensor query, Tensor key, Tensor value, Tensor sparse_indices, float "
    "scale_value, int key_quant_mode, int value_quant_mode, *, Tensor? key_dequant_scale=None, Tensor? "
    "value_dequant_scale=None, Tensor? block_table=None, Tensor? actual_seq_lengths_query=None, Tensor? "
    'actual_seq_lengths_kv=None, int sparse_block_size=1, str layout_query="BSND", str layout_kv="BSND", int '
    "sparse_mode=3, int pre_tokens=9223372036854775807, int next_tokens=9223372036854775807, int attention_mode=0, "
    "int quant_scale_repo_mode=1, int tile_size=128, int rope_head_dim=64, int? key_dtype=None, int? "
    "value_dtype=None, Tensor? sinks=None) -> Tensor",
    "npu_sparse_flash_attention over rows of int8 keys, which are values too, then their turned part, then a scale "
    "for each tile.",
    explicit=True,
    grad=no_gradient("npu_kv_quant_sparse_flash_attention", "query"),
)
def npu_kv_quant_sparse_flash_attention(
    query: Any, key: Any, value: Any, sparse_indices: Any, scale_value: float, key_quant_mode: int,
    value_quant_mode: int, *, key_dequant_scale: Any = None, value_dequant_scale: Any = None, block_table: Any = None,
    actual_seq_lengths_query: Any = None, actual_seq_lengths_kv: Any = None, sparse_block_size: int = 1,
    layout_query: str = "BSND", layout_kv: str = "BSND", sparse_mode: int = 3, pre_tokens: int = 9223372036854775807,
    next_tokens: int = 9223372036854775807, attention_mode: int = 0, quant_scale_repo_mode: int = 1,
    tile_size: int = 128, rope_head_dim: int = 64, key_dtype: Any = None, value_dtype: Any = None, sinks: Any = None,
) -> Any:  # fmt: skip
    operator = "npu_kv_quant_sparse_flash_attention"
    require_absent(
        operator, key_dequant_scale=key_dequant_scale, value_dequant_scale=value_dequant_scale,
        key_dtype=key_dtype, value_dtype=value_dtype,
    )  # fmt: skip
    for name, mode in (("key_quant_mode", key_quant_mode), ("value_quant_mode", value_quant_mode)):
        require_choice(operator, name, mode, (2,))
    require_choice(operator, "quant_scale_repo_mode", quant_scale_repo_mode, (1,))
    require_choice(operator, "attention_mode", attention_mode, (2,))
    require_dtype(operator, "key", key, ("int8",))
    _unbounded(operator, pre_tokens, next_tokens)
    width = query.shape[-1] - rope_head_dim
    tiles = width // tile_size
    stored = width + rope_head_dim * query.element_size() + 4 * tiles
    require(
        width % tile_size == 0 and key.shape[-1] == stored,
        operator,
        f"rows of key must have {width} numbers of 8 bits, {rope_head_dim} of {query.dtype} and a scale for each {tile_size}, "
        f"{stored} bytes, but they have {key.shape[-1]}",
    )
    runs = _runs(
        operator, query, layout_query, actual_seq_lengths_query, [key], layout_kv, actual_seq_lengths_kv, block_table
    )
    out = aten.zeros([*query.shape[:-1], width], dtype=query.dtype, device=query.device)
    for run in runs:
        rows = aten.contiguous(run.keys[0][:, 0])
        turned = aten.contiguous(rows[:, width : stored - 4 * tiles]).view(query.dtype)
        scales = aten.contiguous(rows[:, stored - 4 * tiles :]).view(DTYPES["float32"])
        plain = wide(rows[:, :width]) * aten.repeat_interleave(scales, tile_size, -1)
        k = aten.cat([plain, wide(turned)], -1)
        for part in run.parts(query.shape[-2]):
            sees = _sees(operator, sparse_mode, part, rows.shape[0], query.device)
            mask = _chosen(sparse_indices[part.place][:, 0], sparse_block_size, rows.shape[0], sees)
            aten.copy_(out[part.place], _attended(query[part.place], k, plain, mask, scale_value, sinks)[0])
    return out


@composite(
    "npu::npu_sparse_lightning_indexer_grad_kl_loss(Tensor query, Tensor key, Tensor query_index, Tensor key_index, "
    "Tensor weights, Tensor sparse_indices, Tensor softmax_max, Tensor softmax_sum, float scale_value, *, Tensor? "
    "query_rope=None, Tensor? key_rope=None, SymInt[]? actual_seq_qlen=None, SymInt[]? actual_seq_klen=None, str? "
    "layout='BSND', int? sparse_mode=3, int? pre_tokens=9223372036854775807, int? next_tokens=9223372036854775807, "
    "Tensor? sinks=None) -> (Tensor, Tensor, Tensor, Tensor)",
    "Gradients, by an indexer's queries, keys and weights, of the divergence of its softmax over the chosen keys "
    "from the mean over heads of the attention to them; and that divergence.",
    explicit=True,
    grad=no_gradient(
        "npu_sparse_lightning_indexer_grad_kl_loss", "query", "key", "query_index", "key_index", "weights"
    ),
)
def npu_sparse_lightning_indexer_grad_kl_loss(
    query: Any, key: Any, query_index: Any, key_index: Any, weights: Any, sparse_indices: Any, softmax_max: Any,
    softmax_sum: Any, scale_value: float, *, query_rope: Any = None, key_rope: Any = None,
    actual_seq_qlen: Any = None, actual_seq_klen: Any = None, layout: Any = "BSND", sparse_mode: Any = 3,
    pre_tokens: Any = 9223372036854775807, next_tokens: Any = 9223372036854775807, sinks: Any = None,
) -> tuple:  # fmt: skip
    operator = "npu_sparse_lightning_indexer_grad_kl_loss"
    require_absent(operator, sinks=sinks)
    _unbounded(operator, pre_tokens, next_tokens)
    layout = layout or "BSND"
    keys = [key, key_index] if key_rope is None else [key, key_index, key_rope]
    runs = _runs(operator, query, layout, actual_seq_qlen, keys, layout, actual_seq_klen, None)
    dq, dw = (aten.zeros(x.shape, dtype=wide(x).dtype, device=x.device) for x in (query_index, weights))
    dk = aten.zeros(key_index.shape, dtype=wide(key_index).dtype, device=key_index.device)
    loss, start = aten.zeros([1], dtype=DTYPES["float32"], device=query.device), 0
    for number, run in enumerate(runs):
        count, k = run.keys[0].shape[0], run.keys[0][:, 0]
        if key_rope is not None:
            k = aten.cat([k, run.keys[2][:, 0]], -1)
        by_key = dk[start : start + count] if layout == "TND" else dk[number, :count]
        start += count
        for part in run.parts(query.shape[-2] + query_index.shape[-2]):
            place = part.place
            q = query[place] if query_rope is None else aten.cat([query[place], query_rope[place]], -1)
            sees = _sees(operator, sparse_mode or 0, part, count, query.device)
            mask = _chosen(sparse_indices[place][:, 0], 1, count, sees)
            at = place if layout == "TND" else place[1]
            top, total = (
                (x[0] if layout == "TND" else x[number, 0])[at].unsqueeze(-1) for x in (softmax_max, softmax_sum)
            )
            scores = aten.matmul(wide(q), wide(k).transpose(0, 1)) * scale_value
            p = aten.where(mask.unsqueeze(1), aten.exp(scores - top) / total, 0).mean([1])
            index, dots = _index_scores(query_index[place], run.keys[1], weights[place])
            guess = aten.softmax(aten.masked_fill(index, ~mask, float("-inf")), -1)
            guess = aten.where(mask, guess, 0)
            loss = loss + (p * (aten.log(p.clamp(min=1e-8)) - aten.log(guess.clamp(min=1e-8)))).sum()
            by_index = (guess - p).unsqueeze(1)
            aten.copy_(dw[place], (by_index * dots).sum([-1]))
            by_dot = by_index * wide(weights[place]).unsqueeze(-1) * (dots > 0)
            aten.copy_(dq[place], aten.matmul(by_dot, wide(run.keys[1][:, 0])))
            more = aten.matmul(by_dot.transpose(1, 2), wide(query_index[place])).sum([0]).unsqueeze(1)
            aten.add_(by_key, more)
    return dq.to(query_index.dtype), dk.to(key_index.dtype), dw.to(weights.dtype), loss


@composite(
    "npu::npu_block_sparse_attention(Tensor query, Tensor key, Tensor value, Tensor block_sparse_mask, int[] "
    "block_shape, *, str q_input_layout='TND', str kv_input_layout='TND', int num_key_value_heads=1, float "
    "scale_value=0.0, int inner_precise=1, int[]? actual_seq_lengths=None, int[]? actual_seq_lengths_kv=None, int? "
    "softmax_lse_flag=0) -> (Tensor, Tensor)",
    "Attention with blocks of queries and keys left out as a mask says; the logarithms of the sums if asked for.",
    samples=[
        S(
            T(2, 4, 5, 4),
            T(2, 2, 6, 4),
            T(2, 2, 6, 4),
            T(2, 4, 1, 1, dtype="int8", low=1, high=2),
            [128, 128],
            q_input_layout="BNSD",
            kv_input_layout="BNSD",
            num_key_value_heads=2,
            scale_value=0.5,
        )
    ],
)
def npu_block_sparse_attention(
    query: Any, key: Any, value: Any, block_sparse_mask: Any, block_shape: Any, *, q_input_layout: str = "TND",
    kv_input_layout: str = "TND", num_key_value_heads: int = 1, scale_value: float = 0.0, inner_precise: int = 1,
    actual_seq_lengths: Any = None, actual_seq_lengths_kv: Any = None, softmax_lse_flag: Any = 0,
) -> tuple:  # fmt: skip
    operator = "npu_block_sparse_attention"
    require_choice(operator, "q_input_layout", q_input_layout, ("TND", "BNSD"))
    require_choice(operator, "kv_input_layout", kv_input_layout, (q_input_layout,))
    require(
        len(block_shape) >= 2 and block_shape[0] > 0 and block_shape[1] > 0 and block_shape[1] % 128 == 0,
        operator,
        f"block_shape must be two positive numbers, the second a multiple of 128, but it is {list(block_shape)}",
    )
    packed = q_input_layout == "TND"
    require(
        (actual_seq_lengths is None) == (actual_seq_lengths_kv is None),
        operator,
        "actual_seq_lengths and actual_seq_lengths_kv belong together",
    )
    require(not packed or actual_seq_lengths is not None, operator, "layout TND takes actual_seq_lengths")
    heads = query.shape[1]
    require(
        key.shape[1] == num_key_value_heads and heads % num_key_value_heads == 0,
        operator,
        f"num_key_value_heads must be the key's heads, {key.shape[1]}, and divide the {heads} of the query, but it is "
        f"{num_key_value_heads}",
    )
    count = block_sparse_mask.shape[0]
    q_sizes = actual_seq_lengths or [query.shape[2]] * count
    k_sizes = actual_seq_lengths_kv or [key.shape[2]] * count
    outs, logs, q0, k0 = [], [], 0, 0
    for i, (tokens, keys) in enumerate(zip(q_sizes, k_sizes, strict=True)):
        if packed:
            q = query[q0 : q0 + tokens].transpose(0, 1)
            k, v = (x[k0 : k0 + keys].transpose(0, 1) for x in (key, value))
            q0, k0 = q0 + tokens, k0 + keys
        else:
            q, k, v = query[i, :, :tokens], key[i, :, :keys], value[i, :, :keys]
        k, v = (aten.repeat_interleave(wide(x), heads // num_key_value_heads, 0) for x in (k, v))
        blocks = aten.repeat_interleave(block_sparse_mask[i].to(_BOOL), block_shape[1], -1)[:, :, :keys]
        made = []
        for first, last in _spans(tokens, heads, keys) or [(0, 0)]:
            of = aten.arange(first, last, device=blocks.device) // block_shape[0]
            scores = aten.matmul(wide(q[:, first:last]), k.transpose(-1, -2)) * scale_value
            scores = aten.masked_fill(scores, ~blocks[:, of], float("-inf"))
            numerators, top, total = _softmax(scores.unsqueeze(0), None)
            out = aten.matmul(numerators[0] / aten.where(total[0] == 0, 1, total[0]), v)
            made.append((out, top[0] + aten.log(total[0])))
        out, lse = (aten.cat(list(parts), 1) for parts in zip(*made, strict=True))
        if packed:
            outs.append(out.transpose(0, 1))
            logs.append(lse.transpose(0, 1))
        else:
            rest = [0, 0, 0, query.shape[2] - tokens]
            outs.append(aten.constant_pad_nd(out, rest, 0))
            logs.append(aten.constant_pad_nd(lse, rest, 0))
    joined, lse = (aten.cat(x, 0) if packed else aten.stack(x) for x in (outs, logs))
    return joined.to(query.dtype), lse if softmax_lse_flag else aten.zeros_like(lse)
