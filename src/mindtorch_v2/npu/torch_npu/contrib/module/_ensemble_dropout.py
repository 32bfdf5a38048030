"""Dropout whose shares are registered with a model before they are used."""

from __future__ import annotations

from typing import Any, NamedTuple

import mindtorch_v2 as torch
from mindtorch_v2 import Tensor, nn

__all__ = ["NpuPreGenDropout"]


class _PreGenDropoutTask(NamedTuple):
    """A share of zeros that a model on a device has."""

    device: str
    p: float


class NpuPreGenDropout(nn.Dropout):
    """Dropout of a share that `enable_dropout_ensemble` has registered; masks are drawn when they are used.

    Raises:
        RuntimeError: the share was not registered, or what comes is no tensor.
    """

    task_dict: dict[float, _PreGenDropoutTask] = {}
    dropout_stream: Any = None
    prob: list[float] = []

    def __init__(self, p: float, module_name: str | None = None) -> None:
        super().__init__(p)
        self.module_name = module_name
        if p not in self.prob:
            self.prob.append(p)

    def forward(self, x: Tensor) -> Tensor:
        """Zeros in a share of p of the places, the others divided by 1 - p; x itself if p is 0 or in evaluation."""
        if not isinstance(x, torch.Tensor):
            raise RuntimeError(f"NpuPreGenDropout: the input must be a tensor, but it is a {type(x).__name__}")
        if self.p == 0 or not self.training:
            return x
        if self.p not in self.task_dict:
            raise RuntimeError(
                f"NpuPreGenDropout: the share {self.p} was not registered; call enable_dropout_ensemble(model) after the "
                "layer was made"
            )
        return super().forward(x)

    @classmethod
    def enable_dropout_ensemble(cls, model: nn.Module) -> None:
        """Register the shares of all layers made so far for the current device."""
        cls.dropout_stream = cls.dropout_stream or torch.npu.Stream()
        device = f"npu:{torch.npu.current_device()}"
        cls.task_dict.update({p: _PreGenDropoutTask(device, p) for p in cls.prob})
