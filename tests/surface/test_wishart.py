"""The Wishart distribution: PyTorch 2.13's values, and samples for the same seed."""

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.distributions import Wishart, kl_divergence

FACTOR = [[1.0, 0, 0], [0.5, 2, 0], [0.3, 0.1, 1.5]]


@pytest.fixture
def wishart():
    return Wishart(torch.tensor([4.5, 6.0]).double(), scale_tril=torch.tensor(FACTOR, dtype=torch.float64))


def test_properties(wishart):
    assert repr(wishart) == "Wishart(scale_tril: torch.Size([2, 3, 3]), df: torch.Size([2]))"
    assert (wishart.batch_shape, wishart.event_shape) == ((2,), (3, 3))
    assert wishart.mode[1].flatten().tolist() == pytest.approx([2.0, 1.0, 0.6, 1.0, 8.5, 0.7, 0.6, 0.7, 4.7])
    assert wishart.variance[0, 0].tolist() == pytest.approx([9.0, 20.25, 10.98])
    assert wishart.entropy().tolist() == pytest.approx([16.814484477557727, 18.199531806996898])
    value = torch.eye(3).double() * 3 + 0.2
    assert wishart.log_prob(value).tolist() == pytest.approx([-13.226252748310749, -14.860764814056845])
    again = Wishart(wishart.df, precision_matrix=wishart.precision_matrix)
    assert torch.allclose(again.scale_tril, wishart.scale_tril)
    assert wishart.expand((3, 2)).sample().shape == (3, 2, 3, 3)


def test_samples(wishart):
    torch.manual_seed(1)
    second = wishart.rsample((2,))[1]
    assert second[0, 0].tolist() == pytest.approx([2.497993171463259, -2.264585620243591, 1.403643723039464], rel=1e-12)
    torch.manual_seed(1)
    wishart.rsample((2,))
    assert torch.rand(1).item() == pytest.approx(0.6547, abs=1e-4)


def test_divergence(wishart):
    """Against the mean of the log ratio; PyTorch's own formula gives negative numbers."""
    other = Wishart(torch.tensor(7.0).double(), torch.eye(3).double() * 2)
    sample = wishart.sample((20000,))
    ratio = (wishart.log_prob(sample) - other.log_prob(sample)).mean(0)
    assert kl_divergence(wishart, other).tolist() == pytest.approx(ratio.tolist(), rel=0.05)
    assert kl_divergence(other, other).item() == pytest.approx(0, abs=1e-12)


def test_bad_arguments():
    with pytest.raises(ValueError, match=r"Value of df=1.0 expected to be greater than ndim - 1 = 1."):
        Wishart(torch.tensor(1.0), torch.eye(2))
    with pytest.raises(AssertionError, match="Exactly one of covariance_matrix or precision_matrix or scale_tril"):
        Wishart(torch.tensor(3.0))
    with pytest.raises(ValueError, match="scale_tril must be at least two-dimensional"):
        Wishart(torch.tensor(3.0), torch.ones(2))


def test_gamma_samples_are_pytorchs():
    torch.manual_seed(1)
    drawn = torch._standard_gamma(torch.tensor([2.25, 3.0, 0.3], dtype=torch.float64))
    assert drawn.tolist() == [2.9858014213044957, 3.1267327101032967, 0.13889184592907441]
    drawn = torch._standard_gamma(torch.tensor([2.25, 3.0, 0.3]))
    assert drawn.tolist() == [3.068866014480591, 1.1527080535888672, 0.014545268379151821]
