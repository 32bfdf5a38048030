"""The linear layer for training that is aware of dynamic quantization."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2.ao.nn import qat

__all__ = ["Linear"]


class Linear(qat.Linear):
    """`torch.ao.nn.qat.Linear` whose input will be quantized as it comes: the observer of activations has no memory.

    >>> qconfig = torch.ao.quantization.default_dynamic_qat_qconfig
    >>> torch.ao.nn.qat.dynamic.Linear(3, 2, qconfig=qconfig)(torch.ones(1, 3)).shape
    torch.Size([1, 2])
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        qconfig: Any = None,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(in_features, out_features, bias, qconfig, device, dtype)
        configs: Any = torch.ao.quantization.qconfig  # which imports this module
        if not configs._activation_is_memoryless(qconfig):
            raise ValueError(
                "Dynamic QAT requires a memoryless observer.This means a MovingAverage observer with averaging "
                "constant equal to 1"
            )
