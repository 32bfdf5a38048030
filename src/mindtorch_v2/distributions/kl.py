"""Kullback-Leibler divergences between pairs of distributions."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2.distributions.bernoulli import Bernoulli
from mindtorch_v2.distributions.beta import Beta
from mindtorch_v2.distributions.binomial import Binomial
from mindtorch_v2.distributions.categorical import Categorical
from mindtorch_v2.distributions.cauchy import Cauchy
from mindtorch_v2.distributions.continuous_bernoulli import ContinuousBernoulli
from mindtorch_v2.distributions.dirichlet import Dirichlet
from mindtorch_v2.distributions.distribution import Distribution
from mindtorch_v2.distributions.exp_family import ExponentialFamily
from mindtorch_v2.distributions.exponential import Exponential
from mindtorch_v2.distributions.gamma import Gamma
from mindtorch_v2.distributions.geometric import Geometric
from mindtorch_v2.distributions.gumbel import Gumbel
from mindtorch_v2.distributions.half_normal import HalfNormal
from mindtorch_v2.distributions.independent import Independent
from mindtorch_v2.distributions.laplace import Laplace
from mindtorch_v2.distributions.lowrank_multivariate_normal import LowRankMultivariateNormal, _log_det, _mahalanobis
from mindtorch_v2.distributions.multivariate_normal import MultivariateNormal, _batch_mahalanobis
from mindtorch_v2.distributions.normal import Normal
from mindtorch_v2.distributions.one_hot_categorical import OneHotCategorical
from mindtorch_v2.distributions.pareto import Pareto
from mindtorch_v2.distributions.poisson import Poisson
from mindtorch_v2.distributions.transformed_distribution import TransformedDistribution
from mindtorch_v2.distributions.uniform import Uniform
from mindtorch_v2.distributions.utils import _sum_rightmost, euler_constant
from mindtorch_v2.distributions.wishart import Wishart, _digamma_sum

__all__ = ["kl_divergence", "register_kl"]

_KL_REGISTRY: dict = {}  # formulas by pairs of classes


def register_kl(type_p: type[Distribution], type_q: type[Distribution]) -> Callable[..., Any]:
    """A decorator: registers f(p, q) for pairs of (subclasses of) these two classes of distributions.

    >>> from mindtorch_v2.distributions import Distribution, kl_divergence, register_kl
    >>> class Sure(Distribution):
    ...     arg_constraints = {}
    >>> @register_kl(Sure, Sure)
    ... def _between_two(p, q):
    ...     return torch.tensor(0.0)
    >>> kl_divergence(Sure(), Sure())
    tensor(0.)
    >>> _ = torch.distributions.kl._KL_REGISTRY.pop((Sure, Sure))
    """
    for kind, name in ((type_p, "type_p"), (type_q, "type_q")):
        if not isinstance(kind, type):  # any class will do, as in PyTorch: libraries have base classes of their own
            raise TypeError(f"Expected {name} to be a Distribution subclass but got {kind}")

    def decorate(formula: Callable[..., Any]) -> Callable[..., Any]:
        _KL_REGISTRY[type_p, type_q] = formula
        return formula

    return decorate


def kl_divergence(p: Distribution, q: Distribution) -> torch.Tensor:
    """KL(p || q) = E_p[log p - log q], of the batch's shape.

    The most specific registered pair of classes is taken, with a warning where that is more than one. Raises NotImplementedError if there is none.

    >>> kl_divergence(Normal(0.0, 1.0), Normal(1.0, 1.0))
    tensor(0.5000)
    """
    matches = [pair for pair in _KL_REGISTRY if isinstance(p, pair[0]) and isinstance(q, pair[1])]
    if not matches:
        raise NotImplementedError(
            f"No KL(p || q) is implemented for p type {p.__class__.__name__} and q type {q.__class__.__name__}"
        )
    ranks = {pair: (type(p).__mro__.index(pair[0]), type(q).__mro__.index(pair[1])) for pair in matches}
    by_p = min(matches, key=lambda pair: ranks[pair])
    by_q = min(matches, key=lambda pair: ranks[pair][::-1])
    if _KL_REGISTRY[by_p] is not _KL_REGISTRY[by_q]:
        warnings.warn(
            f"Ambiguous kl_divergence({type(p).__name__}, {type(q).__name__}). "
            f"Please register_kl({by_p[0].__name__}, {by_q[1].__name__})",
            RuntimeWarning,
            stacklevel=2,
        )
    return _KL_REGISTRY[by_p](p, q)


@register_kl(Bernoulli, Bernoulli)
def _bernoulli_bernoulli(p, q):
    softplus = torch.nn.functional.softplus
    t1 = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    t1 = torch.where(q.probs == 0, torch.full_like(t1, math.inf), t1)
    t1 = torch.where(p.probs == 0, torch.zeros_like(t1), t1)
    t2 = (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))
    t2 = torch.where(q.probs == 1, torch.full_like(t2, math.inf), t2)
    return t1 + torch.where(p.probs == 1, torch.zeros_like(t2), t2)


@register_kl(Beta, Beta)
def _beta_beta(p, q):
    return _dirichlet_dirichlet(p._dirichlet, q._dirichlet)


@register_kl(Categorical, Categorical)
def _categorical_categorical(p, q):
    t = p.probs * (p.logits - q.logits)
    t = torch.where((q.probs == 0).expand_as(t), torch.full_like(t, math.inf), t)
    return torch.where((p.probs == 0).expand_as(t), torch.zeros_like(t), t).sum(-1)


@register_kl(Dirichlet, Dirichlet)
def _dirichlet_dirichlet(p, q):
    sum_p, sum_q = p.concentration.sum(-1), q.concentration.sum(-1)
    t1 = sum_p.lgamma() - sum_q.lgamma()
    t2 = (p.concentration.lgamma() - q.concentration.lgamma()).sum(-1)
    t3 = p.concentration - q.concentration
    t4 = p.concentration.digamma() - sum_p.digamma().unsqueeze(-1)
    return t1 - t2 + (t3 * t4).sum(-1)


@register_kl(Exponential, Exponential)
def _exponential_exponential(p, q):
    ratio = q.rate / p.rate
    return ratio - ratio.log() - 1


@register_kl(Gamma, Gamma)
def _gamma_gamma(p, q):
    t1 = q.concentration * (p.rate / q.rate).log()
    t2 = torch.lgamma(q.concentration) - torch.lgamma(p.concentration)
    t3 = (p.concentration - q.concentration) * torch.digamma(p.concentration)
    return t1 + t2 + t3 + (q.rate - p.rate) * (p.concentration / p.rate)


@register_kl(Geometric, Geometric)
def _geometric_geometric(p, q):
    return -p.entropy() - torch.log1p(-q.probs) / p.probs - q.logits


@register_kl(Independent, Independent)
def _independent_independent(p, q):
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError
    return _sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@register_kl(Laplace, Laplace)
def _laplace_laplace(p, q):
    ratio = p.scale / q.scale
    distance = (p.loc - q.loc).abs()
    return -ratio.log() + distance / q.scale + ratio * torch.exp(-distance / p.scale) - 1


@register_kl(MultivariateNormal, MultivariateNormal)
def _multivariate_normal_multivariate_normal(p, q):
    if p.event_shape != q.event_shape:
        raise ValueError(
            "KL-divergence between two Multivariate Normals with different event shapes cannot be computed"
        )
    p_factor, q_factor = p._unbroadcasted_scale_tril, q._unbroadcasted_scale_tril
    half_log_dets = q_factor.diagonal(dim1=-2, dim2=-1).log().sum(-1) - p_factor.diagonal(dim1=-2, dim2=-1).log().sum(
        -1
    )
    batch = torch.broadcast_shapes(q_factor.shape[:-2], p_factor.shape[:-2])
    n = p.event_shape[0]
    solved = torch.linalg.solve_triangular(
        q_factor.expand(batch + (n, n)), p_factor.expand(batch + (n, n)), upper=False
    )
    trace = solved.pow(2).sum(-1).sum(-1)
    return half_log_dets + 0.5 * (trace + _batch_mahalanobis(q_factor, q.loc - p.loc) - n)


@register_kl(Normal, Normal)
def _normal_normal(p, q):
    variance_ratio = (p.scale / q.scale).pow(2)
    t1 = ((p.loc - q.loc) / q.scale).pow(2)
    return 0.5 * (variance_ratio + t1 - 1 - variance_ratio.log())


@register_kl(OneHotCategorical, OneHotCategorical)
def _one_hot_one_hot(p, q):
    return _categorical_categorical(p._categorical, q._categorical)


@register_kl(Poisson, Poisson)
def _poisson_poisson(p, q):
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(TransformedDistribution, TransformedDistribution)
def _transformed_transformed(p, q):
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError
    extra = len(p.event_shape) - len(p.base_dist.event_shape)
    return _sum_rightmost(kl_divergence(p.base_dist, q.base_dist), extra)


@register_kl(Uniform, Uniform)
def _uniform_uniform(p, q):
    result = ((q.high - q.low) / (p.high - p.low)).log()
    return torch.where((q.low > p.low) | (q.high < p.high), torch.full_like(result, math.inf), result)


@register_kl(Binomial, Binomial)
def _binomial_binomial(p, q):
    if (p.total_count < q.total_count).any():
        raise NotImplementedError("KL between Binomials where q.total_count > p.total_count is not implemented")
    result = p.total_count * (p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p())
    more = p.total_count > q.total_count
    result[more] = torch.full_like(result[more], math.inf)
    return result


@register_kl(Cauchy, Cauchy)
def _cauchy_cauchy(p, q):
    # Chyzak and Nielsen 2019
    return (((p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)) / (4 * p.scale * q.scale)).log()


@register_kl(ExponentialFamily, ExponentialFamily)
def _kl_expfamily_expfamily(p, q):
    """The Bregman divergence of the log normaliser between the natural parameters; one class only."""
    if type(p) is not type(q):
        raise NotImplementedError(
            "The cross KL-divergence between different exponential families cannot be computed using Bregman divergences"
        )
    params = [param.detach().requires_grad_() for param in p._natural_params]
    log_normaliser = p._log_normalizer(*params)
    gradients = torch.autograd.grad(log_normaliser.sum(), params, create_graph=True)
    result = q._log_normalizer(*q._natural_params) - log_normaliser
    for own, other, gradient in zip(params, q._natural_params, gradients):
        result -= _sum_rightmost((other - own) * gradient, len(q.event_shape))
    return result


@register_kl(HalfNormal, HalfNormal)
def _half_normal_half_normal(p, q):
    return _normal_normal(p.base_dist, q.base_dist)


def _spread(p):
    """A with A A' the covariance of a multivariate normal distribution."""
    if isinstance(p, MultivariateNormal):
        return p._unbroadcasted_scale_tril
    W, D = p._unbroadcasted_cov_factor, p._unbroadcasted_cov_diag
    batch = torch.broadcast_shapes(W.shape[:-2], D.shape[:-1])
    return torch.cat([W.expand(batch + W.shape[-2:]), torch.diag_embed(D.sqrt()).expand(batch + (-1, -1))], dim=-1)


