"""The continuous Bernoulli distribution (Loaiza-Ganem and Cunningham 2019)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Self

import mindtorch_v2 as torch
from mindtorch_v2.distributions import constraints
from mindtorch_v2.distributions._success import SuccessParameter
from mindtorch_v2.distributions.exp_family import ExponentialFamily
from mindtorch_v2.distributions.utils import (
    broadcast_all,
    clamp_probs,
    lazy_property,
    logits_to_probs,
)

__all__ = ["ContinuousBernoulli"]


class ContinuousBernoulli(SuccessParameter, ExponentialFamily):
    """Densities C(p) p^x (1-p)^(1-x) on the unit interval, p being `probs`, or given by `logits`.

    At p = 1/2 the exact formulas divide 0 by 0: between the two `lims` their series stand in.

    >>> torch.distributions.ContinuousBernoulli(torch.tensor(0.5)).mean
    tensor(0.5000)
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(
        self,
        probs: Any = None,
        logits: Any = None,
        lims: Sequence[float] = (0.499, 0.501),
        validate_args: bool | None = None,
    ) -> None:
        shape = self._take(probs, logits)
        if probs is not None:
            if validate_args is not None and not self.arg_constraints["probs"].check(self.probs).all():
                raise ValueError("The parameter probs has invalid values")
            self.probs = self._param = clamp_probs(self.probs)
        self._lims = lims
        super().__init__(shape, validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Self:
        new = self._expanded(ContinuousBernoulli, batch_shape, _instance, "probs", "logits", "_param")
        new._lims = self._lims
        return new

    @lazy_property
    def probs(self) -> torch.Tensor:
        return clamp_probs(logits_to_probs(self.logits, is_binary=True))

    def _exact(self) -> tuple:
        """Where the exact formulas hold, and the probabilities to put into them."""
        exact = (self.probs <= self._lims[0]) | (self.probs > self._lims[1])
        return exact, torch.where(exact, self.probs, self._lims[0] * torch.ones_like(self.probs))

    def _log_constant(self):
        """log C(p), C(p) = 2 artanh(1 - 2p) / (1 - 2p)."""
        exact, p = self._exact()
        below = torch.where(p <= 0.5, p, torch.zeros_like(p))
        above = torch.where(p >= 0.5, p, torch.ones_like(p))
        width = torch.where(p <= 0.5, torch.log1p(-2 * below), torch.log(2 * above - 1))
        log_constant = torch.log(torch.abs(torch.log1p(-p) - torch.log(p))) - width
        x = (self.probs - 0.5).pow(2)
        return torch.where(exact, log_constant, math.log(2) + (4 / 3 + 104 / 45 * x) * x)

    @property
    def mean(self) -> torch.Tensor:
        exact, p = self._exact()
        mean = p / (2 * p - 1) + 1 / (torch.log1p(-p) - torch.log(p))
        x = self.probs - 0.5
        return torch.where(exact, mean, 0.5 + (1 / 3 + 16 / 45 * x.pow(2)) * x)

    @property
    def stddev(self) -> torch.Tensor:
        return torch.sqrt(self.variance)

    @property
    def variance(self) -> torch.Tensor:
        exact, p = self._exact()
        variance = p * (p - 1) / (1 - 2 * p).pow(2) + 1 / (torch.log1p(-p) - torch.log(p)).pow(2)
        x = (self.probs - 0.5).pow(2)
        return torch.where(exact, variance, 1 / 12 - (1 / 15 - 128 / 945 * x) * x)

    def sample(self, sample_shape: Sequence[int] = ()) -> torch.Tensor:
        with torch.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Sequence[int] = ()) -> torch.Tensor:
        shape = self._extended_shape(sample_shape)
        return self.icdf(torch.rand(shape, dtype=self.probs.dtype, device=self.probs.device))

    def log_prob(self, value: torch.Tensor) -> torch.Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        cross = torch.nn.functional.binary_cross_entropy_with_logits(logits, value, reduction="none")
        return self._log_constant() - cross

    def cdf(self, value: torch.Tensor) -> torch.Tensor:
        if self._validate_args:
            self._validate_sample(value)
        exact, p = self._exact()
        inside = (p.pow(value) * (1 - p).pow(1 - value) + p - 1) / (2 * p - 1)
        inside = torch.where(exact, inside, value)
        low = torch.where(value <= 0, torch.zeros_like(value), inside)
        return torch.where(value >= 1, torch.ones_like(value), low)

    def icdf(self, value: torch.Tensor) -> torch.Tensor:
        exact, p = self._exact()
        found = (torch.log1p(-p + value * (2 * p - 1)) - torch.log1p(-p)) / (torch.log(p) - torch.log1p(-p))
        return torch.where(exact, found, value)

    def entropy(self) -> torch.Tensor:
        log_one, log_zero = torch.log(self.probs), torch.log1p(-self.probs)
        return self.mean * (log_zero - log_one) - self._log_constant() - log_zero

    @property
    def _natural_params(self) -> tuple:
        return (self.logits,)

    def _log_normalizer(self, x):
        """log of (e^x - 1) / x, by its series near 0."""
        exact = (x <= self._lims[0] - 0.5) | (x > self._lims[1] - 0.5)
        far = torch.where(exact, x, (self._lims[0] - 0.5) * torch.ones_like(x))
        normaliser = torch.log(torch.abs(torch.special.expm1(far))) - torch.log(torch.abs(far))
        return torch.where(exact, normaliser, 0.5 * x + x.pow(2) / 24 - x.pow(4) / 2880)
