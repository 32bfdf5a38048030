"""Dropout by the names of contrib. Masks are drawn when they are used, not before, so that nothing has to be enabled."""

from __future__ import annotations

import mindtorch_v2 as torch
from mindtorch_v2 import nn

__all__ = ["NpuCachedDropout", "NpuFairseqDropout"]


class NpuCachedDropout(nn.Dropout):
    """`torch.nn.Dropout`; `module_name` is kept.

    Shape:
        Any; the result has the input's.
    """

    dropout_stream: torch.npu.Stream | None = None

    def __init__(self, p: float, module_name: str | None = None) -> None:
        super().__init__(p)
        self.module_name = module_name

    @classmethod
    def enable_dropout_ensemble(cls, model: nn.Module) -> None:
        """Make the stream that torch_npu draws masks on; here the current one draws them."""
        cls.dropout_stream = cls.dropout_stream or torch.npu.Stream()


class NpuFairseqDropout(NpuCachedDropout):
    """`NpuCachedDropout` by its older name."""
