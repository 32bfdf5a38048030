"""How many floating point operations torch_npu's products and attentions take, and PyTorch's products.

A product of m x k and k x n counts 2 m n k; what is computed beside products, and what is sent, counts nothing. A causal mask
counts the triangle that it leaves. ValueError where the arguments do not say how much is computed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import prod
from typing import Any

from ._flops_registry import register_npu_flop

__all__: list[str] = []

_LEFT_UP, _RIGHT_DOWN = 2, 3  # sparse_mode: causal from the first query and key, or to the last ones
_HEADS = {"BSH": 2, "SBH": 2}  # layouts in which heads and their size are one dimension


def _npu(function: Any) -> Any:
    name = function.__name__.removesuffix("_flops")
    return register_npu_flop(f"torch_npu:{name}", name, is_default=True)(function)


def _torch(target: str) -> Any:
    return register_npu_flop(target, is_default=True)


# ---- products ----


def _sizes(tensor: Any) -> tuple[int, ...]:
    return tuple(int(size) for size in tensor.shape)


def _product(left: Sequence[int], right: Sequence[int], transposed: bool = False) -> int:
    """Of all rows of the left with one matrix, or the matrix of their batch, on the right."""
    if len(left) < 2 or len(right) < 2:
        raise ValueError(f"a product needs two matrices, but they have the sizes {tuple(left)} and {tuple(right)}")
    return 2 * prod(left) * right[-2 if transposed else -1]


@_torch("torch:mm")
def mm_flops(input: Any, mat2: Any, **others: Any) -> int:
    """Of `mm`."""
    return _product(_sizes(input), _sizes(mat2))


@_torch("torch:bmm")
def bmm_flops(input: Any, mat2: Any, **others: Any) -> int:
    """Of `bmm`."""
    return _product(_sizes(input), _sizes(mat2))


@_torch("torch:addmm")
def addmm_flops(input: Any, mat1: Any, mat2: Any, **others: Any) -> int:
    """Of `addmm`: those of the product."""
    return _product(_sizes(mat1), _sizes(mat2))


@_torch("torch.nn.functional:linear")
def linear_flops(input: Any, weight: Any, bias: Any = None) -> int:
    """Of `linear`: those of the product."""
    return 2 * prod(_sizes(input)) * _sizes(weight)[0]


@_torch("torch:matmul")
def matmul_flops(input: Any, other: Any, **others: Any) -> int:
    """Of `matmul`, with batches broadcast."""
    left, right = _sizes(input), _sizes(other)
    left = (1, *left) if len(left) == 1 else left
    right = (*right, 1) if len(right) == 1 else right
    batch = [max(pair) for pair in zip(*_aligned(left[:-2], right[:-2]))]
    return 2 * prod(batch) * left[-2] * left[-1] * right[-1]


def _aligned(left: Sequence[int], right: Sequence[int]) -> tuple[list[int], list[int]]:
    length = max(len(left), len(right))
    first, second = ([1] * (length - len(each)) + list(each) for each in (left, right))
    if any(a != b and 1 not in (a, b) for a, b in zip(first, second)):
        raise ValueError(f"batches of the sizes {tuple(left)} and {tuple(right)} cannot be broadcast")
    return first, second


@_npu
def npu_transpose_batchmatmul_flops(
    input: Any, weight: Any, *, perm_x1: Sequence[int] = (0, 1, 2), perm_x2: Sequence[int] = (0, 1, 2), **others: Any
) -> int:
    """Of each product of the batch, once both are permuted."""
    left, right = (
        [_sizes(tensor)[place] for place in order] for tensor, order in ((input, perm_x1), (weight, perm_x2))
    )
    return _product(left, right)


@_npu
def npu_quant_matmul_gelu_flops(x1: Any, x2: Any, *others: Any, **more: Any) -> int:
    """Of the product."""
    return _product(_sizes(x1), _sizes(x2))


@_npu
def npu_all_gather_base_mm_flops(input: Any, x2: Any, hcom: str, world_size: int, *others: Any, **more: Any) -> int:
    """Of the product with the rows of all processes."""
    return int(world_size) * _product(_sizes(input), _sizes(x2))


# ---- grouped products ----


@_npu
def npu_grouped_matmul_flops(x: Any, weight: Any, *, group_list: Any = None, **others: Any) -> int:
    """Of each group's rows with its weight."""
    rows, weights = (
        [_sizes(each) for each in (value if isinstance(value, (list, tuple)) else [value])] for value in (x, weight)
    )
    if len(rows) == len(weights):
        return sum(map(_product, rows, weights))
    if len(rows) != 1:
        raise ValueError(f"{len(rows)} tensors of rows and {len(weights)} weights are no groups")
    *lead, inner = rows[0]
    counts = _counts(group_list, len(weights), prod(lead))
    return sum(_product((count, inner), sizes) for count, sizes in zip(counts, weights))


