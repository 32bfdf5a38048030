"""The base of distributions of absolute values."""

from __future__ import annotations

import math
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2.distributions import constraints
from mindtorch_v2.distributions.transformed_distribution import TransformedDistribution
from mindtorch_v2.distributions.transforms import AbsTransform


class Half(TransformedDistribution):
    """The absolute value of a variable that is symmetric around 0, of the distribution `_whole` with `scale`."""

    _whole: Any

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True

    def __init__(self, scale: torch.Tensor, validate_args: bool | None = None) -> None:
        super().__init__(self._whole(0, scale, validate_args=False), AbsTransform(), validate_args=validate_args)

    @property
    def scale(self) -> torch.Tensor:
        return self.base_dist.scale

    @property
    def mode(self) -> torch.Tensor:
        return torch.zeros_like(self.scale)

    def log_prob(self, value: torch.Tensor) -> torch.Tensor:
        if self._validate_args:
            self._validate_sample(value)
        log_prob = self.base_dist.log_prob(value) + math.log(2)
        return torch.where(torch.as_tensor(value) >= 0, log_prob, -math.inf)

    def cdf(self, value: torch.Tensor) -> torch.Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, prob: torch.Tensor) -> torch.Tensor:
        return self.base_dist.icdf((prob + 1) / 2)

    def entropy(self) -> torch.Tensor:
        return self.base_dist.entropy() - math.log(2)
