"""Distributions at their edges: parameters and values outside of what is allowed, expanded batches, other devices, subclasses."""

from types import ModuleType
from typing import Any

import pytest
from agreement import same
from distribution_cases import MADE
from expressions import check, check_session, lines, outcome

import mindtorch_v2 as torch

# Made without checks from parameters that the checks refuse, or that are at the edge.
UNCHECKED = lines("""
D.Bernoulli(torch.tensor([-0.5, 0.0, 1.0, 1.5]), validate_args=V)
D.Beta(torch.tensor([-1.0, 1.0, 0.5, 1.0]), torch.tensor([1.0, 1.0, 0.5, 2.0]), validate_args=V)
D.Binomial(torch.tensor([-1.0, 0.0, 3.0]), torch.tensor([0.5, 0.5, 1.5]), validate_args=V)
D.Binomial(2, torch.tensor([0.0, 1.0, 0.5]), validate_args=V)
D.Binomial(torch.tensor([2.0, 2.0]), torch.tensor([0.0, 0.5]), validate_args=V)
D.Categorical(torch.tensor([-0.5, 1.5]), validate_args=V)
D.Categorical(torch.tensor([[0.0, 1.0], [0.5, 0.5]]), validate_args=V)
D.Categorical(logits=torch.tensor([0.0, float("-inf")]), validate_args=V)
D.Cauchy(0.0, torch.tensor([-1.0, 2.0]), validate_args=V)
D.Chi2(torch.tensor([-1.0, 1.0, 2.0]), validate_args=V)
D.ContinuousBernoulli(torch.tensor([-0.5, 0.0, 0.4989, 0.499, 0.5, 0.501, 0.5011, 1.0]), validate_args=V)
D.ContinuousBernoulli(torch.tensor([0.2, 0.45, 0.5, 0.8]), lims=(0.3, 0.7), validate_args=V)
D.Dirichlet(torch.tensor([[1.0, 1.0], [0.5, 2.0], [3.0, 1.0], [-1.0, 2.0]]), validate_args=V)
D.Exponential(torch.tensor([-1.0, 2.0]), validate_args=V)
D.FisherSnedecor(torch.tensor([-1.0, 1.0, 2.0, 3.0, 4.0, 5.0]), torch.tensor([1.0, 2.0, 2.0, 3.0, 4.0, 6.0]), validate_args=V)
D.Gamma(torch.tensor([-1.0, 0.5, 1.0, 2.0]), torch.tensor([1.0, 2.0, 1.0, 0.5]), validate_args=V)
D.GeneralizedPareto(torch.tensor([0.0, 0.2, 0.0, 1.0]), torch.tensor([1.0, -1.0, 2.0, 1.0]), torch.tensor([0.0, 0.5, -1.0, 1.0]), validate_args=V)
D.Geometric(torch.tensor([0.0, 0.5, 1.0, 1.5]), validate_args=V)
D.Gumbel(0.0, torch.tensor([-1.0, 2.0]), validate_args=V)
D.HalfCauchy(torch.tensor([-1.0, 2.0]), validate_args=V)
D.HalfNormal(torch.tensor([-1.0, 2.0]), validate_args=V)
D.InverseGamma(torch.tensor([-1.0, 0.5, 1.0, 1.5, 2.0, 3.0]), torch.tensor([1.0, 2.0, 1.0, 1.0, 1.0, 2.0]), validate_args=V)
D.Kumaraswamy(torch.tensor([-1.0, 0.5, 1.0, 2.0]), torch.tensor([1.0, 2.0, 1.0, 0.5]), validate_args=V)
D.LKJCholesky(2, torch.tensor([-1.0, 0.5, 1.0]), validate_args=V)
D.Laplace(0.0, torch.tensor([-1.0, 2.0]), validate_args=V)
D.LogNormal(0.0, torch.tensor([-1.0, 2.0]), validate_args=V)
D.LogisticNormal(torch.zeros(2), torch.tensor([-1.0, 2.0]), validate_args=V)
D.LowRankMultivariateNormal(torch.zeros(2), torch.ones(2, 1), torch.tensor([0.1, 2.0]), validate_args=V)
D.MixtureSameFamily(D.Categorical(torch.tensor([0.3, 0.7])), D.Normal(torch.zeros(2), torch.tensor([1.0, 2.0])), validate_args=V)
D.Multinomial(2, torch.tensor([-0.5, 1.5]), validate_args=V)
D.Multinomial(2, torch.tensor([0.0, 1.0]), validate_args=V)
D.Multinomial(0, torch.tensor([0.4, 0.6]), validate_args=V)
D.Multinomial(logits=torch.tensor([0.4, 0.6]), validate_args=V)
D.MultivariateNormal(torch.zeros(2), scale_tril=torch.tensor([[-1.0, 0.0], [0.3, 2.0]]), validate_args=V)
D.NegativeBinomial(torch.tensor([-1.0, 0.0, 2.0, 3.0]), torch.tensor([0.5, 0.2, 0.0, 1.0]), validate_args=V)
D.Normal(torch.tensor([0.0, float("nan"), 1.0]), torch.tensor([-1.0, 2.0, 3.0]), validate_args=V)
D.Normal(0.0, -1.0, validate_args=V)
D.OneHotCategorical(torch.tensor([-0.5, 1.5]), validate_args=V)
D.OneHotCategorical(torch.tensor([0.0, 1.0]), validate_args=V)
D.OneHotCategoricalStraightThrough(torch.tensor([0.25, 0.75]), validate_args=V)
D.Pareto(torch.tensor([-1.0, 1.0, 2.0, 1.0]), torch.tensor([1.0, 0.5, 1.0, 2.0]), validate_args=V)
D.Poisson(torch.tensor([-1.0, 0.0, 2.0]), validate_args=V)
D.RelaxedBernoulli(torch.tensor(-0.5), torch.tensor([0.2, 1.5]), validate_args=V)
D.RelaxedBernoulli(torch.tensor(0.5), torch.tensor([0.2, 0.5]), validate_args=V)
D.relaxed_bernoulli.LogitRelaxedBernoulli(torch.tensor(0.5), torch.tensor([0.2, 1.5]), validate_args=V)
D.relaxed_bernoulli.LogitRelaxedBernoulli(torch.tensor(0.5), logits=torch.tensor([0.2, 1.5]), validate_args=V)
D.RelaxedOneHotCategorical(torch.tensor(0.5), torch.tensor([0.25, 0.75]), validate_args=V)
D.RelaxedOneHotCategorical(torch.tensor(0.5), torch.tensor([-0.5, 1.5]), validate_args=V)
D.relaxed_categorical.ExpRelaxedCategorical(torch.tensor(0.5), torch.tensor([0.25, 0.75]), validate_args=V)
D.StudentT(torch.tensor([-1.0, 0.5, 1.0, 1.5, 2.0, 3.0]), validate_args=V)
D.StudentT(3.0, torch.tensor([0.0, 1.0]), torch.tensor([-1.0, 2.0]), validate_args=V)
D.TransformedDistribution(D.Normal(0.0, torch.tensor([1.0, 2.0])), [D.ExpTransform()], validate_args=V)
D.TransformedDistribution(D.Uniform(torch.tensor([0.0, 1.0]), 2.0), [D.AffineTransform(1.0, -2.0)], validate_args=V)
D.Independent(D.Normal(torch.zeros(2), torch.tensor([1.0, 2.0])), 1, validate_args=V)
D.Uniform(torch.tensor([0.0, 1.0, 2.0]), torch.tensor([1.0, 1.0, 1.0]), validate_args=V)
D.Uniform(torch.tensor([0.0, -1.0]), torch.tensor([1.0, 2.0]), validate_args=V)
D.VonMises(torch.tensor([0.0, 1.0, -3.0]), torch.tensor([1e-8, 2.0, 60.0]), validate_args=V)
D.Weibull(torch.tensor([-1.0, 0.5, 1.0, 2.0]), torch.tensor([1.0, 2.0, 1.0, 0.5]), validate_args=V)
D.Wishart(torch.tensor([4.0, 3.0, 2.5, 1.5]), scale_tril=torch.tensor([[1.0, 0.0], [0.3, 2.0]]), validate_args=V)
D.Wishart(torch.tensor([4.0, 0.5]), torch.eye(2), validate_args=V)
""")
POINTS = "torch.tensor([[-1.0], [0.0], [0.3], [0.5], [1.0], [2.0], [2.5]])"
ASKED_UNCHECKED = lines(f"""
repr(d)
d._validate_args
d.expand((2, *d.batch_shape))
d.expand((2, *d.batch_shape))._validate_args
d.expand([3, *d.batch_shape]).log_prob(d.sample())
d.mean
d.mode
d.variance
d.entropy()
d.log_prob({POINTS})
d.cdf({POINTS})
d.icdf(torch.tensor([[0.0], [0.2], [0.5], [0.9], [1.0]]))
d.log_prob(torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5], [0.4, 0.5], [2.0, 0.0], [0.0, 2.0], [1.0, 1.0]]))
d.log_prob(torch.tensor([[1.0, 0.0], [0.6, 0.8]]))
d.log_prob(torch.tensor([[2.0, 0.3], [0.3, 1.0]]))
d.log_prob(torch.tensor([[0], [1], [2]]))
d.log_prob(0.5)
d.enumerate_support()
d.sample((3,))
d.rsample((3,))
(d.batch_shape, d.event_shape)
""")
ASKED_OF_SHAPES = lines("""
[type(each).__name__ for each in (d.batch_shape, d.event_shape, d.expand([2, *d.batch_shape]).batch_shape, d.expand([2, *d.batch_shape]).event_shape)]
(d.expand((2, *d.batch_shape)).mean.stride(), d.expand((2, *d.batch_shape)).mean.dtype)
d.expand((2, *d.batch_shape)).variance.stride()
d.expand((2, *d.batch_shape)).mode.stride()
d.expand((2, *d.batch_shape)).entropy().stride()
d.expand((2, *d.batch_shape)).sample().stride()
d.expand((2, *d.batch_shape)).rsample().stride()
d.expand((2, *d.batch_shape)).expand((3, 2, *d.batch_shape)).rsample((2,))
d.expand((2, *d.batch_shape)).stddev
d.expand((2, *d.batch_shape)).mode
d.expand((2, *d.batch_shape)).cdf(d.sample())
d.expand((2, *d.batch_shape)).icdf(torch.tensor(0.3))
d.expand((2, *d.batch_shape)).support
d.expand((2, *d.batch_shape)).covariance_matrix
d.expand((2, *d.batch_shape)).precision_matrix
d.expand((2, *d.batch_shape)).scale_tril
d.expand((2, *d.batch_shape)).probs
d.expand((2, *d.batch_shape)).logits
d.expand((2, *d.batch_shape)).param_shape
d.expand((2, *d.batch_shape)).has_rsample
d.expand((2, *d.batch_shape)).total_count
d.expand(d.batch_shape) is d
d.sample().requires_grad
d.rsample().requires_grad
d.sample((0,)).shape
d.sample(torch.Size([2])).shape
d.sample((40,)).double().mean(0)
(d.sample((2,)).shape, d.sample((2, 1)).shape, d.sample((2,)).dtype)
sorted(k for k in vars(d) if not k.startswith("_"))
sorted(k for k in vars(d.expand((2, *d.batch_shape))) if not k.startswith("_"))
d.log_prob(d.sample((2, 3))).shape
d.log_prob(d.sample((2, 3)).float()).dtype
d.log_prob(d.sample().unsqueeze(0).unsqueeze(0)).shape
D.Independent(d, len(d.batch_shape)).entropy()
D.Independent(d, len(d.batch_shape)).log_prob(d.sample((2,)))
D.Independent(d, len(d.batch_shape)).mode
D.Independent(d, len(d.batch_shape)).support
D.Independent(d, len(d.batch_shape)).has_enumerate_support
D.Independent(d, len(d.batch_shape)).enumerate_support()
D.Independent(d, 0).enumerate_support()
""")
# Batches of more dimensions, where a dimension too few or too many shows.
BATCHES = lines("""
D.MultivariateNormal(x(4, 1, 2), scale_tril=m(3, 2)), D.MultivariateNormal(x(3, 2), scale_tril=m(4, 3, 2))
D.MultivariateNormal(x(2), scale_tril=m(3, 2)), D.MultivariateNormal(x(2), scale_tril=m(2))
D.MultivariateNormal(x(2), scale_tril=m(2)), D.MultivariateNormal(x(2), scale_tril=m(3, 2))
D.MultivariateNormal(x(3, 2), m(3, 2) @ m(3, 2).mT), D.LowRankMultivariateNormal(x(3, 2), x(3, 2, 1), p(3, 2))
D.MultivariateNormal(x(3, 2), m(3, 2) @ m(3, 2).mT), D.LowRankMultivariateNormal(x(4, 1, 2), x(3, 2, 1), p(2))
D.LowRankMultivariateNormal(x(3, 2), x(3, 2, 1), p(3, 2)), D.MultivariateNormal(x(4, 1, 2), precision_matrix=m(3, 2) @ m(3, 2).mT)
D.LowRankMultivariateNormal(x(3, 2), x(3, 2, 3), p(3, 2)), D.LowRankMultivariateNormal(x(4, 1, 2), x(3, 2, 1), p(2))
D.LowRankMultivariateNormal(x(3), x(3, 2), p(3)), D.LowRankMultivariateNormal(x(2), x(2, 1), p(2))
D.LowRankMultivariateNormal(x(3), x(3, 2), p(3)), D.MultivariateNormal(x(2), scale_tril=m(2))
D.MultivariateNormal(x(2), scale_tril=m(2)), D.LowRankMultivariateNormal(x(3), x(3, 2), p(3))
D.Independent(D.Normal(x(2, 3), p(3)), 1), D.Independent(D.Normal(x(2, 3), p(2, 3)), 1)
D.Independent(D.Normal(x(2, 3), p(3)), 2), D.Independent(D.Normal(x(2, 3), p(2, 3)), 2)
D.Independent(D.Normal(x(2, 3), p(3)), 1), D.Independent(D.Normal(x(2, 3), p(2, 3)), 2)
D.Dirichlet(p(4, 1, 3)), D.Dirichlet(p(2, 3))
D.Categorical(p(4, 1, 3)), D.Categorical(logits=x(2, 3))
D.OneHotCategorical(p(4, 1, 3)), D.OneHotCategorical(p(2, 3))
D.Normal(x(3, 1), p(3, 1)), D.Normal(x(2), p(2))
D.Beta(p(3, 1), p(3, 1)), D.Beta(p(2), p(2))
D.Gamma(p(3, 1), p(3, 1)), D.Gamma(p(2), p(2))
D.Binomial(torch.tensor([2.0, 3.0, 4.0]), p(3)), D.Binomial(3, p(3))
D.Binomial(3, torch.tensor([0.0, 1.0, 0.5])), D.Binomial(3, torch.tensor([0.3, 0.3, 0.3]))
D.Bernoulli(torch.tensor([0.0, 1.0, 0.5, 0.0, 1.0])), D.Bernoulli(torch.tensor([0.0, 1.0, 0.0, 0.3, 0.3]))
D.Bernoulli(logits=x(3)), D.Bernoulli(logits=x(3))
D.Bernoulli(torch.tensor([0.0, 0.3, 1.0])), D.Poisson(torch.tensor([0.5, 1.0, 2.0]))
D.Poisson(torch.tensor([0.0, 1.0, 2.0])), D.Poisson(torch.tensor([1.0, 0.5, 2.0]))
D.Geometric(torch.tensor([0.2, 0.5])), D.Geometric(torch.tensor([0.7, 0.5]))
D.HalfNormal(p(3)), D.HalfNormal(p(3))
D.ContinuousBernoulli(torch.tensor([0.2, 0.5, 0.8]).double()), D.ContinuousBernoulli(torch.tensor([0.5, 0.3, 0.6]).double())
D.ContinuousBernoulli(torch.tensor([0.2, 0.5, 0.8])), D.Beta(2.0, 3.0)
D.TransformedDistribution(D.Normal(x(3), p(3)), [D.ExpTransform(), D.TanhTransform()]), D.TransformedDistribution(D.Normal(x(3), p(3)), [D.ExpTransform(), D.TanhTransform()])
D.TransformedDistribution(D.Normal(x(3), p(3)), [D.ExpTransform()]), D.TransformedDistribution(D.Gamma(p(3), p(3)), [D.ExpTransform()])
D.LogNormal(x(3), p(3)), D.LogNormal(x(3), p(3))
D.VonMises(x(3), p(3)), D.VonMises(x(3), p(3))
D.StudentT(p(3)), D.StudentT(p(3))
""")
# Divergences of what lies in an interval from what lies in another: infinite where the one reaches out of the other.
LOWS, HIGHS = (-0.5, 0.0, 0.25), (0.5, 1.0, 1.5)
OTHERS = lines("""
D.Beta(2.0, 3.0)
D.ContinuousBernoulli(torch.tensor(0.3))
D.Exponential(2.0)
D.Gamma(2.0, 3.0)
D.Gumbel(0.2, 1.5)
D.Normal(0.2, 1.5)
D.Pareto(0.25, 2.0)
D.Uniform(0.0, 1.0)
D.Uniform(-0.5, 1.5)
D.Uniform(0.25, 0.5)
""")
PARETOS = lines("""
D.Pareto(torch.tensor([0.2, 1.0, 1.0, 1.0, 3.0]), torch.tensor([0.5, 1.0, 1.5, 2.0, 3.0]))
""")
FROM_PARETO = lines("""
D.Exponential(2.0)
D.Gamma(2.0, 3.0)
D.Normal(0.2, 1.5)
D.Pareto(1.0, 1.5)
D.Beta(2.0, 3.0)
D.Uniform(0.0, 1.0)
D.ContinuousBernoulli(torch.tensor(0.3))
""")
META = lines("""
D.Bernoulli(M(3), validate_args=False)
D.Categorical(M(2, 3), validate_args=False)
D.Cauchy(M(3), M(3), validate_args=False)
D.Exponential(M(3), validate_args=False)
D.Gamma(M(3), M(3), validate_args=False)
D.Geometric(M(3), validate_args=False)
D.Gumbel(M(3), M(3), validate_args=False)
D.HalfCauchy(M(3), validate_args=False)
D.HalfNormal(M(3), validate_args=False)
D.Independent(D.Normal(M(3), M(3), validate_args=False), 1, validate_args=False)
D.Laplace(M(3), M(3), validate_args=False)
D.LKJCholesky(3, M(2), validate_args=False)
D.LogNormal(M(3), M(3), validate_args=False)
D.LogisticNormal(M(3), M(3), validate_args=False)
D.LowRankMultivariateNormal(M(3), M(3, 1), M(3), validate_args=False)
D.MultivariateNormal(M(2), scale_tril=M(2, 2), validate_args=False)
D.NegativeBinomial(3, M(3), validate_args=False)
D.Normal(M(3), M(3), validate_args=False)
D.Normal(M(3), 1.0, validate_args=False)
D.OneHotCategorical(M(2, 3), validate_args=False)
D.Pareto(M(3), M(3), validate_args=False)
D.Poisson(M(3), validate_args=False)
D.RelaxedBernoulli(M(), M(3), validate_args=False)
D.RelaxedOneHotCategorical(M(), M(3), validate_args=False)
D.StudentT(M(3), validate_args=False)
D.StudentT(M(3), 0.0, M(3), validate_args=False)
D.Uniform(M(3), M(3), validate_args=False)
D.Weibull(M(3), M(3), validate_args=False)
D.FisherSnedecor(M(3), M(3), validate_args=False)
D.Kumaraswamy(M(3), M(3), validate_args=False)
D.InverseGamma(M(3), M(3), validate_args=False)
D.Chi2(M(3), validate_args=False)
""")
ASKED_OF_META = lines("""
where(d.sample((2,)))
where(d.rsample((2,)))
where(d.mean)
where(d.variance)
where(d.mode)
where(d.entropy())
where(d.enumerate_support())
where(d.enumerate_support(False))
where(d.log_prob(d.sample((2,))))
where(d.cdf(d.sample((2,))))
where(d.icdf(M(3)))
where(d.covariance_matrix)
where(d.precision_matrix)
where(d.expand((2, *d.batch_shape)).mean)
""")
WISHARTS = lines("""
D.Wishart(torch.tensor(4.0), torch.tensor([[2.0, 0.5], [0.5, 1.0]])).sample((5,))
D.Wishart(torch.tensor([4.0, 2.5, 7.0]), torch.eye(3) + 0.2).log_prob(torch.eye(3).expand(2, 3, 3, 3) * 2)
[f(D.Wishart(torch.tensor([4.0, 3.5, 7.0]), torch.eye(3) + 0.2)) for f in (lambda d: d.mean, lambda d: d.variance, lambda d: d.mode, lambda d: d.entropy())]
D.Wishart(4.0, torch.eye(2)).df
D.Wishart(4, torch.eye(2, dtype=torch.float64)).df.dtype
D.Wishart(torch.tensor(1.0), torch.eye(2))
D.Wishart(torch.tensor(2.0), torch.eye(2)).df
D.Wishart(torch.tensor(4.0), torch.ones(2))
D.Wishart(torch.tensor(4.0))
D.Wishart(torch.tensor(4.0), torch.eye(2), torch.eye(2))
""")
SESSIONS = {
    "checks": """
        D.Distribution._validate_args
        D.Distribution.set_default_validate_args(False)
        D.Normal(0.0, -1.0)
        D.Normal(0.0, -1.0, validate_args=True)
        D.Normal(0.0, 1.0)._validate_args
        D.LogNormal(0.0, -1.0)
        D.LogNormal(0.0, -1.0, validate_args=True)
        D.Normal(0.0, 1.0).log_prob(torch.tensor(float("nan")))
        D.Normal(0.0, 1.0, validate_args=True).log_prob(torch.tensor(float("nan")))
        D.HalfNormal(-1.0)
        D.HalfNormal(-1.0, validate_args=True)
        D.HalfCauchy(-1.0, validate_args=True)
        D.Binomial(3, 1.5, validate_args=True)
        D.Multinomial(3, torch.tensor([-1.0, 2.0]), validate_args=True)
        D.Gamma(-1.0, 1.0, validate_args=True)
        D.Chi2(-1.0, validate_args=True)
        D.Beta(-1.0, 1.0, validate_args=True)
        D.InverseGamma(-1.0, 1.0, validate_args=True)
        D.Pareto(-1.0, 1.0, validate_args=True)
        D.Weibull(-1.0, 1.0, validate_args=True)
        D.Kumaraswamy(-1.0, 1.0, validate_args=True)
        D.Gumbel(0.0, -1.0, validate_args=True)
        D.LogisticNormal(torch.zeros(2), torch.tensor([-1.0, 1.0]), validate_args=True)
        D.OneHotCategorical(torch.tensor([-1.0, 2.0]), validate_args=True)
        D.RelaxedBernoulli(torch.tensor(0.5), torch.tensor(1.5), validate_args=True)
        D.RelaxedOneHotCategorical(torch.tensor(0.5), torch.tensor([-1.0, 2.0]), validate_args=True)
        D.FisherSnedecor(-1.0, 1.0, validate_args=True)
        D.StudentT(-1.0, validate_args=True)
        D.LKJCholesky(2, -1.0, validate_args=True)
        D.Uniform(1.0, 0.0, validate_args=True)
        D.Uniform(1.0, 0.0)
        D.MultivariateNormal(torch.zeros(2), scale_tril=-torch.eye(2), validate_args=True)
        D.LowRankMultivariateNormal(torch.zeros(2), torch.ones(2, 1), -torch.ones(2), validate_args=True)
        D.MixtureSameFamily(D.Categorical(torch.ones(2)), D.Normal(torch.zeros(2), 1.0), validate_args=True)._validate_args
        D.MixtureSameFamily(D.Categorical(torch.ones(2)), D.Normal(torch.zeros(2), 1.0), validate_args=True).log_prob(torch.tensor(float("nan")))
        D.Independent(D.Normal(torch.zeros(2), 1.0), 1, validate_args=True)._validate_args
        D.Independent(D.Normal(torch.zeros(2), 1.0, validate_args=True), 1).log_prob(torch.tensor([float("nan"), 1.0]))
        D.TransformedDistribution(D.Normal(0.0, 1.0), D.ExpTransform(), validate_args=True).log_prob(torch.tensor(-1.0))
        D.TransformedDistribution(D.Normal(0.0, 1.0), D.ExpTransform()).log_prob(torch.tensor(-1.0))
        D.NegativeBinomial(-1, 0.5, validate_args=True)
        D.Geometric(0.0, validate_args=True)
        D.Geometric(logits=torch.tensor(0.0), validate_args=True).probs
        D.Bernoulli(2.0, validate_args=True)
        D.ContinuousBernoulli(torch.tensor(2.0), validate_args=True)
        D.Exponential(-1.0, validate_args=True)
        D.Laplace(0.0, -1.0, validate_args=True)
        D.Cauchy(0.0, -1.0, validate_args=True)
        D.Poisson(-1.0, validate_args=True)
        D.VonMises(torch.tensor(0.0), torch.tensor(-1.0), validate_args=True)
        D.Dirichlet(torch.tensor([-1.0, 1.0]), validate_args=True)
        D.Categorical(torch.tensor([-1.0, 1.0]), validate_args=True)
        D.GeneralizedPareto(0.0, -1.0, 0.5, validate_args=True)
        D.Wishart(torch.tensor(3.0), -torch.eye(2), validate_args=True)
        [d(torch.tensor([-0.5, 1.5])).expand((2, 2)).batch_shape if d is D.Dirichlet else d(torch.tensor([-0.5, 1.5])).expand((2,)).batch_shape for d in (D.Categorical, D.OneHotCategorical, D.OneHotCategoricalStraightThrough)]
        [d(torch.tensor(-1.0)).expand((2,)).batch_shape for d in (D.Exponential, D.Poisson, D.Chi2, D.HalfNormal, D.HalfCauchy, D.Bernoulli, D.Geometric, D.ContinuousBernoulli, D.StudentT)]
        [d(torch.tensor(-1.0), torch.tensor(-1.0)).expand((2,)).batch_shape for d in (D.Normal, D.Cauchy, D.Laplace, D.Gumbel, D.Gamma, D.Beta, D.Weibull, D.Pareto, D.Kumaraswamy, D.InverseGamma, D.FisherSnedecor, D.LogNormal, D.VonMises, D.Uniform, D.Binomial, D.NegativeBinomial)]
        [D.relaxed_categorical.ExpRelaxedCategorical(torch.tensor(0.5), torch.ones(2, 3)).param_shape, D.RelaxedOneHotCategorical(torch.tensor(0.5), torch.ones(3)).temperature, D.RelaxedBernoulli(torch.tensor(0.5), torch.ones(3) / 2).temperature]
        D.Distribution.set_default_validate_args(3)
        D.Distribution.set_default_validate_args(True)
        D.Distribution._validate_args
        D.Normal(0.0, -1.0)
    """,
    "bases": """
        d = D.Distribution()
        D.Distribution(validate_args=False)._validate_args
        d = D.Distribution(torch.Size((2,)), torch.Size((3,)), validate_args=False)
        (d.batch_shape, d.event_shape, d._extended_shape((4,)), d._extended_shape(), d.has_rsample, d.has_enumerate_support)
        d.expand((2,))
        d.arg_constraints
        d.support
        d.mean
        d.mode
        d.variance
        d.stddev
        d.sample()
        d.rsample()
        d.log_prob(torch.ones(1))
        d.cdf(torch.ones(1))
        d.icdf(torch.ones(1))
        d.enumerate_support()
        d.entropy()
        d.perplexity()
        d._validate_sample(torch.ones(2, 3))
        d._validate_sample(3.0)
        d._validate_sample(torch.ones(2, 4))
        d._validate_sample(torch.ones(5, 3))
        d._validate_sample(torch.ones(1, 3))
        d._validate_sample(torch.ones(3))
        e = D.ExponentialFamily(validate_args=False)
        e._natural_params
        e._log_normalizer(3)
        e._mean_carrier_measure
        e.entropy()
        class Mine(D.Normal):
            def __init__(self, extra): super().__init__(0.0, extra)
        Mine(2.0).expand((2,))
        Mine(2.0)
        class Plain(D.Normal): pass
        Plain(0.0, 1.0).expand((2,))
        class Bare(D.Distribution):
            arg_constraints = {}
        Bare().log_prob
        Bare()._validate_sample(torch.ones(1))
        class Family(D.ExponentialFamily):
            arg_constraints = {}
            def __init__(self, rate): self.rate = rate; super().__init__(rate.shape)
            _mean_carrier_measure = 0
            @property
            def _natural_params(self): return (-self.rate,)
            def _log_normalizer(self, x): return -torch.log(-x)
        f = Family(torch.tensor([1.0, 2.0], requires_grad=True))
        f.entropy()
        torch.autograd.grad(f.entropy().sum(), f.rate)
        D.Normal(0.0, 1.0).entropy()
        [D.exp_family.ExponentialFamily.entropy(each) for each in (D.Normal(torch.tensor([0.0]), torch.tensor([2.0])), D.Gamma(torch.tensor([2.0]), torch.tensor([3.0])), D.Beta(torch.tensor([2.0]), torch.tensor([3.0])), D.Exponential(torch.tensor([2.0])), D.Bernoulli(torch.tensor([0.3])), D.Dirichlet(torch.tensor([[2.0, 1.0]])))]
    """,
    "divergences": """
        kl, register = D.kl_divergence, D.register_kl
        kl(D.Normal(0.0, 1.0), D.Cauchy(0.0, 1.0))
        class A(D.Normal): pass
        class B(D.Normal): pass
        kl(A(0.0, 1.0), B(1.0, 1.0))
        @register(A, D.Normal)
        def one(p, q): return 1
        @register(D.Normal, B)
        def two(p, q): return 2
        (kl(A(0.0, 1.0), D.Normal(0.0, 1.0)), kl(D.Normal(0.0, 1.0), B(0.0, 1.0)), kl(D.Normal(0.0, 1.0), A(0.0, 2.0)))
        kl(A(0.0, 1.0), B(0.0, 1.0))
        @register(A, B)
        def three(p, q): return 3
        kl(A(0.0, 1.0), B(0.0, 1.0))
        class C(A): pass
        class E(B): pass
        kl(C(0.0, 1.0), E(0.0, 1.0))
        one(1, 2)
        [D.kl._KL_REGISTRY.pop(key, None) and 0 for key in ((A, D.Normal), (D.Normal, B), (A, B))]
        kl(D.Normal(0.0, 1.0), C(0.0, 2.0))
        sorted((p.__name__, q.__name__) for p, q in D.kl._KL_REGISTRY if p is not D.Wishart)
        kl(3, D.Normal(0.0, 1.0))
        kl(D.Poisson(1.0), D.Normal(0.0, 1.0))
        kl(D.Gamma(1.0, 1.0), D.Dirichlet(torch.ones(2)))
    """,
    "constraints": """
        C = D.constraints
        C.Constraint().check(3)
        (C.Constraint().is_discrete, C.Constraint().event_dim, C.Constraint())
        C.dependent.check(3)
        C.dependent.is_discrete
        C.dependent.event_dim
        e = C.dependent(is_discrete=True, event_dim=2)
        (e.is_discrete, e.event_dim, C.is_dependent(e))
        f = e(event_dim=1)
        (f.is_discrete, f.event_dim)
        g = e(is_discrete=False)
        (g.is_discrete, g.event_dim)
        h = C.dependent(is_discrete=True)
        h.is_discrete
        h.event_dim
        class Has:
            @C.dependent_property
            def bare(self): return C.real
            @C.dependent_property(is_discrete=True, event_dim=1)
            def named(self): return C.positive
        (Has().bare, Has().named, C.is_dependent(Has.bare), Has.named.is_discrete, Has.named.event_dim)
        Has.bare.is_discrete
        Has.bare.event_dim
        i = C.independent(C.integer_interval(0, 3), 2)
        (i, i.is_discrete, i.event_dim, i.reinterpreted_batch_ndims, i.base_constraint)
        C.independent(i, 1).event_dim
        C.independent(C.real, 0)
        C.independent(3, 1)
        C.independent(C.real, "a")
        C.independent(C.real, -1)
        i.check(torch.tensor(1.0))
        i.check(torch.ones(3, 2, 2))
        C.independent(C.simplex, 1).check(torch.tensor([[[0.5, 0.5], [1.0, 0.1]], [[1.0, 0.0], [0.0, 1.0]]]))
        C.independent(C.simplex, 2).check(torch.ones(2))
        C.cat([C.real, C.positive], 0, [1])
        C.cat([C.real, 3])
        j = C.cat([C.real, C.boolean], 0, [1, 2])
        (j.is_discrete, j.event_dim, j.dim, j.lengths, C.cat([C.real, C.simplex]).event_dim)
        j.check(torch.tensor([1.0, 0.0, 2.0]))
        j.check(torch.tensor([1.0, 0.0, 2.0, 3.0]))
        C.cat([C.real, C.positive]).lengths
        C.stack([C.real, 3])
        k = C.stack([C.real, C.boolean], 1)
        (k.is_discrete, k.event_dim, k.dim, C.stack([C.simplex, C.real], -1).event_dim)
        k.check(torch.tensor([[1.0, 0.0], [2.0, 3.0]]))
        k.check(torch.tensor([[1.0], [2.0]]))
        C.stack([C.real, C.boolean], -1).check(torch.tensor([[1.0, 0.0], [2.0, 3.0]]))
        [c.check(torch.tensor([-1, 0, 1, 2, 3])) for c in (C.boolean, C.integer_interval(0, 2), C.nonnegative_integer, C.positive_integer, C.nonnegative, C.positive)]
        [c.check(torch.tensor([-1.0, 0.0, 0.5, 1.0, 2.0])) for c in (C.boolean, C.integer_interval(0, 2), C.nonnegative_integer, C.positive_integer, C.unit_interval, C.half_open_interval(0.0, 1.0), C.interval(0.0, 1.0), C.greater_than(0.0), C.greater_than_eq(0.0), C.less_than(1.0))]
        [(repr(c), c.is_discrete, c.event_dim) for c in (C.integer_interval(0, 2), C.multinomial(3), C.greater_than(torch.tensor(1.0)), C.interval(0, torch.tensor(2.0)), C.half_open_interval(1, 2), C.less_than(3), C.one_hot, C.simplex, C.corr_cholesky, C.lower_cholesky, C.positive_definite, C.positive_semidefinite, C.symmetric, C.square, C.real_vector, C.lower_triangular)]
        C.multinomial(3).check(torch.tensor([[1.0, 2.0], [3.0, 0.0], [1.0, 1.0], [-1.0, 4.0], [1.5, 1.5]]))
        C.MixtureSameFamilyConstraint(C.positive).check(torch.tensor([1.0, -1.0]))
        C.MixtureSameFamilyConstraint(C.simplex).check(torch.tensor([[0.5, 0.5], [0.5, 0.6]]))
        (C.MixtureSameFamilyConstraint(C.simplex), C.MixtureSameFamilyConstraint(C.simplex).event_dim, C.MixtureSameFamilyConstraint(C.boolean).is_discrete)
        C.MixtureSameFamilyConstraint(3)
        C.simplex.check(torch.tensor([[0.5, 0.5 + 9e-7], [0.5, 0.5 + 2e-6], [0.5, 0.5 - 2e-6], [-0.5, 1.5]], dtype=torch.float64))
        C.corr_cholesky.check(torch.tensor([[[1.0, 0.0], [0.6, 0.8]], [[1.0, 0.0], [0.6, -0.8]], [[1.0, 0.0], [0.6, 0.81]], [[1.0, 0.1], [0.6, 0.8]]]))
        C.positive_definite.check(torch.tensor([[[1.0, 0.5], [0.5, 1.0]], [[1.0, 0.5], [0.4, 1.0]], [[1.0, 2.0], [2.0, 1.0]], [[1.0, 1.0], [1.0, 1.0]]]))
        C.positive_semidefinite.check(torch.tensor([[[1.0, 0.5], [0.5, 1.0]], [[1.0, 0.5], [0.4, 1.0]], [[1.0, 2.0], [2.0, 1.0]], [[2.0, 0.0], [0.0, 0.0]]]))
        C.symmetric.check(torch.tensor([[[1.0, 0.5], [0.5, 1.0]], [[1.0, 0.5], [0.5 + 1e-7, 1.0]], [[1.0, 0.5], [0.51, 1.0]]]))
        (C.square.check(torch.ones(3, 2, 2)), C.square.check(torch.ones(3, 2, 4)))
        C.one_hot.check(torch.tensor([[1.0, 0.0], [0.5, 0.5], [1.0, 1.0], [0.0, 0.0], [2.0, -1.0]]))
    """,
    "registry of transforms": """
        C, R = D.constraints, D.constraint_registry
        r = R.ConstraintRegistry()
        class Mine(C.Constraint): pass
        r(Mine())
        @r.register(Mine)
        def make(c): return D.ExpTransform()
        (make(3), r(Mine()))
        r.register(Mine(), lambda c: D.TanhTransform())(3)
        r(Mine())
        r.register(3, make)
        r.register(int, make)
        r.register(Mine)(make) is make
        D.transform_to(C.dependent)
        D.biject_to(C.simplex)
        D.transform_to(C.simplex)
        D.biject_to(C.corr_cholesky)
        D.biject_to(C.boolean)
        D.transform_to(C.boolean)
        D.transform_to(3)
        [D.transform_to(c) for c in (C.real, C.independent(C.positive, 1), C.positive, C.nonnegative, C.greater_than(2.0), C.greater_than_eq(2.0), C.less_than(2.0), C.interval(1.0, 3.0), C.half_open_interval(0, 1), C.unit_interval, C.lower_cholesky, C.positive_definite, C.positive_semidefinite, C.corr_cholesky, C.cat([C.real, C.positive], 0, [1, 2]), C.stack([C.real, C.positive], 0))]
        [D.biject_to(c) for c in (C.real, C.independent(C.positive, 1), C.positive, C.nonnegative, C.greater_than(2.0), C.greater_than_eq(2.0), C.less_than(2.0), C.interval(1.0, 3.0), C.half_open_interval(0, 1), C.unit_interval, C.lower_cholesky, C.positive_definite, C.positive_semidefinite, C.cat([C.real, C.positive], 0, [1, 2]), C.stack([C.real, C.positive], 0))]
        t = D.biject_to(C.cat([C.real, C.positive], 0, [1, 2]))
        (t(torch.zeros(3)), t.dim, t.lengths)
        (D.biject_to(C.stack([C.real, C.positive], 1)).dim, D.transform_to(C.cat([C.real, C.simplex], -1, [1, 2])).dim, D.transform_to(C.stack([C.real, C.simplex], 2)).dim)
        [(lambda a: (a.loc, a.scale))(D.biject_to(c).parts[1]) for c in (C.greater_than(2.0), C.less_than(2.0), C.interval(1.0, 3.0), C.half_open_interval(1, 4))]
        D.biject_to(C.interval(0, 1))
        D.biject_to(C.interval(0.0, 1.0))
        D.biject_to(C.interval(torch.tensor(0.0), torch.tensor(1.0))).parts
        D.biject_to(C.independent(C.positive, 2)).reinterpreted_batch_ndims
    """,
    "transforms": """
        T = D.transforms
        t = T.Transform()
        (t._cache_size, t)
        t(torch.ones(1))
        t.inv(torch.ones(1))
        t.log_abs_det_jacobian(1, 2)
        t.sign
        t.with_cache(1)
        t.with_cache(0) is t
        T.Transform(cache_size=3)
        T.Transform(1)._cache_size
        class Mine(T.Transform):
            domain = codomain = D.constraints.real
            def _call(self, x): return x + 1
            def _inverse(self, y): return y - 1
        m = Mine(cache_size=1)
        x0 = torch.ones(2)
        y0 = m(x0)
        (m(x0) is y0, m.inv(y0) is x0, m(torch.ones(2)) is y0, m.inv(torch.ones(2)), m.inv.inv is m)
        m.with_cache(0)
        m.with_cache(1) is m
        (m == m, m == Mine(), m != m, m.inv == m.inv, m.inv == Mine().inv)
        import pickle, copy
        n = pickle.loads(pickle.dumps(D.AffineTransform(1.0, 2.0, cache_size=1)))
        (n, n._cached_x_y, n._inv, n(torch.ones(1)))
        a = D.AffineTransform(1.0, 2.0)
        i = a.inv
        (a.inv is i, i.inv is a, i._cache_size, i.with_cache(1)._cache_size, i.with_cache(1).inv.loc)
        (i.domain, i.codomain, i.bijective, i.sign, i, i == a.inv, i == D.AffineTransform(1.0, 2.0).inv, i == 3)
        (i.log_abs_det_jacobian(torch.ones(2), torch.ones(2)), i.forward_shape((2,)), i.inverse_shape((3,)))
        D.AbsTransform().inv.bijective
        D.AbsTransform().sign
        D.AbsTransform().inv(torch.ones(1))
        D.AbsTransform().log_abs_det_jacobian(1, 1)
        c = D.ComposeTransform([D.ExpTransform(), D.AffineTransform(0.0, -2.0)])
        (c.sign, c.bijective, c.domain, c.codomain, c.inv.inv is c, c.inv, c.with_cache(1)._cache_size, c.with_cache(1).parts[0]._cache_size, c.with_cache(0) is c)
        (c == D.ComposeTransform([D.ExpTransform(), D.AffineTransform(0.0, -2.0)]), c == 3, c == D.ExpTransform())
        D.ComposeTransform([D.ExpTransform(), D.AbsTransform()]).bijective
        D.ComposeTransform([D.ExpTransform(), D.AbsTransform()]).sign
        e = D.ComposeTransform([])
        (e.domain, e.codomain, e.sign, e.bijective, e.log_abs_det_jacobian(torch.ones(2, 3), torch.ones(2, 3)), e(3), e.forward_shape((2,)), e.inverse_shape((3,)))
        v = D.ComposeTransform([D.AffineTransform(0.0, 2.0), D.StickBreakingTransform(), D.AffineTransform(0.0, 1.0, event_dim=1)])
        (v.domain.event_dim, v.codomain.event_dim, v.domain, v.codomain, v.forward_shape((4, 2)), v.inverse_shape((4, 3)))
        v.log_abs_det_jacobian(torch.ones(4, 2), v(torch.ones(4, 2)))
        D.ComposeTransform([D.ReshapeTransform((4,), (2, 2)), D.ExpTransform()]).domain
        D.ComposeTransform([D.ExpTransform(), D.ReshapeTransform((4,), (2, 2))]).codomain
        D.ComposeTransform([D.ReshapeTransform((4,), (2, 2)), D.ReshapeTransform((2, 2), (4,)), D.ExpTransform()]).domain
        D.ComposeTransform([D.ExpTransform(), D.CorrCholeskyTransform()]).codomain.event_dim
        [(c.domain.event_dim, c.codomain.event_dim) for c in (D.ComposeTransform([D.StickBreakingTransform(), D.ExpTransform()]), D.ComposeTransform([D.ExpTransform(), D.StickBreakingTransform()]), D.ComposeTransform([D.CorrCholeskyTransform(), D.ExpTransform()]), D.ComposeTransform([D.CorrCholeskyTransform(), D.AffineTransform(0.0, 2.0, event_dim=1)]), D.ComposeTransform([D.AffineTransform(0.0, 2.0, event_dim=2), D.StickBreakingTransform()]), D.ComposeTransform([D.ReshapeTransform((2, 3), (6,)), D.AffineTransform(0.0, 1.0, event_dim=2)]), D.ComposeTransform([D.AffineTransform(0.0, 1.0, event_dim=2), D.ReshapeTransform((6,), (2, 3))]))]
        D.ComposeTransform([D.ReshapeTransform((2, 2), (4,)), D.ExpTransform()]).log_abs_det_jacobian(torch.ones(3, 2, 2), torch.ones(3, 4))
        n = D.IndependentTransform(D.ExpTransform(), 2, cache_size=1)
        (n, n.domain, n.codomain, n.bijective, n.sign, n._cache_size, n.with_cache(0)._cache_size, n.with_cache(1) is n, n.reinterpreted_batch_ndims)
        n(torch.ones(2))
        n(torch.ones(2, 3))
        n.inv(torch.ones(2))
        n.inv(torch.ones(2, 3))
        n.log_abs_det_jacobian(torch.ones(4, 2, 3), torch.ones(4, 2, 3))
        (n.forward_shape((2, 3)), n.inverse_shape((2, 3)))
        D.IndependentTransform(D.AffineTransform(0.0, torch.tensor([1.0, -2.0])), 1).sign
        r = D.ReshapeTransform((2, 3), (6,), cache_size=1)
        (r.domain, r.codomain, r.domain.event_dim, r.codomain.event_dim, r.bijective, r._cache_size, r.with_cache(0)._cache_size, r.with_cache(1) is r, r)
        (r.forward_shape((4, 2, 3)), r.inverse_shape((4, 6)), r.log_abs_det_jacobian(torch.ones(4, 2, 3), torch.ones(4, 6)))
        r.forward_shape((3,))
        r.inverse_shape(())
        r.forward_shape((3, 2))
        r.inverse_shape((5,))
        r.forward_shape((2, 3))
        r.inverse_shape((6,))
        p = D.PowerTransform(torch.tensor([2.0, -1.0]), cache_size=1)
        (p.sign, p.with_cache(0)._cache_size, p.with_cache(1) is p, p == p, p == D.PowerTransform(torch.tensor([2.0, -1.0])), p == D.PowerTransform(torch.tensor([2.0, 3.0])), p == D.ExpTransform(), p(torch.tensor([2.0, 4.0])), p.inv(torch.tensor([4.0, 0.25])))
        (p.log_abs_det_jacobian(torch.tensor([2.0, 4.0]), torch.tensor([4.0, 0.25])), p.forward_shape((1,)), p.inverse_shape((2, 1)))
        D.PowerTransform(2.0).exponent
        f = D.AffineTransform(torch.tensor([1.0, 2.0]), torch.tensor([3.0, -2.0]), event_dim=1, cache_size=1)
        (f.event_dim, f.sign, f.domain, f.codomain, f.with_cache(0)._cache_size, f.with_cache(1) is f, f.with_cache(0).event_dim, f.forward_shape((3, 1)), f.inverse_shape((3, 1)))
        (f.log_abs_det_jacobian(torch.ones(3, 2), torch.ones(3, 2)), D.AffineTransform(1.0, -3.0).log_abs_det_jacobian(torch.ones(2), 1), D.AffineTransform(1.0, -3.0, event_dim=1).log_abs_det_jacobian(torch.ones(4, 2), 1))
        (f == f, f == D.AffineTransform(1.0, 2.0), D.AffineTransform(1.0, 2.0) == D.AffineTransform(1.0, 2.0), D.AffineTransform(1.0, 2.0) == D.AffineTransform(1.0, 3.0), D.AffineTransform(1.0, 2.0) == D.AffineTransform(0.0, 2.0), f == D.AffineTransform(torch.tensor([1.0, 2.0]), torch.tensor([3.0, 5.0])), f == D.AffineTransform(torch.tensor([1.0, 4.0]), torch.tensor([3.0, -2.0])), f == 3)
        [D.AffineTransform(0.0, s).sign for s in (2, -2.0, 0.0, 0)]
        D.AffineTransform(0.0, 1.0, event_dim=2).domain.event_dim
        D.AffineTransform(torch.zeros(2), 1.0).forward_shape((3, 1))
        D.AffineTransform(0.0, torch.ones(4)).inverse_shape(())
        D.AffineTransform(0.0, 1.0).forward_shape((3,))
        big = torch.tensor([[900.0, -900.0, 0.0], [30.0, 29.0, 31.0]])
        [(k(big), k.inv(k(big))) for k in (D.SigmoidTransform(), D.SoftplusTransform(), D.TanhTransform(), D.SoftmaxTransform(), D.StickBreakingTransform())]
        [k.log_abs_det_jacobian(big, k(big)) for k in (D.SigmoidTransform(), D.SoftplusTransform(), D.TanhTransform(), D.StickBreakingTransform(), D.ExpTransform())]
        (D.SigmoidTransform().inv(torch.tensor([0.0, 1.0])), D.TanhTransform().inv(torch.tensor([-1.0, 1.0])), D.SoftplusTransform().inv(torch.tensor([0.0, 1e-8])))
        [(k.domain, k.codomain, k.bijective, k.event_dim if hasattr(k, "event_dim") else None) for k in (D.SoftmaxTransform(), D.StickBreakingTransform(), D.LowerCholeskyTransform(), D.PositiveDefiniteTransform(), D.CorrCholeskyTransform())]
        [k == type(k)() for k in (D.ExpTransform(), D.SigmoidTransform(), D.SoftplusTransform(), D.TanhTransform(), D.AbsTransform(), D.SoftmaxTransform(), D.StickBreakingTransform(), D.LowerCholeskyTransform(), D.PositiveDefiniteTransform(), D.CorrCholeskyTransform())]
        D.StickBreakingTransform().forward_shape((2,))
        D.StickBreakingTransform().inverse_shape((4, 3))
        D.StickBreakingTransform().inverse_shape(())
        D.SoftmaxTransform().forward_shape(())
        D.SoftmaxTransform().inverse_shape(())
        (D.SoftmaxTransform().forward_shape((3,)), D.SoftmaxTransform().inverse_shape((3,)))
        [D.CorrCholeskyTransform().forward_shape((5, n)) for n in (1, 3, 6)]
        [D.CorrCholeskyTransform().inverse_shape((5, n, n)) for n in (2, 3, 4)]
        D.CorrCholeskyTransform().forward_shape(())
        D.CorrCholeskyTransform().forward_shape((4,))
        D.CorrCholeskyTransform().inverse_shape((3,))
        D.CorrCholeskyTransform().inverse_shape((3, 2))
        k = D.CorrCholeskyTransform()
        z = torch.tensor([[0.5, -1.0, 2.0], [30.0, -40.0, 0.0]])
        (k(z), k.inv(k(z)), k.log_abs_det_jacobian(z, k(z)), k.log_abs_det_jacobian(z, k(z), intermediates=None))
        k.log_abs_det_jacobian(z, k(z), k(z))
        u = D.CumulativeDistributionTransform(D.Normal(1.0, 2.0), cache_size=1)
        (u(torch.tensor([1.0, 3.0])), u.inv(torch.tensor([0.5, 0.2])), u.log_abs_det_jacobian(torch.ones(2), 0), u.domain, u.codomain, u.sign, u.bijective, u.with_cache(0)._cache_size, u.with_cache(1) is u, u.with_cache(0).distribution)
    """,
    "joint transforms": """
        e, f, g = D.ExpTransform(), D.AffineTransform(1.0, 2.0), D.TanhTransform()
        c = D.CatTransform([e, f], dim=0, lengths=[1, 2], cache_size=1)
        (c.lengths, c.length, c.dim, c.event_dim, c._cache_size, c.with_cache(0)._cache_size, c.with_cache(1) is c, c.bijective, c.domain, c.codomain, len(c.transforms))
        z = torch.tensor([[0.5, -1.0], [0.3, 0.2], [2.0, 0.1]])
        (c(z), c.inv(c(z)), c.log_abs_det_jacobian(z, c(z)), c(z) is c(z))
        c(torch.ones(4, 2))
        c.inv(torch.ones(4, 2))
        c.log_abs_det_jacobian(torch.ones(4, 2), torch.ones(3, 2))
        c.log_abs_det_jacobian(torch.ones(3, 2), torch.ones(4, 2))
        c(torch.ones(()))
        c2 = D.CatTransform([e, f], dim=-1, lengths=[1, 2])
        (c2(torch.ones(2, 3)), c2.log_abs_det_jacobian(torch.ones(2, 3), c2(torch.ones(2, 3))))
        c3 = D.CatTransform([e, D.StickBreakingTransform()], dim=0, lengths=[1, 2])
        (c3.event_dim, c3.domain.event_dim)
        c4 = D.CatTransform([D.AffineTransform(0.0, 2.0, event_dim=1), e], dim=-2, lengths=[1, 2])
        (c4.event_dim, c4.log_abs_det_jacobian(torch.ones(3, 4), c4(torch.ones(3, 4))))
        D.CatTransform([e, 3])
        D.CatTransform([e, f], lengths=[1])
        D.CatTransform([e, f]).lengths
        D.CatTransform([e, D.AbsTransform()]).bijective
        s = D.StackTransform([e, f, g], dim=1, cache_size=1)
        (s.dim, s._cache_size, s.with_cache(0)._cache_size, s.with_cache(1) is s, s.bijective, s.domain, s.codomain, len(s.transforms))
        w = torch.tensor([[0.5, -1.0, 0.2], [0.3, 0.2, -0.1]])
        (s(w), s.inv(s(w)), s.log_abs_det_jacobian(w, s(w)), s(w) is s(w))
        s(torch.ones(2, 4))
        s.inv(torch.ones(2, 4))
        s.log_abs_det_jacobian(torch.ones(2, 4), torch.ones(2, 3))
        s.log_abs_det_jacobian(torch.ones(2, 3), torch.ones(2, 4))
        s(torch.ones(3))
        D.StackTransform([e, 3])
        (D.StackTransform([e, f]).dim, D.StackTransform([e, f]).domain, D.StackTransform([e, D.AbsTransform()]).bijective)
        D.StackTransform([e, f], dim=-1)(torch.ones(3, 2))
        D.StackTransform([e, f], dim=-1).log_abs_det_jacobian(torch.ones(3, 2), torch.ones(3, 2))
    """,
    "transformed distributions": """
        n = D.Normal(torch.zeros(3), torch.ones(3))
        t = D.TransformedDistribution(n, [D.ExpTransform(), D.StickBreakingTransform()])
        (t.batch_shape, t.event_shape, t.support, t.has_rsample, t.transforms, t.base_dist)
        D.TransformedDistribution(n, D.ExpTransform()).transforms
        D.TransformedDistribution(n, []).support
        (D.TransformedDistribution(n, []).log_prob(torch.ones(3)), D.TransformedDistribution(n, []).sample().shape)
        D.TransformedDistribution(n, 3)
        D.TransformedDistribution(n, [3])
        D.TransformedDistribution(D.Normal(0.0, 1.0), D.StickBreakingTransform())
        D.TransformedDistribution(D.Normal(torch.zeros(2, 3), 1.0), D.ReshapeTransform((4,), (2, 2)))
        (t.expand((2,)).batch_shape, t.expand((2,)).sample().shape, t.expand((2,)).base_dist)
        b = D.TransformedDistribution(D.Normal(torch.zeros(2), 1.0), D.AffineTransform(torch.zeros(3, 1), 1.0))
        (b.batch_shape, b.sample().shape, b.base_dist)
        m = D.TransformedDistribution(D.MultivariateNormal(torch.zeros(2), torch.eye(2)), D.AffineTransform(torch.ones(2), 2.0, event_dim=1))
        (m.event_shape, m.log_prob(torch.ones(2)), m.expand((3,)).batch_shape)
        i = D.TransformedDistribution(D.Independent(n, 1), D.ExpTransform())
        (i.event_shape, i.log_prob(torch.ones(3)))
        q = D.TransformedDistribution(D.Uniform(0.0, 1.0), [D.AffineTransform(1.0, -2.0)])
        (q.cdf(torch.tensor([-0.5, 0.0, 0.5])), q.icdf(torch.tensor([0.1, 0.5])), q.support)
        q.cdf(torch.tensor([3.0]))
        q.icdf(torch.tensor([2.0]))
        r = D.TransformedDistribution(D.Uniform(0.0, 1.0), [D.AffineTransform(1.0, 2.0), D.ExpTransform()])
        (r.cdf(torch.tensor([3.0, 10.0])), r.icdf(torch.tensor([0.1, 0.5])))
        D.TransformedDistribution(n, D.StickBreakingTransform()).cdf(torch.ones(4) / 4)
        D.TransformedDistribution(D.Bernoulli(0.5), D.AffineTransform(0.0, 2.0)).has_rsample
        D.TransformedDistribution(D.Bernoulli(0.5), D.AffineTransform(0.0, 2.0)).rsample()
        D.TransformedDistribution(D.Bernoulli(torch.full((4,), 0.5)), D.AffineTransform(0.0, 2.0)).sample()
        D.TransformedDistribution(D.Normal(torch.zeros(2, 3), 1.0), [D.SoftmaxTransform()])
        D.TransformedDistribution(n, D.ExpTransform(), validate_args=False)._validate_args
        D.TransformedDistribution(n, D.ExpTransform()).expand((2, 3))._validate_args
        D.LogNormal(torch.zeros(2), 1.0).expand((3, 2)).base_dist
    """,
    "mixtures and independents": """
        n = D.Normal(torch.zeros(2, 3), torch.ones(3))
        D.Independent(n, 3)
        D.Independent(n, -1)
        i = D.Independent(n, 1)
        (i, i.base_dist, i.reinterpreted_batch_ndims, i.has_rsample, i.has_enumerate_support, i.support, i.arg_constraints)
        (i.mean, i.variance, i.mode, i.entropy(), i.stddev)
        (i.expand((4, 2)).base_dist, i.expand((4, 2)).batch_shape, i.expand((4, 2))._validate_args)
        i.enumerate_support()
        D.Independent(D.Bernoulli(torch.full((2,), 0.5)), 1).enumerate_support()
        D.Independent(D.Bernoulli(torch.full((2,), 0.5)), 0).enumerate_support(expand=False)
        D.Independent(D.Bernoulli(torch.full((2,), 0.5)), 1).support
        D.Independent(n, 0).support
        D.Independent(n, 1, validate_args=False)._validate_args
        mix, parts = D.Categorical(torch.tensor([0.2, 0.3, 0.5])), D.Normal(torch.arange(3.0), torch.ones(3))
        m = D.MixtureSameFamily(mix, parts)
        (m, m.mixture_distribution is mix, m.component_distribution is parts, m.batch_shape, m.event_shape, m.support, m.has_rsample)
        (m.mean, m.variance, m.log_prob(torch.arange(3.0)), m.cdf(torch.arange(3.0)), m.sample((3,)))
        (m.expand((4,)).batch_shape, m.expand((4,)).mean, m.expand((4,)).sample().shape, m.expand((2, 2)).log_prob(torch.ones(2, 2)))
        m.expand((4,))._validate_args
        m.rsample()
        m.entropy()
        m.mode
        D.MixtureSameFamily(D.Normal(0.0, 1.0), parts)
        D.MixtureSameFamily(mix, 3)
        D.MixtureSameFamily(D.Categorical(torch.ones(2)), parts)
        D.MixtureSameFamily(D.Categorical(torch.ones(2, 3)), parts)
        D.MixtureSameFamily(D.Categorical(torch.ones(4, 3)), D.Normal(torch.zeros(2, 3), 1.0))
        D.MixtureSameFamily(mix, D.Normal(0.0, 1.0))
        o = D.MixtureSameFamily(D.Categorical(torch.ones(2, 3)), D.Independent(D.Normal(torch.arange(24.0).view(2, 3, 4), 1.0), 1))
        (o.batch_shape, o.event_shape, o.mean, o.variance, o.log_prob(torch.zeros(5, 2, 4)), o.sample((2,)), o.support)
        o.cdf(torch.zeros(2, 4))
        k = D.MixtureSameFamily(mix, D.Uniform(torch.tensor([0.0, 1.0, 2.0]), torch.tensor([1.0, 2.0, 3.0])))
        k.log_prob(torch.tensor([0.5, 1.5, 2.5]))
        k.support
        k.log_prob(torch.tensor(3.5))
        D.MixtureSameFamily(mix, D.Bernoulli(torch.tensor([0.1, 0.5, 0.9]))).log_prob(torch.tensor([0.0, 1.0]))
        D.MixtureSameFamily(mix, D.Bernoulli(torch.tensor([0.1, 0.5, 0.9]))).log_prob(torch.tensor([0.5, 1.0]))
    """,
    "draws": """
        [D.VonMises(torch.tensor([0.5, -1.0]), torch.tensor(k)).sample((60,)) for k in (1e-8, 1e-3, 0.3, 2.0, 50.0, 700.0)]
        D.VonMises(torch.tensor(0.5, dtype=torch.float64), torch.tensor(2.0, dtype=torch.float64)).sample((3,)).dtype
        D.VonMises(torch.tensor([0.5]), torch.tensor([2.0])).expand((2, 3)).sample((2,)).shape
        [D.VonMises(torch.tensor([0.5]), torch.tensor(k)).log_prob(torch.tensor([-3.0, 0.0, 0.5, 3.0])) for k in (1e-8, 1e-3, 3.0, 3.75, 3.8, 50.0, 700.0)]
        [D.VonMises(torch.tensor([0.5]), torch.tensor([k])).variance for k in (1e-8, 1e-3, 0.3, 3.75, 3.8, 50.0)]
        [d.sample((100,)) for d in (D.Bernoulli(0.3), D.Geometric(0.3), D.Poisson(2.5), D.Binomial(5, 0.3), D.NegativeBinomial(3, 0.4), D.Categorical(torch.tensor([0.2, 0.3, 0.5])))]
        [d.sample((50,)) for d in (D.Uniform(1.0, 3.0), D.Cauchy(1.0, 2.0), D.Laplace(1.0, 2.0), D.Exponential(2.0), D.Gumbel(1.0, 2.0), D.Weibull(1.5, 2.0), D.Pareto(1.0, 2.0), D.HalfNormal(2.0), D.HalfCauchy(2.0), D.LogNormal(0.5, 0.3), D.Kumaraswamy(2.0, 3.0), D.GeneralizedPareto(1.0, 2.0, 0.3), D.GeneralizedPareto(1.0, 2.0, 0.0))]
        [d.sample((20,)) for d in (D.Gamma(0.5, 2.0), D.Beta(0.5, 2.0), D.Chi2(3.0), D.StudentT(3.0, 1.0, 2.0), D.FisherSnedecor(3.0, 4.0), D.InverseGamma(3.0, 2.0), D.Dirichlet(torch.tensor([0.5, 2.0])), D.ContinuousBernoulli(torch.tensor([0.2, 0.4995, 0.9], dtype=torch.float64)), D.Multinomial(5, torch.tensor([0.2, 0.8])), D.OneHotCategorical(torch.tensor([0.2, 0.8])), D.RelaxedBernoulli(torch.tensor(0.5), torch.tensor([0.2, 0.8])), D.RelaxedOneHotCategorical(torch.tensor(0.5), torch.tensor([0.2, 0.8])), D.LogisticNormal(torch.zeros(2), torch.ones(2)), D.LKJCholesky(3, torch.tensor(0.5, dtype=torch.float64)), D.LKJCholesky(4, torch.tensor([0.5, 2.0], dtype=torch.float64)))]
        D.MultivariateNormal(torch.zeros(2), torch.tensor([[2.0, 0.5], [0.5, 1.0]])).sample((20,))
        D.LowRankMultivariateNormal(torch.zeros(3), torch.ones(3, 2), torch.ones(3)).sample((20,))
        [D.LKJCholesky(n, torch.tensor([0.5, 2.0])).log_prob(torch.linalg.cholesky(torch.eye(n) * 0.8 + 0.2)) for n in (2, 3, 4)]
        D.LKJCholesky(3).sample()
        D.LKJCholesky(1)
        D.LKJCholesky(3, torch.tensor([0.5, 2.0])).expand((4, 2)).sample().shape
    """,
}


