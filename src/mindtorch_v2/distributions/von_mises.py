"""The von Mises distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Self

import mindtorch_v2 as torch
from mindtorch_v2.distributions import constraints
from mindtorch_v2.distributions.distribution import Distribution
from mindtorch_v2.distributions.utils import broadcast_all, lazy_property

__all__ = ["VonMises"]


class VonMises(Distribution):
    """Angles around `loc`, in radians; `concentration` is the inverse of a variance.

    The mean and the variance are circular: the variance is 1 - I1(concentration) / I0(concentration).

    >>> torch.distributions.VonMises(torch.tensor(1.0), torch.tensor(1.0)).mean
    tensor(1.)
    """

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real
    has_rsample = False

    def __init__(
        self, loc: torch.Tensor | float, concentration: torch.Tensor | float, validate_args: bool | None = None
    ) -> None:
        self.loc, self.concentration = broadcast_all(loc, concentration)
        super().__init__(self.loc.shape, torch.Size(), validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Self:
        loc, concentration = self.loc.expand(batch_shape), self.concentration.expand(batch_shape)
        return type(self)(loc, concentration, validate_args=self._validate_args)

    def log_prob(self, value: torch.Tensor) -> torch.Tensor:
        if self._validate_args:
            self._validate_sample(value)
        log_bessel = torch.special.i0e(self.concentration).log() + self.concentration
        return self.concentration * torch.cos(value - self.loc) - math.log(2 * math.pi) - log_bessel

    @lazy_property
    def _envelope(self):
        """The parameter r of the wrapped Cauchy distribution from which candidates are drawn (Best and Fisher 1979)."""
        kappa = self.concentration.double()
        tau = 1 + (1 + 4 * kappa**2).sqrt()
        rho = (tau - (2 * tau).sqrt()) / (2 * kappa)
        # Near 0 the quotient cancels: there, the series.
        return torch.where(kappa < 1e-5, 1 / kappa + kappa, (1 + rho**2) / (2 * rho))

    @torch.no_grad()
    def sample(self, sample_shape: Sequence[int] = ()) -> torch.Tensor:
        """Samples in [-pi, pi), by rejection in float64."""
        shape = self._extended_shape(sample_shape)
        kappa, r = self.concentration.double().expand(shape), self._envelope.expand(shape)
        angle = torch.empty(shape, dtype=torch.float64, device=self.loc.device)
        done = torch.zeros(shape, dtype=torch.bool, device=self.loc.device)
        while not done.all():
            first, second, third = torch.rand((3, *shape), dtype=torch.float64, device=self.loc.device).unbind()
            z = torch.cos(math.pi * first)
            f = (1 + r * z) / (r + z)
            c = kappa * (r - f)
            accept = ((c * (2 - c) - second) > 0) | ((c / second).log() + 1 - c >= 0)
            angle = torch.where(accept, (third - 0.5).sign() * f.acos(), angle)
            done = done | accept
        turned = (angle + math.pi + self.loc.double()) % (2 * math.pi) - math.pi
        return turned.to(self.loc.dtype)

    @property
    def mean(self) -> torch.Tensor:
        return self.loc

    @property
    def mode(self) -> torch.Tensor:
        return self.loc

    @lazy_property
    def variance(self) -> torch.Tensor:
        return 1 - torch.special.i1e(self.concentration) / torch.special.i0e(self.concentration)
