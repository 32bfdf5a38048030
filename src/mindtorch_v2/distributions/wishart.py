"""The Wishart distribution."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2.distributions import constraints
from mindtorch_v2.distributions.chi2 import Chi2
from mindtorch_v2.distributions.exp_family import ExponentialFamily
from mindtorch_v2.distributions.multivariate_normal import FromScaleTril, _precision_to_scale_tril

__all__ = ["Wishart"]

_ROUNDS = 10  # of drawing again where rounding made a matrix singular


def _digamma_sum(x, n):
    """The multivariate digamma function of `x` for n x n matrices."""
    steps = torch.arange(n, dtype=x.dtype, device=x.device) / 2
    return torch.digamma(x.unsqueeze(-1) - steps).sum(-1)


class Wishart(FromScaleTril, ExponentialFamily):
    """Positive definite matrices (..., n, n): the scatter of `df` normal vectors, with one of `covariance_matrix`,
    `precision_matrix` or `scale_tril` (its Cholesky factor), each of shape (..., n, n). `df`, of shape (...) or a number, is
    greater than n - 1. Samples are drawn by Bartlett's decomposition.

    >>> import mindtorch_v2 as torch
    >>> Wishart(torch.tensor([5.0]), torch.eye(2)).mean
    tensor([[[5., 0.],
             [0., 5.]]])
    """

    support = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0

    @property
    def arg_constraints(self) -> dict:
        return {
            "covariance_matrix": constraints.positive_definite,
            "precision_matrix": constraints.positive_definite,
            "scale_tril": constraints.lower_cholesky,
            "df": constraints.greater_than(self.event_shape[-1] - 1),
        }

    def __init__(
        self,
        df: torch.Tensor,
        covariance_matrix: torch.Tensor | None = None,
        precision_matrix: torch.Tensor | None = None,
        scale_tril: torch.Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        given: dict[str, Any] = {
            "covariance_matrix": covariance_matrix,
            "scale_tril": scale_tril,
            "precision_matrix": precision_matrix,
        }
        given = {name: value for name, value in given.items() if value is not None}
        if len(given) != 1:
            raise AssertionError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        ((name, matrix),) = given.items()
        if matrix.dim() < 2:
            raise ValueError("scale_tril must be at least two-dimensional, with optional leading batch dimensions")
        if isinstance(df, numbers.Number):
            df = torch.tensor(df, dtype=matrix.dtype, device=matrix.device)
        batch_shape = torch.broadcast_shapes(matrix.shape[:-2], df.shape)
        event_shape = matrix.shape[-2:]
        if (df <= event_shape[-1] - 1).any():
            raise ValueError(f"Value of df={df} expected to be greater than ndim - 1 = {event_shape[-1] - 1}.")
        self.df = df.expand(batch_shape)
        setattr(self, name, matrix.expand(batch_shape + (-1, -1)))
        super().__init__(batch_shape, event_shape, validate_args=validate_args)
        if name == "scale_tril":
            self._unbroadcasted_scale_tril: Any = scale_tril
        elif name == "covariance_matrix":
            self._unbroadcasted_scale_tril = torch.linalg.cholesky(given[name])
        else:
            self._unbroadcasted_scale_tril = _precision_to_scale_tril(precision_matrix)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Wishart:
        new = self._get_checked_instance(Wishart, _instance)
        batch_shape = torch.Size(batch_shape)
        new._unbroadcasted_scale_tril = self._unbroadcasted_scale_tril.expand(batch_shape + self.event_shape)
        new.df = self.df.expand(batch_shape)
        for name in ("covariance_matrix", "scale_tril", "precision_matrix"):
            if name in self.__dict__:
                setattr(new, name, getattr(self, name).expand(batch_shape + self.event_shape))
        super(Wishart, new).__init__(batch_shape, self.event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    def _matrix_shape(self):
        return self._batch_shape + self._event_shape

    @property
    def mean(self) -> torch.Tensor:
        return self.df[..., None, None] * self.covariance_matrix

    @property
    def mode(self) -> torch.Tensor:
        factor = self.df - self._event_shape[-1] - 1
        return torch.where(factor > 0, factor, float("nan"))[..., None, None] * self.covariance_matrix

    @property
    def variance(self) -> torch.Tensor:
        matrix = self.covariance_matrix
        diagonal = matrix.diagonal(dim1=-2, dim2=-1)
        return self.df[..., None, None] * (matrix.pow(2) + diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2))

    def _draw(self, sample_shape):
        n = self._event_shape[-1]
        steps = torch.arange(n, dtype=self.df.dtype, device=self.df.device)
        roots = Chi2(self.df.unsqueeze(-1) - steps, validate_args=False).rsample(sample_shape).sqrt()
        row, column = torch.tril_indices(n, n, -1)
        below = torch.randn(
            (*sample_shape, *self._batch_shape, n * (n - 1) // 2), dtype=self.df.dtype, device=self.df.device
        )
        factor = torch.diag_embed(roots)
        factor[..., row, column] = below
        factor = self._unbroadcasted_scale_tril @ factor
        return factor @ factor.mT

    def rsample(self, sample_shape: Sequence[int] = ()) -> torch.Tensor:
        sample_shape = torch.Size(sample_shape)
        # PyTorch takes its first draw for singular whatever it is, and draws once more: the same numbers come from its second.
        self._draw(sample_shape)
        sample = self._draw(sample_shape)
        for _ in range(_ROUNDS):
            valid = self.support.check(sample)
            if valid.all():
                break
            sample = torch.where(valid[..., None, None], sample, self._draw(sample_shape))
        return sample

    def log_prob(self, value: torch.Tensor) -> torch.Tensor:
        if self._validate_args:
            self._validate_sample(value)
        n, df, factor = self._event_shape[-1], self.df, self._unbroadcasted_scale_tril
        log_det = torch.linalg.slogdet(value).logabsdet
        trace = torch.cholesky_solve(value, factor).diagonal(dim1=-2, dim2=-1).sum(-1)
        return (
            -df * (n * math.log(2) / 2 + factor.diagonal(dim1=-2, dim2=-1).log().sum(-1))
            - torch.mvlgamma(df / 2, n)
            + (df - n - 1) / 2 * log_det
            - trace / 2
        )

    def entropy(self) -> torch.Tensor:
        n, df = self._event_shape[-1], self.df
        return (
            (n + 1) * (n * math.log(2) / 2 + self._unbroadcasted_scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1))
            + torch.mvlgamma(df / 2, n)
            - (df - n - 1) / 2 * _digamma_sum(df / 2, n)
            + df * n / 2
        )

    @property
    def _natural_params(self) -> tuple:
        return -self.precision_matrix / 2, (self.df - self._event_shape[-1] - 1) / 2

    def _log_normalizer(self, x, y):
        n = self._event_shape[-1]
        power = y + (n + 1) / 2
        return power * (n * math.log(2) - torch.linalg.slogdet(-2 * x).logabsdet) + torch.mvlgamma(power, n)
