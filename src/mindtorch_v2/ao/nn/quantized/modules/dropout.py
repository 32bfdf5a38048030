"""Dropout, which does nothing to quantized tensors."""

from __future__ import annotations

from typing import Any, Self

from mindtorch_v2 import nn

__all__ = ["Dropout"]


class Dropout(nn.Dropout):
    """The input as it is: quantized models are not trained.

    >>> torch.ao.nn.quantized.Dropout(0.5)
    QuantizedDropout(p=0.5, inplace=False)
    """

    def forward(self, input: Any) -> Any:
        return input

    def _get_name(self) -> str:
        return "QuantizedDropout"

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Self:
        return cls(mod.p, mod.inplace)

    @classmethod
    def from_reference(cls, mod: Any, scale: Any, zero_point: Any) -> Self:
        return cls(mod.p, mod.inplace)
