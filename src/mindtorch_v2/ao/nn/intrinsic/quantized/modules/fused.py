"""Layers of quantized tensors with the activation that follows, in one."""

from __future__ import annotations

from typing import Any, Self

import mindtorch_v2 as torch
from mindtorch_v2.ao.nn.quantized.modules import batchnorm, conv, linear
from mindtorch_v2.ao.nn.quantized.modules.utils import _quantize_weight, observed

__all__ = [
    "BNReLU2d",
    "BNReLU3d",
    "ConvAdd2d",
    "ConvAddReLU2d",
    "ConvReLU1d",
    "ConvReLU2d",
    "ConvReLU3d",
    "LinearLeakyReLU",
    "LinearReLU",
    "LinearTanh",
]


class Fused:
    """The fused module of floats of a name, found when asked for."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: Any) -> Any:
        return getattr(torch.ao.nn.intrinsic, self.name)


def _run(self: Any, operator: str, input: Any, *others: Any) -> Any:
    return getattr(torch.ops.quantized, operator)(
        self._input(input), *others, self._packed_params, self.scale, self.zero_point
    )


class _OfFused:
    """A module that is made of a fused one: the first part of that holds the weight."""

    @classmethod
    def from_reference(cls, fused: Any, output_scale: Any, output_zero_point: Any) -> Any:
        """The quantized module of a fused reference module."""
        above: Any = super()
        return above.from_reference(fused[0], output_scale, output_zero_point)


class ConvReLU1d(_OfFused, conv.Conv1d):
    """A convolution of one dimension and a ReLU.

    >>> torch.ao.nn.intrinsic.quantized.ConvReLU1d(1, 2, 3)
    QuantizedConvReLU1d(1, 2, kernel_size=(3,), stride=(1,), scale=1.0, zero_point=0)
    """

    _FLOAT_MODULE = Fused("ConvReLU1d")

    def forward(self, input: Any) -> Any:
        return _run(self, "conv1d_relu", input)

    def _get_name(self) -> str:
        return "QuantizedConvReLU1d"


class ConvReLU2d(_OfFused, conv.Conv2d):
    """A convolution of two dimensions and a ReLU.

    >>> torch.ao.nn.intrinsic.quantized.ConvReLU2d(1, 2, 3)
    QuantizedConvReLU2d(1, 2, kernel_size=(3, 3), stride=(1, 1), scale=1.0, zero_point=0)
    """

    _FLOAT_MODULE = Fused("ConvReLU2d")

    def forward(self, input: Any) -> Any:
        return _run(self, "conv2d_relu", input)

    def _get_name(self) -> str:
        return "QuantizedConvReLU2d"


class ConvReLU3d(_OfFused, conv.Conv3d):
    """A convolution of three dimensions and a ReLU.

    >>> torch.ao.nn.intrinsic.quantized.ConvReLU3d(1, 2, 3)
    QuantizedConvReLU3d(1, 2, kernel_size=(3, 3, 3), stride=(1, 1, 1), scale=1.0, zero_point=0)
    """

    _FLOAT_MODULE = Fused("ConvReLU3d")

    def forward(self, input: Any) -> Any:
        return _run(self, "conv3d_relu", input)

    def _get_name(self) -> str:
        return "QuantizedConvReLU3d"


class ConvAdd2d(_OfFused, conv.Conv2d):
    """A convolution of two dimensions and a sum.

    >>> torch.ao.nn.intrinsic.quantized.ConvAdd2d(1, 2, 3)
    QuantizedConvAdd2d(1, 2, kernel_size=(3, 3), stride=(1, 1), scale=1.0, zero_point=0)
    """

    _FLOAT_MODULE = Fused("ConvAdd2d")

    def forward(self, input: Any, extra_input: Any) -> Any:  # type: ignore[override]  # (what is added)
        return torch.ops.quantized.conv2d_add(
            self._input(input), extra_input, self._packed_params, self.scale, self.zero_point
        )

    def _get_name(self) -> str:
        return "QuantizedConvAdd2d"


class ConvAddReLU2d(_OfFused, conv.Conv2d):
    """A convolution of two dimensions, a sum and a ReLU.

    >>> torch.ao.nn.intrinsic.quantized.ConvAddReLU2d(1, 2, 3)
    QuantizedConvAddReLU2d(1, 2, kernel_size=(3, 3), stride=(1, 1), scale=1.0, zero_point=0)
    """

    _FLOAT_MODULE = Fused("ConvAddReLU2d")

    def forward(self, input: Any, extra_input: Any) -> Any:  # type: ignore[override]  # (what is added)
        return torch.ops.quantized.conv2d_add_relu(
            self._input(input), extra_input, self._packed_params, self.scale, self.zero_point
        )

    def _get_name(self) -> str:
        return "QuantizedConvAddReLU2d"


class BNReLU2d(_OfFused, batchnorm.BatchNorm2d):
    """Batch normalization of images and a ReLU.

    >>> torch.ao.nn.intrinsic.quantized.BNReLU2d(2)._get_name()
    'QuantizedBNReLU2d'
    """

    _FLOAT_MODULE = Fused("BNReLU2d")

    def forward(self, input: Any) -> Any:
        return self._run(input, "batch_norm2d_relu")

    def _get_name(self) -> str:
        return "QuantizedBNReLU2d"


class BNReLU3d(_OfFused, batchnorm.BatchNorm3d):
    """Batch normalization of volumes and a ReLU.

    >>> torch.ao.nn.intrinsic.quantized.BNReLU3d(2)._get_name()
    'QuantizedBNReLU3d'
    """

    _FLOAT_MODULE = Fused("BNReLU3d")

    def forward(self, input: Any) -> Any:
        return self._run(input, "batch_norm3d_relu")

    def _get_name(self) -> str:
        return "QuantizedBNReLU3d"


class LinearReLU(_OfFused, linear.Linear):
    """A linear layer and a ReLU.

    >>> torch.ao.nn.intrinsic.quantized.LinearReLU(2, 3)._get_name()
    'QuantizedLinearReLU'
    """

    _FLOAT_MODULE = Fused("LinearReLU")

    def forward(self, x: Any) -> Any:
        packed = self._packed_params._packed_params
        return torch.ops.quantized.linear_relu(x, packed, self.scale, self.zero_point)

    def _get_name(self) -> str:
        return "QuantizedLinearReLU"


class _Followed(linear.Linear):
    """A linear layer with an activation behind it, which is made of the two."""

    @classmethod
    def _extra(cls, after: Any) -> tuple:
        return ()

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Self:
        """The quantized form of the two, which were observed."""
        if not isinstance(mod, cls._FLOAT_MODULE):
            raise AssertionError(f"nnq.{cls.__name__}.from_float only works for {cls._FLOAT_MODULE.__name__}")
        if not hasattr(mod, "qconfig"):
            raise AssertionError("Input float module must have qconfig defined")
        scale, zero_point = observed(mod)
        first, after = mod[0], mod[1]
        observer = first.qconfig.weight() if getattr(first, "qconfig", None) else mod.qconfig.weight()
        observer(first.weight)
        if observer.dtype != torch.qint8:
            raise AssertionError(f"Weight observer must have dtype torch.qint8, got {observer.dtype}")
        kind: Any = cls
        made: Self = kind(first.in_features, first.out_features, *cls._extra(after), dtype=observer.dtype)
        made.set_weight_bias(_quantize_weight(first.weight.float(), observer), first.bias)
        made.scale, made.zero_point = scale, zero_point
        return made

    @classmethod
    def from_reference(cls, ref_mod: Any, output_scale: Any, output_zero_point: Any) -> Self:
        """The module of a reference module and what follows it."""
        first, after = ref_mod[0], ref_mod[1]
        made = cls(first.in_features, first.out_features, *cls._extra(after))
        made.set_weight_bias(first.get_quantized_weight(), first.bias)
        made.scale, made.zero_point = float(output_scale), int(output_zero_point)
        return made


class LinearLeakyReLU(_Followed):
    """A linear layer and a leaky ReLU.

    >>> torch.ao.nn.intrinsic.quantized.LinearLeakyReLU(2, 3, 0.1)._get_name()
    'QuantizedLinearLeakyReLU'
    """

    _FLOAT_MODULE = Fused("LinearLeakyReLU")

    def __init__(
        self,
        in_features: int,
        out_features: int,
        negative_slope: float,
        bias: bool = True,
        dtype: torch.dtype = torch.qint8,
    ) -> None:
        super().__init__(in_features, out_features, bias, dtype)
        self.negative_slope = negative_slope

    @classmethod
    def _extra(cls, after: Any) -> tuple:
        return (after.negative_slope,)

    def forward(self, x: Any) -> Any:
        packed = self._packed_params._packed_params
        return torch.ops.quantized.linear_leaky_relu(x, packed, self.scale, self.zero_point, self.negative_slope)

    def _get_name(self) -> str:
        return "QuantizedLinearLeakyReLU"


class LinearTanh(_Followed):
    """A linear layer and a tanh.

    >>> torch.ao.nn.intrinsic.quantized.LinearTanh(2, 3)._get_name()
    'QuantizedLinearTanh'
    """

    _FLOAT_MODULE = Fused("LinearTanh")

    def forward(self, x: Any) -> Any:
        packed = self._packed_params._packed_params
        return torch.ops.quantized.linear_tanh(x, packed, self.scale, self.zero_point)

    def _get_name(self) -> str:
        return "QuantizedLinearTanh"
