"""The Weibull distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import mindtorch_v2 as torch
from mindtorch_v2.distributions import constraints
from mindtorch_v2.distributions.exponential import Exponential
from mindtorch_v2.distributions.transformed_distribution import TransformedDistribution
from mindtorch_v2.distributions.transforms import AffineTransform, PowerTransform
from mindtorch_v2.distributions.utils import broadcast_all, euler_constant

__all__ = ["Weibull"]


class Weibull(TransformedDistribution):
    """`scale` times a standard exponential variable to the power 1 / `concentration`.

    >>> torch.distributions.Weibull(torch.tensor(1.0), torch.tensor(1.0)).mean
    tensor(1.)
    """

    arg_constraints = {"scale": constraints.positive, "concentration": constraints.positive}
    support = constraints.positive

    def __init__(
        self, scale: torch.Tensor | float, concentration: torch.Tensor | float, validate_args: bool | None = None
    ) -> None:
        self.scale, self.concentration = broadcast_all(scale, concentration)
        self.concentration_reciprocal = self.concentration.reciprocal()
        transforms = [
            PowerTransform(exponent=self.concentration_reciprocal),
            AffineTransform(loc=0, scale=self.scale),
        ]
        base_dist = Exponential(torch.ones_like(self.scale), validate_args=validate_args)
        super().__init__(base_dist, transforms, validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Self:
        new = self._get_checked_instance(Weibull, _instance)
        new.scale = self.scale.expand(batch_shape)
        new.concentration = self.concentration.expand(batch_shape)
        new.concentration_reciprocal = new.concentration.reciprocal()
        base_dist = self.base_dist.expand(batch_shape)
        transforms = [
            PowerTransform(exponent=new.concentration_reciprocal),
            AffineTransform(loc=0, scale=new.scale),
        ]
        super(Weibull, new).__init__(base_dist, transforms, validate_args=False)
        new._validate_args = self._validate_args
        return new

    def _log_moment(self, order):
        """log E[(x / scale)^order]."""
        return torch.lgamma(1 + order * self.concentration_reciprocal)

    @property
    def mean(self) -> torch.Tensor:
        return self.scale * torch.exp(self._log_moment(1))

    @property
    def mode(self) -> torch.Tensor:
        ratio = (self.concentration - 1) / self.concentration
        return self.scale * ratio**self.concentration_reciprocal

    @property
    def variance(self) -> torch.Tensor:
        return self.scale.pow(2) * (torch.exp(self._log_moment(2)) - torch.exp(2 * self._log_moment(1)))

    def entropy(self) -> torch.Tensor:
        return (
            euler_constant * (1 - self.concentration_reciprocal)
            + torch.log(self.scale * self.concentration_reciprocal)
            + 1
        )
