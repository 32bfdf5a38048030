"""Scaled dot product attention and its gradients, in tiles."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ...._core.dtype import DTYPES
from ...._operators.table import aten
from .. import copies
from ..pointwise import itemsize
from ..table import CONTIGUOUS, Source, blocks, element, kernel, pack

if TYPE_CHECKING:
    from ...._tensor import Tensor

_ATTEND = Source("attention.cuh", "attend")
_QUERIES, _KEYS = Source("attention.cuh", "attend_backward_queries"), Source("attention.cuh", "attend_backward_keys")
_MOST_SHARED = 220 << 10


def _launch(
    source: Source,
    inputs: tuple[Tensor, Tensor, Tensor],
    out: Tensor,
    lse: Tensor,
    *,
    causal: bool,
    attn_mask: Tensor | None,
    scale: float | None,
    p: float,
    kept: Tensor | None,
    grad: Tensor | None = None,
    delta: Tensor | None = None,
    into: tuple[Tensor | None, Tensor | None, Tensor | None] = (None, None, None),
) -> None:
    query, key, value = inputs
    batches, heads, queries, features = query.shape
    keys, value_features = key.shape[2], value.shape[3]
    mask_strides = [0, 0, 0, 0]
    if attn_mask is not None:
        if attn_mask.dtype == DTYPES["bool"]:
            seen = aten.zeros_like(attn_mask, dtype=lse.dtype)
            attn_mask = seen.masked_fill(attn_mask.logical_not(), -math.inf)
        attn_mask = attn_mask.expand(batches, heads, queries, keys)
        mask_strides = list(attn_mask.stride())
    words = (
        ("IN", element(query.dtype)), ("MASK", element((query if attn_mask is None else attn_mask).dtype)),
        ("D", str(features)), ("DV", str(value_features)), ("CAUSAL", str(int(causal))),
        ("HAS_MASK", str(int(attn_mask is not None))), ("DROPOUT", str(int(kept is not None))),
    )  # fmt: skip
    arguments = pack(
        heads, key.shape[1], queries, keys, 1 / math.sqrt(features) if scale is None else float(scale),
        1 / (1 - p) if p < 1 else 0.0, query, key, value, attn_mask, mask_strides, kept, out, lse, grad, delta, *into,
    )  # fmt: skip
    # What any of the kernels has in shared memory: tiles of 32, tiles of 16, and the weights of 16 times 32, twice.
    shared = (48 * (features + value_features) + 64 + 1024) * itemsize(element(lse.dtype))
    if shared > _MOST_SHARED:
        raise NotImplementedError(
            f"attention on CUDA takes heads of up to about 1000 features in all, and these have {features} and "
            f"{value_features}. Use torch.nn.attention.sdpa_kernel(SDPBackend.MATH)."
        )
    of_keys = source is _KEYS
    grid = blocks(keys if of_keys else queries, 16), batches * (key.shape[1] if of_keys else heads)
    source.launch(query.device.index, words, grid, (32, 4), arguments, shared)


def _inputs(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    return aten.contiguous(query), aten.contiguous(key), aten.contiguous(value)


def _forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    out: Tensor,
    lse: Tensor,
    causal: bool,
    attn_mask: Tensor | None,
    scale: float | None,
    p: float = 0.0,
    kept: Tensor | None = None,
) -> None:
    if out.numel():
        _launch(
            _ATTEND, _inputs(query, key, value), out, lse, causal=causal, attn_mask=attn_mask, scale=scale, p=p, kept=kept
        )  # fmt: skip


@kernel("_scaled_dot_product_flash_attention_for_cpu", flags=CONTIGUOUS)
def attention(
    query: Tensor, key: Tensor, value: Tensor, dropout_p: float, is_causal: bool, attn_mask: Tensor | None,
    scale: float | None, out: Tensor, lse: Tensor,
) -> None:  # fmt: skip
    _forward(query, key, value, out, lse, is_causal, attn_mask, scale)


@kernel("_scaled_dot_product_attention_dropout", flags=CONTIGUOUS)
def attention_with_dropout(
    query: Tensor, key: Tensor, value: Tensor, dropout_p: float, is_causal: bool, attn_mask: Tensor | None,
    scale: float | None, out: Tensor, lse: Tensor, kept: Tensor,
) -> None:  # fmt: skip
    ones = aten.ones(list(kept.shape), dtype=query.dtype, device=query.device)
    copies.copy(kept, aten.native_dropout(ones, dropout_p, True)[1])
    _forward(query, key, value, out, lse, is_causal, attn_mask, scale, dropout_p, kept)


def _backward(
    grad_out: Tensor,
    given: tuple[Tensor, Tensor, Tensor],
    out: Tensor,
    lse: Tensor,
    into: tuple[Tensor, Tensor, Tensor],
    causal: bool,
    attn_mask: Tensor | None,
    scale: float | None,
    p: float = 0.0,
    kept: Tensor | None = None,
) -> None:
    query, key, value = _inputs(*given)
    if not query.numel() or not key.numel():
        for result in into:
            copies.fill(result, 0)
        return
    lse = aten.contiguous(lse)
    arguments = {
        "causal": causal, "attn_mask": attn_mask, "scale": scale, "p": p, "kept": kept, "grad": aten.contiguous(grad_out),
        "delta": aten.empty_like(lse), "into": into,
    }  # fmt: skip
    for source in (_QUERIES, _KEYS):
        _launch(source, (query, key, value), aten.contiguous(out), lse, **arguments)


@kernel("_scaled_dot_product_flash_attention_for_cpu_backward", flags=CONTIGUOUS)
def attention_backward(
    grad_out: Tensor, query: Tensor, key: Tensor, value: Tensor, out: Tensor, logsumexp: Tensor, dropout_p: float,
    is_causal: bool, attn_mask: Tensor | None, scale: float | None, *into: Tensor,
) -> None:  # fmt: skip
    by_query, by_key, by_value = into
    given, results = (query, key, value), (by_query, by_key, by_value)
    _backward(grad_out, given, out, logsumexp, results, is_causal, attn_mask, scale)


@kernel("_scaled_dot_product_attention_dropout_backward", flags=CONTIGUOUS)
def attention_with_dropout_backward(
    grad_out: Tensor, query: Tensor, key: Tensor, value: Tensor, out: Tensor, logsumexp: Tensor, kept: Tensor,
    dropout_p: float, is_causal: bool, attn_mask: Tensor | None, scale: float | None, *into: Tensor,
) -> None:  # fmt: skip
    by_query, by_key, by_value = into
    given, results = (query, key, value), (by_query, by_key, by_value)
    _backward(
        grad_out, given, out, logsumexp, results, is_causal, attn_mask, scale, dropout_p, aten.contiguous(kept)
    )  # fmt: skip
