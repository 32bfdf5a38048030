"""Attention."""

from __future__ import annotations

import math
import warnings
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2._core.overridable import overridable

__all__ = [
    "multi_head_attention_forward",
]


def _none_or_dtype(input):
    if input is None:
        return None
    if isinstance(input, torch.Tensor):
        return input.dtype
    raise RuntimeError("input to _none_or_dtype() must be None or torch.Tensor")


def _canonical_mask(mask, mask_name, other_type, other_name, target_type, check_other=True) -> torch.Tensor | None:
    """`mask` as numbers to add: a boolean one becomes -inf where it is True, else 0."""
    if mask is None:
        return None
    if mask.dtype != torch.bool and not mask.is_floating_point():
        raise AssertionError(f"only bool and floating types of {mask_name} are supported")
    if check_other and other_type is not None and mask.dtype != other_type:
        warnings.warn(
            f"Support for mismatched {mask_name} and {other_name} is deprecated. Use same type for both instead.",
            stacklevel=3,
        )
    if mask.is_floating_point():
        return mask
    return torch.zeros_like(mask, dtype=target_type).masked_fill_(mask, float("-inf"))


def _check_key_padding_mask(key_padding_mask, src_len, bsz) -> None:
    if key_padding_mask.shape[0] != bsz:
        raise AssertionError(f"Expected key_padded_mask.shape[0] to be {bsz}, but got {key_padding_mask.shape[0]}")
    if key_padding_mask.shape[1] != src_len:
        raise AssertionError(f"Expected key_padded_mask.shape[1] to be {src_len}, but got {key_padding_mask.shape[1]}")


def _require(condition, message) -> None:
    if not condition:
        raise AssertionError(message)


def _mha_shape_check(query, key, value, key_padding_mask, attn_mask, num_heads) -> bool:
    """Whether the arguments are batched; raises where their dimensions do not fit together."""
    if query.dim() not in (2, 3):
        raise AssertionError(
            f"query should be unbatched 2D or batched 3D tensor but received {query.dim()}-D query tensor"
        )
    is_batched = query.dim() == 3
    word, mask_dim = ("batched", 2) if is_batched else ("unbatched", 1)
    _require(
        key.dim() == query.dim() and value.dim() == query.dim(),
        f"For {word} ({query.dim()}-D) `query`, expected `key` and `value` to be {query.dim()}-D"
        f" but found {key.dim()}-D and {value.dim()}-D tensors respectively",
    )
    if key_padding_mask is not None:
        _require(
            key_padding_mask.dim() == mask_dim,
            f"For {word} ({query.dim()}-D) `query`, expected `key_padding_mask` to be `None` or {mask_dim}-D"
            f" but found {key_padding_mask.dim()}-D tensor instead",
        )
    if attn_mask is not None:
        _require(
            attn_mask.dim() in (2, 3),
            f"For {word} ({query.dim()}-D) `query`, expected `attn_mask` to be `None`, 2-D or 3-D"
            f" but found {attn_mask.dim()}-D tensor instead",
        )
        if not is_batched and attn_mask.dim() == 3:
            expected_shape = (num_heads, query.shape[0], key.shape[0])
            _require(
                attn_mask.shape == expected_shape,
                f"Expected `attn_mask` shape to be {expected_shape} but got {attn_mask.shape}",
            )
    return is_batched


def _in_projection_packed(q, k, v, w, b=None) -> tuple:
    """The three projections by one weight `(3 * E, E)`, in as few products as the inputs allow."""
    E = q.size(-1)
    linear = torch._C._nn.linear
    if k is v:
        if q is k:
            proj = linear(q, w, b)
            # (…, 3 * E) to three contiguous (…, E).
            proj = proj.unflatten(-1, (3, E)).unsqueeze(0).transpose(0, -2).squeeze(-2).contiguous()
            return proj[0], proj[1], proj[2]
        w_q, w_kv = w.split([E, E * 2])
        b_q, b_kv = (None, None) if b is None else b.split([E, E * 2])
        q_proj = linear(q, w_q, b_q)
        kv_proj = linear(k, w_kv, b_kv)
        kv_proj = kv_proj.unflatten(-1, (2, E)).unsqueeze(0).transpose(0, -2).squeeze(-2).contiguous()
        return q_proj, kv_proj[0], kv_proj[1]
    w_q, w_k, w_v = w.chunk(3)
    b_q, b_k, b_v = (None, None, None) if b is None else b.chunk(3)
    return linear(q, w_q, b_q), linear(k, w_k, b_k), linear(v, w_v, b_v)