def _log_det_of(p):
    if isinstance(p, MultivariateNormal):
        return 2 * p._unbroadcasted_scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)
    return _log_det(p._unbroadcasted_cov_diag, p._capacitance_tril)


@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
@register_kl(LowRankMultivariateNormal, MultivariateNormal)
@register_kl(MultivariateNormal, LowRankMultivariateNormal)
def _low_rank(p, q):
    if p.event_shape != q.event_shape:
        raise ValueError(
            f"KL-divergence between two {'Low Rank ' if type(p) is type(q) else '(Low Rank) '}Multivariate Normals with "
            "different event shapes cannot be computed"
        )
    spread = _spread(p)
    if isinstance(q, MultivariateNormal):
        factor = q._unbroadcasted_scale_tril
        distance = _batch_mahalanobis(factor, q.loc - p.loc)
        trace = torch.linalg.solve_triangular(factor, spread, upper=False).pow(2).sum((-2, -1))
    else:
        W, D, factor = q._unbroadcasted_cov_factor, q._unbroadcasted_cov_diag, q._capacitance_tril
        distance = _mahalanobis(W, D, q.loc - p.loc, factor)
        within = torch.linalg.solve_triangular(factor, (W.mT / D.unsqueeze(-2)) @ spread, upper=False)
        trace = (spread.pow(2) / D.unsqueeze(-1)).sum((-2, -1)) - within.pow(2).sum((-2, -1))
    return 0.5 * (_log_det_of(q) - _log_det_of(p) + trace + distance - p.event_shape[0])