def _all(torch: ModuleType, made: str, asked: list[str], **more: Any) -> dict[str, Any]:
    def where(tensor: Any) -> Any:
        return str(tensor.device), str(tensor.dtype), list(tensor.shape)

    def meta(*shape: int) -> Any:
        return torch.empty(shape, device="meta", dtype=torch.float64)

    names = {"where": where, "M": meta, "C": torch.distributions.constraints, **more}
    return {each: outcome(torch, f"(lambda d: {each})({made})", **names) for each in asked}


# What PyTorch answers otherwise and why: (part of what is made, part of what is asked).
OTHERWISE = {
    ("D.Bernoulli(torch.tensor([-0.5", "sample("): "PyTorch's error names the place in its source",
    ("D.Categorical(torch.tensor([-0.5", "sample("): "PyTorch's error names the place in its source",
    ("D.Bernoulli(", "[[0], [1]"): "PyTorch's takes no whole numbers",
    ("D.ContinuousBernoulli(", "[[0], [1]"): "PyTorch's takes no whole numbers",
    ("D.Dirichlet(torch.tensor([[1.0", "sample("): "concentrations below zero give nonsense in both",
    ("D.HalfNormal(", "log_prob(0.5)"): "PyTorch's takes no number",
    ("D.Bernoulli(", ".float()).dtype"): "PyTorch's result has the value's dtype there",
    ("D.Chi2(", "cdf("): "PyTorch has no derivative of igamma by its first argument",
    ("D.Gamma(", "cdf("): "PyTorch has no derivative of igamma by its first argument",
    ("D.InverseGamma(", "cdf("): "PyTorch has no derivative of igamma by its first argument",
    ("D.GeneralizedPareto(x", "log_prob("): "PyTorch's takes float32 only",
    ("D.GeneralizedPareto(x", "cdf("): "PyTorch's takes float32 only",
    ("D.Geometric(", "param_shape"): "PyTorch's has none",
    ("D.Kumaraswamy(", "mode"): "nan in both, with a history in PyTorch",
    ("D.Wishart(", "rsample((2,))"): "PyTorch writes to what backward needs",
}