def _counts(group_list: Any, groups: int, rows: int) -> list[int]:
    """The rows of each group, which `group_list` gives as counts or as ends."""
    given = [int(each) for each in _sequence(group_list)]
    if len(given) != groups:
        raise ValueError(f"group_list has {len(given)} numbers for {groups} weights")
    counts = given if sum(given) == rows else _lengths(given)
    if sum(counts) != rows or min(counts, default=0) < 0:
        raise ValueError(f"group_list does not divide the {rows} rows: {given}")
    return counts


@_npu
def npu_grouped_matmul_swiglu_quant_v2_flops(x: Any, weight: Any, *others: Any, **more: Any) -> int:
    """Of the grouped product, each row with one group's weight."""
    return _product(_sizes(x), _sizes(weight[0] if isinstance(weight, (list, tuple)) else weight))


def _routed(gmm_x: Any, gmm_weight: Any, mm_x: Any, mm_weight: Any, turned: bool, mm_turned: bool) -> int:
    count = _product(_sizes(gmm_x), _sizes(gmm_weight), turned)
    if mm_x is not None and mm_weight is not None:  # the experts that all tokens share
        count += _product(_sizes(mm_x), _sizes(mm_weight), mm_turned)
    return count


@_npu
def npu_alltoallv_gmm_flops(
    gmm_x: Any,
    gmm_weight: Any,
    *others: Any,
    mm_x: Any = None,
    mm_weight: Any = None,
    trans_gmm_weight: bool = False,
    trans_mm_weight: bool = False,
    **more: Any,
) -> int:
    """Of the grouped product, and of that of the shared experts."""
    return _routed(gmm_x, gmm_weight, mm_x, mm_weight, trans_gmm_weight, trans_mm_weight)


@_npu
def npu_gmm_alltoallv_flops(
    gmm_x: Any,
    gmm_weight: Any,
    *others: Any,
    mm_x: Any = None,
    mm_weight: Any = None,
    trans_gmm_weight: bool = False,
    trans_mm_weight: bool = False,
    **more: Any,
) -> int:
    """Of the grouped product, and of that of the shared experts."""
    return _routed(gmm_x, gmm_weight, mm_x, mm_weight, trans_gmm_weight, trans_mm_weight)


# ---- attention ----


def _dims(sizes: Sequence[int], layout: str, heads: int | None) -> tuple[int, int, int, int]:
    """Batch, heads, length and the size of a head."""
    if layout in _HEADS:
        batch, length = (sizes[0], sizes[1]) if layout == "BSH" else (sizes[1], sizes[0])
        if not heads or sizes[2] % heads:
            raise ValueError(f"{sizes[2]} elements are not {heads} heads")
        return batch, heads, length, sizes[2] // heads
    if layout == "BNSD":
        return sizes[0], sizes[1], sizes[2], sizes[3]
    if layout == "BSND":
        return sizes[0], sizes[2], sizes[1], sizes[3]
    if layout == "TND":
        return 1, sizes[1], sizes[0], sizes[2]
    raise ValueError(f"attention has no layout {layout}")


def _scores(queries: int, keys: int, sparse_mode: int) -> float:
    """How many scores one head has, of those that a causal mask leaves."""
    if sparse_mode == 0:
        return queries * keys
    if sparse_mode not in (_LEFT_UP, _RIGHT_DOWN):
        raise ValueError(f"the scores that sparse_mode={sparse_mode} leaves are not known")
    both = min(queries, keys)
    triangle = both * both / 2
    if queries == keys or (sparse_mode == _LEFT_UP) == (queries < keys):
        return triangle
    return queries * keys - triangle


def _calculate_common_layout_flops(
    query: Sequence[int],
    key: Sequence[int],
    value: Sequence[int],
    layout: str,
    sparse_mode: int,
    heads: int,
    kv_heads: int | None,
) -> int:
    """Of the scores, and of the sums of values, for the sizes of query, key and value."""
    batch, count, queries, size = _dims(query, layout, heads)
    keys, value_size = _dims(key, layout, kv_heads)[2], _dims(value, layout, kv_heads)[3]
    return int(2 * batch * count * _scores(queries, keys, sparse_mode) * (size + value_size))


