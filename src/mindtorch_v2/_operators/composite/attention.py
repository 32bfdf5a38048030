"""Scaled dot product attention: which way it is computed, and the way by separate operators."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Never

from ... import _C
from ..._core.dtype import DTYPES
from ..table import S, T, aten, composite, cpp_name

if TYPE_CHECKING:
    from ..._tensor import Tensor


FLASH, MATH = 1, 0
# What torch.backends.cuda.enable_*_sdp and torch.nn.attention.sdpa_kernel switch, through the functions below.
ENABLED = {FLASH: True, MATH: True}

_C._get_flash_sdp_enabled = lambda: ENABLED[FLASH]
_C._get_math_sdp_enabled = lambda: ENABLED[MATH]


def _switch(which, enabled) -> None:
    _C._run_put_off()  # calls that wait were made before
    ENABLED[which] = bool(enabled)


_C._set_sdp_use_flash = functools.partial(_switch, FLASH)
_C._set_sdp_use_math = functools.partial(_switch, MATH)

_FUSED_DTYPES = "float16 bfloat16 float32 float64"


def _check(query, key, value, attn_mask, dropout_p, is_causal) -> None:
    if not (query.dtype == key.dtype == value.dtype):
        names = [cpp_name(t.dtype) for t in (query, key, value)]
        raise RuntimeError(
            f"Expected query, key, and value to have the same dtype, but got query.dtype: {names[0]} "
            f"key.dtype: {names[1]} and value.dtype: {names[2]} instead."
        )
    if not (query.device == key.device == value.device):
        raise RuntimeError(
            "Expected query, key, and value to have the same device type, but got "
            f"query.device: {query.device} key.device: {key.device} and value.device: {value.device} instead."
        )
    if min(query.dim(), key.dim(), value.dim()) < 2:
        raise RuntimeError(
            "Expected query, key, and value to all be  at least 2 dimensional, but got "
            f"query.dim: {query.dim()} key.dim: {key.dim()} and value.dim: {value.dim()} instead."
        )
    if attn_mask is not None:
        kind = cpp_name(attn_mask.dtype)
        if kind not in ("bool", "float") and attn_mask.dtype != query.dtype:
            raise RuntimeError(
                "Expected attn_mask dtype to be bool or float or to match query dtype, but got "
                f"attn_mask.dtype: {kind} and  query.dtype: {cpp_name(query.dtype)} instead."
            )
    if not 0.0 <= dropout_p <= 1.0:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {dropout_p}")


def _fits_blocks(query, key, value, attn_mask) -> bool:
    """Whether the kernels that work in blocks take these tensors."""
    if query.device.type not in ("cpu", "cuda", "meta"):
        return False
    if query.dim() != 4 or key.dim() != 4 or value.dim() != 4:
        return False
    if str(query.dtype).rpartition(".")[2] not in _FUSED_DTYPES:
        return False
    q, k, v = query.shape, key.shape, value.shape
    if q[0] != k[0] or k[0] != v[0] or k[1] != v[1] or q[3] != k[3] or k[2] != v[2]:
        return False
    if 0 in (*q, *k, *v):
        return False
    if q[3] != 1 and not query.stride(3) == key.stride(3) == value.stride(3) == 1:
        return False
    if attn_mask is None:
        return True
    if attn_mask.requires_grad or not 1 <= attn_mask.dim() <= 4:
        return False
    want = (q[0], q[1], q[2], k[2])[4 - attn_mask.dim() :]
    return all(have in (1, size) for have, size in zip(attn_mask.shape, want, strict=True))


def _heads_fit(query, key, enable_gqa):
    heads, key_heads = query.size(1), key.size(1)
    return heads == key_heads or (enable_gqa and key_heads > 0 and heads % key_heads == 0)


@composite(
    "_fused_sdp_choice(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0.0, "
    "bool is_causal=False, *, float? scale=None, bool enable_gqa=False) -> int",
    "Which implementation scaled_dot_product_attention takes: 1 in blocks, 0 by separate operators.",
    bind="function",
    tags="nondeterministic_seeded",
    draws=False,  # it chooses a kernel
    explicit=True,
)
def _fused_sdp_choice(
    query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, *, scale=None, enable_gqa=False
):
    if (
        ENABLED[FLASH]
        and dropout_p == 0.0
        and _fits_blocks(query, key, value, attn_mask)
        and _heads_fit(query, key, enable_gqa)
        and query.size(3) == value.size(3)
    ):
        return FLASH
    if not ENABLED[MATH]:
        raise RuntimeError("No available kernel. Aborting execution.")
    return MATH


def _additive(attn_mask, query):
    """A boolean mask as what is added to the scores."""
    if cpp_name(attn_mask.dtype) != "bool":
        return attn_mask
    blocked = query.new_zeros(attn_mask.shape)
    return blocked.masked_fill(attn_mask.logical_not(), -math.inf)


def _shared_heads(query, key, value, enable_gqa) -> tuple:
    """Key and value heads repeated until there are as many as query heads."""
    if not enable_gqa:
        return key, value
    heads, key_heads, value_heads = query.size(-3), key.size(-3), value.size(-3)
    if heads == key_heads == value_heads:
        return key, value
    if heads % key_heads or heads % value_heads or key_heads != value_heads:
        raise RuntimeError("Number of heads in key and value must divide the number of heads in ")
    return key.repeat_interleave(heads // key_heads, -3), value.repeat_interleave(heads // value_heads, -3)


@composite(
    "_scaled_dot_product_attention_math(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, "
    "float dropout_p=0.0, bool is_causal=False, Tensor? dropout_mask=None, *, float? scale=None, "
    "bool enable_gqa=False) -> (Tensor, Tensor)",
    "Attention by separate operators: output and weights.",
    bind="function",
    tags="nondeterministic_seeded",
    samples=[S(T(2, 3, 5, 4), T(2, 3, 6, 4), T(2, 3, 6, 4)), S(T(5, 4), T(5, 4), T(5, 4), is_causal=True)],
)
def _scaled_dot_product_attention_math(
    query,
    key,
    value,
    attn_mask=None,
    dropout_p=0.0,
    is_causal=False,
    dropout_mask=None,
    *,
    scale=None,
    enable_gqa=False,
) -> tuple:
    dtype = query.dtype
    if str(dtype) in ("torch.float16", "torch.bfloat16"):  # in single precision, as PyTorch
        query, key, value = (x.to(DTYPES["float32"]) for x in (query, key, value))
        attn_mask = attn_mask.to(query.dtype) if attn_mask is not None and attn_mask.dtype == dtype else attn_mask
    # The root of the scale goes to each side, which keeps 16-bit products in range.
    factor = 1.0 / math.sqrt(max(1, query.size(-1))) if scale is None else scale
    root = math.sqrt(abs(factor))
    if is_causal:
        if attn_mask is not None:
            raise RuntimeError(
                "_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True"
            )
        visible = query.new_ones((query.size(-2), key.size(-2))).tril()
        attn_mask = visible.ne(0)
    key, value = _shared_heads(query, key, value, enable_gqa)
    scores = aten.matmul(query * (root if factor >= 0 else -root), key.transpose(-2, -1) * root)
    if attn_mask is not None:
        scores = scores + _additive(attn_mask, query)
        weights = aten._safe_softmax(scores, -1)
    else:
        weights = aten.softmax(scores, -1)
    if dropout_p > 0.0:
        if dropout_mask is not None:
            kept = weights.masked_fill(dropout_mask.logical_not(), 0.0)
            return aten.matmul(kept, value * (1.0 / (1.0 - dropout_p))).to(dtype), kept.to(dtype)
        weights = aten.dropout(weights, dropout_p, True)
    return aten.matmul(weights, value).to(dtype), weights.to(dtype)


@composite(
    "scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0.0, "
    "bool is_causal=False, *, float? scale=None, bool enable_gqa=False) -> Tensor",
    "softmax(query @ key.T * scale + mask) @ value.",
    bind="function nn",
    functional="scaled_dot_product_attention",
    tags="nondeterministic_seeded",
    autocast="lower",
    samples=[
        S(T(2, 3, 5, 4), T(2, 3, 6, 4), T(2, 3, 6, 4)),
        S(T(2, 3, 5, 4), T(2, 3, 6, 4), T(2, 3, 6, 4), T(5, 6, grad=False)),
        S(T(2, 3, 5, 4), T(2, 3, 5, 4), T(2, 3, 5, 4), is_causal=True, scale=0.3),
        S(T(3, 5, 4), T(3, 6, 4), T(3, 6, 4)),
    ],
)
def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    _check(query, key, value, attn_mask, dropout_p, is_causal)
    # PyTorch drops the causal flag silently only on some devices; on the CPU an explicit mask comes on top of it.
    fused = (
        ENABLED[FLASH]
        and _fits_blocks(query, key, value, attn_mask)
        and _heads_fit(query, key, enable_gqa)
        and not query.is_complex()
    )
    if fused and dropout_p == 0.0:
        return aten._scaled_dot_product_flash_attention_for_cpu(
            query, key, value, 0.0, is_causal, attn_mask=attn_mask, scale=scale
        )[0]
    if fused and dropout_p < 1.0:
        return aten._scaled_dot_product_attention_dropout(
            query, key, value, dropout_p, is_causal, attn_mask=attn_mask, scale=scale
        )[0]
    if not ENABLED[MATH]:
        raise RuntimeError("No available kernel. Aborting execution.")
    return aten._scaled_dot_product_attention_math(
        query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa
    )[0]


# GPUs' kernels, which programs ask for by name: PyTorch has none of them for CPUs either.


def _for_gpus(name):
    def refuse(*args: object, **kwargs: object) -> Never:
        raise NotImplementedError(f"Could not run 'aten::{name}' with arguments from the 'CPU' backend.")

    return refuse


for _name, _schema in {
    "_flash_attention_forward": "(Tensor query, Tensor key, Tensor value, Tensor? cum_seq_q, Tensor? cum_seq_k, SymInt max_q, SymInt max_k,"
    " float dropout_p, bool is_causal, bool return_debug_mask, *, float? scale=None, SymInt? window_size_left=None,"
    " SymInt? window_size_right=None, Tensor? seqused_k=None, Tensor? alibi_slopes=None, Tensor? block_table=None,"
    " int? num_splits=None) -> (Tensor output, Tensor softmax_logsumexp, Tensor rng_state, Tensor unused, Tensor debug_attn_mask)",
    "_efficient_attention_forward": "(Tensor query, Tensor key, Tensor value, Tensor? bias, Tensor? cu_seqlens_q, Tensor? cu_seqlens_k,"
    " SymInt? max_seqlen_q, SymInt? max_seqlen_k, float dropout_p, int custom_mask_type, bool compute_log_sumexp=False, *,"
    " float? scale=None, Tensor? seqlen_k=None, int? window_size=None) -> (Tensor output, Tensor logsumexp, Tensor philox_seed,"
    " Tensor philox_offset, SymInt max_seqlen_batch_q, SymInt max_seqlen_batch_k)",
    "_flash_attention_backward": "(Tensor grad_out, Tensor query, Tensor key, Tensor value, Tensor out, Tensor logsumexp, Tensor cum_seq_q,"
    " Tensor cum_seq_k, SymInt max_q, SymInt max_k, float dropout_p, bool is_causal, Tensor rng_state, Tensor unused, *, float? scale=None,"
    " SymInt? window_size_left=None, SymInt? window_size_right=None) -> (Tensor, Tensor, Tensor)",
    "_efficient_attention_backward": "(Tensor grad_out_, Tensor query, Tensor key, Tensor value, Tensor? bias, Tensor out, Tensor? cu_seqlens_q,"
    " Tensor? cu_seqlens_k, SymInt max_seqlen_q, SymInt max_seqlen_k, Tensor logsumexp, float dropout_p, Tensor philox_seed,"
    " Tensor philox_offset, int custom_mask_type, bool bias_requires_grad, *, float? scale=None, int? num_splits_key=None,"
    " int? window_size=None, bool shared_storage_dqdkdv=False) -> (Tensor, Tensor, Tensor, Tensor)",
}.items():
    composite(
        _name + _schema,
        "A kernel of GPUs: on other devices it raises.",
        bind="function",
        tags="nondeterministic_seeded" if _name.endswith("_forward") else "",
    )(_for_gpus(_name))