# ---- pairs of different classes: KL(p || q) = -H(p) - E_p[log q] ----


def _mean_log(p):
    """E_p[log x]."""
    if isinstance(p, Beta):
        return p.concentration1.digamma() - (p.concentration1 + p.concentration0).digamma()
    if isinstance(p, Exponential):
        return -euler_constant - p.rate.log()
    if isinstance(p, Pareto):
        return p.scale.log() + p.alpha.reciprocal()
    return (_x_log_x(p.high) - _x_log_x(p.low)) / (p.high - p.low) - 1  # Uniform


def _x_log_x(x):
    return torch.special.xlogy(x, x)


def _to_exponential(p, q):
    return q.rate.log() - q.rate * p.mean


def _to_gamma(p, q):
    normaliser = q.concentration * q.rate.log() - q.concentration.lgamma()
    return normaliser + (q.concentration - 1) * _mean_log(p) - q.rate * p.mean


def _to_normal(p, q):
    distance = (p.mean - q.loc).pow(2) + p.variance
    return -0.5 * (2 * math.pi * q.scale.square()).log() - distance / (2 * q.scale.square())


def _to_pareto(p, q):
    return q.alpha.log() + q.alpha * q.scale.log() - (q.alpha + 1) * _mean_log(p)


def _to_continuous_bernoulli(p, q):
    return p.mean * q.logits + torch.log1p(-q.probs) + q._log_constant()


