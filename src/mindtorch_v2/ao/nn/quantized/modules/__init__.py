"""Modules of quantized tensors."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2.ao.nn.quantized.modules.activation import (
    ELU,
    Hardswish,
    LeakyReLU,
    PReLU,
    ReLU6,
    Sigmoid,
    Softmax,
)
from mindtorch_v2.ao.nn.quantized.modules.batchnorm import BatchNorm2d, BatchNorm3d
from mindtorch_v2.ao.nn.quantized.modules.conv import (
    Conv1d,
    Conv2d,
    Conv3d,
    ConvTranspose1d,
    ConvTranspose2d,
    ConvTranspose3d,
)
from mindtorch_v2.ao.nn.quantized.modules.dropout import Dropout
from mindtorch_v2.ao.nn.quantized.modules.embedding_ops import Embedding, EmbeddingBag
from mindtorch_v2.ao.nn.quantized.modules.functional_modules import (
    FloatFunctional,
    FXFloatFunctional,
    QFunctional,
)
from mindtorch_v2.ao.nn.quantized.modules.linear import Linear
from mindtorch_v2.ao.nn.quantized.modules.normalization import (
    GroupNorm,
    InstanceNorm1d,
    InstanceNorm2d,
    InstanceNorm3d,
    LayerNorm,
)

__all__ = [
    "ELU",
    "BatchNorm2d",
    "BatchNorm3d",
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "ConvTranspose1d",
    "ConvTranspose2d",
    "ConvTranspose3d",
    "DeQuantize",
    "Dropout",
    "Embedding",
    "EmbeddingBag",
    "FXFloatFunctional",
    "FloatFunctional",
    "GroupNorm",
    "Hardswish",
    "InstanceNorm1d",
    "InstanceNorm2d",
    "InstanceNorm3d",
    "LayerNorm",
    "LeakyReLU",
    "Linear",
    "PReLU",
    "QFunctional",
    "Quantize",
    "ReLU6",
    "Sigmoid",
    "Softmax",
]


class Quantize(nn.Module):
    """Quantizes what comes, by one scale and zero point.

    >>> torch.ao.nn.quantized.Quantize(0.5, 3, torch.quint8)(torch.ones(2)).int_repr()
    tensor([5, 5], dtype=torch.uint8)
    """

    def __init__(self, scale: Any, zero_point: Any, dtype: torch.dtype, factory_kwargs: Any = None) -> None:
        super().__init__()
        kwargs = {} if factory_kwargs is None else factory_kwargs
        self.register_buffer("scale", torch.tensor([scale], **kwargs))
        self.register_buffer("zero_point", torch.tensor([zero_point], dtype=torch.long, **kwargs))
        self.dtype = dtype

    def forward(self, X: Any) -> Any:
        return torch.quantize_per_tensor(X, float(self.scale), int(self.zero_point), self.dtype)

    @staticmethod
    def from_float(mod: Any, use_precomputed_fake_quant: bool = False) -> Quantize:
        if not hasattr(mod, "activation_post_process"):
            raise AssertionError("Input float module must have activation_post_process attached")
        scale, zero_point = mod.activation_post_process.calculate_qparams()
        return Quantize(scale.float().item(), zero_point.long().item(), mod.activation_post_process.dtype)

    def extra_repr(self) -> str:
        return f"scale={self.scale}, zero_point={self.zero_point}, dtype={self.dtype}"


class DeQuantize(nn.Module):
    """The numbers that a quantized tensor stands for.

    >>> torch.ao.nn.quantized.DeQuantize()(torch.quantize_per_tensor(torch.ones(2), 0.5, 3, torch.quint8))
    tensor([1., 1.])
    """

    def forward(self, Xq: Any) -> Any:
        return Xq.dequantize()

    @staticmethod
    def from_float(mod: Any, use_precomputed_fake_quant: bool = False) -> DeQuantize:
        return DeQuantize()
