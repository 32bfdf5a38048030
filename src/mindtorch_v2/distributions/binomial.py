"""The binomial distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import mindtorch_v2 as torch
from mindtorch_v2.distributions import constraints
from mindtorch_v2.distributions._success import SuccessParameter
from mindtorch_v2.distributions.distribution import Distribution

__all__ = ["Binomial"]


def _clamp_by_zero(x):
    # max(x, 0), with gradient 1/2 at 0.
    return (x.clamp(min=0) + x - x.clamp(max=0)) / 2


class Binomial(SuccessParameter, Distribution):
    """Successes among `total_count` trials, each with probability `probs` (log odds `logits`).

    >>> torch.distributions.Binomial(10, probs=torch.tensor(0.5)).variance
    tensor(2.5000)
    """

    arg_constraints = {
        "total_count": constraints.nonnegative_integer,
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    has_enumerate_support = True

    def __init__(
        self,
        total_count: torch.Tensor | int = 1,
        probs: torch.Tensor | float | None = None,
        logits: torch.Tensor | float | None = None,
        validate_args: bool | None = None,
    ) -> None:
        super().__init__(self._take_with_count(total_count, probs, logits), validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Self:
        return self._expanded(Binomial, batch_shape, _instance, "total_count", "probs", "logits", "_param")

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> constraints.Constraint:
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self) -> torch.Tensor:
        return self.total_count * self.probs

    @property
    def mode(self) -> torch.Tensor:
        return ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count)

    @property
    def variance(self) -> torch.Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Sequence[int] = ()) -> torch.Tensor:
        shape = self._extended_shape(sample_shape)
        with torch.no_grad():
            return torch.binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value: torch.Tensor) -> torch.Tensor:
        if self._validate_args:
            self._validate_sample(value)
        log_factorials = (
            torch.lgamma(self.total_count + 1) - torch.lgamma(value + 1) - torch.lgamma(self.total_count - value + 1)
        )
        normaliser = self.total_count * (_clamp_by_zero(self.logits) + torch.log1p(torch.exp(-torch.abs(self.logits))))
        return value * self.logits + log_factorials - normaliser

    def entropy(self) -> torch.Tensor:
        total = int(self.total_count.max())
        if self.total_count.min() != total:
            raise NotImplementedError("Inhomogeneous total count not supported by `entropy`.")
        log_prob = self.log_prob(self.enumerate_support(False))
        return -(torch.exp(log_prob) * log_prob).sum(0)

    def enumerate_support(self, expand: bool = True) -> torch.Tensor:
        total = int(self.total_count.max())
        if self.total_count.min() != total:
            raise NotImplementedError("Inhomogeneous total count not supported by `enumerate_support`.")
        values = torch.arange(1 + total, dtype=self._param.dtype, device=self._param.device)
        values = values.view((-1,) + (1,) * len(self._batch_shape))
        return values.expand((-1,) + self._batch_shape) if expand else values