def _in_projection(q, k, v, w_q, w_k, w_v, b_q=None, b_k=None, b_v=None) -> tuple:
    """The three projections by weights `(E, Eq)`, `(E, Ek)`, `(E, Ev)`."""
    Eq, Ek, Ev = q.size(-1), k.size(-1), v.size(-1)
    _require(w_q.shape == (Eq, Eq), f"expecting query weights shape of {(Eq, Eq)}, but got {w_q.shape}")
    _require(w_k.shape == (Eq, Ek), f"expecting key weights shape of {(Eq, Ek)}, but got {w_k.shape}")
    _require(w_v.shape == (Eq, Ev), f"expecting value weights shape of {(Eq, Ev)}, but got {w_v.shape}")
    for b, name in ((b_q, "query"), (b_k, "key"), (b_v, "value")):
        _require(
            b is None or b.shape == (Eq,),
            f"expecting {name} bias shape of {(Eq,)}, but got {None if b is None else b.shape}",
        )
    linear = torch._C._nn.linear
    return linear(q, w_q, b_q), linear(k, w_k, b_k), linear(v, w_v, b_v)


def _with_column(mask):
    """A mask with one more key, that is not masked."""
    return None if mask is None else torch._C._nn.pad(mask, (0, 1))


def _static_or_heads(static, x, name, bsz, num_heads, head_dim) -> torch.Tensor:
    """Keys or values as `(bsz * num_heads, S, head_dim)`; given static ones are checked and taken."""
    if static is None:
        return x.view(x.shape[0], bsz * num_heads, head_dim).transpose(0, 1)
    _require(
        static.size(0) == bsz * num_heads,
        f"expecting static_{name}.size(0) of {bsz * num_heads}, but got {static.size(0)}",
    )
    _require(static.size(2) == head_dim, f"expecting static_{name}.size(2) of {head_dim}, but got {static.size(2)}")
    return static


def _checked_attn_mask(attn_mask, tgt_len, src_len, bsz, num_heads) -> torch.Tensor:
    """The attention mask as `(1 or bsz * num_heads, tgt_len, src_len)`."""
    if attn_mask.dim() == 2:
        correct: tuple[Any, ...] = (tgt_len, src_len)
        if attn_mask.shape != correct:
            raise RuntimeError(f"The shape of the 2D attn_mask is {attn_mask.shape}, but should be {correct}.")
        return attn_mask.unsqueeze(0)
    if attn_mask.dim() == 3:
        correct = (bsz * num_heads, tgt_len, src_len)
        if attn_mask.shape != correct:
            raise RuntimeError(f"The shape of the 3D attn_mask is {attn_mask.shape}, but should be {correct}.")
        return attn_mask
    raise RuntimeError(f"attn_mask's dimension {attn_mask.dim()} is not supported")


