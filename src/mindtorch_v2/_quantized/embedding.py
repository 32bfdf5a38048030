"""Embeddings whose rows are whole numbers of eight or four bits, with a scale and a least number each."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2 import _C
from mindtorch_v2._operators.composite.quantized import unpacked
from mindtorch_v2._quantized.packed import EmbeddingParams
from mindtorch_v2.nn import functional

from .table import operator

_PACKED = "__torch__.torch.classes.quantized.EmbeddingPackedParamsBase"


@operator(f"embedding_bag_prepack(Tensor weight) -> {_PACKED} W_prepack")
def _prepack(weight: Any) -> EmbeddingParams:
    return EmbeddingParams(weight)


@operator(f"embedding_bag_unpack({_PACKED} W_prepack) -> Tensor W_origin")
def _unpack(W_prepack: Any) -> Any:
    return W_prepack.unpack()


# ---- rows with their scale and least number behind them ----


def _bytes_of(x: Any) -> Any:
    return x.contiguous().view(torch.uint8)


def _packed_numbers(whole: Any, bits: int) -> Any:
    """Whole numbers of few bits, several to a byte, the first in the lowest bits."""
    each = 8 // bits
    if each == 1:
        return whole
    short = whole.shape[-1] % each
    if short:
        whole = functional.pad(whole, (0, each - short))
    parts = whole.reshape(*whole.shape[:-1], -1, each).long() << torch.arange(0, 8, bits)
    return parts.sum(-1).to(torch.uint8)


def _row_packed(weight: Any, bits: int, optimized: bool = False, bins: int = 200, ratio: float = 0.16) -> Any:
    if weight.dtype not in (torch.float32, torch.float16):
        raise RuntimeError("'embedding_bag_byte_prepack' only support float32 or float16.")
    rows = weight.detach().float().reshape(-1, weight.shape[-1])
    least, greatest = rows.amin(1, keepdim=True), rows.amax(1, keepdim=True)
    if optimized:
        raise NotImplementedError(
            "optimized_qparams: the search for the bounds that lose least (choose_qparams_optimized) is not implemented"
        )
    most = (1 << bits) - 1
    if bits == 8:
        span = greatest - least
        whole = torch.round((rows - least) * (255.0 / (span + 1e-8))).to(torch.uint8)
        tail = torch.cat([_bytes_of(span / 255.0), _bytes_of(least)], 1)
    else:
        half_least = least.half().float()
        span = greatest - half_least
        scale = torch.where(span == 0, 1.0, span / most).half().float()
        scale = torch.where(scale == 0, 1.0, scale)
        inverse = 1.0 / scale
        endless = torch.isinf(inverse)
        scale, inverse = torch.where(endless, 1.0, scale), torch.where(endless, 1.0, inverse)
        numbers = torch.round((rows - half_least) * inverse).clamp(0, most).to(torch.uint8)
        whole = _packed_numbers(numbers, bits)
        tail = torch.cat([_bytes_of(scale.half()), _bytes_of(half_least.half())], 1)
    made = torch.cat([whole, tail], 1)
    return made.reshape(*weight.shape[:-1], made.shape[1])


def _row_unpacked(packed: Any, bits: int) -> Any:
    """The numbers of float32 of such rows."""
    tail = 8 if bits == 8 else 4
    rows = packed.reshape(-1, packed.shape[-1])
    whole, ends = rows[:, :-tail], rows[:, -tail:].contiguous()
    scale, least = ends.view(torch.float32 if bits == 8 else torch.float16).float().split(1, 1)
    if bits < 8:
        parts = whole.unsqueeze(2).long() >> torch.arange(0, 8, bits)
        whole = (parts & ((1 << bits) - 1)).reshape(whole.shape[0], -1)
    made = whole.float() * scale + least
    return made.reshape(*packed.shape[:-1], made.shape[1])


@operator("embedding_bag_byte_prepack(Tensor weight) -> Tensor")
def _prepack_byte(weight: Any) -> Any:
    return _row_packed(weight, 8)


@operator("embedding_bag_byte_unpack(Tensor weight) -> Tensor")
def _unpack_byte(weight: Any) -> Any:
    return _row_unpacked(weight, 8)


def _few_bits(bits: int) -> None:
    def pack(weight: Any, optimized_qparams: bool = False, nbins: int = 200, ratio: float = 0.16) -> Any:
        return _row_packed(weight, bits, optimized_qparams, nbins, ratio)

    def unpack(weight: Any) -> Any:
        return _row_unpacked(weight, bits)

    operator(
        f"embedding_bag_{bits}bit_prepack(Tensor weight, bool optimized_qparams=False, int nbins=200, float ratio=0.16) "
        "-> Tensor"
    )(pack)
    operator(f"embedding_bag_{bits}bit_unpack(Tensor weight) -> Tensor")(unpack)


_few_bits(4)
_few_bits(2)


# ---- looking rows up ----


def _table_of(packed: EmbeddingParams) -> Any:
    """The numbers of float32 of a packed embedding: scale * number - zero point * scale."""
    weight = packed.unpack()
    quantizer = _C._quantizer(weight)
    scales, points = quantizer.scales.reshape(-1, 1), quantizer.zero_points.reshape(-1, 1)
    least = -points * scales
    if weight.dtype == torch.quint4x2:  # they are packed as float16
        scales, least = scales.half().float(), least.half().float()
    return unpacked(weight).float() * scales + least


def _lookup(name: str) -> None:
    def run(weight: Any, indices: Any, pruned_weights: bool = False) -> Any:
        return functional.embedding(indices, _table_of(weight))

    operator(f"{name}({_PACKED} weight, Tensor indices, bool pruned_weights=False) -> Tensor")(run)


_lookup("embedding_byte")
_lookup("embedding_4bit")

_BAG = (
    "Tensor indices, Tensor? offsets=None, bool scale_grad_by_freq=False, int mode=0, bool pruned_weights=False, "
    "Tensor? per_sample_weights=None, Tensor? compressed_indices_mapping=None, bool include_last_offset=False"
)


def _bag(
    table: Any,
    indices: Any,
    offsets: Any,
    mode: int,
    pruned: bool,
    weights: Any,
    mapping: Any,
    include_last: bool,
) -> Any:
    if indices.dim() == 2 and offsets is None:
        count = indices.shape[1]
        offsets, indices = torch.arange(0, indices.numel(), count), indices.reshape(-1)
        include_last, weights = False, None if weights is None else weights.reshape(-1)
    if offsets is None:
        raise RuntimeError("embedding_bag operator expects offsets to be set for 1D indices.")
    if pruned and mapping is not None and mapping.numel() > 1:
        found = mapping[indices.long()]
        kept = (found >= 0).float()
        indices = found.clamp_min(0).long()
        weights = kept if weights is None else weights * kept
    ends = offsets.long()
    if include_last:
        starts, stops = ends[:-1], ends[1:]
    else:
        starts, stops = ends, torch.cat([ends[1:], torch.tensor([indices.numel()])])
    rows = table[indices.long()]
    if weights is not None:
        rows = rows * weights.reshape(-1, 1)
    sums = torch.zeros(starts.numel(), table.shape[1])
    bags = torch.repeat_interleave(torch.arange(starts.numel()), stops - starts)
    return sums.index_add_(0, bags, rows[int(starts[0]) if starts.numel() else 0 :])


def _bag_of_packed(
    weight: Any,
    indices: Any,
    offsets: Any = None,
    scale_grad_by_freq: bool = False,
    mode: int = 0,
    pruned_weights: bool = False,
    per_sample_weights: Any = None,
    compressed_indices_mapping: Any = None,
    include_last_offset: bool = False,
) -> Any:
    return _bag(
        _table_of(weight),
        indices,
        offsets,
        mode,
        pruned_weights,
        per_sample_weights,
        compressed_indices_mapping,
        include_last_offset,
    )


operator(
    f"embedding_bag_byte({_PACKED} weight, {_BAG}) -> Tensor",
    f"embedding_bag_4bit({_PACKED} weight, {_BAG}) -> Tensor",
)(_bag_of_packed)


def _bag_of_rows(bits: int) -> None:
    def run(
        weight: Any,
        indices: Any,
        offsets: Any = None,
        scale_grad_by_freq: bool = False,
        mode: int = 0,
        pruned_weights: bool = False,
        per_sample_weights: Any = None,
        compressed_indices_mapping: Any = None,
        include_last_offset: bool = False,
    ) -> Any:
        return _bag(
            _row_unpacked(weight, bits),
            indices,
            offsets,
            mode,
            pruned_weights,
            per_sample_weights,
            compressed_indices_mapping,
            include_last_offset,
        )

    word = "byte" if bits == 8 else f"{bits}bit"
    operator(f"embedding_bag_{word}_rowwise_offsets(Tensor weight, {_BAG}) -> Tensor")(run)


for _bits in (8, 4, 2):
    _bag_of_rows(_bits)
