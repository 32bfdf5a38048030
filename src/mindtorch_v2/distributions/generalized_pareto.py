"""The generalised Pareto distribution."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any, Self

import mindtorch_v2 as torch
from mindtorch_v2.distributions import constraints
from mindtorch_v2.distributions.distribution import Distribution
from mindtorch_v2.distributions.utils import broadcast_all

__all__ = ["GeneralizedPareto"]


class GeneralizedPareto(Distribution):
    """Tails above `loc` with `scale`: exponential where `concentration` is 0, heavier above, bounded below.

    >>> torch.distributions.GeneralizedPareto(torch.tensor(0.0), torch.tensor(1.0), torch.tensor(0.25)).support
    Interval(lower_bound=0.0, upper_bound=inf)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive, "concentration": constraints.real}
    has_rsample = True

    def __init__(
        self,
        loc: torch.Tensor | float,
        scale: torch.Tensor | float,
        concentration: torch.Tensor | float,
        validate_args: bool | None = None,
    ) -> None:
        self.loc, self.scale, self.concentration = broadcast_all(loc, scale, concentration)
        scalar = all(isinstance(value, numbers.Number) for value in (loc, scale, concentration))
        super().__init__(torch.Size() if scalar else self.loc.size(), validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Self:
        return self._expanded(GeneralizedPareto, batch_shape, _instance, "loc", "scale", "concentration")

    def _shape_parameter(self) -> tuple:
        """Where the concentration counts as 0, and the concentration with 1 there, to divide by."""
        zero = torch.isclose(self.concentration, torch.zeros_like(self.concentration))
        return zero, torch.where(zero, torch.ones_like(self.concentration), self.concentration)

    def _standardized(self, value):
        return (value - self.loc) / self.scale

    def rsample(self, sample_shape: Sequence[int] = ()) -> torch.Tensor:
        shape = self._extended_shape(sample_shape)
        return self.icdf(torch.rand(shape, dtype=self.loc.dtype, device=self.loc.device))

    def log_prob(self, value: torch.Tensor) -> torch.Tensor:
        if self._validate_args:
            self._validate_sample(value)
        z = self._standardized(value)
        zero, shape = self._shape_parameter()
        exponent = 1 / shape + 1
        # At concentration -1 the density is flat, also at the end where the logarithm is infinite.
        falling = torch.where(exponent == 0, 0.0, exponent * torch.log1p(shape * z))
        return -self.scale.log() - torch.where(zero, z, falling)

    def log_survival_function(self, value: torch.Tensor) -> torch.Tensor:
        """log P(x > value)."""
        if self._validate_args:
            self._validate_sample(value)
        z = self._standardized(value)
        zero, shape = self._shape_parameter()
        return torch.where(zero, -z, -torch.log1p(shape * z) / shape)

    def log_cdf(self, value: torch.Tensor) -> torch.Tensor:
        """log P(x <= value)."""
        return torch.log1p(-torch.exp(self.log_survival_function(value)))

    def cdf(self, value: torch.Tensor) -> torch.Tensor:
        return torch.exp(self.log_cdf(value))

    def icdf(self, value: torch.Tensor) -> torch.Tensor:
        zero, shape = self._shape_parameter()
        log_survival = torch.log1p(-value)
        standard = torch.where(zero, -log_survival, torch.expm1(-shape * log_survival) / shape)
        return self.loc + self.scale * standard

    @property
    def mean(self) -> torch.Tensor:
        exists = self.concentration < 1
        shape = torch.where(exists, self.concentration, 0.5)
        return torch.where(exists, self.loc + self.scale / (1 - shape), torch.nan)

    @property
    def mode(self) -> torch.Tensor:
        return self.loc

    @property
    def variance(self) -> torch.Tensor:
        exists = self.concentration < 0.5
        shape = torch.where(exists, self.concentration, 0.25)
        return torch.where(exists, self.scale**2 / ((1 - shape) ** 2 * (1 - 2 * shape)), torch.nan)

    def entropy(self) -> torch.Tensor:
        return torch.broadcast_to(torch.log(self.scale) + self.concentration + 1, self._batch_shape)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> constraints.Constraint:
        end = torch.where(self.concentration < 0, self.loc - self.scale / self.concentration, torch.inf)
        return constraints.interval(self.loc, end)