def _asked(made: str, asked: list[str]) -> list[str]:
    return [each for each in asked if not any(a in made and b in each for a, b in OTHERWISE)]


@pytest.mark.parametrize("made", UNCHECKED)
def test_without_checks(made: str) -> None:
    asked = _asked(made, ASKED_UNCHECKED)
    same(lambda torch: _all(torch, made, asked, V=False), 2e-3, 1e-4)


@pytest.mark.parametrize("made", UNCHECKED)
def test_checks(made: str) -> None:
    check(made, V=True)


@pytest.mark.parametrize("made", MADE)
def test_shapes(made: str) -> None:
    asked = _asked(made, ASKED_OF_SHAPES)
    same(lambda torch: _all(torch, made, asked), 2e-3, 1e-4)


@pytest.mark.parametrize("pair", BATCHES)
def test_divergences_of_batches(pair: str) -> None:
    def lower(torch: ModuleType) -> Any:
        def m(*shape: int) -> Any:
            size = (*shape, shape[-1])
            waves = (torch.arange(torch.Size(size).numel(), dtype=torch.float64) * 1.3).sin().view(size)
            return waves.tril() * 0.4 + torch.eye(shape[-1], dtype=torch.float64)

        return m

    check(f"D.kl_divergence({pair})", 1e-6, 1e-7, m=lower)


