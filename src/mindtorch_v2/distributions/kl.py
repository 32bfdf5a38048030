"""Kullback-Leibler divergences between pairs of distributions."""

import math

import mindtorch_v2 as torch
from mindtorch_v2.distributions.bernoulli import Bernoulli
from mindtorch_v2.distributions.beta import Beta
from mindtorch_v2.distributions.categorical import Categorical
from mindtorch_v2.distributions.dirichlet import Dirichlet
from mindtorch_v2.distributions.distribution import Distribution
from mindtorch_v2.distributions.exponential import Exponential
from mindtorch_v2.distributions.gamma import Gamma
from mindtorch_v2.distributions.geometric import Geometric
from mindtorch_v2.distributions.independent import Independent
from mindtorch_v2.distributions.laplace import Laplace
from mindtorch_v2.distributions.multivariate_normal import MultivariateNormal, _batch_mahalanobis
from mindtorch_v2.distributions.normal import Normal
from mindtorch_v2.distributions.one_hot_categorical import OneHotCategorical
from mindtorch_v2.distributions.poisson import Poisson
from mindtorch_v2.distributions.transformed_distribution import TransformedDistribution
from mindtorch_v2.distributions.uniform import Uniform
from mindtorch_v2.distributions.utils import _sum_rightmost

__all__ = ["kl_divergence", "register_kl"]

_formulas = {}


def register_kl(type_p, type_q):
    """A decorator: registers f(p, q) for pairs of (subclasses of) these two classes of distributions."""
    for kind, name in ((type_p, "type_p"), (type_q, "type_q")):
        if not isinstance(kind, type) or not issubclass(kind, Distribution):
            raise TypeError(f"Expected {name} to be a Distribution subclass but got {kind}")

    def decorate(formula):
        _formulas[type_p, type_q] = formula
        return formula

    return decorate


def kl_divergence(p, q):
    """KL(p || q) = E_p[log p - log q], of the batch's shape.

    The most specific registered pair of classes is taken. Raises NotImplementedError if there is none.

    >>> kl_divergence(Normal(0.0, 1.0), Normal(1.0, 1.0))
    tensor(0.5000)
    """
    matches = [pair for pair in _formulas if isinstance(p, pair[0]) and isinstance(q, pair[1])]
    if not matches:
        raise NotImplementedError(
            f"No KL(p || q) is implemented for p type {p.__class__.__name__} and q type {q.__class__.__name__}"
        )
    ranks = {pair: (type(p).__mro__.index(pair[0]), type(q).__mro__.index(pair[1])) for pair in matches}
    return _formulas[min(matches, key=ranks.get)](p, q)


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


@register_kl(Uniform, Normal)
def _uniform_normal(p, q):
    width = p.high - p.low
    t1 = (math.sqrt(math.pi * 2) * q.scale / width).log()
    t2 = width.pow(2) / 12
    t3 = ((p.high + p.low - 2 * q.loc) / 2).pow(2)
    return t1 + 0.5 * (t2 + t3) / q.scale.pow(2)


@register_kl(Gamma, Exponential)
def _gamma_exponential(p, q):
    return -p.entropy() - q.rate.log() + q.rate * p.concentration / p.rate


@register_kl(Exponential, Gamma)
def _exponential_gamma(p, q):
    euler = 0.57721566490153286060
    ratio = q.rate / p.rate
    t1 = -q.concentration * torch.log(ratio)
    return t1 + ratio + q.concentration.lgamma() + q.concentration * euler - (1 + euler)
