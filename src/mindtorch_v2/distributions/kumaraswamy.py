"""The Kumaraswamy distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import mindtorch_v2 as torch
from mindtorch_v2.distributions import constraints
from mindtorch_v2.distributions.transformed_distribution import TransformedDistribution
from mindtorch_v2.distributions.transforms import AffineTransform, PowerTransform
from mindtorch_v2.distributions.uniform import Uniform
from mindtorch_v2.distributions.utils import broadcast_all, euler_constant

__all__ = ["Kumaraswamy"]


class Kumaraswamy(TransformedDistribution):
    """Densities a b x^(a-1) (1 - x^a)^(b-1) on the unit interval: a is `concentration1`, b `concentration0`.

    >>> torch.distributions.Kumaraswamy(torch.tensor(1.0), torch.tensor(1.0)).mean
    tensor(0.5000)
    """

    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval
    has_rsample = True

    def __init__(
        self,
        concentration1: torch.Tensor | float,
        concentration0: torch.Tensor | float,
        validate_args: bool | None = None,
    ) -> None:
        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        base_dist = Uniform(
            torch.zeros_like(self.concentration0), torch.ones_like(self.concentration0), validate_args=validate_args
        )
        transforms = [
            PowerTransform(exponent=self.concentration0.reciprocal()),
            AffineTransform(loc=1.0, scale=-1.0),
            PowerTransform(exponent=self.concentration1.reciprocal()),
        ]
        super().__init__(base_dist, transforms, validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Self:
        new = self._get_checked_instance(Kumaraswamy, _instance)
        new.concentration1 = self.concentration1.expand(batch_shape)
        new.concentration0 = self.concentration0.expand(batch_shape)
        return super().expand(batch_shape, _instance=new)

    def _moment(self, order):
        """E[x^order] = b B(1 + order / a, b)."""
        first = 1 + order / self.concentration1
        log_beta = torch.lgamma(first) + torch.lgamma(self.concentration0) - torch.lgamma(first + self.concentration0)
        return self.concentration0 * torch.exp(log_beta)

    @property
    def mean(self) -> torch.Tensor:
        return self._moment(1)

    @property
    def mode(self) -> torch.Tensor:
        # PyTorch's formula takes the logarithm of a negative number wherever there is a mode.
        return torch.full_like(self.concentration1, torch.nan)

    @property
    def variance(self) -> torch.Tensor:
        return self._moment(2) - self.mean.pow(2)

    def entropy(self) -> torch.Tensor:
        harmonic = torch.digamma(self.concentration0 + 1) + euler_constant
        return (
            (1 - self.concentration0.reciprocal())
            + (1 - self.concentration1.reciprocal()) * harmonic
            - torch.log(self.concentration0)
            - torch.log(self.concentration1)
        )