@pytest.mark.parametrize("low", LOWS)
@pytest.mark.parametrize("high", HIGHS)
def test_divergences_of_intervals(low: float, high: float) -> None:
    made = f"D.Uniform({low}, {high})"
    same(lambda torch: _all(torch, made, [f"D.kl_divergence(d, {each})" for each in OTHERS]), 1e-5, 1e-6)
    same(lambda torch: _all(torch, made, [f"D.kl_divergence({each}, d)" for each in OTHERS]), 1e-5, 1e-6)


@pytest.mark.parametrize("made", PARETOS)
def test_divergences_of_heavy_tails(made: str) -> None:
    same(lambda torch: _all(torch, made, [f"D.kl_divergence(d, {each})" for each in FROM_PARETO]), 1e-5, 1e-6)


@pytest.mark.parametrize("made", META)
def test_devices(made: str) -> None:
    asked = _asked(made, ASKED_OF_META)
    same(lambda torch: _all(torch, made, asked))


@pytest.mark.parametrize("text", WISHARTS)
def test_wisharts(text: str) -> None:
    check(text, 1e-4, 1e-5)


def _distributions(torch: ModuleType) -> Any:
    return torch.distributions


PARTS: dict[str, Any] = {"D": _distributions}


@pytest.mark.parametrize("name", SESSIONS)
def test_sessions(name: str) -> None:
    check_session(SESSIONS[name], 1e-4, 1e-5, **PARTS)


def test_a_logistic_normal_of_numbers_has_two_parts():
    made = torch.distributions.LogisticNormal(0.0, 1.0)
    assert (made.event_shape, made.batch_shape, made.base_dist.base_dist.loc.shape) == ((2,), (), (1,))
