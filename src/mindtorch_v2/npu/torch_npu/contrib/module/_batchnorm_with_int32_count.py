"""Batch norms whose count of batches is an int32, which older devices add faster."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2 import nn

__all__ = ["FastBatchNorm1d", "FastBatchNorm2d", "FastBatchNorm3d", "FastSyncBatchNorm"]


class _NormBase(nn.modules.batchnorm._NormBase):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.num_batches_tracked is not None:
            self.num_batches_tracked = self.num_batches_tracked.to(torch.int32)


class _BatchNorm(_NormBase, nn.modules.batchnorm._BatchNorm):
    pass


class FastBatchNorm1d(_BatchNorm, nn.BatchNorm1d):
    """`torch.nn.BatchNorm1d` with a count of int32."""


class FastBatchNorm2d(_BatchNorm, nn.BatchNorm2d):
    """`torch.nn.BatchNorm2d` with a count of int32."""


class FastBatchNorm3d(_BatchNorm, nn.BatchNorm3d):
    """`torch.nn.BatchNorm3d` with a count of int32."""


class FastSyncBatchNorm(_BatchNorm, nn.SyncBatchNorm):
    """`torch.nn.SyncBatchNorm` with a count of int32."""
