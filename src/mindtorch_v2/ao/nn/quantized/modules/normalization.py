"""Layer, group and instance normalization of quantized tensors."""

from __future__ import annotations

from typing import Any, Self

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2.ao.nn.quantized.modules.utils import observed

__all__ = ["GroupNorm", "InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d", "LayerNorm"]


def _take(self: Any, weight: Any, bias: Any, scale: Any, zero_point: Any, device: Any) -> None:
    self.weight, self.bias = weight, bias
    self.register_buffer("scale", torch.tensor(scale, device=device))
    self.register_buffer("zero_point", torch.tensor(zero_point, device=device))


class LayerNorm(nn.LayerNorm):
    """Layer normalization of quantized tensors, into a range of `scale` and `zero_point`.

    >>> torch.ao.nn.quantized.LayerNorm(3, None, None, 0.1, 0)
    QuantizedLayerNorm((3,), eps=1e-05, elementwise_affine=True, bias=False)
    """

    def __init__(
        self,
        normalized_shape: Any,
        weight: Any,
        bias: Any,
        scale: Any,
        zero_point: Any,
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(normalized_shape, eps=eps, elementwise_affine=elementwise_affine, device=device, dtype=dtype)
        _take(self, weight, bias, scale, zero_point, device)

    def forward(self, input: Any) -> Any:
        return torch.ops.quantized.layer_norm(
            input, self.normalized_shape, self.weight, self.bias, self.eps, self.scale, self.zero_point
        )

    def _get_name(self) -> str:
        return "QuantizedLayerNorm"

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Self:
        return cls.from_reference(mod, *observed(mod))

    @classmethod
    def from_reference(cls, mod: Any, scale: Any, zero_point: Any) -> Self:
        range_of = (float(scale), int(zero_point))
        return cls(mod.normalized_shape, mod.weight, mod.bias, *range_of, mod.eps, mod.elementwise_affine)


class GroupNorm(nn.GroupNorm):
    """Group normalization of quantized tensors, into a range of `scale` and `zero_point`.

    >>> torch.ao.nn.quantized.GroupNorm(2, 4, None, None, 0.1, 0)
    QuantizedGroupNorm(2, 4, eps=1e-05, affine=True, bias=False)
    """

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        weight: Any,
        bias: Any,
        scale: Any,
        zero_point: Any,
        eps: float = 1e-5,
        affine: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(num_groups, num_channels, eps, affine, device=device, dtype=dtype)
        _take(self, weight, bias, scale, zero_point, device)

    def forward(self, input: Any) -> Any:
        return torch.ops.quantized.group_norm(
            input, self.num_groups, self.weight, self.bias, self.eps, self.scale, self.zero_point
        )

    def _get_name(self) -> str:
        return "QuantizedGroupNorm"

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Self:
        range_of = observed(mod)
        return cls(mod.num_groups, mod.num_channels, mod.weight, mod.bias, *range_of, mod.eps, mod.affine)


class _InstanceNorm:
    """An instance normalization of any number of dimensions."""

    def __init__(
        self: Any,
        num_features: int,
        weight: Any,
        bias: Any,
        scale: Any,
        zero_point: Any,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device=device, dtype=dtype)  # type: ignore[call-arg]  # (the float class beside it)
        _take(self, weight, bias, scale, zero_point, device)

    def forward(self: Any, input: Any) -> Any:
        """The normalized elements of a quantized tensor."""
        return torch.ops.quantized.instance_norm(input, self.weight, self.bias, self.eps, self.scale, self.zero_point)

    def _get_name(self) -> str:
        return f"Quantized{type(self).__name__}"

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The quantized form of a layer that was observed."""
        return cls.from_reference(mod, *observed(mod))

    @classmethod
    def from_reference(cls, mod: Any, scale: Any, zero_point: Any) -> Any:
        """The module of a floating one and the range of its results."""
        range_of = (float(scale), int(zero_point))
        return cls(mod.num_features, mod.weight, mod.bias, *range_of, mod.eps, mod.affine)


class InstanceNorm1d(_InstanceNorm, nn.InstanceNorm1d):
    """Instance normalization of quantized sequences, into a range of `scale` and `zero_point`.

    >>> torch.ao.nn.quantized.InstanceNorm1d(2, None, None, 0.1, 0)._get_name()
    'QuantizedInstanceNorm1d'
    """


class InstanceNorm2d(_InstanceNorm, nn.InstanceNorm2d):
    """Instance normalization of quantized images, into a range of `scale` and `zero_point`.

    >>> torch.ao.nn.quantized.InstanceNorm2d(2, None, None, 0.1, 0)._get_name()
    'QuantizedInstanceNorm2d'
    """


class InstanceNorm3d(_InstanceNorm, nn.InstanceNorm3d):
    """Instance normalization of quantized volumes, into a range of `scale` and `zero_point`.

    >>> torch.ao.nn.quantized.InstanceNorm3d(2, None, None, 0.1, 0)._get_name()
    'QuantizedInstanceNorm3d'
    """