def _to_gumbel(p, q):
    """E_p of -log scale - z - exp(-z), z = (x - loc) / scale: the last is a value of p's moment generating function."""
    at = -1 / q.scale
    if isinstance(p, Exponential):
        generated = p.rate / (p.rate - at)
    elif isinstance(p, Gamma):
        generated = (1 - at / p.rate).pow(-p.concentration)
    elif isinstance(p, Gumbel):
        generated = (p.loc * at + torch.lgamma(1 - p.scale * at)).exp()
    elif isinstance(p, Normal):
        generated = (p.loc * at + (p.scale * at).pow(2) / 2).exp()
    else:  # Uniform
        generated = ((p.high * at).exp() - (p.low * at).exp()) / (at * (p.high - p.low))
    return -q.scale.log() - (p.mean - q.loc) / q.scale - generated * (q.loc / q.scale).exp()


def _to_laplace(p, q):
    """For normal p, with the mean of a folded normal distribution."""
    away = p.loc - q.loc
    folded = math.sqrt(2 / math.pi) * p.scale * (-0.5 * (away / p.scale).pow(2)).exp()
    folded = folded + away * (away / (math.sqrt(2) * p.scale)).erf()
    return -(2 * q.scale).log() - folded / q.scale


def _to_poisson(p, q):
    """For x of 0 and 1."""
    return p.mean * q.rate.log() - q.rate


def _to_beta(p, q):
    """For uniform p."""
    mirrored = Uniform(1 - p.high, 1 - p.low, validate_args=False)
    normaliser = q.concentration1.lgamma() + q.concentration0.lgamma() - (q.concentration1 + q.concentration0).lgamma()
    return (q.concentration1 - 1) * _mean_log(p) + (q.concentration0 - 1) * _mean_log(mirrored) - normaliser


def _to_uniform(p, q):
    return -(q.high - q.low).log()


def _register_expectation(expectation, type_q, *types_p, outside=None) -> None:
    """`outside(p, q)` says where p has values that q does not: there the divergence is infinite."""

    def formula(p: Distribution, q: Distribution) -> torch.Tensor:
        result = -p.entropy() - expectation(p, q)
        return result if outside is None else torch.where(outside(p, q), math.inf, result)

    for type_p in types_p:
        register_kl(type_p, type_q)(formula)


