"""Norms and rotations of latent attention's keys, and the caches that they go to."""

from __future__ import annotations

from typing import Any

from ...._core.dtype import DTYPES
from ...._operators.table import aten
from .checks import HALF_AND_FLOAT, composite, no_gradient, require, require_absent, require_choice, require_dtype, wide
from .norm import normalized
from .places import of_each
from .position import _turned, halved

_INT64 = DTYPES["int64"]

_MODES = ("Norm", "PA", "PA_BNSD", "PA_NZ", "PA_BLK_BNSD", "PA_BLK_NZ")


def _norm(operator, x, gamma, epsilon):
    return normalized(operator, wide(x), gamma, epsilon)[0]


def _turned_pairs(x, cos, sin):
    """Pairs brought to halves, then turned, in the wide type."""
    y = halved(wide(x))
    return y * wide(cos) + _turned(y, "half") * wide(sin)


def _eight_bits(x, scale, offset):
    """round(x * scale + offset) within int8."""
    y = wide(x) * wide(scale)
    y = y if offset is None else y + wide(offset)
    return aten.clamp(aten.round(y), -128, 127).to(DTYPES["int8"])


def _slots(operator, index, batch, tokens, block, by_block):
    """The slot of each token: given, or counted from those of the blocks' first tokens; negative for none."""
    places = index.flatten().to(_INT64)
    if by_block:
        blocks = -(-tokens // block)
        require(
            places.numel() == batch * blocks,
            operator,
            f"index must have a slot for each of the {blocks} blocks of each sequence, {batch * blocks}, but it has "
            f"{places.numel()}",
        )
        within = aten.arange(tokens, device=places.device)
        first = aten.index_select(places.reshape(batch, blocks), 1, within // block)
        places = aten.where(first < 0, -1, first + within % block).flatten()
    require(
        places.numel() == batch * tokens,
        operator,
        f"index must have a slot for each of the {batch * tokens} tokens, but it has {places.numel()}",
    )
    return places


def _written(operator, cache, rows, index, mode) -> None:
    """Write (batch, tokens, width) to a cache: at places of each sequence (Norm), or at slots of pages of rows or of NZ."""
    batch, tokens, width = rows.shape
    values = rows.reshape(-1, width).to(cache.dtype)
    if mode == "Norm":  # (batch, 1, longest, width)
        longest = cache.shape[2]
        of = aten.arange(batch, device=rows.device).unsqueeze(-1)
        within = index.reshape(batch, tokens).to(_INT64)
        flat = aten.where(within < 0, -1, of * longest + within).flatten()
        slots, values = of_each(flat, values, cache[0, 0, 0])
        aten.index_put_(cache.select(1, 0), [slots // longest, slots % longest], values)
        return
    block = cache.shape[1]
    slots = _slots(operator, index, batch, tokens, block, "BLK" in mode)
    if mode.endswith("NZ"):  # a page holds width / n columns of (block, n)
        lane = 32 if cache.dtype == DTYPES["int8"] else 16
        pages = cache.view(cache.shape[0], width // lane, block, lane)
        slots, values = of_each(slots, values.reshape(-1, width // lane, lane), pages[0, :, 0])
        aten.index_put_(pages, [slots // block, None, slots % block], values)
        return
    pages = cache.view(cache.shape[0], block, width)
    slots, values = of_each(slots, values, pages[0, 0])
    aten.index_put_(pages, [slots // block, slots % block], values)


def _to_caches(
    operator, kv, gamma, cos, sin, index, caches, scales, offsets, v, epsilon, cache_mode, is_output_kv
) -> tuple:  # fmt: skip
    """The turned and the normalised columns, written to the caches; both as they are if asked for, else empty."""
    require_choice(operator, "cache_mode", cache_mode, _MODES)
    require_dtype(operator, "kv", kv, HALF_AND_FLOAT)
    require_absent(operator, v=v)
    require(
        kv.dim() == 4 and kv.shape[1] == 1,
        operator,
        f"kv must be (batch, 1, tokens, columns), but its sizes are {list(kv.shape)}",
    )
    width, turned = gamma.shape[0], cos.shape[-1]
    require(
        kv.shape[-1] == width + turned,
        operator,
        f"kv must have as many columns as gamma and cos together, {width + turned}, but it has {kv.shape[-1]}",
    )
    plain = _norm(operator, kv[..., :width], gamma, epsilon)
    rope = _turned_pairs(kv[..., width:], cos, sin)
    for cache, rows, scale, offset in (
        (caches[0], rope, scales[0], offsets[0]),
        (caches[1], plain, scales[1], offsets[1]),
    ):
        require(
            (scale is None) == (cache.dtype != DTYPES["int8"]),
            operator,
            f"a scale is given for caches of int8, and for no others; the cache is {cache.dtype}",
        )
        stored = rows if scale is None else _eight_bits(rows, scale, offset)
        _written(operator, cache, stored.squeeze(1), index, cache_mode)
    nothing = aten.empty([0], dtype=kv.dtype, device=kv.device)
    if is_output_kv:
        return rope.to(kv.dtype), plain.to(kv.dtype)
    return nothing, aten.empty_like(nothing)


@composite(
    "npu::npu_kv_rmsnorm_rope_cache(Tensor kv, Tensor gamma, Tensor cos, Tensor sin, Tensor index, Tensor k_cache, "
    "Tensor ckv_cache, *, Tensor? k_rope_scale=None, Tensor? c_kv_scale=None, Tensor? k_rope_offset=None, Tensor? "
    "c_kv_offset=None, Tensor? v=None, float epsilon=1e-5, str cache_mode='Norm', bool is_output_kv=False) -> "
    "(Tensor, Tensor, Tensor, Tensor)",
    "The first columns normalised, the last 64 turned, both written to caches, rounded to int8 where scales are "
    "given; and both as they are if asked for.",
    explicit=True,
    grad=no_gradient("npu_kv_rmsnorm_rope_cache", "kv", "gamma", "cos", "sin"),
)
def npu_kv_rmsnorm_rope_cache(
    kv: Any, gamma: Any, cos: Any, sin: Any, index: Any, k_cache: Any, ckv_cache: Any, *, k_rope_scale: Any = None,
    c_kv_scale: Any = None, k_rope_offset: Any = None, c_kv_offset: Any = None, v: Any = None, epsilon: float = 1e-5,
    cache_mode: str = "Norm", is_output_kv: bool = False,
) -> tuple:  # fmt: skip
    return k_cache, ckv_cache, *_to_caches(
        "npu_kv_rmsnorm_rope_cache", kv, gamma, cos, sin, index, (k_cache, ckv_cache), (k_rope_scale, c_kv_scale),
        (k_rope_offset, c_kv_offset), v, epsilon, cache_mode, is_output_kv,
    )  # fmt: skip


@composite(
    "npu::npu_kv_rmsnorm_rope_cache_v2(Tensor kv, Tensor gamma, Tensor cos, Tensor sin, Tensor index, Tensor(a!) k_cache, Tensor(b!) "
    "ckv_cache, *, Tensor? k_rope_scale=None, Tensor? c_kv_scale=None, Tensor? k_rope_offset=None, Tensor? c_kv_offset=None, Tensor? "
    "v=None, float epsilon=1e-5, str cache_mode='Norm', bool is_output_kv=False, int? k_cache_dtype=None, int? ckv_cache_dtype=None) "
    "-> (Tensor, Tensor)",
    "npu_kv_rmsnorm_rope_cache whose schema says that it writes; only what else it gives is returned.",
    explicit=True,
)
def npu_kv_rmsnorm_rope_cache_v2(
    kv: Any, gamma: Any, cos: Any, sin: Any, index: Any, k_cache: Any, ckv_cache: Any, *, k_rope_scale: Any = None,
    c_kv_scale: Any = None, k_rope_offset: Any = None, c_kv_offset: Any = None, v: Any = None, epsilon: float = 1e-5,
    cache_mode: str = "Norm", is_output_kv: bool = False, k_cache_dtype: Any = None, ckv_cache_dtype: Any = None,
) -> tuple:  # fmt: skip
    operator = "npu_kv_rmsnorm_rope_cache_v2"
    require_absent(operator, k_cache_dtype=k_cache_dtype, ckv_cache_dtype=ckv_cache_dtype)
    return _to_caches(
        operator, kv, gamma, cos, sin, index, (k_cache, ckv_cache), (k_rope_scale, c_kv_scale),
        (k_rope_offset, c_kv_offset), v, epsilon, cache_mode, is_output_kv,
    )  # fmt: skip
