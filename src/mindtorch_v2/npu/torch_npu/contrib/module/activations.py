"""Activations by the names of contrib."""

from __future__ import annotations

from mindtorch_v2 import Tensor, nn

__all__ = ["Mish", "SiLU", "Swish"]

SiLU = nn.SiLU
Mish = nn.Mish


class Swish(nn.Module):
    """x sigmoid(x), as `SiLU`."""

    def forward(self, x: Tensor) -> Tensor:
        """x sigmoid(x)."""
        return nn.functional.silu(x)
