"""The LKJ distribution of correlation matrices, over their Cholesky factors (Lewandowski, Kurowicka and Joe 2009)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Self

import mindtorch_v2 as torch
from mindtorch_v2.distributions import constraints
from mindtorch_v2.distributions.beta import Beta
from mindtorch_v2.distributions.distribution import Distribution
from mindtorch_v2.distributions.utils import broadcast_all

__all__ = ["LKJCholesky"]


class LKJCholesky(Distribution):
    """Cholesky factors (dim, dim) of correlation matrices M with density proportional to det(M)^(concentration - 1).

    >>> torch.distributions.LKJCholesky(3, 0.5).sample().shape
    torch.Size([3, 3])
    """

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky

    def __init__(self, dim: int, concentration: torch.Tensor | float = 1.0, validate_args: bool | None = None) -> None:
        if dim < 2:
            raise ValueError(f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}.")
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        options: dict[str, Any] = {"dtype": self.concentration.dtype, "device": self.concentration.device}
        # The onion method: row i has a length that is beta distributed, and a direction that is uniform.
        rows = torch.cat([torch.zeros(1, **options), torch.arange(dim - 1, **options)])
        marginal = self.concentration + 0.5 * (dim - 2)
        self._beta = Beta(rows + 0.5, marginal.unsqueeze(-1) - 0.5 * rows)
        super().__init__(self.concentration.size(), torch.Size((dim, dim)), validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Self:
        new = self._get_checked_instance(LKJCholesky, _instance)
        batch_shape = torch.Size(batch_shape)
        new.dim = self.dim
        new.concentration = self.concentration.expand(batch_shape)
        new._beta = self._beta.expand(batch_shape + (self.dim,))
        super(LKJCholesky, new).__init__(batch_shape, self.event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    def sample(self, sample_shape: Sequence[int] = ()) -> torch.Tensor:
        squared = self._beta.sample(sample_shape).unsqueeze(-1)
        options: dict[str, Any] = {"dtype": squared.dtype, "device": squared.device}
        below = torch.randn(self._extended_shape(sample_shape), **options).tril(-1)
        direction = below / below.norm(dim=-1, keepdim=True)
        direction[..., 0, :].fill_(0.0)  # nothing is below the diagonal there
        w = torch.sqrt(squared) * direction
        diagonal = torch.clamp(1 - torch.sum(w**2, dim=-1), min=torch.finfo(w.dtype).tiny).sqrt()
        return w + torch.diag_embed(diagonal)

    def log_prob(self, value: torch.Tensor) -> torch.Tensor:
        if self._validate_args:
            self._validate_sample(value)
        diagonal = value.diagonal(dim1=-1, dim2=-2)[..., 1:]
        order = torch.arange(2, self.dim + 1, device=self.concentration.device)
        exponents = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - order
        n = self.dim - 1
        alpha = self.concentration + 0.5 * n
        normaliser = 0.5 * n * math.log(math.pi) + torch.mvlgamma(alpha - 0.5, n) - torch.lgamma(alpha) * n
        return torch.sum(exponents * diagonal.log(), dim=-1) - normaliser
