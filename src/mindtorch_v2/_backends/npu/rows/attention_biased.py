"""Attention of the ATB library whose scores get a shift: by a mask of numbers, or by slopes times distances."""

from __future__ import annotations

from typing import Any

from ...._operators.table import aten
from .attention import Call, Sequence, attend
from .attention_masks import WITHOUT_END, Masking
from .attention_packed import no_workspace
from .cache import paged_rows
from .checks import composite, require, require_choice, wide

_BY_SLOPES, _BY_SLOPES_AND_ROOTS = 4, 5  # kinds of masks that say the shift of one head with slope 1, by distance


def _call(operator, heads, scale) -> Call:
    everything = Masking(operator, None, 0, WITHOUT_END, WITHOUT_END, None, None, None)
    return Call(operator, heads, "BNSD", scale, 1.0, everything, False, 0, 0)


def _by_distance(mask, slopes, queries, keys, roots) -> Any:
    """The shifts (1, heads, queries, keys) of a square mask of one head times each head's slope.

    A shift depends on how far a key lies from the query alone; where that is more than the mask says, the shift goes on as a
    straight line, or as a square root.
    """
    n = mask.shape[-1]
    behind, ahead = wide(mask)[:, 0], wide(mask)[0]
    own = aten.arange(queries, device=mask.device).unsqueeze(-1) + (keys - queries)
    distance = own - aten.arange(keys, device=mask.device)
    far = distance.clamp(min=0)
    within = behind[far.clamp(max=n - 1)]
    if roots:
        beyond = behind[n - 1] * aten.sqrt(wide(far) / (n - 1))
    else:
        beyond = behind[n - 1] + (far - (n - 1)) * (behind[n - 1] - behind[n - 2])
    shift = aten.where(far < n, within, beyond)
    shift = aten.where(distance < 0, ahead[(-distance).clamp(0, n - 1)], shift)
    return (shift * wide(slopes).reshape(-1, 1, 1)).unsqueeze(0)


def _shift(operator, mask, slopes, mask_type, number, queries, keys) -> Any:
    """Numbers that are added to the scores of one sequence, (1, 1 or heads, queries, keys); None without a mask."""
    if mask is None:
        return None
    if slopes is not None:
        require_choice(operator, "mask_type", mask_type, (_BY_SLOPES, _BY_SLOPES_AND_ROOTS))
        return _by_distance(mask, slopes, queries, keys, mask_type == _BY_SLOPES_AND_ROOTS)
    whole = mask
    while whole.dim() < 4:
        whole = whole.unsqueeze(0)
    own = whole[number : number + 1] if whole.shape[0] > 1 else whole
    return own[..., :queries, :keys]


def _heads_of(x, heads) -> Any:
    """(tokens, heads, width) as (1, heads, tokens, width)."""
    return x.reshape(x.shape[0], heads, -1).transpose(0, 1).unsqueeze(0)


def _pages(cache, table, length, heads) -> Any:
    rows = paged_rows(cache, table, length)
    return _heads_of(rows, heads)


def _put(out, rows, made) -> None:
    result = made.squeeze(0).transpose(0, 1)
    aten.copy_(out[rows], result.reshape(out[rows].shape))


@composite(
    "atb::_npu_flash_attention_v2.out(Tensor query, Tensor key, Tensor value, SymInt[] seq_len, *, Tensor? mask=None, "
    "Tensor? slopes=None, int kernel_type=0, int mask_type=2, float scale_value=1, int num_heads=0, int num_kv_heads=0, "
    "Tensor(a!) out) -> Tensor(a!)",
    "Packed prompts with an additive mask, or with slopes times distances, written to `out`.",
    explicit=True,
)
def _npu_flash_attention_v2(
    query: Any, key: Any, value: Any, seq_len: Any, *, mask: Any = None, slopes: Any = None, kernel_type: int = 0,
    mask_type: int = 2, scale_value: float = 1.0, num_heads: int = 0, num_kv_heads: int = 0, out: Any,
) -> Any:  # fmt: skip
    operator = "_npu_flash_attention_v2"
    start = 0
    for number, length in enumerate(seq_len):
        rows = slice(start, start + int(length))
        q = _heads_of(query[rows], num_heads)
        k, v = (_heads_of(x[rows], num_kv_heads or num_heads) for x in (key, value))
        shift = _shift(operator, mask, slopes, mask_type, number, int(length), int(length))
        _put(out, rows, attend(_call(operator, num_heads, scale_value), Sequence(q, k, v, shift, -1, None))[0])
        start += int(length)
    return out


