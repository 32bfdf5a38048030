"""The beta distribution."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any, Self

import mindtorch_v2 as torch
from mindtorch_v2.distributions import constraints
from mindtorch_v2.distributions.dirichlet import Dirichlet
from mindtorch_v2.distributions.exp_family import ExponentialFamily
from mindtorch_v2.distributions.utils import broadcast_all

__all__ = ["Beta"]


class Beta(ExponentialFamily):
    """Beta distribution with `concentration1` (alpha) and `concentration0` (beta).

    >>> torch.distributions.Beta(2.0, 3.0).mean
    tensor(0.4000)
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
        if isinstance(concentration1, numbers.Number) and isinstance(concentration0, numbers.Number):
            pair = torch.tensor([float(concentration1), float(concentration0)])
        else:
            pair = torch.stack(broadcast_all(concentration1, concentration0), -1)
        self._dirichlet = Dirichlet(pair, validate_args=validate_args)
        super().__init__(self._dirichlet._batch_shape, validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Self:
        return self._expanded(Beta, batch_shape, _instance, "_dirichlet")

    @property
    def concentration1(self) -> torch.Tensor:
        return self._dirichlet.concentration[..., 0]

    @property
    def concentration0(self) -> torch.Tensor:
        return self._dirichlet.concentration[..., 1]

    @property
    def mean(self) -> torch.Tensor:
        return self.concentration1 / (self.concentration1 + self.concentration0)

    @property
    def mode(self) -> torch.Tensor:
        return self._dirichlet.mode[..., 0]

    @property
    def variance(self) -> torch.Tensor:
        total = self.concentration1 + self.concentration0
        return self.concentration1 * self.concentration0 / (total.pow(2) * (total + 1))

    def rsample(self, sample_shape: Sequence[int] = ()) -> torch.Tensor:
        return self._dirichlet.rsample(sample_shape).select(-1, 0)

    def log_prob(self, value: torch.Tensor) -> torch.Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return self._dirichlet.log_prob(torch.stack([value, 1.0 - value], -1))

    def entropy(self) -> torch.Tensor:
        return self._dirichlet.entropy()

    @property
    def _natural_params(self) -> tuple:
        return self.concentration1, self.concentration0

    def _log_normalizer(self, x, y):
        return torch.lgamma(x) + torch.lgamma(y) - torch.lgamma(x + y)
