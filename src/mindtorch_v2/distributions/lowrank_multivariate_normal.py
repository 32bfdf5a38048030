"""Multivariate normal distributions whose covariance is of low rank, plus a diagonal."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Self

import mindtorch_v2 as torch
from mindtorch_v2.distributions import constraints
from mindtorch_v2.distributions.distribution import Distribution
from mindtorch_v2.distributions.multivariate_normal import _batch_mahalanobis
from mindtorch_v2.distributions.utils import _standard_normal, lazy_property

__all__ = ["LowRankMultivariateNormal"]


def _capacitance_factor(W, D):
    """The Cholesky factor of I + W' D^-1 W: (..., m, m)."""
    scaled = W.mT / D.unsqueeze(-2)
    identity = torch.eye(W.size(-1), dtype=W.dtype, device=W.device)
    return torch.linalg.cholesky(torch.matmul(scaled, W) + identity)


def _log_det(D, factor):
    """log det(W W' + D), by the matrix determinant lemma."""
    return 2 * factor.diagonal(dim1=-2, dim2=-1).log().sum(-1) + D.log().sum(-1)


def _mahalanobis(W, D, x, factor):
    """x' (W W' + D)^-1 x, by the Woodbury identity."""
    scaled = W.mT / D.unsqueeze(-2)
    return (x.pow(2) / D).sum(-1) - _batch_mahalanobis(factor, torch.matmul(scaled, x.unsqueeze(-1)).squeeze(-1))


class LowRankMultivariateNormal(Distribution):
    """Normal vectors with mean `loc` (..., n) and covariance W W' + D.

    W is `cov_factor` (..., n, m), D the diagonal matrix of `cov_diag` (..., n). With m much less than n neither densities
    nor samples need a matrix of n by n.

    >>> torch.distributions.LowRankMultivariateNormal(torch.zeros(2), torch.ones(2, 1), torch.ones(2)).variance
    tensor([2., 2.])
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self, loc: torch.Tensor, cov_factor: torch.Tensor, cov_diag: torch.Tensor, validate_args: bool | None = None
    ) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        event_shape = loc.shape[-1:]
        if cov_factor.dim() < 2:
            raise ValueError("cov_factor must be at least two-dimensional, with optional leading batch dimensions")
        if cov_factor.shape[-2:-1] != event_shape:
            raise ValueError(f"cov_factor must be a batch of matrices with shape {event_shape[0]} x m")
        if cov_diag.shape[-1:] != event_shape:
            raise ValueError(f"cov_diag must be a batch of vectors with shape {event_shape}")
        try:
            columns, diagonal = torch.broadcast_tensors(loc.unsqueeze(-1), cov_diag.unsqueeze(-1))
            batch_shape = torch.broadcast_shapes(columns.shape[:-2], cov_factor.shape[:-2])
        except RuntimeError as error:
            raise ValueError(
                f"Incompatible batch shapes: loc {loc.shape}, cov_factor {cov_factor.shape}, cov_diag {cov_diag.shape}"
            ) from error
        self.loc = columns.squeeze(-1).expand(batch_shape + event_shape)
        self.cov_diag = diagonal.squeeze(-1).expand(batch_shape + event_shape)
        self.cov_factor = cov_factor.expand(batch_shape + cov_factor.shape[-2:])
        self._unbroadcasted_cov_factor = cov_factor
        self._unbroadcasted_cov_diag = cov_diag
        self._capacitance_tril = _capacitance_factor(cov_factor, cov_diag)
        super().__init__(batch_shape, event_shape, validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Self:
        new = self._get_checked_instance(LowRankMultivariateNormal, _instance)
        batch_shape = torch.Size(batch_shape)
        new.loc = self.loc.expand(batch_shape + self.event_shape)
        new.cov_diag = self.cov_diag.expand(batch_shape + self.event_shape)
        new.cov_factor = self.cov_factor.expand(batch_shape + self.cov_factor.shape[-2:])
        for name in ("_unbroadcasted_cov_factor", "_unbroadcasted_cov_diag", "_capacitance_tril"):
            setattr(new, name, getattr(self, name))
        super(LowRankMultivariateNormal, new).__init__(batch_shape, self.event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @property
    def mean(self) -> torch.Tensor:
        return self.loc

    @property
    def mode(self) -> torch.Tensor:
        return self.loc

    @lazy_property
    def variance(self) -> torch.Tensor:
        spread = self._unbroadcasted_cov_factor.pow(2).sum(-1) + self._unbroadcasted_cov_diag
        return spread.expand(self._batch_shape + self._event_shape)

    def _matrix_shape(self):
        return self._batch_shape + self._event_shape + self._event_shape

    @lazy_property
    def scale_tril(self) -> torch.Tensor:
        return torch.linalg.cholesky(self.covariance_matrix)

    @lazy_property
    def covariance_matrix(self) -> torch.Tensor:
        W = self._unbroadcasted_cov_factor
        covariance = torch.matmul(W, W.mT) + torch.diag_embed(self._unbroadcasted_cov_diag)
        return covariance.expand(self._matrix_shape())

    @lazy_property
    def precision_matrix(self) -> torch.Tensor:
        D = self._unbroadcasted_cov_diag
        scaled = self._unbroadcasted_cov_factor.mT / D.unsqueeze(-2)
        solved = torch.linalg.solve_triangular(self._capacitance_tril, scaled, upper=False)
        return (torch.diag_embed(D.reciprocal()) - solved.mT @ solved).expand(self._matrix_shape())

    def rsample(self, sample_shape: Sequence[int] = ()) -> torch.Tensor:
        shape = self._extended_shape(sample_shape)
        options = {"dtype": self.loc.dtype, "device": self.loc.device}
        few = _standard_normal(shape[:-1] + self.cov_factor.shape[-1:], **options)
        many = _standard_normal(shape, **options)
        correlated = torch.matmul(self._unbroadcasted_cov_factor, few.unsqueeze(-1)).squeeze(-1)
        return self.loc + correlated + self._unbroadcasted_cov_diag.sqrt() * many

    def log_prob(self, value: torch.Tensor) -> torch.Tensor:
        if self._validate_args:
            self._validate_sample(value)
        W, D = self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag
        distance = _mahalanobis(W, D, value - self.loc, self._capacitance_tril)
        n = self._event_shape[0]
        return -0.5 * (n * math.log(2 * math.pi) + _log_det(D, self._capacitance_tril) + distance)

    def entropy(self) -> torch.Tensor:
        n = self._event_shape[0]
        log_det = _log_det(self._unbroadcasted_cov_diag, self._capacitance_tril)
        result = 0.5 * (n * (1.0 + math.log(2 * math.pi)) + log_det)
        return result if len(self._batch_shape) == 0 else result.expand(self._batch_shape)
