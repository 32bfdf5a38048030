"""Attention with functions for scores and masks. The names are here; the attention itself is not implemented."""

from typing import Any, NamedTuple

import mindtorch_v2 as torch

__all__ = [
    "BlockMask",
    "flex_attention",
    "AuxOutput",
    "AuxRequest",
    "create_block_mask",
    "create_mask",
    "or_masks",
    "and_masks",
    "noop_mask",
]

_DEFAULT_SPARSE_BLOCK_SIZE = 128


class AuxRequest(NamedTuple):
    """Which further outputs of `flex_attention` are wanted."""

    lse: bool = False
    max_scores: bool = False


class AuxOutput(NamedTuple):
    """Further outputs of `flex_attention`."""

    lse: Any = None
    max_scores: Any = None


class BlockMask:
    """A block-sparse mask. Not implemented; raises NotImplementedError when it is made."""

    def __init__(self, *args, **kwargs):
        raise NotImplementedError("nn.attention.flex_attention.BlockMask is not implemented")


def noop_mask(batch, head, token_q, token_kv):
    """The mask function that masks nothing."""
    return batch.new_ones(size=(), dtype=torch.bool, device=batch.device)


def or_masks(*mask_mods):
    """The mask function that lets through what any of the given ones does."""
    if not all(callable(arg) for arg in mask_mods):
        raise RuntimeError(f"All inputs should be callable mask_mods: {mask_mods}")

    def or_mask(b, h, q_idx, kv_idx):
        result = b.new_zeros((), dtype=torch.bool)
        for mask in mask_mods:
            result = result | mask(b, h, q_idx, kv_idx)
        return result

    return or_mask


def and_masks(*mask_mods):
    """The mask function that lets through what all of the given ones do."""
    if not all(callable(arg) for arg in mask_mods):
        raise RuntimeError(f"All inputs should be callable mask_mods: {mask_mods}")

    def and_mask(b, h, q_idx, kv_idx):
        result = b.new_ones((), dtype=torch.bool)
        for mask in mask_mods:
            result = result & mask(b, h, q_idx, kv_idx)
        return result

    return and_mask


def create_mask(mod_fn, B, H, Q_LEN, KV_LEN, device=None):
    """The mask `(B, H, Q_LEN, KV_LEN)` of a mask function of four index tensors; B and H None count as 1."""
    b = torch.arange(B if B is not None else 1, device=device).view(-1, 1, 1, 1)
    h = torch.arange(H if H is not None else 1, device=device).view(1, -1, 1, 1)
    q = torch.arange(Q_LEN, device=device).view(1, 1, -1, 1)
    kv = torch.arange(KV_LEN, device=device).view(1, 1, 1, -1)
    shape = (b.shape[0], h.shape[1], Q_LEN, KV_LEN)
    with torch.no_grad():
        return mod_fn(b, h, q, kv).expand(shape).contiguous()


def create_block_mask(*args, **kwargs):
    """Not implemented; raises NotImplementedError."""
    raise NotImplementedError("nn.attention.flex_attention.create_block_mask is not implemented")


def flex_attention(
    query,
    key,
    value,
    score_mod=None,
    block_mask=None,
    scale=None,
    enable_gqa=False,
    return_lse=False,
    kernel_options=None,
    *,
    return_aux=None,
):
    """Not implemented; raises NotImplementedError. `scaled_dot_product_attention` takes masks as tensors."""
    raise NotImplementedError(
        "nn.attention.flex_attention.flex_attention is not implemented; "
        "use torch.nn.functional.scaled_dot_product_attention"
    )
