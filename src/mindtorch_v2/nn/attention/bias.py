"""Causal masks that say which corner their triangle starts from, for `scaled_dot_product_attention`."""

from __future__ import annotations

import enum
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2.nn import functional as F

__all__ = ["CausalBias", "CausalVariant", "causal_lower_right", "causal_upper_left"]


class CausalVariant(enum.IntEnum):
    """Where the diagonal of a causal mask begins, if it is not square: at the upper left corner, or ends, at the lower right.

    >>> from mindtorch_v2.nn.attention.bias import CausalVariant
    >>> CausalVariant.UPPER_LEFT.value, CausalVariant.LOWER_RIGHT.value
    (1, 2)
    """

    UPPER_LEFT = 1
    LOWER_RIGHT = 2


class CausalBias(torch.Tensor):
    """A causal mask over `seq_len_q` queries and `seq_len_kv` keys; only `scaled_dot_product_attention` takes it.

    >>> from mindtorch_v2.nn.attention.bias import causal_upper_left
    >>> q = torch.ones(1, 1, 2, 4)
    >>> kv = torch.arange(12.0).reshape(1, 1, 3, 4)
    >>> torch.nn.functional.scaled_dot_product_attention(q, kv, kv, attn_mask=causal_upper_left(2, 3))[0, 0, 0]
    tensor([0., 1., 2., 3.])
    """

    variant: CausalVariant
    seq_len_q: int
    seq_len_kv: int
    _shift: int

    def __new__(cls, variant: CausalVariant, seq_len_q: int, seq_len_kv: int) -> CausalBias:
        if not isinstance(variant, CausalVariant):
            raise AssertionError(f"variant must be a CausalVariant, not {type(variant).__name__}")
        shift = seq_len_kv - seq_len_q if variant == CausalVariant.LOWER_RIGHT else 0
        self: Any = torch.Tensor._make_subclass(cls, _triangle(seq_len_q, seq_len_kv, shift, None))
        self.variant, self.seq_len_q, self.seq_len_kv, self._shift = variant, seq_len_q, seq_len_kv, shift
        return self

    def _materialize(self, device: Any = None) -> torch.Tensor:
        """The mask as a tensor: True where a query sees a key."""
        return _triangle(self.seq_len_q, self.seq_len_kv, self._shift, device)

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]  # (as PyTorch's)
        return f"CausalBias({self.variant.name}, {self.seq_len_q}, {self.seq_len_kv})"

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func is F.scaled_dot_product_attention:
            return _attention(*args, **kwargs)
        return super().__torch_function__(func, types, args, kwargs)


def _triangle(rows: int, columns: int, shift: int, device: Any) -> torch.Tensor:
    return torch.tril(torch.ones(rows, columns, dtype=torch.bool, device=device), diagonal=shift)


def _attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_mask: CausalBias,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> torch.Tensor:
    if is_causal:
        raise ValueError("CausalBias should not be used with causal=True")
    upper = attn_mask.variant == CausalVariant.UPPER_LEFT or attn_mask.seq_len_q == attn_mask.seq_len_kv
    return F.scaled_dot_product_attention(
        query,
        key,
        value,
        attn_mask=None if upper else attn_mask._materialize(query.device),
        dropout_p=dropout_p,
        is_causal=upper,
        scale=scale,
        enable_gqa=enable_gqa,
    )


def causal_upper_left(*size: int) -> CausalBias:
    """A mask by which query ``i`` sees the keys up to ``i``; `size` is (queries, keys).

    >>> from mindtorch_v2.nn.attention.bias import causal_upper_left
    >>> causal_upper_left(2, 3)._materialize()
    tensor([[ True, False, False],
            [ True,  True, False]])
    """
    if len(size) != 2:
        raise RuntimeError("causal_upper_left only supports 2D tensors")
    return CausalBias(CausalVariant.UPPER_LEFT, *size)


def causal_lower_right(*size: int) -> CausalBias:
    """A mask by which the last query sees all keys, each before it one less; `size` is (queries, keys).

    >>> from mindtorch_v2.nn.attention.bias import causal_lower_right
    >>> causal_lower_right(2, 3)._materialize()
    tensor([[ True,  True, False],
            [ True,  True,  True]])
    """
    if len(size) != 2:
        raise RuntimeError("causal_lower_right only supports 2D tensors")
    return CausalBias(CausalVariant.LOWER_RIGHT, *size)