def _packed(query: Sequence[int], value: Sequence[int], query_ends: Any, key_ends: Any) -> int:
    if query_ends is None or key_ends is None:
        raise ValueError("packed sequences need their ends")
    queries, keys = _lengths(query_ends), _lengths(key_ends)
    scores = sum(a * b for a, b in zip(queries, keys, strict=True))
    return 2 * query[1] * (query[2] + value[2]) * scores


def _attention(
    query: Any, key: Any, value: Any, layout: str, heads: int, kv_heads: int | None, ends: tuple, sparse_mode: int
) -> int:
    sizes = _sizes(query), _sizes(key), _sizes(value)
    if layout == "TND":
        return _packed(sizes[0], sizes[2], *ends)
    return _calculate_common_layout_flops(*sizes, layout, sparse_mode, heads, kv_heads)


@_npu
def npu_fusion_attention_flops(
    query: Any,
    key: Any,
    value: Any,
    head_num: int,
    input_layout: str,
    *others: Any,
    actual_seq_qlen: Any = None,
    actual_seq_kvlen: Any = None,
    sparse_mode: int = 0,
    **more: Any,
) -> int:
    """Of attention in training."""
    kv_heads = head_num
    if input_layout in _HEADS:
        kv_heads = _sizes(key)[2] * head_num // _sizes(query)[2]
    ends = actual_seq_qlen, actual_seq_kvlen
    return _attention(query, key, value, input_layout, head_num, kv_heads, ends, sparse_mode)


@_npu
def npu_fused_infer_attention_score_flops(
    query: Any,
    key: Any,
    value: Any,
    *,
    num_heads: int = 1,
    input_layout: str = "BSH",
    num_key_value_heads: int = 0,
    actual_seq_lengths: Any = None,
    actual_seq_lengths_kv: Any = None,
    sparse_mode: int = 0,
    **others: Any,
) -> int:
    """Of attention in inference."""
    ends = actual_seq_lengths, actual_seq_lengths_kv
    kv_heads = num_key_value_heads or num_heads
    return _attention(query, key, value, input_layout, num_heads, kv_heads, ends, sparse_mode)


@_npu
def npu_block_sparse_attention_flops(
    query: Any,
    key: Any,
    value: Any,
    block_sparse_mask: Any,
    block_shape: Sequence[int],
    *,
    q_input_layout: str = "TND",
    kv_input_layout: str = "TND",
    num_key_value_heads: int = 1,
    actual_seq_lengths: Any = None,
    actual_seq_lengths_kv: Any = None,
    **others: Any,
) -> int:
    """Of the blocks of scores that the mask keeps, the last of a row or column cut where the sequence ends."""
    mask: Any = _sequence(block_sparse_mask)
    _, _, queries, size = _dims(_sizes(query), q_input_layout, len(mask[0]) if mask else None)
    _, _, keys, value_size = _dims(_sizes(value), kv_input_layout, num_key_value_heads)
    per_batch = zip(
        mask,
        _of_batches(actual_seq_lengths, len(mask), queries, q_input_layout),
        _of_batches(actual_seq_lengths_kv, len(mask), keys, kv_input_layout),
        strict=True,
    )
    scores = 0
    for heads, length, key_length in per_batch:
        for rows in heads:
            for i, row in enumerate(rows):
                height = _overlap(i, int(block_shape[0]), length)
                scores += sum(
                    height * _overlap(j, int(block_shape[1]), key_length) for j, kept in enumerate(row) if kept
                )
    return 2 * scores * (size + value_size)


def _overlap(block: int, size: int, length: int) -> int:
    return min(size, max(length - block * size, 0))


def _of_batches(lengths: Any, batch: int, default: int, layout: str) -> list[int]:
    if lengths is None:
        return [default] * batch
    return _lengths(lengths) if layout == "TND" else [int(each) for each in _sequence(lengths)]


def _lengths(ends: Any) -> list[int]:
    """The lengths of sequences that are given by where they end."""
    numbers = [0, *(int(each) for each in _sequence(ends))]
    return [end - start for start, end in pairwise(numbers)]


def _sequence(value: Any) -> Iterable[Any] | Any:
    if not isinstance(value, (list, tuple)) and hasattr(value, "tolist"):
        value = value.tolist()
    if not isinstance(value, (list, tuple)):
        raise ValueError(f"expected a sequence, or a tensor with a tolist() returning a sequence, not {value!r}")
    return value
