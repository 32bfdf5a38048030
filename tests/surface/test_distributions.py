"""Distributions against PyTorch's: samples of one seed, densities, moments, divergences, errors."""

import pytest
from recording import answer

import mindtorch_v2 as torch
import mindtorch_v2.distributions as ours
from mindtorch_v2.distributions.kl import _kl_expfamily_expfamily


def make(torch, D):
    t = torch.tensor
    p = t([0.2, 0.3, 0.5])
    return {
        "normal": D.Normal(t([0.0, 1.0]), t([1.0, 2.0])),
        "normal of numbers": D.Normal(0.0, 1.0),
        "categorical": D.Categorical(p.expand(2, 3)),
        "categorical of logits": D.Categorical(logits=t([1.0, 2.0, 3.0])),
        "bernoulli": D.Bernoulli(t([0.2, 0.5])),
        "bernoulli of logits": D.Bernoulli(logits=t([0.2, 0.5])),
        "multivariate normal": D.MultivariateNormal(torch.zeros(2), t([[2.0, 0.5], [0.5, 1.0]])),
        "multivariate normal of a factor": D.MultivariateNormal(torch.ones(3, 2), scale_tril=t([[2.0, 0], [0.5, 1.0]])),
        "uniform": D.Uniform(0.0, t([1.0, 2.0])),
        "gamma": D.Gamma(t([1.0, 0.5]), 2.0),
        "beta": D.Beta(t([1.0, 3.0]), t([2.0, 4.0])),
        "dirichlet": D.Dirichlet(t([[1.0, 2.0, 3.0]])),
        "laplace": D.Laplace(t([0.0, 1.0]), t([1.0, 2.0])),
        "log-normal": D.LogNormal(t([0.0, 1.0]), t([1.0, 0.5])),
        "exponential": D.Exponential(t([1.0, 2.0])),
        "poisson": D.Poisson(t([1.0, 4.0])),
        "student": D.StudentT(t([3.0, 1.5, 0.5])),
        "negative binomial": D.NegativeBinomial(t([3.0, 5.0]), probs=t([0.2, 0.3])),
        "binomial": D.Binomial(5, t([0.2, 0.3])),
        "geometric": D.Geometric(t([0.2, 0.3])),
        "multinomial": D.Multinomial(4, p),
        "one-hot": D.OneHotCategorical(p),
        "independent": D.Independent(D.Normal(torch.zeros(3, 2), torch.ones(3, 2)), 1),
        "mixture": D.MixtureSameFamily(D.Categorical(p), D.Normal(torch.arange(3.0), torch.ones(3))),
        "transformed": D.TransformedDistribution(
            D.Normal(torch.zeros(2), torch.ones(2)), [D.TanhTransform(), D.AffineTransform(1.0, 2.0)]
        ),
        "half-normal": D.HalfNormal(t([1.0, 2.0])),
        "gumbel": D.Gumbel(t([0.0, 1.0]), t([1.0, 2.0])),
        "cauchy": D.Cauchy(t([0.0]), t([1.0])),
        "chi2": D.Chi2(t([2.0, 3.0])),
        "continuous bernoulli": D.ContinuousBernoulli(t([0.2, 0.5])),
        "continuous bernoulli of logits": D.ContinuousBernoulli(logits=t([-1.0, 0.001])),
        "fisher": D.FisherSnedecor(t([1.0, 3.0]), t([3.0, 5.0])),
        "generalized pareto": D.GeneralizedPareto(t([0.0, 1.0, 2.0]), 2.0, t([0.25, 0.0, -0.5])),
        "half-cauchy": D.HalfCauchy(t([1.0, 2.0])),
        "inverse gamma": D.InverseGamma(t([0.5, 1.5, 3.0]), 2.0),
        "kumaraswamy": D.Kumaraswamy(t([2.0, 0.5]), t([3.0, 1.5])),
        "lkj": D.LKJCholesky(3, t([0.5, 2.0])),
        "logistic normal": D.LogisticNormal(t([[0.0, 1.0]]), t([[1.0, 0.5]])),
        "low rank": D.LowRankMultivariateNormal(t([1.0, 0.0]), t([[1.0], [0.5]]), t([0.5, 2.0])),
        "low rank batch": D.LowRankMultivariateNormal(torch.zeros(3, 2), t([[1.0], [0.0]]), torch.ones(3, 2)),
        "pareto": D.Pareto(t([1.0, 2.0]), t([1.5, 3.0])),
        "relaxed bernoulli": D.RelaxedBernoulli(t([0.7]), t([0.2, 0.5])),
        "relaxed bernoulli of logits": D.RelaxedBernoulli(t([0.7]), logits=t([0.2, 0.5])),
        "relaxed one-hot": D.RelaxedOneHotCategorical(t([0.7]), p),
        "von mises": D.VonMises(t([0.0, 1.0, -2.0]), t([1.0, 1e-6, 8.0])),
        "weibull": D.Weibull(t([1.0, 2.0]), t([1.5, 0.5])),
    }


NAMES = ("normal", "normal of numbers", "categorical", "categorical of logits", "bernoulli", "bernoulli of logits",
         "multivariate normal", "multivariate normal of a factor", "uniform", "gamma", "beta", "dirichlet", "laplace",
         "log-normal", "exponential", "poisson", "student", "negative binomial", "binomial", "geometric", "multinomial",
         "one-hot", "independent", "mixture", "transformed", "half-normal", "gumbel", "cauchy", "chi2",
         "continuous bernoulli", "continuous bernoulli of logits", "fisher", "generalized pareto", "half-cauchy",
         "inverse gamma", "kumaraswamy", "lkj", "logistic normal", "low rank", "low rank batch", "pareto",
         "relaxed bernoulli", "relaxed bernoulli of logits", "relaxed one-hot", "von mises", "weibull")  # fmt: skip


