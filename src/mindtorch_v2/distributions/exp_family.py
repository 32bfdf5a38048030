"""`ExponentialFamily`: entropy from the log normaliser."""

from __future__ import annotations

import mindtorch_v2 as torch
from mindtorch_v2.distributions.distribution import Distribution

__all__ = ["ExponentialFamily"]


class ExponentialFamily(Distribution):
    """Densities exp(<t(x), theta> - F(theta) + k(x)): natural parameters theta, log normaliser F, carrier k.

    >>> isinstance(torch.distributions.Gamma(1.0, 1.0), torch.distributions.ExponentialFamily)
    True
    """

    @property
    def _natural_params(self):
        raise NotImplementedError

    def _log_normalizer(self, *natural_params):
        raise NotImplementedError

    @property
    def _mean_carrier_measure(self):
        raise NotImplementedError

    def entropy(self) -> torch.Tensor:
        """F(theta) - <theta, grad F(theta)> - E[k(x)]."""
        result = -self._mean_carrier_measure
        params = [param.detach().requires_grad_() for param in self._natural_params]
        log_normalizer = self._log_normalizer(*params)
        gradients = torch.autograd.grad(log_normalizer.sum(), params, create_graph=True)
        result += log_normalizer
        for param, gradient in zip(params, gradients):
            result -= (param * gradient).reshape(self._batch_shape + (-1,)).sum(-1)
        return result
