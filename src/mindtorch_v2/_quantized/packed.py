"""Packed weights: what the prepacking operators give, and layers hold."""

from __future__ import annotations

import copy
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2 import _C
from mindtorch_v2._core.quantizer import PerTensor

__all__ = ["ConvParams", "EmbeddingParams", "LinearParams", "LinearParamsFp16", "QuantizedWeight"]


class QuantizedWeight:
    """A weight of int8 with what products need of it: `channels` of its dimensions are those of results."""

    def __init__(self, weight: Any, whole: Any = None) -> None:
        quantizer = _C._quantizer(weight)
        if quantizer is None or weight.dtype != torch.qint8:
            raise RuntimeError(f"expected a weight of qint8, got {weight.dtype}")
        self.whole = _C._whole(weight).contiguous() if whole is None else whole
        if isinstance(quantizer, PerTensor):
            self.scales = torch.tensor([quantizer.scale], dtype=torch.float32)
            self.zeros = torch.tensor([quantizer.zero_point], dtype=torch.int32)
        else:
            self.scales, self.zeros = quantizer.scales.float(), quantizer.zero_points.to(torch.int32)
        self.sums = self.whole.flatten(1).sum(1, dtype=torch.int64).to(torch.int32)

    @property
    def has_zeros(self) -> bool:
        """Whether a zero point is not 0."""
        return bool(self.zeros.any())


class _Packed:
    """An object that is made again of what `__getstate__` gives."""

    _qualified: str

    def __deepcopy__(self, memo: dict) -> Any:
        made = type(self).__new__(type(self))
        made.__setstate__(copy.deepcopy(self.__getstate__(), memo))
        return made

    def __getstate__(self) -> Any:
        raise NotImplementedError

    def __setstate__(self, state: Any) -> None:
        raise NotImplementedError

    def __obj_flatten__(self) -> Any:
        return (("state", self.__getstate__()),)

    def __repr__(self) -> str:
        return f"<torch.ScriptObject object of __torch__.torch.classes.{self._qualified}>"


class LinearParams(_Packed):
    """The weight (qint8) and the bias of a linear layer."""

    _qualified = "quantized.LinearPackedParamsBase"

    def __init__(self, weight: Any, bias: Any) -> None:
        self.__setstate__((weight, bias))

    def __getstate__(self) -> tuple[Any, Any]:
        return self.weight, self.bias

    def __setstate__(self, state: tuple[Any, Any]) -> None:
        weight, bias = state
        if weight.dim() != 2:
            raise RuntimeError("The weight tensor for quantized::linear_prepack (fbgemm) should be 2-dimensional.")
        if bias is not None and (bias.dim() != 1 or bias.numel() != weight.shape[0]):
            raise RuntimeError(
                "bias should be a vector (1D Tensor)"
                if bias.dim() != 1
                else f"bias should have N elements: {weight.shape[0]}"
            )
        self.weight, self.bias = weight.contiguous(), None if bias is None else bias.detach().contiguous()
        self.form = QuantizedWeight(self.weight)

    def unpack(self) -> tuple[Any, Any]:
        """The weight and the bias."""
        return self.weight, self.bias


class LinearParamsFp16(_Packed):
    """The weight, rounded to float16, and the bias of a linear layer."""

    _qualified = "quantized.LinearPackedParamsBase"

    def __init__(self, weight: Any, bias: Any) -> None:
        if weight.dtype not in (torch.float32, torch.float16):
            raise RuntimeError(f"linear_prepack_fp16 expects a weight of float32 or float16, got {weight.dtype}")
        most = 65504.0
        self.__setstate__((weight.detach().clamp(-most, most).to(torch.float16).float(), bias))

    def __getstate__(self) -> tuple[Any, Any]:
        return self.weight, self.bias

    def __setstate__(self, state: tuple[Any, Any]) -> None:
        weight, bias = state
        self.weight, self.bias = weight, None if bias is None else bias.detach()

    def unpack(self) -> tuple[Any, Any]:
        """The weight, of float32, and the bias."""
        return self.weight, self.bias


class ConvParams(_Packed):
    """The weight (qint8), the bias and the geometry of a convolution of `dims` dimensions, or of a transposed one."""

    _qualified = "quantized.Conv2dPackedParamsBase"

    def __init__(
        self,
        dims: int,
        weight: Any,
        bias: Any,
        stride: Any,
        padding: Any,
        output_padding: Any,
        dilation: Any,
        groups: int,
        transpose: bool,
    ) -> None:
        self.__setstate__((dims, weight, bias, stride, padding, output_padding, dilation, groups, transpose))

    def __getstate__(self) -> tuple:
        geometry = (self.stride, self.padding, self.output_padding, self.dilation, self.groups, self.transpose)
        return (self.dims, self.weight, self.bias, *geometry)

    def __setstate__(self, state: tuple) -> None:
        self.dims, self.weight, bias, *geometry = state
        self.stride, self.padding, self.output_padding, self.dilation, self.groups, self.transpose = geometry
        self.bias = None if bias is None else bias.detach().contiguous()
        if self.dims == 3:
            self._qualified = "quantized.Conv3dPackedParamsBase"
        whole = _C._whole(self.weight)
        if self.transpose:  # as the convolution that it is, of an input with gaps
            dims, groups = range(2, whole.dim()), self.groups
            parts = whole.reshape(groups, whole.shape[0] // groups, *whole.shape[1:]).transpose(1, 2)
            whole = parts.reshape(-1, whole.shape[0] // groups, *whole.shape[2:]).flip(list(dims))
        self.form = QuantizedWeight(self.weight, whole.contiguous())
        if self.dims == 1:
            self.form.whole = self.form.whole.unsqueeze(2)

    def unpack(self) -> tuple[Any, Any]:
        """The weight and the bias."""
        return self.weight, self.bias


class EmbeddingParams(_Packed):
    """The rows (quint8 or quint4x2, with a scale and a floating zero point each) of an embedding."""

    _qualified = "quantized.EmbeddingPackedParamsBase"

    def __init__(self, weight: Any) -> None:
        self.__setstate__((weight,))

    def __getstate__(self) -> tuple:
        return (self.weight,)

    def __setstate__(self, state: tuple) -> None:
        (self.weight,) = state
        if self.weight.qscheme() != torch.per_channel_affine_float_qparams:
            raise RuntimeError("Expect embedding_bag weights to be quantized using kPerChannelAffineFloatQParams")
        if self.weight.dim() != 2:
            raise RuntimeError("Expect embedding_bag weights to be 2-dimensional")

    def unpack(self) -> Any:
        """The rows."""
        return self.weight
