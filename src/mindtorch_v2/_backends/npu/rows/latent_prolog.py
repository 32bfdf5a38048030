"""Latent attention before it attends: projections, norms and rotations of queries and keys, of 8-bit numbers too.

What is of 8 bits says itself how far the numbers are quantised: the tokens and all weights but weight_uk (each product then has a
scale for each row and column), or weight_uq_qr alone (rows before it are rounded by their largest); and the caches.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ...._core.dtype import DTYPES
from ...._operators.table import aten, namespace
from .checks import HALF_AND_FLOAT, composite, no_gradient, require, require_absent, require_choice, require_dtype, wide
from .latent import _eight_bits, _norm, _turned_pairs, _written
from .quantization import quantized_by_row
from .quantized_product import _exact

_INT8 = DTYPES["int8"]
npu = namespace("npu")


class _Scales(NamedTuple):
    """Factors of 8-bit numbers: of the tokens, the weights, the caches, and of rows before they are rounded."""

    x: Any
    dq: Any
    uq_qr: Any
    dkv_kr: Any
    ckv: Any
    ckr: Any
    smooth: Any


class _Result(NamedTuple):
    query: Any
    turned: Any
    query_scale: Any  # None where the query is not rounded
    low: Any  # the normalised query, in 8 bits where weight_uq_qr is
    low_scale: Any


def _modes(operator: str, token_x: Any, weights: tuple, caches: tuple, scales: _Scales) -> tuple[int, int]:
    """How far weights (0, 1: weight_uq_qr, 2: all and the tokens) and caches (0, 1: one scale, 2: by column) are quantised."""
    dq, uq_qr, dkv_kr = weights
    require_dtype(operator, "token_x", token_x, (*HALF_AND_FLOAT, "int8"))
    mode = 2 if token_x.dtype == _INT8 else 1 if uq_qr.dtype == _INT8 else 0
    for name, weight, least in (("weight_dq", dq, 2), ("weight_uq_qr", uq_qr, 1), ("weight_dkv_kr", dkv_kr, 2)):
        require(
            (weight.dtype == _INT8) == (mode >= least),
            operator,
            f"of 8 bits are token_x, weight_dq, weight_uq_qr and weight_dkv_kr, or weight_uq_qr alone, or none; token_x is "
            f"{token_x.dtype}, weight_uq_qr {uq_qr.dtype}, {name} {weight.dtype}",
        )
    cache = 0 if caches[0].dtype != _INT8 else 1 if mode == 2 else 2
    require(mode > 0 or cache == 0, operator, "kv_cache is of int8 only where weight_uq_qr is")
    needed = {
        "dequant_scale_x": (scales.x, mode == 2), "dequant_scale_w_dq": (scales.dq, mode == 2),
        "dequant_scale_w_uq_qr": (scales.uq_qr, mode >= 1), "dequant_scale_w_dkv_kr": (scales.dkv_kr, mode == 2),
        "quant_scale_ckv": (scales.ckv, cache > 0), "quant_scale_ckr": (scales.ckr, cache == 2),
    }  # fmt: skip
    for name, (scale, wanted) in needed.items():
        require(
            (scale is not None) == wanted,
            operator,
            f"{name} is {'needed' if wanted else 'not taken'} with these dtypes",
        )
    require(scales.smooth is None or mode > 0, operator, "smooth_scales_cq is taken where weight_uq_qr is of int8")
    require(
        (caches[1].dtype == _INT8) == (cache == 2),
        operator,
        f"kr_cache must {'be' if cache == 2 else 'not be'} of int8, but it is {caches[1].dtype}",
    )
    return mode, cache


def _product(x: Any, weight: Any, x_scale: Any, scale: Any) -> Any:
    if weight.dtype != _INT8:
        return aten.matmul(x, weight)
    return _exact(x, weight) * wide(x_scale).reshape([*x.shape[:-1], 1]) * wide(scale).flatten()


def _prolog(
    operator: str, token_x: Any, weights: tuple, gammas: tuple, rope: tuple, caches: tuple, index: Any, epsilons: tuple,
    cache_mode: str, scales: _Scales, factors: tuple = (1.0, 1.0),
) -> _Result:  # fmt: skip
    """Queries and their turned part; the keys and theirs are written to the caches. `factors` are of the two norms."""
    weight_dq, weight_uq_qr, weight_uk, weight_dkv_kr = weights
    sin, cos = rope
    mode, quantised = _modes(operator, token_x, (weight_dq, weight_uq_qr, weight_dkv_kr), caches, scales)
    dtype = weight_uk.dtype if mode == 2 else token_x.dtype
    low = _norm(operator, _product(token_x, weight_dq, scales.x, scales.dq), gammas[0], epsilons[0]) * factors[0]
    low_scale = None
    if mode:
        smooth = None if scales.smooth is None else scales.smooth.flatten()
        low, low_scale = quantized_by_row(operator, low, smooth)
    else:
        low = low.to(dtype)
    both = _product(low, weight_uq_qr, low_scale, scales.uq_qr)
    heads, inner = weight_uk.shape[0], weight_uk.shape[1]
    both = aten.unflatten(both, -1, [heads, both.shape[-1] // heads])
    query = aten.matmul(both[..., :inner].to(dtype).unsqueeze(-2), weight_uk).squeeze(-2)
    turned = _turned_pairs(both[..., inner:], cos.unsqueeze(-2), sin.unsqueeze(-2)).to(dtype)
    query_scale = None
    if quantised == 1:  # the turned part is brought to the scale that the product of query and keys has
        query, query_scale = quantized_by_row(operator, query.to(dtype))
        query_scale = query_scale.unsqueeze(-1)
        turned = (wide(turned) * wide(scales.ckv).flatten()[:1] / query_scale).to(dtype)
        query_scale = query_scale.reshape([-1, heads, 1])
    low_kv = _product(token_x, weight_dkv_kr, scales.x, scales.dkv_kr)
    width = gammas[1].shape[0]
    key = _norm(operator, low_kv[..., :width], gammas[1], epsilons[1]) * factors[1]
    key_turned = _turned_pairs(low_kv[..., width:], cos, sin)
    if quantised:
        ckv = wide(scales.ckv).flatten()
        key = _eight_bits(key, ckv[:1] if quantised == 1 else ckv, None)
    if quantised == 2:
        key_turned = _eight_bits(key_turned, scales.ckr.flatten(), None)
    _to_pages(operator, caches, (key, key_turned), index, cache_mode)
    return _Result(query if quantised == 1 else query.to(dtype), turned, query_scale, low, low_scale)


def _to_pages(operator: str, caches: tuple, rows: tuple, index: Any, cache_mode: str) -> None:
    require_choice(operator, "cache_mode", cache_mode, ("PA_BSND", "PA_NZ", "PA_BLK_BSND", "PA_BLK_NZ"))
    for cache, x in zip(caches, rows, strict=True):
        x = x.reshape(-1, *x.shape[-2:]) if x.dim() > 2 else x.unsqueeze(0)
        _written(operator, cache, x, index, cache_mode)


def _nothing(like: Any, dtype: Any = None) -> Any:
    return aten.empty([0], dtype=dtype or DTYPES["float32"], device=like.device)


@composite(
    "npu::npu_mla_prolog(Tensor token_x, Tensor weight_dq, Tensor weight_uq_qr, Tensor weight_uk, Tensor weight_dkv_kr, Tensor "
    "rmsnorm_gamma_cq, Tensor rmsnorm_gamma_ckv, Tensor rope_sin, Tensor rope_cos, Tensor cache_index, Tensor kv_cache, Tensor "
    "kr_cache, *, Tensor? dequant_scale_x=None, Tensor? dequant_scale_w_dq=None, Tensor? dequant_scale_w_uq_qr=None, Tensor? "
    "dequant_scale_w_dkv_kr=None, Tensor? quant_scale_ckv=None, Tensor? quant_scale_ckr=None, Tensor? smooth_scales_cq=None, float "
    "rmsnorm_epsilon_cq=1e-05, float rmsnorm_epsilon_ckv=1e-05, str cache_mode='PA_BSND') -> (Tensor, Tensor, Tensor, Tensor)",
    "npu_mla_prolog_v2 without its scale.",
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
    "Queries, their turned part, the caches, and the scales of queries that are of 8 bits, else an empty one.",
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
    made = _prolog(
        operator, token_x, (weight_dq, weight_uq_qr, weight_uk, weight_dkv_kr), (rmsnorm_gamma_cq, rmsnorm_gamma_ckv),
        (rope_sin, rope_cos), (kv_cache, kr_cache), cache_index, (rmsnorm_epsilon_cq, rmsnorm_epsilon_ckv), cache_mode,
        _Scales(
            dequant_scale_x, dequant_scale_w_dq, dequant_scale_w_uq_qr, dequant_scale_w_dkv_kr, quant_scale_ckv,
            quant_scale_ckr, smooth_scales_cq,
        ),
    )  # fmt: skip
    scale = _nothing(token_x) if made.query_scale is None else made.query_scale
    return made.query, made.turned, kv_cache, kr_cache, scale


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
    "npu_mla_prolog_v2 by its newer names. Queries, their turned part, their scales, the normalised queries if "
    "asked for, and the scales of these; scales of what is not of 8 bits are empty.",
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
        operator, actual_seq_len=actual_seq_len, k_nope_clip_alpha=k_nope_clip_alpha, token_x_dtype=token_x_dtype,
        weight_dq_dtype=weight_dq_dtype, weight_uq_qr_dtype=weight_uq_qr_dtype, weight_dkv_kr_dtype=weight_dkv_kr_dtype,
        kv_cache_dtype=kv_cache_dtype,
    )  # fmt: skip
    for name, mode in (("ckvkr_repo_mode", ckvkr_repo_mode), ("quant_scale_repo_mode", quant_scale_repo_mode)):
        require_choice(operator, name, mode, (0,))
    require(cache_index is not None, operator, "cache_index is needed")
    weights, caches = (weight_dq, weight_uq_qr, weight_uk, weight_dkv_kr), (kv_cache, kr_cache)
    scales = _Scales(
        dequant_scale_x, dequant_scale_w_dq, dequant_scale_w_uq_qr, dequant_scale_w_dkv_kr, quant_scale_ckv, quant_scale_ckr,
        smooth_scales_cq,
    )  # fmt: skip
    of_weights, of_caches = _modes(operator, token_x, (weight_dq, weight_uq_qr, weight_dkv_kr), caches, scales)
    for name, mode, found in (
        ("weight_quant_mode", weight_quant_mode, of_weights), ("kv_cache_quant_mode", kv_cache_quant_mode, of_caches),
        ("query_quant_mode", query_quant_mode, int(of_caches == 1)),
    ):  # fmt: skip
        require(mode == found, operator, f"{name} must be {found} with these dtypes, but it is {mode}")
    made = _prolog(
        operator, token_x, weights, (rmsnorm_gamma_cq, rmsnorm_gamma_ckv), (rope_sin, rope_cos), caches, cache_index,
        (rmsnorm_epsilon_cq, rmsnorm_epsilon_ckv), cache_mode, scales, (qc_qr_scale, kc_scale),
    )  # fmt: skip
    query_scale = _nothing(token_x) if made.query_scale is None else made.query_scale
    if not query_norm_flag:
        return made.query, made.turned, query_scale, _nothing(token_x, made.low.dtype), _nothing(token_x)
    low_scale = _nothing(token_x) if made.low_scale is None else made.low_scale.reshape([-1, 1])
    return made.query, made.turned, query_scale, made.low, low_scale
