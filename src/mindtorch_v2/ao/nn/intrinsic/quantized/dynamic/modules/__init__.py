"""Layers with 8-bit weights and the activation that follows, whose inputs are quantized as they come."""

from __future__ import annotations

from typing import Any, Self

import mindtorch_v2 as torch
from mindtorch_v2.ao.nn.intrinsic.quantized.modules.fused import Fused
from mindtorch_v2.ao.nn.quantized.dynamic.modules import linear

__all__ = ["LinearReLU"]


class LinearReLU(linear.Linear):
    """A linear layer with an 8-bit weight and a ReLU.

    >>> torch.ao.nn.intrinsic.quantized.dynamic.LinearReLU(2, 3)(torch.ones(1, 2)).shape
    torch.Size([1, 3])
    """

    _FLOAT_MODULE = Fused("LinearReLU")

    def _run(self, x: Any, packed: Any) -> Any:
        if self._packed_params.dtype == torch.qint8:
            return torch.ops.quantized.linear_relu_dynamic(x, packed, reduce_range=True)
        return torch.ops.quantized.linear_relu_dynamic_fp16(x, packed)

    def _get_name(self) -> str:
        return "DynamicQuantizedLinearReLU"

    @classmethod
    def from_reference(cls, ref_qlinear_relu: Any) -> Self:  # type: ignore[override]  # (no range of results)
        return super().from_reference(ref_qlinear_relu[0])
