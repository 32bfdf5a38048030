"""The half-Cauchy distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Self

import mindtorch_v2 as torch
from mindtorch_v2.distributions._half import Half
from mindtorch_v2.distributions.cauchy import Cauchy

__all__ = ["HalfCauchy"]


class HalfCauchy(Half):
    """The absolute value of a Cauchy variable with median 0 and `scale`; its mean and variance are infinite.

    >>> torch.distributions.HalfCauchy(1.0).cdf(torch.tensor(1.0))
    tensor(0.5000)
    """

    _whole = Cauchy

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Self:
        return super().expand(batch_shape, _instance=self._get_checked_instance(HalfCauchy, _instance))

    @property
    def mean(self) -> torch.Tensor:
        return torch.full_like(self.scale, math.inf)

    @property
    def variance(self) -> torch.Tensor:
        return self.base_dist.variance
