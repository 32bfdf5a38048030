"""Batch norms whose count of batches is an int32, which older devices add faster."""

from __future__ import annotations

import mindtorch_v2 as torch
from mindtorch_v2 import nn

__all__ = ["FastBatchNorm1d", "FastBatchNorm2d", "FastBatchNorm3d"]


class _Counted(nn.modules.batchnorm._BatchNorm):
    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats)
        if self.num_batches_tracked is not None:
            self.num_batches_tracked = self.num_batches_tracked.to(torch.int32)


class FastBatchNorm1d(_Counted, nn.BatchNorm1d):
    """`torch.nn.BatchNorm1d` with a count of int32."""


class FastBatchNorm2d(_Counted, nn.BatchNorm2d):
    """`torch.nn.BatchNorm2d` with a count of int32."""


class FastBatchNorm3d(_Counted, nn.BatchNorm3d):
    """`torch.nn.BatchNorm3d` with a count of int32."""
