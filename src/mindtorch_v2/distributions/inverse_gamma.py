"""The inverse gamma distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import mindtorch_v2 as torch
from mindtorch_v2.distributions import constraints
from mindtorch_v2.distributions.gamma import Gamma
from mindtorch_v2.distributions.transformed_distribution import TransformedDistribution
from mindtorch_v2.distributions.transforms import PowerTransform

__all__ = ["InverseGamma"]


class InverseGamma(TransformedDistribution):
    """The reciprocal of a gamma variable with `concentration` and `rate`.

    >>> torch.distributions.InverseGamma(torch.tensor(3.0), torch.tensor(4.0)).mean
    tensor(2.)
    """

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.positive
    has_rsample = True

    def __init__(
        self, concentration: torch.Tensor | float, rate: torch.Tensor | float, validate_args: bool | None = None
    ) -> None:
        base_dist = Gamma(concentration, rate, validate_args=validate_args)
        reciprocal = PowerTransform(exponent=-base_dist.rate.new_ones(()))
        super().__init__(base_dist, reciprocal, validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Self:
        return super().expand(batch_shape, _instance=self._get_checked_instance(InverseGamma, _instance))

    @property
    def concentration(self) -> torch.Tensor:
        return self.base_dist.concentration

    @property
    def rate(self) -> torch.Tensor:
        return self.base_dist.rate

    @property
    def mean(self) -> torch.Tensor:
        result = self.rate / (self.concentration - 1)
        return torch.where(self.concentration > 1, result, torch.inf)

    @property
    def mode(self) -> torch.Tensor:
        return self.rate / (self.concentration + 1)

    @property
    def variance(self) -> torch.Tensor:
        result = self.rate.square() / ((self.concentration - 1).square() * (self.concentration - 2))
        return torch.where(self.concentration > 2, result, torch.inf)

    def entropy(self) -> torch.Tensor:
        concentration = self.concentration
        return concentration + self.rate.log() + concentration.lgamma() - (1 + concentration) * concentration.digamma()
