"""Latent attention before it attends: projections, norms and rotations of queries and keys, and the caches they go to."""

from __future__ import annotations

from typing import Any

from ...._core.dtype import DTYPES
from ...._operators.table import aten, composite, namespace
from .checks import HALF_AND_FLOAT, no_gradient, require, require_absent, require_choice, require_dtype, wide
from .norm import normalized
from .places import of_each
from .position import _turned, halved

_INT64 = DTYPES["int64"]
npu = namespace("npu")

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


def _prolog(
    operator, token_x, weight_dq, weight_uq_qr, weight_uk, weight_dkv_kr, gammas, rope_sin, rope_cos, epsilons
) -> tuple:  # fmt: skip
    """Queries and their turned part, keys and theirs, and the normalised queries, in the dtype of the tokens."""
    require_dtype(operator, "token_x", token_x, HALF_AND_FLOAT)
    dtype = token_x.dtype
    low = _norm(operator, aten.matmul(token_x, weight_dq), gammas[0], epsilons[0]).to(dtype)
    heads, inner = weight_uk.shape[0], weight_uk.shape[1]
    both = aten.matmul(low, weight_uq_qr)
    both = aten.unflatten(both, -1, [heads, both.shape[-1] // heads])
    query = aten.matmul(both[..., :inner].unsqueeze(-2), weight_uk).squeeze(-2)
    turned = _turned_pairs(both[..., inner:], rope_cos.unsqueeze(-2), rope_sin.unsqueeze(-2)).to(dtype)
    low_kv = aten.matmul(token_x, weight_dkv_kr)
    width = gammas[1].shape[0]
    key = _norm(operator, low_kv[..., :width], gammas[1], epsilons[1]).to(dtype)
    key_turned = _turned_pairs(low_kv[..., width:], rope_cos, rope_sin).to(dtype)
    return query.to(dtype), turned, key, key_turned, low


def _to_pages(operator, caches, rows, index, cache_mode) -> None:
    require_choice(operator, "cache_mode", cache_mode, ("PA_BSND", "PA_NZ", "PA_BLK_BSND", "PA_BLK_NZ"))
    for cache, x in zip(caches, rows, strict=True):
        x = x.reshape(-1, *x.shape[-2:]) if x.dim() > 2 else x.unsqueeze(0)
        _written(operator, cache, x, index, cache_mode)


@composite(
    "npu::npu_mla_prolog(Tensor token_x, Tensor weight_dq, Tensor weight_uq_qr, Tensor weight_uk, Tensor weight_dkv_kr, Tensor "
    "rmsnorm_gamma_cq, Tensor rmsnorm_gamma_ckv, Tensor rope_sin, Tensor rope_cos, Tensor cache_index, Tensor kv_cache, Tensor "
    "kr_cache, *, Tensor? dequant_scale_x=None, Tensor? dequant_scale_w_dq=None, Tensor? dequant_scale_w_uq_qr=None, Tensor? "
    "dequant_scale_w_dkv_kr=None, Tensor? quant_scale_ckv=None, Tensor? quant_scale_ckr=None, Tensor? smooth_scales_cq=None, float "
    "rmsnorm_epsilon_cq=1e-05, float rmsnorm_epsilon_ckv=1e-05, str cache_mode='PA_BSND') -> (Tensor, Tensor, Tensor, Tensor)",
    "npu_mla_prolog_v2 without its empty scale.",
    explicit=True,
    grad=no_gradient("npu_mla_prolog", "token_x", "weight_dq", "weight_uq_qr", "weight_uk", "weight_dkv_kr"),
)
def npu_mla_prolog(*args: Any, **kwargs: Any) -> tuple:
    return npu.npu_mla_prolog_v2(*args, **kwargs)[:4]


@composite(
    "npu::npu_mla_prolog_v2(Tensor token_x, Tensor weight_dq, Tensor weight_uq_qr, Tensor weight_uk, Tensor "
    "weight_dkv_kr, Tensor rmsnorm_gamma_cq, Tensor rmsnorm_gamma_ckv, Tensor rope_sin, Tensor rope_cos, Tensor "
    "cache_index, Tensor kv_cache, Tensor kr_cache, *, Tensor? dequant_scale_x=None, Tensor? "
    "dequant_scale_w_dq=None, Tensor? dequant_scale_w_uq_qr=None, Tensor? dequant_scale_w_dkv_kr=None, Tensor? "
    "quant_scale_ckv=None, Tensor? quant_scale_ckr=None, Tensor? smooth_scales_cq=None, float "
    "rmsnorm_epsilon_cq=1e-05, float rmsnorm_epsilon_ckv=1e-05, str cache_mode='PA_BSND') -> (Tensor, Tensor, "
    "Tensor, Tensor, Tensor)",
    "Queries and keys of latent attention from tokens by their weights; keys are written to two paged caches. "
    "Queries, their turned part, the caches, and an empty scale.",
    explicit=True,
    grad=no_gradient("npu_mla_prolog_v2", "token_x", "weight_dq", "weight_uq_qr", "weight_uk", "weight_dkv_kr"),
)
def npu_mla_prolog_v2(
    token_x: Any, weight_dq: Any, weight_uq_qr: Any, weight_uk: Any, weight_dkv_kr: Any, rmsnorm_gamma_cq: Any,
    rmsnorm_gamma_ckv: Any, rope_sin: Any, rope_cos: Any, cache_index: Any, kv_cache: Any, kr_cache: Any, *,
    dequant_scale_x: Any = None, dequant_scale_w_dq: Any = None, dequant_scale_w_uq_qr: Any = None,
    dequant_scale_w_dkv_kr: Any = None, quant_scale_ckv: Any = None, quant_scale_ckr: Any = None,
    smooth_scales_cq: Any = None, rmsnorm_epsilon_cq: float = 1e-05, rmsnorm_epsilon_ckv: float = 1e-05,
    cache_mode: str = "PA_BSND",
) -> tuple:  # fmt: skip
    operator = "npu_mla_prolog_v2"
    require_absent(
        operator, dequant_scale_x=dequant_scale_x, dequant_scale_w_dq=dequant_scale_w_dq,
        dequant_scale_w_uq_qr=dequant_scale_w_uq_qr, dequant_scale_w_dkv_kr=dequant_scale_w_dkv_kr,
        quant_scale_ckv=quant_scale_ckv, quant_scale_ckr=quant_scale_ckr, smooth_scales_cq=smooth_scales_cq,
    )  # fmt: skip
    query, turned, *keys, _ = _prolog(
        operator, token_x, weight_dq, weight_uq_qr, weight_uk, weight_dkv_kr, (rmsnorm_gamma_cq, rmsnorm_gamma_ckv), rope_sin,
        rope_cos, (rmsnorm_epsilon_cq, rmsnorm_epsilon_ckv),
    )  # fmt: skip
    _to_pages(operator, (kv_cache, kr_cache), keys, cache_index, cache_mode)
    return query, turned, kv_cache, kr_cache, aten.empty([0], dtype=DTYPES["float32"], device=token_x.device)


@composite(
    "npu::npu_mla_prolog_v3(Tensor token_x, Tensor weight_dq, Tensor weight_uq_qr, Tensor weight_uk, Tensor "
    "weight_dkv_kr, Tensor rmsnorm_gamma_cq, Tensor rmsnorm_gamma_ckv, Tensor rope_sin, Tensor rope_cos, Tensor(a!) "
    "kv_cache, Tensor(b!) kr_cache, *, Tensor? cache_index=None, Tensor? dequant_scale_x=None, Tensor? "
    "dequant_scale_w_dq=None, Tensor? dequant_scale_w_uq_qr=None, Tensor? dequant_scale_w_dkv_kr=None, Tensor? "
    "quant_scale_ckv=None, Tensor? quant_scale_ckr=None, Tensor? smooth_scales_cq=None, Tensor? actual_seq_len=None, "
    "Tensor? k_nope_clip_alpha=None, float rmsnorm_epsilon_cq=1e-05, float rmsnorm_epsilon_ckv=1e-05, str "
    'cache_mode="PA_BSND", bool query_norm_flag=False, int weight_quant_mode=0, int kv_cache_quant_mode=0, int '
    "query_quant_mode=0, int ckvkr_repo_mode=0, int quant_scale_repo_mode=0, int tile_size=128, float "
    "qc_qr_scale=1.0, float kc_scale=1.0, int? token_x_dtype=None, int? weight_dq_dtype=None, int? "
    "weight_uq_qr_dtype=None, int? weight_dkv_kr_dtype=None, int? kv_cache_dtype=None) -> (Tensor, Tensor, Tensor, "
    "Tensor, Tensor)",
    "npu_mla_prolog_v2 by its newer names. Queries, their turned part, an empty scale, the normalised queries if "
    "asked for, and an empty scale of these.",
    explicit=True,
)
def npu_mla_prolog_v3(
    token_x: Any, weight_dq: Any, weight_uq_qr: Any, weight_uk: Any, weight_dkv_kr: Any, rmsnorm_gamma_cq: Any,
    rmsnorm_gamma_ckv: Any, rope_sin: Any, rope_cos: Any, kv_cache: Any, kr_cache: Any, *, cache_index: Any = None,
    dequant_scale_x: Any = None, dequant_scale_w_dq: Any = None, dequant_scale_w_uq_qr: Any = None,
    dequant_scale_w_dkv_kr: Any = None, quant_scale_ckv: Any = None, quant_scale_ckr: Any = None,
    smooth_scales_cq: Any = None, actual_seq_len: Any = None, k_nope_clip_alpha: Any = None,
    rmsnorm_epsilon_cq: float = 1e-05, rmsnorm_epsilon_ckv: float = 1e-05, cache_mode: str = "PA_BSND",
    query_norm_flag: bool = False, weight_quant_mode: int = 0, kv_cache_quant_mode: int = 0,
    query_quant_mode: int = 0, ckvkr_repo_mode: int = 0, quant_scale_repo_mode: int = 0, tile_size: int = 128,
    qc_qr_scale: float = 1.0, kc_scale: float = 1.0, token_x_dtype: Any = None, weight_dq_dtype: Any = None,
    weight_uq_qr_dtype: Any = None, weight_dkv_kr_dtype: Any = None, kv_cache_dtype: Any = None,
) -> tuple:  # fmt: skip
    operator = "npu_mla_prolog_v3"
    require_absent(
        operator, dequant_scale_x=dequant_scale_x, dequant_scale_w_dq=dequant_scale_w_dq,
        dequant_scale_w_uq_qr=dequant_scale_w_uq_qr, dequant_scale_w_dkv_kr=dequant_scale_w_dkv_kr,
        quant_scale_ckv=quant_scale_ckv, quant_scale_ckr=quant_scale_ckr, smooth_scales_cq=smooth_scales_cq,
        actual_seq_len=actual_seq_len, k_nope_clip_alpha=k_nope_clip_alpha, token_x_dtype=token_x_dtype,
        weight_dq_dtype=weight_dq_dtype, weight_uq_qr_dtype=weight_uq_qr_dtype,
        weight_dkv_kr_dtype=weight_dkv_kr_dtype, kv_cache_dtype=kv_cache_dtype,
    )  # fmt: skip
    for name, mode in (
        ("weight_quant_mode", weight_quant_mode), ("kv_cache_quant_mode", kv_cache_quant_mode),
        ("query_quant_mode", query_quant_mode), ("ckvkr_repo_mode", ckvkr_repo_mode),
        ("quant_scale_repo_mode", quant_scale_repo_mode),
    ):  # fmt: skip
        require_choice(operator, name, mode, (0,))
    require(cache_index is not None, operator, "cache_index is needed")
    require(
        qc_qr_scale == kc_scale == 1,
        operator,
        f"qc_qr_scale and kc_scale must be 1, but they are {qc_qr_scale} and {kc_scale}",
    )
    query, turned, *keys, low = _prolog(
        operator, token_x, weight_dq, weight_uq_qr, weight_uk, weight_dkv_kr, (rmsnorm_gamma_cq, rmsnorm_gamma_ckv), rope_sin,
        rope_cos, (rmsnorm_epsilon_cq, rmsnorm_epsilon_ckv),
    )  # fmt: skip
    _to_pages(operator, (kv_cache, kr_cache), keys, cache_index, cache_mode)
    nothing = aten.empty([0], dtype=DTYPES["float32"], device=token_x.device)
    return (
        query,
        turned,
        nothing,
        low if query_norm_flag else aten.empty([0], dtype=low.dtype, device=low.device),
        nothing,
    )
