"""`torch.distributions`: probability distributions to sample from and to differentiate."""

from mindtorch_v2.distributions import constraints, transforms
from mindtorch_v2.distributions.bernoulli import Bernoulli
from mindtorch_v2.distributions.beta import Beta
from mindtorch_v2.distributions.binomial import Binomial
from mindtorch_v2.distributions.categorical import Categorical
from mindtorch_v2.distributions.cauchy import Cauchy
from mindtorch_v2.distributions.chi2 import Chi2
from mindtorch_v2.distributions.constraint_registry import biject_to, transform_to
from mindtorch_v2.distributions.continuous_bernoulli import ContinuousBernoulli
from mindtorch_v2.distributions.dirichlet import Dirichlet
from mindtorch_v2.distributions.distribution import Distribution
from mindtorch_v2.distributions.exp_family import ExponentialFamily
from mindtorch_v2.distributions.exponential import Exponential
from mindtorch_v2.distributions.fishersnedecor import FisherSnedecor
from mindtorch_v2.distributions.gamma import Gamma
from mindtorch_v2.distributions.generalized_pareto import GeneralizedPareto
from mindtorch_v2.distributions.geometric import Geometric
from mindtorch_v2.distributions.gumbel import Gumbel
from mindtorch_v2.distributions.half_cauchy import HalfCauchy
from mindtorch_v2.distributions.half_normal import HalfNormal
from mindtorch_v2.distributions.independent import Independent
from mindtorch_v2.distributions.inverse_gamma import InverseGamma
from mindtorch_v2.distributions.kl import kl_divergence, register_kl
from mindtorch_v2.distributions.kumaraswamy import Kumaraswamy
from mindtorch_v2.distributions.laplace import Laplace
from mindtorch_v2.distributions.lkj_cholesky import LKJCholesky
from mindtorch_v2.distributions.log_normal import LogNormal
from mindtorch_v2.distributions.logistic_normal import LogisticNormal
from mindtorch_v2.distributions.lowrank_multivariate_normal import LowRankMultivariateNormal
from mindtorch_v2.distributions.mixture_same_family import MixtureSameFamily
from mindtorch_v2.distributions.multinomial import Multinomial
from mindtorch_v2.distributions.multivariate_normal import MultivariateNormal
from mindtorch_v2.distributions.negative_binomial import NegativeBinomial
from mindtorch_v2.distributions.normal import Normal
from mindtorch_v2.distributions.one_hot_categorical import OneHotCategorical, OneHotCategoricalStraightThrough
from mindtorch_v2.distributions.pareto import Pareto
from mindtorch_v2.distributions.poisson import Poisson
from mindtorch_v2.distributions.relaxed_bernoulli import RelaxedBernoulli
from mindtorch_v2.distributions.relaxed_categorical import RelaxedOneHotCategorical
from mindtorch_v2.distributions.studentT import StudentT
from mindtorch_v2.distributions.transformed_distribution import TransformedDistribution
from mindtorch_v2.distributions.uniform import Uniform
from mindtorch_v2.distributions.von_mises import VonMises
from mindtorch_v2.distributions.weibull import Weibull
from mindtorch_v2.distributions.wishart import Wishart
from mindtorch_v2.distributions.transforms import (
    AbsTransform,
    AffineTransform,
    CatTransform,
    ComposeTransform,
    CorrCholeskyTransform,
    CumulativeDistributionTransform,
    ExpTransform,
    IndependentTransform,
    LowerCholeskyTransform,
    PositiveDefiniteTransform,
    PowerTransform,
    ReshapeTransform,
    SigmoidTransform,
    SoftmaxTransform,
    SoftplusTransform,
    StackTransform,
    StickBreakingTransform,
    TanhTransform,
    Transform,
    identity_transform,
)

__all__ = [
    "AbsTransform",
    "AffineTransform",
    "Bernoulli",
    "Beta",
    "Binomial",
    "CatTransform",
    "Categorical",
    "Cauchy",
    "Chi2",
    "ComposeTransform",
    "ContinuousBernoulli",
    "CorrCholeskyTransform",
    "CumulativeDistributionTransform",
    "Dirichlet",
    "Distribution",
    "ExpTransform",
    "Exponential",
    "ExponentialFamily",
    "FisherSnedecor",
    "Gamma",
    "GeneralizedPareto",
    "Geometric",
    "Gumbel",
    "HalfCauchy",
    "HalfNormal",
    "Independent",
    "IndependentTransform",
    "InverseGamma",
    "Kumaraswamy",
    "LKJCholesky",
    "Laplace",
    "LogNormal",
    "LogisticNormal",
    "LowRankMultivariateNormal",
    "LowerCholeskyTransform",
    "MixtureSameFamily",
    "Multinomial",
    "MultivariateNormal",
    "NegativeBinomial",
    "Normal",
    "OneHotCategorical",
    "OneHotCategoricalStraightThrough",
    "Pareto",
    "Poisson",
    "PositiveDefiniteTransform",
    "PowerTransform",
    "RelaxedBernoulli",
    "RelaxedOneHotCategorical",
    "ReshapeTransform",
    "SigmoidTransform",
    "SoftmaxTransform",
    "SoftplusTransform",
    "StackTransform",
    "StickBreakingTransform",
    "StudentT",
    "TanhTransform",
    "Transform",
    "TransformedDistribution",
    "Uniform",
    "VonMises",
    "Weibull",
    "Wishart",
    "biject_to",
    "constraints",
    "identity_transform",
    "kl_divergence",
    "register_kl",
    "transform_to",
    "transforms",
]