@composite(
    "atb::_npu_flash_attention_prefix_v2.out(Tensor query, Tensor key_cache, Tensor value_cache, Tensor block_table, "
    "Tensor mask, SymInt[] seq_len, SymInt[] context_lens, *, Tensor? slopes=None, int kernel_type=1, int mask_type=3, int "
    "num_kv_heads=0, int num_heads=0, float scale_value=1, Tensor(a!) out) -> Tensor(a!)",
    "Packed ends of prompts over paged caches that hold their beginnings too, with a mask as that of _npu_flash_attention_v2.",
    explicit=True,
)
def _npu_flash_attention_prefix_v2(
    query: Any, key_cache: Any, value_cache: Any, block_table: Any, mask: Any, seq_len: Any, context_lens: Any, *,
    slopes: Any = None, kernel_type: int = 1, mask_type: int = 3, num_kv_heads: int = 0, num_heads: int = 0,
    scale_value: float = 1.0, out: Any,
) -> Any:  # fmt: skip
    operator = "_npu_flash_attention_prefix_v2"
    require(
        len(seq_len) == len(context_lens),
        operator,
        f"there are {len(seq_len)} lengths of queries, but {len(context_lens)} of keys",
    )
    start = 0
    for number, (length, keys) in enumerate(zip(seq_len, context_lens, strict=True)):
        rows = slice(start, start + int(length))
        q = _heads_of(query[rows], num_heads)
        k, v = (
            _pages(cache, block_table[number], int(keys), num_kv_heads or num_heads)
            for cache in (key_cache, value_cache)
        )
        shift = _shift(operator, mask, slopes, mask_type, number, int(length), int(keys))
        _put(out, rows, attend(_call(operator, num_heads, scale_value), Sequence(q, k, v, shift, -1, None))[0])
        start += int(length)
    return out


@composite(
    "atb::_npu_paged_attention_v2.out(Tensor query, Tensor key_cache, Tensor block_table, SymInt[] context_lens, *, "
    "Tensor? value_cache=None, Tensor? mask=None, int num_kv_heads=0, int num_heads=0, float scale_value=1.0, int "
    "mask_type=0, Tensor? workspace=None, Tensor(a!) out) -> Tensor(a!)",
    "Single tokens over paged caches with an additive mask, written to `out`.",
    explicit=True,
)
def _npu_paged_attention_v2(
    query: Any, key_cache: Any, block_table: Any, context_lens: Any, *, value_cache: Any = None, mask: Any = None,
    num_kv_heads: int = 0, num_heads: int = 0, scale_value: float = 1.0, mask_type: int = 0, workspace: Any = None,
    out: Any,
) -> Any:  # fmt: skip
    operator = "_npu_paged_attention_v2"
    require(value_cache is not None, operator, "value_cache is needed")
    require_choice(operator, "mask_type", mask_type, (0, 1, 2))
    call = _call(operator, num_heads, scale_value)
    for number, keys in enumerate(context_lens):
        rows = slice(number, number + 1)
        k, v = (
            _pages(cache, block_table[number], int(keys), num_kv_heads or num_heads)
            for cache in (key_cache, value_cache)
        )
        shift = None
        if mask is not None:  # (tokens, 1 or heads, 1, keys), or without the heads
            own = mask[rows] if mask.shape[0] > 1 else mask
            shift = (own if own.dim() == 4 else own.unsqueeze(1))[..., : int(keys)]
        q = _heads_of(query[rows], num_heads)
        _put(out, rows, attend(call, Sequence(q, k, v, shift, -1, None))[0])
    return out


@composite(
    "atb::_npu_paged_attention_v2_get_workspace(Tensor query, Tensor key_cache, Tensor block_table, SymInt[] context_lens, "
    "*, Tensor? value_cache=None, Tensor? mask=None, int num_kv_heads=0, int num_heads=0, float scale_value=1.0, int "
    "mask_type=0, Tensor(a!) out) -> Tensor",
    "The memory that _npu_paged_attention_v2 asks for beforehand: none here.",
    explicit=True,
)
def _npu_paged_attention_v2_get_workspace(
    query: Any, key_cache: Any, block_table: Any, context_lens: Any, **options: Any
) -> Any:
    return no_workspace(query)
