"""`torch.distributions`: probability distributions to sample from and to differentiate."""

from mindtorch_v2.distributions import constraints, transforms
from mindtorch_v2.distributions.bernoulli import Bernoulli
from mindtorch_v2.distributions.beta import Beta
from mindtorch_v2.distributions.binomial import Binomial
from mindtorch_v2.distributions.categorical import Categorical
from mindtorch_v2.distributions.cauchy import Cauchy
from mindtorch_v2.distributions.chi2 import Chi2
from mindtorch_v2.distributions.constraint_registry import biject_to, transform_to
from mindtorch_v2.distributions.dirichlet import Dirichlet
from mindtorch_v2.distributions.distribution import Distribution
from mindtorch_v2.distributions.exp_family import ExponentialFamily
from mindtorch_v2.distributions.exponential import Exponential
from mindtorch_v2.distributions.gamma import Gamma
from mindtorch_v2.distributions.geometric import Geometric
from mindtorch_v2.distributions.gumbel import Gumbel
from mindtorch_v2.distributions.half_normal import HalfNormal
from mindtorch_v2.distributions.independent import Independent
from mindtorch_v2.distributions.kl import kl_divergence, register_kl
from mindtorch_v2.distributions.laplace import Laplace
from mindtorch_v2.distributions.log_normal import LogNormal
from mindtorch_v2.distributions.mixture_same_family import MixtureSameFamily
from mindtorch_v2.distributions.multinomial import Multinomial
from mindtorch_v2.distributions.multivariate_normal import MultivariateNormal
from mindtorch_v2.distributions.negative_binomial import NegativeBinomial
from mindtorch_v2.distributions.normal import Normal
from mindtorch_v2.distributions.one_hot_categorical import OneHotCategorical, OneHotCategoricalStraightThrough
from mindtorch_v2.distributions.poisson import Poisson
from mindtorch_v2.distributions.studentT import StudentT
from mindtorch_v2.distributions.transformed_distribution import TransformedDistribution
from mindtorch_v2.distributions.uniform import Uniform
from mindtorch_v2.distributions.transforms import (
    AbsTransform,
    AffineTransform,
    ComposeTransform,
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
    "Categorical",
    "Cauchy",
    "Chi2",
    "ComposeTransform",
    "CumulativeDistributionTransform",
    "Dirichlet",
    "Distribution",
    "ExpTransform",
    "Exponential",
    "ExponentialFamily",
    "Gamma",
    "Geometric",
    "Gumbel",
    "HalfNormal",
    "Independent",
    "IndependentTransform",
    "Laplace",
    "LogNormal",
    "LowerCholeskyTransform",
    "MixtureSameFamily",
    "Multinomial",
    "MultivariateNormal",
    "NegativeBinomial",
    "Normal",
    "OneHotCategorical",
    "OneHotCategoricalStraightThrough",
    "Poisson",
    "PositiveDefiniteTransform",
    "PowerTransform",
    "ReshapeTransform",
    "SigmoidTransform",
    "SoftmaxTransform",
    "SoftplusTransform",
    "StickBreakingTransform",
    "StudentT",
    "TanhTransform",
    "Transform",
    "TransformedDistribution",
    "Uniform",
    "biject_to",
    "constraints",
    "identity_transform",
    "kl_divergence",
    "register_kl",
    "transform_to",
    "transforms",
]
