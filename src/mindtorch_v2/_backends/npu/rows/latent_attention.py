"""Attention of single tokens over a paged cache of latent rows: what is attended to and what is summed share one cache."""

from __future__ import annotations

from typing import Any

from ...._operators.table import aten, namespace
from .attention import Call, Sequence, attend
from .attention_masks import WITHOUT_END, Masking
from .attention_packed import no_workspace
from .cache import paged_rows
from .checks import composite, no_gradient, require, require_absent

atb = namespace("atb")
_OPERATOR = "npu_multi_head_latent_attention"
_ARGUMENTS = (
    "Tensor q_nope, Tensor q_rope, Tensor ctkv, Tensor k_rope, Tensor block_tables, SymInt[] context_lens, int q_headnum, "
    "float qk_scale, int kv_headnum, "
)
_OPTIONS = (
    "*, Tensor? mask=None, SymInt[]? qseqlen=None, Tensor? qk_descale=None, Tensor? pv_descale=None, str? mask_type=None, "
    "str? calc_type=None, str? cache_mode=None"
)
_REFUSED = ("mask", "qseqlen", "qk_descale", "pv_descale", "mask_type")
_PLAIN_CACHES = (None, "krope_ctkv", "kvcache")


def _attend(q_nope, q_rope, ctkv, k_rope, tables, lengths, heads, scale, key_heads, options) -> tuple:
    """The attention (tokens, heads, width), and the logarithms of the sums (tokens, heads, 1)."""
    require_absent(_OPERATOR, **{name: options.get(name) for name in _REFUSED})
    cache_mode = options.get("cache_mode")
    require(
        cache_mode in _PLAIN_CACHES,
        _OPERATOR,
        f"cache_mode must be one of {', '.join(map(repr, _PLAIN_CACHES))}, but it is {cache_mode!r}",
    )
    for name, cache in (("ctkv", ctkv), ("k_rope", k_rope)):
        require(
            cache.dim() == 4 and cache.shape[2] == key_heads,
            _OPERATOR,
            f"{name} must be (blocks, block, {key_heads}, width), but its sizes are {list(cache.shape)}",
        )
    require(
        len(lengths) == q_nope.shape[0],
        _OPERATOR,
        f"context_lens must have a number for each of the {q_nope.shape[0]} tokens, but it has {len(lengths)}",
    )
    everything = Masking(_OPERATOR, None, 0, WITHOUT_END, WITHOUT_END, None, None, None)
    call = Call(_OPERATOR, heads, "BNSD", scale, 1.0, everything, False, 0, 0)
    query = aten.cat([q_nope, q_rope], -1)
    outs, logs = [], []
    for i, length in enumerate(lengths):
        latent, rope = (paged_rows(cache, tables[i], int(length)) for cache in (ctkv, k_rope))
        k, v = (x.transpose(0, 1).unsqueeze(0) for x in (aten.cat([latent, rope], -1), latent))
        out, top, total = attend(call, Sequence(query[i].reshape(1, heads, 1, -1), k, v, None, -1, None))
        outs.append(out.reshape(1, heads, -1))
        logs.append((top + aten.log(total)).reshape(1, heads, 1))
    return aten.cat(outs, 0).to(q_nope.dtype), aten.cat(logs, 0).to(q_nope.dtype)


@composite(
    f"atb::npu_multi_head_latent_attention({_ARGUMENTS}{_OPTIONS}) -> Tensor",
    "Single tokens over a paged cache of latent rows and their turned parts.",
    explicit=True,
    grad=no_gradient("npu_multi_head_latent_attention", "q_nope", "q_rope"),
)
def npu_multi_head_latent_attention(
    q_nope: Any, q_rope: Any, ctkv: Any, k_rope: Any, block_tables: Any, context_lens: Any, q_headnum: int,
    qk_scale: float, kv_headnum: int, **options: Any,
) -> Any:  # fmt: skip
    return _attend(
        q_nope, q_rope, ctkv, k_rope, block_tables, context_lens, q_headnum, qk_scale, kv_headnum, options
    )[0]  # fmt: skip


