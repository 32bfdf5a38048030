"""The geometric distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import mindtorch_v2 as torch
from mindtorch_v2.distributions import constraints
from mindtorch_v2.distributions._success import SuccessParameter
from mindtorch_v2.distributions.distribution import Distribution
from mindtorch_v2.distributions.utils import broadcast_all

__all__ = ["Geometric"]


class Geometric(SuccessParameter, Distribution):
    """Failures before the first success, each trial succeeding with probability `probs` (log odds `logits`).

    >>> torch.distributions.Geometric(torch.tensor(0.25)).mean
    tensor(3.)
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.nonnegative_integer

    def __init__(
        self,
        probs: torch.Tensor | float | None = None,
        logits: torch.Tensor | float | None = None,
        validate_args: bool | None = None,
    ) -> None:
        super().__init__(self._take(probs, logits), validate_args=validate_args)
        if self._validate_args and probs is not None:
            valid = self.probs > 0
            if not valid.all():
                raise ValueError(
                    f"Expected parameter probs ({type(self.probs).__name__} of shape {tuple(self.probs.shape)}) of "
                    f"distribution {self!r} to be positive but found invalid values:\n{self.probs[~valid]}"
                )

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Self:
        return self._expanded(Geometric, batch_shape, _instance, "probs", "logits", "_param")

    @property
    def mean(self) -> torch.Tensor:
        return 1.0 / self.probs - 1.0

    @property
    def mode(self) -> torch.Tensor:
        return torch.zeros_like(self.probs)

    @property
    def variance(self) -> torch.Tensor:
        return (1.0 / self.probs - 1.0) / self.probs

    def sample(self, sample_shape: Sequence[int] = ()) -> torch.Tensor:
        shape = self._extended_shape(sample_shape)
        with torch.no_grad():
            u = self.probs.new_empty(shape).uniform_(torch.finfo(self.probs.dtype).tiny, 1)
            return (u.log() / (-self.probs).log1p()).floor()

    def log_prob(self, value: torch.Tensor) -> torch.Tensor:
        if self._validate_args:
            self._validate_sample(value)
        value, probs = broadcast_all(value, self.probs)
        probs = probs.clone(memory_format=torch.contiguous_format)
        probs[(probs == 1) & (value == 0)] = 0
        return value * (-probs).log1p() + self.probs.log()

    def entropy(self) -> torch.Tensor:
        logits = self.logits
        return torch.nn.functional.binary_cross_entropy_with_logits(logits, self.probs, reduction="none") / self.probs
