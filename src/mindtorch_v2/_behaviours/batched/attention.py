"""Rules of vmap for the family attention: each slice's result, made for all slices at once."""

from __future__ import annotations

from typing import Any

from ..._core.autograd import batched
from ._call import Batch, call, is_tensor, of_no_slices, rule
from ._shared import first, first_back


@rule("_fused_sdp_choice")
def _attention_choice(batch: Batch, op: Any, values: list) -> Any:
    """Which kernel takes it: what decides is the same for all slices."""
    return call(op, [batch.flat(v)[0] if is_tensor(v) and batch.count else v for v in values])


def _mask_of_all(batch: Batch, mask: Any, n: int) -> Any:
    """An attention mask for the slices' batches in one; as it is where it serves all of them."""
    if mask is None or (not batched.levels_of(mask) and (mask.dim() < 3 or mask.shape[0] == 1)):
        return mask
    mask = mask.reshape(*(1,) * (4 - mask.dim()), *mask.shape)
    return first(batch, mask.expand(n, *mask.shape[1:]))


@rule("_scaled_dot_product_flash_attention_for_cpu")
@of_no_slices
def _attention(batch: Batch, op: Any, values: list) -> Any:
    query, key, value, dropout, causal, mask, scale = values
    mask = _mask_of_all(batch, mask, query.shape[0])
    made = op(*(first(batch, t) for t in (query, key, value)), dropout, causal, attn_mask=mask, scale=scale)
    return tuple(first_back(batch, m) for m in made)


@rule("_scaled_dot_product_flash_attention_for_cpu_backward")
@of_no_slices
def _attention_backward(batch: Batch, op: Any, values: list) -> Any:
    *tensors, dropout, causal, mask, scale = values
    mask = _mask_of_all(batch, mask, tensors[1].shape[0])
    made = op(*(first(batch, t) for t in tensors), dropout, causal, attn_mask=mask, scale=scale)
    return tuple(first_back(batch, m) for m in made)