@composite(
    f"atb::npu_multi_head_latent_attention.out({_ARGUMENTS}{_OPTIONS}, Tensor(a!) output) -> Tensor(a!)",
    "npu_multi_head_latent_attention written to the caller's tensor.",
    explicit=True,
)
def npu_multi_head_latent_attention_out(
    q_nope: Any, q_rope: Any, ctkv: Any, k_rope: Any, block_tables: Any, context_lens: Any, q_headnum: int,
    qk_scale: float, kv_headnum: int, *, output: Any, **options: Any,
) -> Any:  # fmt: skip
    made = _attend(
        q_nope, q_rope, ctkv, k_rope, block_tables, context_lens, q_headnum, qk_scale, kv_headnum, options
    )[0]  # fmt: skip
    return aten.copy_(output, made.reshape(output.shape))


@composite(
    f"atb::npu_multi_head_latent_attention.lse({_ARGUMENTS}bool return_lse, {_OPTIONS}, Tensor? workspace=None) -> (Tensor, "
    "Tensor)",
    "npu_multi_head_latent_attention, and the logarithms of the sums.",
    explicit=True,
    grad=no_gradient("npu_multi_head_latent_attention", "q_nope", "q_rope"),
)
def npu_multi_head_latent_attention_lse(
    q_nope: Any, q_rope: Any, ctkv: Any, k_rope: Any, block_tables: Any, context_lens: Any, q_headnum: int,
    qk_scale: float, kv_headnum: int, return_lse: bool, *, workspace: Any = None, **options: Any,
) -> tuple:  # fmt: skip
    out, logs = _attend(
        q_nope, q_rope, ctkv, k_rope, block_tables, context_lens, q_headnum, qk_scale, kv_headnum, options
    )  # fmt: skip
    return out, logs if return_lse else aten.empty([0], dtype=logs.dtype, device=logs.device)


@composite(
    f"atb::npu_multi_head_latent_attention.lse_out({_ARGUMENTS}bool return_lse, {_OPTIONS}, Tensor? workspace=None, "
    "Tensor(a!) output, Tensor(b!) lse) -> (Tensor(a!), Tensor(b!))",
    "npu_multi_head_latent_attention and the logarithms of the sums, written to the caller's tensors.",
    explicit=True,
)
def npu_multi_head_latent_attention_lse_out(
    q_nope: Any, q_rope: Any, ctkv: Any, k_rope: Any, block_tables: Any, context_lens: Any, q_headnum: int,
    qk_scale: float, kv_headnum: int, return_lse: bool, *, workspace: Any = None, output: Any, lse: Any, **options: Any,
) -> tuple:  # fmt: skip
    out, logs = _attend(
        q_nope, q_rope, ctkv, k_rope, block_tables, context_lens, q_headnum, qk_scale, kv_headnum, options
    )  # fmt: skip
    aten.copy_(output, out.reshape(output.shape))
    if return_lse:
        aten.copy_(lse, logs.reshape(lse.shape))
    return output, lse


@composite(
    f"atb::_npu_multi_head_latent_attention_get_workspace.lse({_ARGUMENTS}bool return_lse, {_OPTIONS}) -> Tensor",
    "The memory that npu_multi_head_latent_attention asks for beforehand: none here.",
    explicit=True,
)
def _npu_multi_head_latent_attention_get_workspace(
    q_nope: Any, q_rope: Any, ctkv: Any, k_rope: Any, block_tables: Any, context_lens: Any, q_headnum: int,
    qk_scale: float, kv_headnum: int, return_lse: bool, **options: Any,
) -> Any:  # fmt: skip
    return no_workspace(q_nope)


@composite(
    "atb::_npu_paged_attention_mla(Tensor query, Tensor key_cache, int num_kv_heads, int num_heads, float scale_value, Tensor "
    "block_table, Tensor context_lens, int mla_vheadsize, Tensor(a!) out) -> ()",
    "_npu_paged_attention whose values are the first `mla_vheadsize` columns of the keys.",
    explicit=True,
    devices={"context_lens": "host"},
)
def _npu_paged_attention_mla(
    query: Any, key_cache: Any, num_kv_heads: int, num_heads: int, scale_value: float, block_table: Any,
    context_lens: Any, mla_vheadsize: int, out: Any,
) -> None:  # fmt: skip
    width = key_cache.shape[-1]
    require(
        0 < mla_vheadsize <= width,
        "_npu_paged_attention_mla",
        f"mla_vheadsize must be from 1 to the width of the keys, {width}, but it is {mla_vheadsize}",
    )
    values = key_cache[..., :mla_vheadsize]
    atb._npu_paged_attention(
        query, key_cache, values, num_kv_heads, num_heads, scale_value, block_table, context_lens, out
    )