_register_expectation(_to_exponential, Exponential, Beta, ContinuousBernoulli, Gamma)
_register_expectation(_to_exponential, Exponential, Pareto, outside=lambda p, q: p.alpha <= 1)
_register_expectation(_to_exponential, Exponential, Uniform, outside=lambda p, q: p.low < 0)
_register_expectation(_to_gamma, Gamma, Beta, Exponential)
_register_expectation(_to_gamma, Gamma, Pareto, outside=lambda p, q: p.alpha <= 1)
_register_expectation(_to_gamma, Gamma, Uniform, outside=lambda p, q: p.low < 0)
_register_expectation(_to_normal, Normal, Beta, ContinuousBernoulli, Exponential, Gamma, Gumbel, Laplace, Uniform)
_register_expectation(_to_normal, Normal, Pareto, outside=lambda p, q: p.alpha <= 2)
_register_expectation(_to_gumbel, Gumbel, Exponential, Gamma, Gumbel, Normal, Uniform)
_register_expectation(_to_laplace, Laplace, Normal)
_register_expectation(_to_poisson, Poisson, Bernoulli)
_register_expectation(_to_pareto, Pareto, Pareto, outside=lambda p, q: p.scale < q.scale)
_register_expectation(_to_pareto, Pareto, Uniform, outside=lambda p, q: p.low < q.scale)
_register_expectation(_to_beta, Beta, Uniform, outside=lambda p, q: (p.low < 0) | (p.high > 1))
_register_expectation(_to_uniform, Uniform, Beta, outside=lambda p, q: (q.low > 0) | (q.high < 1))
# PyTorch calls it infinite too where the intervals end in the same place.
_register_expectation(_to_uniform, Uniform, ContinuousBernoulli, outside=lambda p, q: (q.low >= 0) | (q.high <= 1))
_register_expectation(_to_continuous_bernoulli, ContinuousBernoulli, Beta, ContinuousBernoulli)
_register_expectation(
    _to_continuous_bernoulli, ContinuousBernoulli, Uniform, outside=lambda p, q: (p.high >= 1) | (p.low <= 0)
)


def _register_infinite(type_p, parameter, *types_q) -> None:
    """p always has values that q does not."""

    def formula(p: Distribution, q: Distribution) -> torch.Tensor:
        return torch.full_like(getattr(p, parameter), math.inf)

    for type_q in types_q:
        register_kl(type_p, type_q)(formula)


_register_infinite(Beta, "concentration1", Pareto)
_register_infinite(ContinuousBernoulli, "probs", Pareto)
_register_infinite(Exponential, "rate", Beta, ContinuousBernoulli, Pareto, Uniform)
_register_infinite(Gamma, "concentration", Beta, ContinuousBernoulli, Pareto, Uniform)
_register_infinite(Gumbel, "loc", Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform)
_register_infinite(Laplace, "loc", Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform)
_register_infinite(Normal, "loc", Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform)
_register_infinite(Pareto, "alpha", Beta, ContinuousBernoulli, Uniform)
_register_infinite(Poisson, "rate", Bernoulli, Binomial)


@register_kl(Wishart, Wishart)
def _wishart_wishart(p, q):
    if p.event_shape != q.event_shape:
        raise ValueError("KL-divergence between two Wisharts with different event shapes cannot be computed")
    n = p.event_shape[-1]
    p_factor, q_factor = p._unbroadcasted_scale_tril, q._unbroadcasted_scale_tril
    half_log_dets = q_factor.diagonal(dim1=-2, dim2=-1).log().sum(-1) - p_factor.diagonal(dim1=-2, dim2=-1).log().sum(
        -1
    )
    trace = torch.cholesky_solve(p.covariance_matrix, q_factor).diagonal(dim1=-2, dim2=-1).sum(-1)
    return (
        q.df * half_log_dets
        + p.df / 2 * (trace - n)
        + torch.mvlgamma(q.df / 2, n)
        - torch.mvlgamma(p.df / 2, n)
        + (p.df - q.df) / 2 * _digamma_sum(p.df / 2, n)
    )
