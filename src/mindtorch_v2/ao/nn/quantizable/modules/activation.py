"""Attention of linear layers that can be observed and quantized one by one."""

from __future__ import annotations

import warnings
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2.ao.nn import quantized
from mindtorch_v2.nn import functional as F

__all__ = ["MultiheadAttention"]

nnq: Any = quantized


def _as_bool(mask: torch.Tensor | None, name: str) -> torch.Tensor | None:
    if mask is None or mask.dtype != torch.uint8:
        return mask
    warnings.warn(
        f"Byte tensor for `{name}` in `nn.MultiheadAttention` is deprecated. Use bool tensor instead.", stacklevel=4
    )
    return mask.to(torch.bool)


class MultiheadAttention(nn.MultiheadAttention):
    """`torch.nn.MultiheadAttention` of linear layers that can be observed and quantized; `prepare` puts it in that one's place.

    >>> attention = torch.ao.nn.quantizable.MultiheadAttention(4, 2)
    >>> x = torch.ones(3, 1, 4)
    >>> output, weights = attention(x, x, x)
    >>> output.shape, weights.shape
    (torch.Size([3, 1, 4]), torch.Size([1, 3, 3]))
    """

    _FLOAT_MODULE = nn.MultiheadAttention
    __constants__ = ["batch_first"]

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        where = {"device": device, "dtype": dtype}
        super().__init__(
            embed_dim, num_heads, dropout, bias, add_bias_kv, add_zero_attn, kdim, vdim, batch_first, **where
        )
        self.linear_Q = nn.Linear(self.embed_dim, self.embed_dim, bias=bias, **where)
        self.linear_K = nn.Linear(self.kdim, self.embed_dim, bias=bias, **where)
        self.linear_V = nn.Linear(self.vdim, self.embed_dim, bias=bias, **where)
        self.out_proj: Any = nn.Linear(self.embed_dim, self.embed_dim, bias=bias, **where)
        self.q_scaling_product = nnq.FloatFunctional()
        stubs: Any = torch.ao.quantization
        self.quant_attn_output = stubs.QuantStub()
        self.quant_attn_output_weights = stubs.QuantStub()
        self.dequant_q = stubs.DeQuantStub()
        self.dequant_k = stubs.DeQuantStub()
        self.dequant_v = stubs.DeQuantStub()

    def _get_name(self) -> str:
        return "QuantizableMultiheadAttention"

    @classmethod
    def from_float(cls, other: Any) -> Any:
        """The module, observed, that takes the place of one of `torch.nn`."""
        if type(other) is not cls._FLOAT_MODULE:
            raise AssertionError(f"Expected type {cls._FLOAT_MODULE}, got {type(other)}")
        if not hasattr(other, "qconfig"):
            raise AssertionError("The float module must have 'qconfig'")
        made: Any = cls(
            other.embed_dim,
            other.num_heads,
            other.dropout,
            other.in_proj_bias is not None,
            other.bias_k is not None,
            other.add_zero_attn,
            other.kdim,
            other.vdim,
            other.batch_first,
        )
        made.bias_k, made.bias_v, made.qconfig = other.bias_k, other.bias_v, other.qconfig
        made.out_proj.weight, made.out_proj.bias = other.out_proj.weight, other.out_proj.bias
        size = other.embed_dim
        for place, name in enumerate("QKV"):
            layer = getattr(made, f"linear_{name}")
            if other._qkv_same_embed_dim:
                weight = other.in_proj_weight[place * size : (place + 1) * size, :]
                layer.weight = nn.Parameter(weight, weight.requires_grad)
            else:
                layer.weight = nn.Parameter(getattr(other, f"{name.lower()}_proj_weight"))
            bias = other.in_proj_bias
            layer.bias = (
                None if bias is None else nn.Parameter(bias[place * size : (place + 1) * size], bias.requires_grad)
            )
        made.eval()
        return torch.ao.quantization.prepare(made, inplace=True)

    @classmethod
    def from_observed(cls, other: Any) -> Any:
        """NotImplementedError: the quantized class has it."""
        raise NotImplementedError(
            "It looks like you are trying to prepare an MHA module. Please, see the examples on quantizable MHAs."
        )

    def dequantize(self) -> Any:
        """A float module with the numbers of a quantized one's weights."""
        own: Any = self
        made: Any = self._FLOAT_MODULE(
            self.embed_dim,
            self.num_heads,
            self.dropout,
            own.linear_Q._weight_bias()[1] is not None,
            self.bias_k is not None,
            self.add_zero_attn,
            self.kdim,
            self.vdim,
            self.batch_first,
        )
        if made._qkv_same_embed_dim != self._qkv_same_embed_dim:
            raise AssertionError(
                f"_qkv_same_embed_dim mismatch: {made._qkv_same_embed_dim} != {self._qkv_same_embed_dim}"
            )
        for name in ("bias_k", "bias_v"):
            if getattr(self, name) is not None:
                setattr(made, name, nn.Parameter(getattr(self, name).dequantize()))
        weight, bias = own.out_proj._weight_bias()
        made.out_proj.weight = nn.Parameter(weight.dequantize())
        if bias is not None:
            made.out_proj.bias = nn.Parameter(bias)
        size = made.embed_dim
        with torch.no_grad():
            for place, name in enumerate("QKV"):
                weight, bias = getattr(self, f"linear_{name}")._weight_bias()
                rows = slice(place * size, (place + 1) * size)
                if made._qkv_same_embed_dim:
                    made.in_proj_weight[rows, :] = weight.dequantize()
                else:
                    setattr(made, f"{name.lower()}_proj_weight", nn.Parameter(weight.dequantize()))
                if made.in_proj_bias is not None:
                    if made._qkv_same_embed_dim and not bool((bias == 0).all()):
                        raise AssertionError(f"Expected all b{name} elements to be 0")
                    made.in_proj_bias[rows] = bias
        return made

    def forward(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        key_padding_mask: torch.Tensor | None = None,
        need_weights: bool = True,
        attn_mask: torch.Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        """The attention's output, and its weights where they are wanted."""
        if attn_mask is not None and is_causal:
            raise AssertionError("Only allow causal mask or attn_mask")
        if is_causal:
            raise AssertionError("causal mask not supported by AO MHA module")
        if self.batch_first:
            query, key, value = (each.transpose(0, 1) for each in (query, key, value))
        length, batch, size = query.size()
        if self.embed_dim != size:
            raise AssertionError(f"embed_dim mismatch: {self.embed_dim} != {size}")
        if key.size(0) != value.size(0) or key.size(1) != value.size(1):
            raise AssertionError(f"key and value size mismatch: key.size()={key.size()}, value.size()={value.size()}")
        head = self.embed_dim // self.num_heads
        if head * self.num_heads != self.embed_dim:
            raise AssertionError("embed_dim must be divisible by num_heads")
        q = self.q_scaling_product.mul_scalar(self.linear_Q(query), float(head) ** -0.5)
        k, v = self.linear_K(key), self.linear_V(value)
        attn_mask = self._checked(_as_bool(attn_mask, "attn_mask"), batch, length, key.size(0))
        padding = _as_bool(key_padding_mask, "key_padding_mask")
        if (self.bias_k is None) != (self.bias_v is None):
            one, other = ("bias_k", "bias_v") if self.bias_v is None else ("bias_v", "bias_k")
            raise AssertionError(f"self.{one} must be None when self.{other} is None")
        more = 0  # keys that are added, which no mask hides
        if self.bias_k is not None and self.bias_v is not None:
            k = torch.cat([k, self.bias_k.repeat(1, batch, 1)])
            v = torch.cat([v, self.bias_v.repeat(1, batch, 1)])
            more += 1
        q = q.contiguous().view(length, batch * self.num_heads, head).transpose(0, 1)
        k, v = (each.contiguous().view(-1, batch * self.num_heads, head).transpose(0, 1) for each in (k, v))
        if self.add_zero_attn:
            k, v = (torch.cat([each, _zeros_like_row(each)], dim=1) for each in (k, v))
            more += 1
        keys = k.size(1)
        if padding is not None:
            if padding.size(0) != batch:
                raise AssertionError(f"key_padding_mask.size(0) must be {batch}, got {padding.size(0)}")
            if padding.size(1) + more != keys:
                raise AssertionError(f"key_padding_mask.size(1) must be {keys - more}, got {padding.size(1)}")
        if more:
            attn_mask = None if attn_mask is None else F.pad(attn_mask, (0, more))
            padding = None if padding is None else F.pad(padding, (0, more))
        q, k, v = self.dequant_q(q), self.dequant_k(k), self.dequant_v(v)
        weights = torch.bmm(q, k.transpose(1, 2))
        if attn_mask is not None:
            if attn_mask.dtype == torch.bool:
                weights.masked_fill_(attn_mask, float("-inf"))
            else:
                weights += attn_mask
        by_head = (batch, self.num_heads, length, keys)
        if padding is not None:
            hidden = padding.unsqueeze(1).unsqueeze(2)
            weights = weights.view(by_head).masked_fill(hidden, float("-inf")).view(-1, length, keys)
        weights = F.dropout(F.softmax(weights, dim=-1), p=self.dropout, training=self.training)
        output = torch.bmm(weights, v)
        if self.batch_first:  # without moving the heads, as PyTorch does it
            output = output.view(batch, length, self.embed_dim)
        else:
            output = output.transpose(0, 1).contiguous().view(length, batch, self.embed_dim)
        output = self.out_proj(self.quant_attn_output(output))
        weights = self.quant_attn_output_weights(weights)
        if not need_weights:
            return output, None
        weights = weights.view(by_head)
        return output, weights.mean(dim=1) if average_attn_weights else weights

    def _checked(self, mask: torch.Tensor | None, batch: int, length: int, keys: int) -> torch.Tensor | None:
        """A mask of three dimensions; an error for one of another size or dtype."""
        if mask is None:
            return None
        if not mask.is_floating_point() and mask.dtype != torch.bool:
            raise AssertionError(f"Only float and bool types are supported for attn_mask, not {mask.dtype}")
        if mask.dim() == 2:
            mask = mask.unsqueeze(0)
            if list(mask.size()) != [1, length, keys]:
                raise RuntimeError("The size of the 2D attn_mask is not correct.")
        elif mask.dim() == 3:
            if list(mask.size()) != [batch * self.num_heads, length, keys]:
                raise RuntimeError("The size of the 3D attn_mask is not correct.")
        else:
            raise RuntimeError(f"attn_mask's dimension {mask.dim()} is not supported")
        return mask


def _zeros_like_row(x: Any) -> Any:
    """A row of zeros for each head, quantized where the others are."""
    zeros = torch.zeros((x.size(0), 1, *x.size()[2:]))
    if x.is_quantized:
        return torch.quantize_per_tensor(zeros, x.q_scale(), x.q_zero_point(), x.dtype)
    return zeros
