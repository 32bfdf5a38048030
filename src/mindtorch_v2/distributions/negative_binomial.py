"""The negative binomial distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import mindtorch_v2 as torch
from mindtorch_v2.distributions import constraints
from mindtorch_v2.distributions._success import SuccessParameter
from mindtorch_v2.distributions.distribution import Distribution
from mindtorch_v2.distributions.gamma import Gamma
from mindtorch_v2.distributions.utils import lazy_property

__all__ = ["NegativeBinomial"]


class NegativeBinomial(SuccessParameter, Distribution):
    """Successes, each with probability `probs` (log odds `logits`), before the `total_count`-th failure.

    >>> torch.distributions.NegativeBinomial(torch.tensor(4.0), torch.tensor(0.5)).mean
    tensor(4.)
    """

    arg_constraints = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer

    def __init__(
        self,
        total_count: torch.Tensor | int,
        probs: torch.Tensor | float | None = None,
        logits: torch.Tensor | float | None = None,
        validate_args: bool | None = None,
    ) -> None:
        super().__init__(self._take_with_count(total_count, probs, logits), validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Self:
        return self._expanded(NegativeBinomial, batch_shape, _instance, "total_count", "probs", "logits", "_param")

    @property
    def mean(self) -> torch.Tensor:
        return self.total_count * torch.exp(self.logits)

    @property
    def mode(self) -> torch.Tensor:
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0)

    @property
    def variance(self) -> torch.Tensor:
        return self.mean / torch.sigmoid(-self.logits)

    @lazy_property
    def _gamma(self):
        return Gamma(concentration=self.total_count, rate=torch.exp(-self.logits), validate_args=False)

    def sample(self, sample_shape: Sequence[int] = ()) -> torch.Tensor:
        with torch.no_grad():
            return torch.poisson(self._gamma.sample(sample_shape=sample_shape))

    def log_prob(self, value: torch.Tensor) -> torch.Tensor:
        if self._validate_args:
            self._validate_sample(value)
        unnormalised = self.total_count * torch.nn.functional.logsigmoid(-self.logits)
        unnormalised = unnormalised + value * torch.nn.functional.logsigmoid(self.logits)
        normaliser = (
            -torch.lgamma(self.total_count + value) + torch.lgamma(1.0 + value) + torch.lgamma(self.total_count)
        )
        normaliser = normaliser.masked_fill(self.total_count + value == 0.0, 0.0)
        return unnormalised - normaliser
