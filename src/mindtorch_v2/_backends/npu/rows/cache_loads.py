"""Rows of sequences read out of two paged caches by their tables of blocks."""

from __future__ import annotations

from typing import Any

from ...._operators.table import aten
from .cache import paged_rows
from .checks import composite, require
from .numbers import has_numbers, numbers_of

_OPERATOR = "npu_paged_cache_load"


def _lengths(context_lens: Any, cumsum: bool, count: int) -> list[int]:
    """How many rows each sequence has; of `count` sequences, where there are no numbers."""
    numbers = numbers_of(context_lens, [0] * (count + cumsum))
    lengths = [b - a for a, b in zip(numbers, numbers[1:], strict=False)] if cumsum else numbers
    require(
        len(lengths) == count and all(length >= 0 for length in lengths),
        _OPERATOR,
        f"context_lens must be {'the first rows and the end' if cumsum else 'the lengths'} of {count} sequences, but it is {numbers}",
    )
    return lengths


def _load(caches: tuple, targets: tuple, block_table: Any, lengths: list[int], seq_starts: Any) -> None:
    block = caches[0].shape[1]
    starts = [0] * len(lengths) if seq_starts is None else numbers_of(seq_starts, [0] * len(lengths))
    for cache, target in zip(caches, targets, strict=True):
        require(
            target.shape[0] >= sum(lengths) and list(target.shape[1:]) == list(cache.shape[2:]),
            _OPERATOR,
            f"key and value must have {sum(lengths)} rows of the caches' sizes {list(cache.shape[2:])}, but one is {list(target.shape)}",
        )
        row = 0
        for number, length in enumerate(lengths):
            table = block_table[number, starts[number] // block :]
            aten.copy_(target[row : row + length], paged_rows(cache, table, length))
            row += length


@composite(
    "atb::npu_paged_cache_load(Tensor key_cache, Tensor value_cache, Tensor block_table, Tensor context_lens, *, Tensor? "
    "seq_starts=None, bool cumsum=False) -> (Tensor, Tensor)",
    "The rows of sequences of two paged caches, one sequence after the other; each begins with the block that holds its start.",
    explicit=True,
    devices={"context_lens": "host", "seq_starts": "host"},
    tags="dynamic_output_shape",
)
def npu_paged_cache_load(
    key_cache: Any, value_cache: Any, block_table: Any, context_lens: Any, *, seq_starts: Any = None, cumsum: bool = False,
) -> tuple:  # fmt: skip
    require(
        has_numbers(context_lens),
        _OPERATOR,
        "the results' sizes are numbers of context_lens, of which a meta tensor has none",
    )
    lengths = _lengths(context_lens, cumsum, block_table.shape[0])
    caches = (key_cache, value_cache)
    made = tuple(aten.empty([sum(lengths), *x.shape[2:]], dtype=x.dtype, device=x.device) for x in caches)
    _load(caches, made, block_table, lengths, seq_starts)
    return made


@composite(
    "atb::npu_paged_cache_load.out(Tensor key_cache, Tensor value_cache, Tensor block_table, Tensor context_lens, *, Tensor? "
    "seq_starts=None, bool cumsum=False, Tensor(a!) key, Tensor(b!) value) -> (Tensor(a!), Tensor(b!))",
    "npu_paged_cache_load, written to `key` and `value`.",
    explicit=True,
    devices={"context_lens": "host", "seq_starts": "host"},
)
def npu_paged_cache_load_out(
    key_cache: Any, value_cache: Any, block_table: Any, context_lens: Any, *, seq_starts: Any = None, cumsum: bool = False,
    key: Any, value: Any,
) -> tuple:  # fmt: skip
    lengths = _lengths(context_lens, cumsum, block_table.shape[0])
    _load((key_cache, value_cache), (key, value), block_table, lengths, seq_starts)
    return key, value
