"""Batch normalization of quantized tensors."""

from __future__ import annotations

from typing import Any, Self

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2.ao.nn.quantized.modules.utils import observed

__all__ = ["BatchNorm2d", "BatchNorm3d"]


class _BatchNorm(nn.modules.batchnorm._BatchNorm):
    _dims: int

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float = 0.1, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(num_features, eps, momentum, True, True, device=device, dtype=dtype)
        self.register_buffer("scale", torch.tensor(1.0, device=device))
        self.register_buffer("zero_point", torch.tensor(0, device=device))

    def _get_name(self) -> str:
        return f"QuantizedBatchNorm{self._dims}d"

    def _check_input_dim(self, input: Any) -> None:
        if input.dim() != self._dims + 2:
            shape = ", ".join(("N", "C", *"DHW"[-self._dims :]))
            raise ValueError(f"Input shape must be `({shape})`!")

    def forward(self, input: Any) -> Any:
        """The normalized elements of a quantized tensor."""
        return self._run(input, f"batch_norm{self._dims}d")

    def _run(self, input: Any, name: str) -> Any:
        self._check_input_dim(input)
        return getattr(torch.ops.quantized, name)(
            input,
            self.weight,
            self.bias,
            self.running_mean,
            self.running_var,
            self.eps,
            self.scale,
            self.zero_point,
        )

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Self:
        """The quantized form of a layer that was observed."""
        scale, zero_point = observed(mod)
        fused = getattr(torch.ao.nn.intrinsic, f"BNReLU{cls._dims}d", None)
        return cls._of(mod[0] if fused is not None and type(mod) is fused else mod, scale, zero_point)

    @classmethod
    def from_reference(cls, bn: Any, output_scale: Any, output_zero_point: Any) -> Self:
        """The module of a floating one and the range of its results."""
        return cls._of(bn, float(output_scale), int(output_zero_point))

    @classmethod
    def _of(cls, mod: Any, scale: float, zero_point: int) -> Self:
        made = cls(mod.num_features, mod.eps, device=mod.weight.device, dtype=mod.weight.dtype)
        made.weight, made.bias = mod.weight, mod.bias
        made.running_mean, made.running_var = mod.running_mean, mod.running_var
        made.scale, made.zero_point = torch.tensor(scale), torch.tensor(zero_point)
        return made


class BatchNorm2d(_BatchNorm):
    """Batch normalization of quantized images, by running statistics.

    >>> torch.ao.nn.quantized.BatchNorm2d(2)
    QuantizedBatchNorm2d(2, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)
    """

    _dims = 2


class BatchNorm3d(_BatchNorm):
    """Batch normalization of quantized volumes, by running statistics.

    >>> torch.ao.nn.quantized.BatchNorm3d(2)
    QuantizedBatchNorm3d(2, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)
    """

    _dims = 3
