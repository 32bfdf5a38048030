"""The half-normal distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Self

import mindtorch_v2 as torch
from mindtorch_v2.distributions._half import Half
from mindtorch_v2.distributions.normal import Normal

__all__ = ["HalfNormal"]


class HalfNormal(Half):
    """The absolute value of a normal variable with mean 0 and standard deviation `scale`.

    >>> torch.distributions.HalfNormal(1.0).mean
    tensor(0.7979)
    """

    _whole = Normal

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Self:
        return super().expand(batch_shape, _instance=self._get_checked_instance(HalfNormal, _instance))

    @property
    def mean(self) -> torch.Tensor:
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def variance(self) -> torch.Tensor:
        return self.scale.pow(2) * (1 - 2 / math.pi)
