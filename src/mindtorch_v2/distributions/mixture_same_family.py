"""Mixtures of distributions of one family."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import mindtorch_v2 as torch
from mindtorch_v2.distributions import constraints
from mindtorch_v2.distributions.categorical import Categorical
from mindtorch_v2.distributions.distribution import Distribution

__all__ = ["MixtureSameFamily"]


class MixtureSameFamily(Distribution):
    """A mixture: `mixture_distribution` is Categorical over the last batch dimension of `component_distribution`.

    >>> parts = torch.distributions.Normal(torch.tensor([0.0, 4.0]), torch.ones(2))
    >>> torch.distributions.MixtureSameFamily(torch.distributions.Categorical(torch.ones(2)), parts).mean
    tensor(2.)
    """

    arg_constraints = {}
    has_rsample = False

    def __init__(
        self, mixture_distribution: Categorical, component_distribution: Distribution, validate_args: bool | None = None
    ) -> None:
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError("The Mixture distribution needs to be an  instance of torch.distributions.Categorical")
        if not isinstance(component_distribution, Distribution):
            raise ValueError("The Component distribution needs to be an instance of torch.distributions.Distribution")
        batch_shape = component_distribution.batch_shape[:-1]
        for size1, size2 in zip(reversed(mixture_distribution.batch_shape), reversed(batch_shape)):
            if size1 != 1 and size2 != 1 and size1 != size2:
                raise ValueError(
                    f"`mixture_distribution.batch_shape` ({mixture_distribution.batch_shape}) is not compatible with "
                    f"`component_distribution.batch_shape`({batch_shape})"
                )
        km, kc = mixture_distribution.logits.shape[-1], component_distribution.batch_shape[-1]
        if km is not None and kc is not None and km != kc:
            raise ValueError(
                f"`mixture_distribution component` ({km}) does not equal `component_distribution.batch_shape[-1]` ({kc})"
            )
        self._mixture_distribution = mixture_distribution
        self._component_distribution = component_distribution
        self._num_component = km
        self._event_ndims = len(component_distribution.event_shape)
        super().__init__(batch_shape, component_distribution.event_shape, validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Self:
        batch_shape = torch.Size(batch_shape)
        new = self._get_checked_instance(MixtureSameFamily, _instance)
        new._component_distribution = self._component_distribution.expand(batch_shape + (self._num_component,))
        new._mixture_distribution = self._mixture_distribution.expand(batch_shape)
        new._num_component = self._num_component
        new._event_ndims = len(new._component_distribution.event_shape)
        super(MixtureSameFamily, new).__init__(
            batch_shape, new._component_distribution.event_shape, validate_args=False
        )
        new._validate_args = self._validate_args
        return new

    @constraints.dependent_property
    def support(self) -> constraints.Constraint:
        return constraints.MixtureSameFamilyConstraint(self._component_distribution.support)

    @property
    def mixture_distribution(self) -> Categorical:
        return self._mixture_distribution

    @property
    def component_distribution(self) -> Distribution:
        return self._component_distribution

    def _probs(self):
        probs = self.mixture_distribution.probs
        return probs.reshape(probs.shape + (1,) * self._event_ndims)

    @property
    def mean(self) -> torch.Tensor:
        return torch.sum(self._probs() * self.component_distribution.mean, dim=-1 - self._event_ndims)

    @property
    def variance(self) -> torch.Tensor:
        probs, dim = self._probs(), -1 - self._event_ndims
        of_components = torch.sum(probs * self.component_distribution.variance, dim=dim)
        offsets = self.component_distribution.mean - self.mean.unsqueeze(dim)
        return of_components + torch.sum(probs * offsets.pow(2.0), dim=dim)

    def cdf(self, x: torch.Tensor) -> torch.Tensor:
        cdf = self.component_distribution.cdf(x.unsqueeze(-1 - self._event_ndims))
        return torch.sum(cdf * self.mixture_distribution.probs, dim=-1)

    def log_prob(self, x: torch.Tensor) -> torch.Tensor:
        if self._validate_args:
            self._validate_sample(x)
        log_prob = self.component_distribution.log_prob(x.unsqueeze(-1 - self._event_ndims))
        return torch.logsumexp(log_prob + torch.log_softmax(self.mixture_distribution.logits, dim=-1), dim=-1)

    def sample(self, sample_shape: Sequence[int] = ()) -> torch.Tensor:
        with torch.no_grad():
            sample_shape = torch.Size(sample_shape)
            gather_dim = len(sample_shape) + len(self.batch_shape)
            event_shape = self.event_shape
            which = self.mixture_distribution.sample(sample_shape)
            samples = self.component_distribution.sample(sample_shape)
            which = which.reshape(which.shape + (1,) * (len(event_shape) + 1))
            which = which.repeat((1,) * len(which.shape[: gather_dim + 1]) + tuple(event_shape))
            return torch.gather(samples, gather_dim, which).squeeze(gather_dim)

    def __repr__(self) -> str:
        return f"MixtureSameFamily(\n  {self.mixture_distribution},\n  {self.component_distribution})"
