"""Attention of each query to the blocks of keys that were selected for it, and its gradient: the middle branch of native sparse attention."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from ...._core.dtype import DTYPES
from ...._operators.table import S, T, aten, namespace
from .attention import _softmax
from .checks import HALF_AND_FLOAT, composite, require, require_dtype, wide
from .numbers import numbers_of

npu = namespace("npu")

_INT64 = DTYPES["int64"]
_GATHERED = 1 << 22  # elements of keys that are gathered together
_EIGHT = 8  # how often the statistics of a row are written
_TRIANGLE = 2048  # rows and columns of the mask that stands for a causal one


class _Part(NamedTuple):
    """Some queries of one sequence, and the keys that each of them sees."""

    queries: slice
    keys: slice
    places: Any  # (queries, heads of keys, chosen), within the sequence's keys
    hidden: Any  # True where a query does not see the key, of the same sizes


def _ends(lengths: Any, whole: int) -> list[int]:
    return [whole] if lengths is None else numbers_of(lengths, [whole])


def _hidden(operator: str, mask: Any, first: int, places: Any) -> Any:
    """True where the mask hides a chosen key from a query; `first` is the number of the first query within its sequence."""
    rows = aten.arange(first, first + places.shape[0], device=places.device).reshape([-1, 1, 1])
    if list(mask.shape) == [_TRIANGLE, _TRIANGLE]:
        return places > rows
    return mask.to(DTYPES["bool"])[rows, places]


def _parts(
    operator: str, query: Any, key: Any, topk_indices: Any, size: int, mask: Any, ends: tuple
) -> Iterator[_Part]:
    q_ends, k_ends = ends
    width, heads = key.shape[-1], key.shape[1]
    chosen = topk_indices.shape[-1] * size
    step = max(1, _GATHERED // max(1, heads * chosen * width))
    steps = aten.arange(size, device=query.device)
    for q0, q1, k0, k1 in zip([0, *q_ends], q_ends, [0, *k_ends], k_ends, strict=False):
        for first in range(q0, q1, step):
            queries = slice(first, min(first + step, q1))
            places = (topk_indices[queries].to(_INT64).unsqueeze(-1) * size + steps).flatten(2)
            hidden = places >= k1 - k0  # of the last block of a sequence
            places = places.clamp(max=max(k1 - k0 - 1, 0))
            if mask is not None:
                hidden = hidden | _hidden(operator, mask, first - q0, places)
            yield _Part(queries, slice(k0, k1), places, hidden)


def _gathered(x: Any, part: _Part) -> Any:
    """The rows of x, (tokens, heads, width), that each query of a part sees: (queries, heads, chosen, width)."""
    own = wide(x[part.keys]).transpose(0, 1)
    heads = aten.arange(own.shape[0], device=x.device).reshape([1, -1, 1])
    return own[heads, part.places]


def _check(operator: str, query: Any, key: Any, value: Any, topk_indices: Any, head_num: int, size: int, count: int, mask: Any,
           ends: tuple) -> None:  # fmt: skip
    for name, x in (("query", query), ("key", key), ("value", value)):
        require_dtype(operator, name, x, HALF_AND_FLOAT)
        require(x.dim() == 3, operator, f"{name} must be (tokens, heads, width), but it has {x.dim()} dimensions")
        require(
            x.dtype == query.dtype, operator, f"{name} is {x.dtype}, but query is {query.dtype}: they must be alike"
        )
    heads = key.shape[1]
    require(
        head_num == query.shape[1] and heads > 0 and head_num % heads == 0,
        operator,
        f"head_num must be the query's {query.shape[1]} heads and a multiple of the {heads} of the key, but it is {head_num}",
    )
    require(
        query.shape[2] == key.shape[2] and list(key.shape[:2]) == list(value.shape[:2]),
        operator,
        f"query and key must have one width, key and value the same tokens and heads, but the sizes are {list(query.shape)}, "
        f"{list(key.shape)} and {list(value.shape)}",
    )
    require(size > 0, operator, f"select_block_size must be positive, but it is {size}")
    require_dtype(operator, "topk_indices", topk_indices, ("int32", "int64"))
    require(
        list(topk_indices.shape) == [query.shape[0], heads, count],
        operator,
        f"topk_indices must be ({query.shape[0]}, {heads}, {count}): tokens, heads of keys, select_block_count; its sizes are "
        f"{list(topk_indices.shape)}",
    )
    q_ends, k_ends = ends
    require(
        len(q_ends) == len(k_ends) and q_ends[-1:] == [query.shape[0]] and k_ends[-1:] == [key.shape[0]]
        and q_ends == sorted(q_ends) and k_ends == sorted(k_ends),
        operator,
        f"actual_seq_qlen and actual_seq_kvlen must be as many ends of sequences, up to {query.shape[0]} and {key.shape[0]}, but "
        f"they are {q_ends} and {k_ends}",
    )  # fmt: skip
    if mask is not None:
        require_dtype(operator, "atten_mask", mask, ("bool", "uint8"))
        longest = [max(b - a for a, b in zip([0, *each], each, strict=False)) for each in ends]
        require(
            mask.dim() == 2
            and (list(mask.shape) == [_TRIANGLE] * 2 or all(a >= b for a, b in zip(mask.shape, longest, strict=True))),
            operator,
            f"atten_mask must be ({_TRIANGLE}, {_TRIANGLE}), which hides what comes later, or at least {tuple(longest)}: queries, keys; "
            f"its sizes are {list(mask.shape)}",
        )


@composite(
    "npu::npu_nsa_select_attention(Tensor query, Tensor key, Tensor value, Tensor topk_indices, float scale_value, int head_num, int "
    "select_block_size, int select_block_count, *, Tensor? atten_mask=None, int[]? actual_seq_qlen=None, int[]? "
    "actual_seq_kvlen=None) -> (Tensor, Tensor, Tensor)",
    "Attention of each packed query to the blocks of keys that topk_indices names for it and each head of keys; the largest score and "
    "the sum of each row, eight times.",
    explicit=True,
    grad={
        ("query", "key", "value"): lambda grads, query, key, value, topk_indices, scale_value, head_num, select_block_size,
        select_block_count, atten_mask, actual_seq_qlen, actual_seq_kvlen, result0, result1, result2: (
            npu.npu_nsa_select_attention_grad(
                grads[0], query, key, value, result0, result1, result2, topk_indices, scale_value, head_num,
                select_block_size, select_block_count, atten_mask=atten_mask, actual_seq_qlen=actual_seq_qlen,
                actual_seq_kvlen=actual_seq_kvlen,
            )
        )
    },
    nondiff=(1, 2),
    samples=[
        S(T(3, 4, 6), T(8, 2, 6), T(8, 2, 5), T(3, 2, 2, dtype="int32", low=0, high=2), 0.4, 4, 4, 2),
        S(T(3, 2, 6), T(7, 2, 6), T(7, 2, 5), T(3, 2, 1, dtype="int32", low=0, high=1), 0.4, 2, 4, 1,
          atten_mask=T(2, 4, dtype="bool", low=0, high=1), actual_seq_qlen=[1, 3], actual_seq_kvlen=[3, 7]),
    ],
)  # fmt: skip
def npu_nsa_select_attention(
    query: Any, key: Any, value: Any, topk_indices: Any, scale_value: float, head_num: int, select_block_size: int,
    select_block_count: int, *, atten_mask: Any = None, actual_seq_qlen: Any = None, actual_seq_kvlen: Any = None,
) -> tuple:  # fmt: skip
    operator = "npu_nsa_select_attention"
    ends = _ends(actual_seq_qlen, query.shape[0]), _ends(actual_seq_kvlen, key.shape[0])
    _check(operator, query, key, value, topk_indices, head_num, select_block_size, select_block_count, atten_mask, ends)
    out = aten.zeros([*query.shape[:2], value.shape[2]], dtype=query.dtype, device=query.device)
    statistics = [
        aten.zeros([*query.shape[:2], _EIGHT], dtype=DTYPES["float32"], device=query.device) for _ in range(2)
    ]
    for part in _parts(operator, query, key, topk_indices, select_block_size, atten_mask, ends):
        q = wide(query[part.queries]).unflatten(1, [key.shape[1], -1])
        scores = aten.matmul(q, _gathered(key, part).transpose(-1, -2)) * scale_value
        scores = aten.masked_fill(scores, part.hidden.unsqueeze(2), float("-inf"))
        numerators, largest, total = _softmax(scores, None)
        made = aten.matmul(numerators / aten.where(total == 0, 1, total), _gathered(value, part))
        aten.copy_(out[part.queries], made.flatten(1, 2))
        for target, found in zip(statistics, (largest, total), strict=True):
            aten.copy_(target[part.queries], found.flatten(1, 2).expand([-1, -1, _EIGHT]))
    return out, *statistics


@composite(
    "npu::npu_nsa_select_attention_grad(Tensor grad, Tensor query, Tensor key, Tensor value, Tensor attention_out, Tensor softmax_max, "
    "Tensor softmax_sum, Tensor topk_indices, float scale_value, int head_num, int select_block_size, int select_block_count, *, "
    "Tensor? atten_mask=None, int[]? actual_seq_qlen=None, int[]? actual_seq_kvlen=None) -> (Tensor, Tensor, Tensor)",
    "Gradients of npu_nsa_select_attention by query, key and value, from its results.",
    explicit=True,
    grad=None,
    samples=None,  # its statistics have to be those of the attention
)
def npu_nsa_select_attention_grad(
    grad: Any, query: Any, key: Any, value: Any, attention_out: Any, softmax_max: Any, softmax_sum: Any, topk_indices: Any,
    scale_value: float, head_num: int, select_block_size: int, select_block_count: int, *, atten_mask: Any = None,
    actual_seq_qlen: Any = None, actual_seq_kvlen: Any = None,
) -> tuple:  # fmt: skip
    operator = "npu_nsa_select_attention_grad"
    ends = _ends(actual_seq_qlen, query.shape[0]), _ends(actual_seq_kvlen, key.shape[0])
    _check(operator, query, key, value, topk_indices, head_num, select_block_size, select_block_count, atten_mask, ends)
    dq, dk, dv = (aten.zeros(x.shape, dtype=wide(x).dtype, device=x.device) for x in (query, key, value))
    heads = key.shape[1]
    for part in _parts(operator, query, key, topk_indices, select_block_size, atten_mask, ends):
        q, g, out = (wide(x[part.queries]).unflatten(1, [heads, -1]) for x in (query, grad, attention_out))
        k, v = _gathered(key, part), _gathered(value, part)
        largest, total = (x[part.queries, :, :1].unflatten(1, [heads, -1]) for x in (softmax_max, softmax_sum))
        scores = aten.matmul(q, k.transpose(-1, -2)) * scale_value
        p = aten.exp(scores - largest) / aten.where(total == 0, 1, total)
        p = aten.masked_fill(p, part.hidden.unsqueeze(2), 0)
        by_score = p * (aten.matmul(g, v.transpose(-1, -2)) - (g * out).sum([-1], True)) * scale_value
        aten.copy_(dq[part.queries], aten.matmul(by_score, k).flatten(1, 2))
        heads_of = aten.arange(heads, device=query.device).reshape([1, -1, 1]).expand(part.places.shape)
        for whole, weights, rows in ((dk, by_score, q), (dv, p, g)):
            more = aten.matmul(weights.transpose(-1, -2), rows)
            aten.index_put_(whole[part.keys], [part.places, heads_of], more, True)
    return dq.to(query.dtype), dk.to(key.dtype), dv.to(value.dtype)
