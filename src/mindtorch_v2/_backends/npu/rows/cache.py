"""Paged caches of keys and values: written by slots, read by tables of blocks, attended to."""

from __future__ import annotations

from typing import Any

from ...._core.dtype import DTYPES
from ...._operators.table import S, T, aten, namespace
from .checks import composite, no_gradient, require, require_absent, require_choice, require_dtype, wide
from .numbers import numbers_of
from .places import of_each

npu = namespace("npu")
_INT64 = DTYPES["int64"]


def _put(operator, rows, cache, slots) -> None:
    """Write row i at slot slots[i] of a cache (blocks, block, ...); negative slots are left out."""
    require(
        slots.numel() == rows.shape[0],
        operator,
        f"there must be a slot for each of the {rows.shape[0]} rows, but there are {slots.numel()}",
    )
    block = cache.shape[1]
    if cache.dim() == 4 and rows.dim() == 3 and cache.shape[2:] != rows.shape[1:]:
        width = cache.shape[-1]  # NZ: (blocks, heads * width / 16, block, 16)
        require(
            cache.shape[1] * width == rows.shape[1] * rows.shape[2],
            operator,
            f"rows of sizes {list(rows.shape[1:])} do not fit a cache of sizes {list(cache.shape)}",
        )
        block = cache.shape[2]
        chosen = rows.reshape(rows.shape[0], cache.shape[1], width).to(cache.dtype)
        places, chosen = of_each(slots.flatten(), chosen, cache[0, :, 0])
        aten.index_put_(cache, [places // block, None, places % block], chosen)
        return
    require(
        tuple(cache.shape[2:]) == tuple(rows.shape[1:]),
        operator,
        f"rows of sizes {list(rows.shape[1:])} do not fit a cache of sizes {list(cache.shape)}",
    )
    places, chosen = of_each(slots.flatten(), rows.to(cache.dtype), cache[0, 0])
    if cache.is_contiguous():
        aten.index_copy_(cache.view([-1, *cache.shape[2:]]), 0, places, chosen)
    else:
        aten.index_put_(cache, [places // block, places % block], chosen)


@composite(
    "atb::_npu_reshape_and_cache(Tensor key, Tensor value, Tensor(a!) key_cache, Tensor(b!) value_cache, "
    "Tensor slot_indices) -> ()",
    "Keys and values of tokens written to their slots of two paged caches.",
    explicit=True,
)
def _npu_reshape_and_cache(key: Any, value: Any, key_cache: Any, value_cache: Any, slot_indices: Any) -> None:
    _put("_npu_reshape_and_cache", key, key_cache, slot_indices)
    _put("_npu_reshape_and_cache", value, value_cache, slot_indices)


@composite(
    "atb::_npu_reshape_and_cache_siso(Tensor key, Tensor(a!) key_cache, Tensor slot_indices) -> ()",
    "Keys of tokens written to their slots of a paged cache.",
    explicit=True,
)
def _npu_reshape_and_cache_siso(key: Any, key_cache: Any, slot_indices: Any) -> None:
    _put("_npu_reshape_and_cache_siso", key, key_cache, slot_indices)


@composite(
    "npu::npu_scatter_pa_kv_cache(Tensor key, Tensor value, Tensor(a!) key_cache, Tensor(b!) value_cache, "
    "Tensor slot_mapping, *, Tensor? compress_lens=None, Tensor? compress_seq_offsets=None, Tensor? seq_lens=None, "
    "str? cache_mode='PA_NZ') -> ()",
    "Keys and values of tokens written to their slots of two paged caches, of rows ('Norm') or of NZ blocks.",
    explicit=True,
)
def npu_scatter_pa_kv_cache(
    key: Any, value: Any, key_cache: Any, value_cache: Any, slot_mapping: Any, *, compress_lens: Any = None,
    compress_seq_offsets: Any = None, seq_lens: Any = None, cache_mode: Any = "PA_NZ",
) -> None:  # fmt: skip
    operator = "npu_scatter_pa_kv_cache"
    require_absent(operator, compress_lens=compress_lens, compress_seq_offsets=compress_seq_offsets, seq_lens=seq_lens)
    require_choice(operator, "cache_mode", cache_mode, ("PA_NZ", "Norm"))
    _put(operator, key, key_cache, slot_mapping)
    _put(operator, value, value_cache, slot_mapping)


def paged_rows(cache: Any, table: Any, length: Any) -> Any:
    """The first `length` rows of a sequence whose blocks a row of the table names."""
    block = cache.shape[1]
    blocks = table[: -(-length // block)].to(_INT64)
    return aten.flatten(aten.index_select(cache, 0, blocks), 0, 1)[:length]


@composite(
    "npu::npu_gather_pa_kv_cache(Tensor key_cache, Tensor value_cache, Tensor block_tables, Tensor seq_lens, "
    "Tensor(a!) key, Tensor(b!) value, *, Tensor? seq_offset=None, bool is_seq_lens_cumsum=False) -> ()",
    "The rows of sequences copied out of two paged caches, one sequence after the other.",
    explicit=True,
)
def npu_gather_pa_kv_cache(
    key_cache: Any, value_cache: Any, block_tables: Any, seq_lens: Any, key: Any, value: Any, *,
    seq_offset: Any = None, is_seq_lens_cumsum: bool = False,
) -> None:  # fmt: skip
    operator = "npu_gather_pa_kv_cache"
    ends = numbers_of(seq_lens, [])
    lengths = [b - a for a, b in zip(ends, ends[1:], strict=False)] if is_seq_lens_cumsum else ends
    firsts = [0] * len(lengths) if seq_offset is None else numbers_of(seq_offset, [])
    require(
        sum(lengths) <= key.shape[0],
        operator,
        f"the sequences have {sum(lengths)} rows, but key only {key.shape[0]}",
    )
    for cache, target in ((key_cache, key), (value_cache, value)):
        start = 0
        for i, (first, length) in enumerate(zip(firsts, lengths, strict=True)):
            rows = paged_rows(cache, block_tables[i], first + length)[first:]
            aten.copy_(target[start : start + length], rows.reshape(length, *target.shape[1:]))
            start += length


@composite(
    "npu::npu_scatter_nd_update_(Tensor(a!) input, Tensor indices, Tensor updates) -> Tensor(a!)",
    "input[indices] = updates, where a row of indices gives positions in the first dimensions.",
    explicit=True,
    samples=[S(T(5, 3), T(2, 1, dtype="int64", low=0, high=4), T(2, 3))],
)
def npu_scatter_nd_update_(input: Any, indices: Any, updates: Any) -> Any:
    return aten.index_put_(input, list(aten.unbind(indices.to(_INT64), -1)), updates.to(input.dtype))


@composite(
    "npu::npu_scatter_nd_update(Tensor input, Tensor indices, Tensor updates) -> Tensor",
    "npu_scatter_nd_update_ on a copy.",
    samples=[S(T(5, 3), T(2, 1, dtype="int64", low=0, high=4), T(2, 3))],
)
def npu_scatter_nd_update(input: Any, indices: Any, updates: Any) -> Any:
    return aten.index_put(input, list(aten.unbind(indices.to(_INT64), -1)), updates.to(input.dtype))


def _updated(operator: str, data: Any, indices: Any, updates: Any, axis: int) -> Any:
    """Write the updates of each batch into its rows from its index on, along an axis; a pair of indices names the batch as well."""
    require(
        data.dim() == updates.dim() >= 2,
        operator,
        f"the data have {data.dim()} dimensions, the updates {updates.dim()}",
    )
    axis = axis % data.dim()
    require(axis > 0, operator, "axis must not be the first, which the indices are for")
    count, steps = updates.shape[0], updates.shape[axis]
    require(
        indices.dim() == 1 or (indices.dim() == 2 and indices.shape[1] == 2),
        operator,
        f"indices must have the sizes (batch) or (batch, 2), but they are {list(indices.shape)}",
    )
    require(
        indices.shape[0] == count, operator, f"there are {indices.shape[0]} indices, but updates of {count} batches"
    )
    starts = indices.to(_INT64) if indices.dim() == 1 else indices[:, 1].to(_INT64)
    places = starts.unsqueeze(1) + aten.arange(steps, device=indices.device)
    shape = [1] * data.dim()
    shape[0], shape[axis] = count, steps
    places = places.reshape(shape).expand(updates.shape)
    if indices.dim() == 1:
        rows = data[:count]
        aten.copy_(rows, aten.scatter(rows, axis, places, updates.to(data.dtype)))
    else:
        batch = indices[:, 0].to(_INT64)
        rows = aten.index_select(data, 0, batch)
        aten.index_copy_(data, 0, batch, aten.scatter(rows, axis, places, updates.to(data.dtype)))
    return data


@composite(
    "npu::scatter_update_(Tensor(a!) input, Tensor indices, Tensor updates, int axis) -> Tensor(a!)",
    "Writes updates[b] into input[b] from indices[b] on along the axis; indices may be pairs of the batch and the place.",
    explicit=True,
    samples=[S(T(2, 3, 5, 4), T(2, dtype="int64", low=0, high=3), T(2, 3, 1, 4), -2)],
)
def scatter_update_(input: Any, indices: Any, updates: Any, axis: int) -> Any:
    return _updated("scatter_update_", input, indices, updates, axis)


@composite(
    "npu::scatter_update(Tensor input, Tensor indices, Tensor updates, int axis) -> Tensor",
    "scatter_update_ on a copy.",
    explicit=True,
    grad=no_gradient("scatter_update", "input", "updates"),
    samples=[S(T(2, 3, 5, 4), T(2, dtype="int64", low=0, high=3), T(2, 3, 1, 4), -2)],
)
def scatter_update(input: Any, indices: Any, updates: Any, axis: int) -> Any:
    return _updated("scatter_update", aten.clone(input), indices, updates, axis)


def _rounded_into(operator, data, indices, updates, scales, zeros, axis, quant_axis, reduce) -> Any:
    require(reduce == "update", operator, f"reduce must be 'update', but it is {reduce!r}")
    require(
        quant_axis % updates.dim() == updates.dim() - 1, operator, f"quant_axis must be the last one, not {quant_axis}"
    )
    require_dtype(operator, "input", data, ("int8", "float8_e4m3fn", "float8_e5m2"))
    y = wide(updates) / wide(scales).flatten()
    if zeros is not None:
        y = y + wide(zeros).flatten()
    if data.dtype == DTYPES["int8"]:
        y = aten.clamp(aten.round(y), -128, 127)
    return _updated(operator, data, indices, y, axis)


@composite(
    "npu::npu_quant_scatter_(Tensor(a!) input, Tensor indices, Tensor updates, Tensor quant_scales, Tensor? "
    "quant_zero_points=None, int axis=-2, int quant_axis=-1, str reduce='update', int? dst_type=None, str? "
    "round_mode='rint') -> Tensor(a!)",
    "scatter_update_ of updates that are rounded to 8 bits first, by a scale for each of their last dimension.",
    explicit=True,
)
def npu_quant_scatter_(
    input: Any, indices: Any, updates: Any, quant_scales: Any, quant_zero_points: Any = None, axis: int = -2,
    quant_axis: int = -1, reduce: str = "update", dst_type: Any = None, round_mode: Any = "rint",
) -> Any:  # fmt: skip
    require_choice("npu_quant_scatter_", "round_mode", round_mode, ("rint", None))
    return _rounded_into(
        "npu_quant_scatter_", input, indices, updates, quant_scales, quant_zero_points, axis, quant_axis, reduce
    )


@composite(
    "npu::npu_quant_scatter(Tensor input, Tensor indices, Tensor updates, Tensor quant_scales, Tensor? "
    "quant_zero_points=None, int axis=-2, int quant_axis=-1, str reduce='update', int? dst_type=None, str? "
    "round_mode='rint') -> Tensor",
    "npu_quant_scatter_ on a copy.",
    explicit=True,
    grad=no_gradient("npu_quant_scatter", "updates", "quant_scales", "quant_zero_points"),
)
def npu_quant_scatter(
    input: Any, indices: Any, updates: Any, quant_scales: Any, quant_zero_points: Any = None, axis: int = -2,
    quant_axis: int = -1, reduce: str = "update", dst_type: Any = None, round_mode: Any = "rint",
) -> Any:  # fmt: skip
    require_choice("npu_quant_scatter", "round_mode", round_mode, ("rint", None))
    copy = aten.clone(input)
    return _rounded_into(
        "npu_quant_scatter", copy, indices, updates, quant_scales, quant_zero_points, axis, quant_axis, reduce
    )


@composite(
    "npu::npu_scatter_pa_cache.value(Tensor key, Tensor slot_mapping, *, Tensor? compress_lens=None, Tensor? "
    "compress_seq_offsets=None, Tensor? seq_lens=None, Tensor(a!) key_cache) -> Tensor(a!)",
    "Keys of tokens written to their slots of a paged cache.",
    explicit=True,
)
def npu_scatter_pa_cache(
    key: Any, slot_mapping: Any, *, compress_lens: Any = None, compress_seq_offsets: Any = None, seq_lens: Any = None,
    key_cache: Any,
) -> Any:  # fmt: skip
    operator = "npu_scatter_pa_cache"
    require_absent(operator, compress_lens=compress_lens, compress_seq_offsets=compress_seq_offsets, seq_lens=seq_lens)
    _put(operator, key, key_cache, slot_mapping)
    return key_cache
