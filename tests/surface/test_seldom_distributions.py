"""Distributions, their transforms and constraints, where few programs go, beside PyTorch."""

import pytest
from expressions import check, lines

LINES = lines("""
D.Wishart(torch.tensor(4.0), torch.eye(2)).log_prob(torch.eye(2) * 2)
D.Wishart(torch.tensor(4.0), torch.eye(2)).entropy()
D.Wishart(torch.tensor([4.0, 5.0]), torch.eye(2)).variance
D.Wishart(torch.tensor(1.0), torch.eye(3))
D.Wishart(torch.tensor(4.5), scale_tril=torch.eye(2)).mode
D.Wishart(torch.tensor(2.5), scale_tril=torch.eye(2)).mode
D.ComposeTransform([D.ExpTransform(), D.AffineTransform(1.0, 2.0)]).codomain
D.ComposeTransform([D.StickBreakingTransform(), D.ExpTransform()]).domain.event_dim
D.ComposeTransform([D.ExpTransform(), D.StickBreakingTransform()]).codomain.event_dim
D.ComposeTransform([D.ExpTransform(), D.AffineTransform(1.0, 2.0)]).sign.item()
D.ComposeTransform([]).domain
D.ComposeTransform([D.ExpTransform(), D.AffineTransform(1.0, 2.0)]).log_abs_det_jacobian(x(2), x(2))
D.AffineTransform(1.0, -2.0).sign
D.AffineTransform(x(2), x(2)) == D.AffineTransform(x(2), x(2))
D.PowerTransform(torch.tensor(2.0)).forward_shape((3, 2))
D.PowerTransform(torch.ones(2)).inverse_shape((3, 1))
D.ReshapeTransform((2, 3), (6,)).forward_shape((4, 2, 3))
D.ReshapeTransform((2, 3), (6,)).inverse_shape((4, 5))
D.StickBreakingTransform().inv(torch.tensor([0.2, 0.3, 0.5]))
D.CorrCholeskyTransform()(x(3))
D.CorrCholeskyTransform().log_abs_det_jacobian(x(3), torch.eye(3))
D.LowerCholeskyTransform()(x(2, 2))
D.CumulativeDistributionTransform(D.Normal(0.0, 1.0)).inv(p(2))
D.VonMises(torch.tensor(0.3), torch.tensor(2.0)).log_prob(x(3))
D.VonMises(torch.tensor(0.3), torch.tensor(2.0)).sample((5,))
D.LKJCholesky(3, 0.5).log_prob(torch.eye(3))
D.LKJCholesky(3, 0.5).sample((2,))
D.LKJCholesky(1)
D.LowRankMultivariateNormal(x(2), x(2, 1), p(2)).log_prob(x(3, 2))
D.LowRankMultivariateNormal(x(2), x(2, 1), p(2)).entropy()
D.LowRankMultivariateNormal(x(2), x(2, 1), p(2)).precision_matrix
D.MultivariateNormal(x(2), precision_matrix=torch.eye(2, dtype=torch.float64) * 2).covariance_matrix
D.MultivariateNormal(x(2))
D.MixtureSameFamily(D.Categorical(p(2)), D.Normal(x(2), p(2))).cdf(x(3))
D.MixtureSameFamily(D.Categorical(p(2)), D.Normal(x(2), p(2))).variance
D.MixtureSameFamily(D.Categorical(p(2)), D.Normal(x(3), p(3)))
D.Independent(D.Normal(x(2, 3), p(2, 3)), 1).entropy()
D.Independent(D.Normal(x(2, 3), p(2, 3)), 3)
D.TransformedDistribution(D.Normal(x(2), p(2)), [D.ExpTransform(), D.AffineTransform(0.0, -1.0)]).cdf(-p(2))
D.TransformedDistribution(D.Normal(x(2), p(2)), [D.ExpTransform()]).icdf(p(2))
D.Kumaraswamy(p(2) + 1, p(2)).entropy()
D.GeneralizedPareto(x(2), p(2), torch.tensor([0.0, 0.2])).log_prob(torch.tensor([2.0, 2.0]))
D.GeneralizedPareto(0.0, 1.0, 0.3).variance
D.NegativeBinomial(3.0, probs=p(2)).log_prob(torch.tensor([0.0, 4.0]))
D.OneHotCategoricalStraightThrough(p(3)).rsample()
D.RelaxedBernoulli(torch.tensor(0.7), probs=p(2)).rsample()
D.LogitRelaxedBernoulli(torch.tensor(0.7), probs=p(2)).log_prob(x(2))
D.Binomial(torch.tensor([3.0, 5.0]), probs=p(2)).enumerate_support()
D.Binomial(4, probs=p(2)).enumerate_support(expand=False)
D.Binomial(4, logits=x(2)).entropy()
D.Multinomial(3, probs=p(3)).entropy()
D.Multinomial(3, probs=p(3)).log_prob(torch.tensor([1.0, 1.0, 2.0]))
D.Geometric(p(2)).entropy()
D.Dirichlet(p(3)).rsample()
D.Beta(p(2) + 1, p(2) + 1).mode
D.StudentT(torch.tensor([0.5, 1.5, 3.0])).variance
D.FisherSnedecor(torch.tensor([3.0]), torch.tensor([3.0, 5.0])).variance
D.HalfCauchy(p(2)).log_prob(torch.tensor([-1.0, 1.0]))
D.InverseGamma(p(2) + 2, p(2)).variance
D.Weibull(p(2), p(2)).entropy()
D.Uniform(torch.tensor(1.0), torch.tensor(0.0))
D.Uniform(0.0, 1.0).cdf(torch.tensor(1.5))
D.ContinuousBernoulli(torch.tensor([0.2, 0.5, 0.8])).icdf(p(3).detach().float())
D.kl_divergence(D.Gamma(p(2), p(2)), D.Gumbel(x(2), p(2)))
D.kl_divergence(D.Beta(p(2), p(2)), D.Pareto(p(2), p(2)))
D.kl_divergence(D.Uniform(x(1) - 2, x(1) + 2), D.Normal(x(1), p(1)))
D.kl_divergence(D.Independent(D.Normal(x(2), p(2)), 1), D.Independent(D.Normal(x(2), p(2)), 0))
D.constraints.corr_cholesky.check(torch.eye(2))
D.constraints.integer_interval(0, 3).check(torch.tensor([-1.0, 0.5, 3.0]))
D.constraints.half_open_interval(0, 1).check(torch.tensor([0.0, 1.0]))
D.constraints.cat([D.constraints.positive, D.constraints.real], 0, [1, 2]).check(torch.tensor([1.0, -1.0, 0.0]))
D.constraints.stack([D.constraints.positive, D.constraints.real], -1).check(torch.tensor([[1.0, -1.0], [-1.0, 1.0]]))
D.constraints.independent(D.constraints.positive, 1).check(torch.tensor([[1.0, -1.0], [1.0, 1.0]]))
D.constraints.multinomial(3).check(torch.tensor([1.0, 1.0, 2.0]))
D.transform_to(D.constraints.greater_than(2.0))(x(2))
D.biject_to(D.constraints.interval(-1.0, 3.0))(x(2))
D.biject_to(D.constraints.lower_cholesky)(x(2, 2))
D.biject_to(D.constraints.symmetric)(x(2, 2))
""")


@pytest.mark.parametrize("text", LINES)
def test_expression(text: str) -> None:
    check(text)