def outcome(call):
    """A result as plain data, or the error's class and text."""
    try:
        value = call()
    except (NotImplementedError, ValueError, RuntimeError) as error:
        return type(error).__name__, " ".join(str(error).replace("mindtorch_v2", "torch").split())
    if hasattr(value, "tolist"):
        return tuple(value.shape), value.tolist()
    return str(value)


def close(a, b):
    """Whether two outcomes agree: shapes and texts exactly, numbers nearly."""
    if isinstance(a, tuple) and len(a) == 2 and isinstance(a[1], (list, float, int)):
        return tuple(a[0]) == tuple(b[0]) and torch.allclose(
            torch.tensor(a[1]), torch.tensor(b[1]), rtol=1e-5, atol=1e-6, equal_nan=True
        )
    return a == b


ATTRIBUTES = ("mean", "mode", "variance", "stddev", "batch_shape", "event_shape", "support")
METHODS = ("entropy", "enumerate_support", "perplexity", "__repr__")
DENSITIES = ("log_prob", "cdf")


def described(torch, name, points=None):
    """The facts that a distribution says of itself and of `points`, by default four samples of one seed."""
    distribution = make(torch, torch.distributions)[name]
    torch.manual_seed(0)
    sample = distribution.sample((4,))
    points = sample if points is None else points
    said = {"samples of one seed": outcome(lambda: sample), "points": points.tolist()}
    said |= {
        attribute: outcome(lambda attribute=attribute: getattr(distribution, attribute)) for attribute in ATTRIBUTES
    }
    said |= {method: outcome(lambda method=method: getattr(distribution, method)()) for method in METHODS}
    return said | {method: outcome(lambda method=method: getattr(distribution, method)(points)) for method in DENSITIES}


@pytest.mark.parametrize("name", NAMES)
def test_as_pytorch(name):
    theirs = answer(lambda theirs: described(theirs, name))
    mine = described(torch, name, torch.tensor(theirs["points"]))
    assert list(mine) == list(theirs)
    for what, said in theirs.items():
        if what != "points":
            assert close(mine[what], said), (what, mine[what], said)


@pytest.mark.parametrize("p", NAMES)
def test_divergences_as_pytorch(p):
    def divergences(torch):
        D = torch.distributions
        made = make(torch, D)
        return {q: outcome(lambda q=q: D.kl_divergence(made[p], made[q])) for q in NAMES}

    mine, theirs = divergences(torch), answer(divergences)
    for q, said in theirs.items():
        if said[0] == "RuntimeError" and "must be greater or equal to the number of dimensions" in said[1]:
            continue  # batches that PyTorch does not broadcast
        assert close(mine[q], said), (q, mine[q], said)


def test_gradients_flow_through_samples():
    torch.manual_seed(0)
    loc, scale = torch.zeros(3, requires_grad=True), torch.ones(3, requires_grad=True)
    ours.Normal(loc, scale).rsample((5,)).sum().backward()
    assert loc.grad.tolist() == [5, 5, 5]
    # The numbers drawn, as PyTorch 2.13 draws them.
    assert scale.grad.tolist() == pytest.approx([1.2527560, -0.0359561, -5.1857929], abs=1e-5)


@pytest.mark.parametrize(
    ("make_it", "kind", "text"),
    [
        (
            lambda: ours.Normal(0.0, -1.0),
            ValueError,
            "Expected parameter scale .* to satisfy the constraint GreaterThan",
        ),
        (lambda: ours.Categorical(), ValueError, "Either `probs` or `logits` must be specified, but not both."),
        (lambda: ours.Uniform(1.0, 0.0), ValueError, "Expected parameter low"),
        (lambda: ours.MultivariateNormal(torch.zeros(2)), ValueError, "Exactly one of covariance_matrix"),
        (lambda: ours.Independent(ours.Normal(0.0, 1.0), 1), ValueError, "reinterpreted_batch_ndims"),
        (lambda: ours.Bernoulli(0.5).log_prob(torch.tensor(2.0)), ValueError, "within the support"),
        (lambda: ours.kl_divergence(ours.Normal(0.0, 1.0), ours.Cauchy(0.0, 1.0)), NotImplementedError, "No KL"),
        (
            lambda: ours.kl_divergence(ours.Normal(0.0, 1.0), ours.Bernoulli(0.5)),
            NotImplementedError,
            "The cross KL-divergence between different exponential families",
        ),
    ],
)
def test_errors(make_it, kind, text):
    with pytest.raises(kind, match=text):
        make_it()


@pytest.mark.parametrize("name", ["positive", "simplex", "unit_interval", "real", "real_vector", "lower_cholesky"])
def test_transforms_reach_their_constraint(name):
    torch.manual_seed(0)
    constraint = getattr(ours.constraints, name)
    transform = ours.transform_to(constraint)
    y = transform(torch.randn(3, 3))
    assert bool(constraint.check(y).all())
    torch.testing.assert_close(transform(transform.inv(y)), y, rtol=1e-4, atol=1e-5)


def test_divergence_by_natural_parameters():
    """KL(N(0, 1) || N(1, 2)) = log 2 + (1 + 1) / 8 - 1/2, by the formula that serves every exponential family."""
    p = ours.Normal(torch.tensor(0.0), torch.tensor(1.0))
    q = ours.Normal(torch.tensor(1.0), torch.tensor(2.0))
    expected = pytest.approx(0.4431472, abs=1e-5)
    assert _kl_expfamily_expfamily(p, q).item() == expected
    assert ours.kl_divergence(p, q).item() == expected