@overridable
def multi_head_attention_forward(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: torch.Tensor | None,
    in_proj_bias: torch.Tensor | None,
    bias_k: torch.Tensor | None,
    bias_v: torch.Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: torch.Tensor,
    out_proj_bias: torch.Tensor | None,
    training: bool = True,
    key_padding_mask: torch.Tensor | None = None,
    need_weights: bool = True,
    attn_mask: torch.Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: torch.Tensor | None = None,
    k_proj_weight: torch.Tensor | None = None,
    v_proj_weight: torch.Tensor | None = None,
    static_k: torch.Tensor | None = None,
    static_v: torch.Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """The forward of `MultiheadAttention`: queries `(L, N, E)`, keys and values `(S, N, *)`, or without `N`.

    Returns the output `(L, N, E)`, and with `need_weights` the weights `(N, L, S)`, not averaged over the heads
    `(N, heads, L, S)`, else None.

    >>> x, eye, nothing = torch.ones(2, 1, 4), torch.eye(4), torch.zeros(4)
    >>> output, weights = torch.nn.functional.multi_head_attention_forward(
    ...     x, x, x, 4, 2, eye.repeat(3, 1), nothing.repeat(3), None, None, False, 0.0, eye, nothing
    ... )
    >>> output[0], weights[0]
    (tensor([[1., 1., 1., 1.]]), tensor([[0.5000, 0.5000],
            [0.5000, 0.5000]]))
    """
    is_batched = _mha_shape_check(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not is_batched:
        # Self-attention stays recognisable by identity.
        same_kv, same_qk = key is value, query is key
        query = query.unsqueeze(1)
        key = query if same_qk else key.unsqueeze(1)
        value = key if same_kv else value.unsqueeze(1)
        if key_padding_mask is not None:
            key_padding_mask = key_padding_mask.unsqueeze(0)
    tgt_len, bsz, embed_dim = query.shape
    src_len = key.shape[0]
    key_padding_mask = _canonical_mask(
        key_padding_mask, "key_padding_mask", _none_or_dtype(attn_mask), "attn_mask", query.dtype
    )
    if is_causal and attn_mask is None:
        raise RuntimeError(
            "Need attn_mask if specifying the is_causal hint. "
            "You may use the Transformer module method "
            "`generate_square_subsequent_mask` to create this mask."
        )
    if is_causal and key_padding_mask is None and not need_weights:
        # The kernel makes the causal mask itself.
        attn_mask = None
    else:
        attn_mask = _canonical_mask(attn_mask, "attn_mask", None, "", query.dtype, False)
        if key_padding_mask is not None:
            # The merged mask is not causal any more.
            is_causal = False
    _require(
        embed_dim == embed_dim_to_check,
        f"was expecting embedding dimension of {embed_dim_to_check}, but got {embed_dim}",
    )
    head_dim = embed_dim // num_heads
    _require(head_dim * num_heads == embed_dim, f"embed_dim {embed_dim} not divisible by num_heads {num_heads}")
    if use_separate_proj_weight:
        _require(
            key.shape[:2] == value.shape[:2],
            f"key's sequence and batch dims {key.shape[:2]} do not match value's {value.shape[:2]}",
        )
        _require(q_proj_weight is not None, "use_separate_proj_weight is True but q_proj_weight is None")
        _require(k_proj_weight is not None, "use_separate_proj_weight is True but k_proj_weight is None")
        _require(v_proj_weight is not None, "use_separate_proj_weight is True but v_proj_weight is None")
        b_q, b_k, b_v = (None, None, None) if in_proj_bias is None else in_proj_bias.chunk(3)
        q, k, v = _in_projection(query, key, value, q_proj_weight, k_proj_weight, v_proj_weight, b_q, b_k, b_v)
    else:
        _require(key.shape == value.shape, f"key shape {key.shape} does not match value shape {value.shape}")
        _require(in_proj_weight is not None, "use_separate_proj_weight is False but in_proj_weight is None")
        q, k, v = _in_projection_packed(query, key, value, in_proj_weight, in_proj_bias)
    if attn_mask is not None:
        attn_mask = _checked_attn_mask(attn_mask, tgt_len, src_len, bsz, num_heads)
    if bias_k is not None and bias_v is not None:
        _require(static_k is None, "bias cannot be added to static key.")
        _require(static_v is None, "bias cannot be added to static value.")
        k = torch.cat([k, bias_k.repeat(1, bsz, 1)])
        v = torch.cat([v, bias_v.repeat(1, bsz, 1)])
        attn_mask = _with_column(attn_mask)
        key_padding_mask = _with_column(key_padding_mask)
    else:
        _require(bias_k is None, "bias_k is set but bias_v is None")
        _require(bias_v is None, "bias_v is set but bias_k is None")
    q = q.view(tgt_len, bsz * num_heads, head_dim).transpose(0, 1)
    k = _static_or_heads(static_k, k, "k", bsz, num_heads, head_dim)
    v = _static_or_heads(static_v, v, "v", bsz, num_heads, head_dim)
    if add_zero_attn:
        zeros = torch.zeros((bsz * num_heads, 1, head_dim), dtype=k.dtype, device=k.device)
        k = torch.cat([k, zeros], dim=1)
        v = torch.cat([v, zeros], dim=1)
        attn_mask = _with_column(attn_mask)
        key_padding_mask = _with_column(key_padding_mask)
    src_len = k.size(1)
    if key_padding_mask is not None:
        _check_key_padding_mask(key_padding_mask, src_len, bsz)
        key_padding_mask = (
            key_padding_mask.view(bsz, 1, 1, src_len).expand(-1, num_heads, -1, -1).reshape(bsz * num_heads, 1, src_len)
        )
        attn_mask = key_padding_mask if attn_mask is None else attn_mask + key_padding_mask
    if not training:
        dropout_p = 0.0
    if need_weights:
        return _with_weights(
            q, k, v, attn_mask, dropout_p, out_proj_weight, out_proj_bias, num_heads, average_attn_weights, is_batched
        )
    if attn_mask is not None:
        if attn_mask.size(0) == 1 and attn_mask.dim() == 3:
            attn_mask = attn_mask.unsqueeze(0)
        else:
            attn_mask = attn_mask.view(bsz, num_heads, -1, src_len)
    q = q.view(bsz, num_heads, tgt_len, head_dim)
    k = k.view(bsz, num_heads, src_len, head_dim)
    v = v.view(bsz, num_heads, src_len, head_dim)
    attn_output = torch._C._nn.scaled_dot_product_attention(q, k, v, attn_mask, dropout_p, is_causal)
    attn_output = attn_output.permute(2, 0, 1, 3).contiguous().view(bsz * tgt_len, embed_dim)
    attn_output = torch._C._nn.linear(attn_output, out_proj_weight, out_proj_bias)
    attn_output = attn_output.view(tgt_len, bsz, attn_output.size(1))
    return (attn_output if is_batched else attn_output.squeeze(1)), None


def _with_weights(
    q, k, v, attn_mask, dropout_p, out_proj_weight, out_proj_bias, num_heads, average_attn_weights, is_batched
) -> tuple:
    """The attention that also returns its weights; `q`, `k`, `v` are `(bsz * num_heads, length, head_dim)`."""
    rows, tgt_len, head_dim = q.shape
    bsz, src_len, embed_dim = rows // num_heads, k.size(1), head_dim * num_heads
    q_scaled = q * math.sqrt(1.0 / float(head_dim))
    if attn_mask is not None:
        weights = torch.baddbmm(attn_mask, q_scaled, k.transpose(-2, -1))
    else:
        weights = torch.bmm(q_scaled, k.transpose(-2, -1))
    weights = weights.softmax(-1)
    if dropout_p > 0.0:
        weights = torch.nn.functional.dropout(weights, p=dropout_p)
    attn_output = torch.bmm(weights, v)
    attn_output = attn_output.transpose(0, 1).contiguous().view(tgt_len * bsz, embed_dim)
    attn_output = torch._C._nn.linear(attn_output, out_proj_weight, out_proj_bias)
    attn_output = attn_output.view(tgt_len, bsz, attn_output.size(1))
    weights = weights.view(bsz, num_heads, tgt_len, src_len)
    if average_attn_weights:
        weights = weights.mean(dim=1)
    if not is_batched:
        attn_output = attn_output.squeeze(1)
        weights = weights.squeeze(0)
    return attn_output, weights
