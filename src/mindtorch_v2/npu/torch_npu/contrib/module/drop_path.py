"""Stochastic depth."""

from __future__ import annotations

import mindtorch_v2 as torch
from mindtorch_v2 import Tensor, nn

__all__ = ["NpuDropPath"]


class NpuDropPath(nn.Module):
    """Whole samples are zero with the probability `drop_prob` while training; the others grow by 1 / (1 - drop_prob)."""

    droppath_stream: torch.npu.Stream | None = None

    def __init__(self, drop_prob: float | None = None) -> None:
        super().__init__()
        self.drop_prob = drop_prob

    def forward(self, x: Tensor) -> Tensor:
        """The kept samples, and zeros."""
        if not self.drop_prob or not self.training:
            return x
        keep = 1 - self.drop_prob
        return x * x.new_empty([x.shape[0]] + [1] * (x.dim() - 1)).bernoulli_(keep) / keep

    @classmethod
    def enable_droppath_ensemble(cls, model: nn.Module) -> None:
        """Make the stream that torch_npu draws random numbers on; here the current one draws them."""
        cls.droppath_stream = cls.droppath_stream or torch.npu.Stream()
