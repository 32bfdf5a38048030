"""Small parts of the torch namespace: what the machine is, memory that shows when it is read, denormal numbers."""

import gc
import math
import subprocess
import sys

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.utils import collect_env, deterministic


def test_the_machine_is_described():
    info = collect_env.get_env_info()
    assert info.is_cuda_available == "False" and "numpy==" in info.pip_packages
    text = collect_env.pretty_str(info)
    assert text.startswith(f"PyTorch version: {torch.__version__} (mindtorch_v2)\n")
    assert collect_env.run(["no-such-program-here"])[0] == 127
    assert "CPU capability usage" in torch.__config__.show()
    assert f"at::get_num_threads() : {torch.get_num_threads()}" in torch.__config__.parallel_info()


def test_the_machine_is_described_as_a_program():
    done = subprocess.run(
        [sys.executable, "-m", "mindtorch_v2", "-m", "torch.utils.collect_env"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith("Collecting environment information...\nPyTorch version: ")


@pytest.fixture
def deterministic_algorithms():
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(False)
    deterministic.fill_uninitialized_memory = True


def test_new_memory_is_filled(deterministic_algorithms):
    # The values are PyTorch 2.13's.
    assert torch.empty(3).isnan().all() and torch.empty_strided((2, 2), (1, 2), dtype=torch.float64).isnan().all()
    assert torch.ones(3).new_empty(2).isnan().all() and torch.empty_like(torch.ones(2)).isnan().all()
    number = torch.empty((), dtype=torch.complex64).item()
    assert math.isnan(number.real) and number.imag == 0
    for dtype in (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64):
        assert torch.empty(2, dtype=dtype).tolist() == [torch.iinfo(dtype).max] * 2
    assert torch.empty(2, dtype=torch.bool).tolist() == [True, True]
    deterministic.fill_uninitialized_memory = False
    assert not deterministic.fill_uninitialized_memory
    with pytest.raises(RuntimeError, match="expected a bool, but got int"):
        deterministic.fill_uninitialized_memory = 1


def test_denormal_numbers():
    smallest = torch.full((100,), 1e-310, dtype=torch.float64)
    try:
        if not torch.set_flush_denormal(True):
            pytest.skip("this processor has no such mode")
        assert (smallest * 1.0).sum() == 0
    finally:
        torch.set_flush_denormal(False)
    assert (smallest * 1.0 != 0).all()


def test_dense_tensors_are_dense_already():
    x = torch.ones(2)
    assert x.to_dense() is x and x.dequantize() is x
    assert x.to_dense(torch.float64).dtype == torch.float64 and x.half().dequantize().dtype == torch.float32


@pytest.mark.parametrize(
    ("equation", "shapes", "strides"),
    [  # PyTorch 2.13's
        ("ij,kj->ki", [(2, 3), (2, 3)], (2, 1)),
        ("bij,bjk->kbi", [(2, 3, 4), (2, 4, 5)], (3, 15, 1)),
        ("abc,cd->dab", [(2, 3, 4), (4, 5)], (6, 3, 1)),
        ("ij,jk->ik", [(2, 3), (3, 4)], (4, 1)),
    ],
)
def test_results_of_einsum_lie_as_those_of_pytorch(equation, shapes, strides):
    assert torch.einsum(equation, *(torch.ones(shape) for shape in shapes)).stride() == strides


def test_open_autocast_blocks_are_counted():
    assert torch.autocast_increment_nesting() == 1
    try:
        assert torch.autocast_increment_nesting() == 2
        assert torch.autocast_decrement_nesting() == 1
    finally:
        assert torch.autocast_decrement_nesting() == 0


def test_a_profile_is_entered_as_itself():
    made = torch.autograd.profiler.profile()
    with made as entered:
        torch.ones(2)
    assert entered is made
    with torch.autograd.profiler.profile(enabled=False) as entered:
        torch.ones(2)
    assert entered is None
    assert torch.autograd.kineto_available() is False
    with torch.autograd.profiler.profile(use_cpu=True) as both:
        torch.ones(2).exp()
    assert [event.key for event in both.function_events] == ["aten::ones", "aten::exp"]


def test_tables_of_profiles_have_a_hundred_lines():
    from mindtorch_v2.autograd.profiler_util import EventList, FunctionEvent

    events = EventList([FunctionEvent(i, f"op{i}", 1, float(i), i + 1.0) for i in range(150)])
    assert sum(line.lstrip().startswith("op") for line in events.table().splitlines()) == 100


def test_the_default_that_every_group_must_give():
    from mindtorch_v2.optim.optimizer import Optimizer, required

    class Own(Optimizer):
        def __init__(self, params, lr=required):
            super().__init__(params, {"lr": lr})

    assert repr(required) == "<required parameter>"
    p = torch.ones(2, requires_grad=True)
    with pytest.raises(ValueError, match="didn't specify a value of required optimization parameter lr"):
        Own([p])
    assert Own([{"params": [p], "lr": 0.5}]).param_groups[0]["lr"] == 0.5


def test_angles_at_the_origin_have_no_slope():
    y, x = torch.zeros(2, requires_grad=True), torch.tensor([0.0, 2.0], requires_grad=True)
    torch.atan2(y, x).sum().backward()
    assert y.grad.tolist() == [0.0, 0.5]
    assert x.grad.tolist() == [0.0, 0.0]


_DISTRIBUTIONS = {
    "Bernoulli": lambda D: D.Bernoulli(torch.tensor(0.3)),
    "Beta": lambda D: D.Beta(torch.tensor(1.0), torch.tensor(2.0)),
    "Binomial": lambda D: D.Binomial(3, torch.tensor(0.3)),
    "Categorical": lambda D: D.Categorical(torch.ones(3)),
    "Cauchy": lambda D: D.Cauchy(torch.tensor(0.0), torch.tensor(1.0)),
    "ContinuousBernoulli": lambda D: D.ContinuousBernoulli(torch.tensor(0.3)),
    "Dirichlet": lambda D: D.Dirichlet(torch.ones(3)),
    "Exponential": lambda D: D.Exponential(torch.tensor(1.0)),
    "FisherSnedecor": lambda D: D.FisherSnedecor(torch.tensor(1.0), torch.tensor(2.0)),
    "Gamma": lambda D: D.Gamma(torch.tensor(1.0), torch.tensor(2.0)),
    "GeneralizedPareto": lambda D: D.GeneralizedPareto(torch.tensor(0.0), torch.tensor(1.0), torch.tensor(0.1)),
    "Geometric": lambda D: D.Geometric(torch.tensor(0.3)),
    "Gumbel": lambda D: D.Gumbel(torch.tensor(0.0), torch.tensor(1.0)),
    "HalfCauchy": lambda D: D.HalfCauchy(torch.tensor(1.0)),
    "HalfNormal": lambda D: D.HalfNormal(torch.tensor(1.0)),
    "Independent": lambda D: D.Independent(D.Normal(torch.zeros(3), torch.ones(3)), 1),
    "InverseGamma": lambda D: D.InverseGamma(torch.tensor(1.0), torch.tensor(2.0)),
    "Kumaraswamy": lambda D: D.Kumaraswamy(torch.tensor(1.0), torch.tensor(2.0)),
    "LKJCholesky": lambda D: D.LKJCholesky(3, torch.tensor(1.0)),
    "Laplace": lambda D: D.Laplace(torch.tensor(0.0), torch.tensor(1.0)),
    "LogNormal": lambda D: D.LogNormal(torch.tensor(0.0), torch.tensor(1.0)),
    "LogisticNormal": lambda D: D.LogisticNormal(torch.zeros(3), torch.ones(3)),
    "LowRankMultivariateNormal": lambda D: D.LowRankMultivariateNormal(torch.zeros(3), torch.ones(3, 1), torch.ones(3)),
    "MixtureSameFamily": lambda D: D.MixtureSameFamily(D.Categorical(torch.ones(3)), D.Normal(torch.zeros(3), 1.0)),
    "Multinomial": lambda D: D.Multinomial(4, torch.ones(3)),
    "MultivariateNormal": lambda D: D.MultivariateNormal(torch.zeros(3), torch.eye(3)),
    "NegativeBinomial": lambda D: D.NegativeBinomial(3, torch.tensor(0.3)),
    "Normal": lambda D: D.Normal(torch.tensor(0.0), torch.tensor(1.0)),
    "OneHotCategorical": lambda D: D.OneHotCategorical(torch.ones(3)),
    "Pareto": lambda D: D.Pareto(torch.tensor(1.0), torch.tensor(1.0)),
    "Poisson": lambda D: D.Poisson(torch.tensor(1.0)),
    "RelaxedBernoulli": lambda D: D.RelaxedBernoulli(torch.tensor(1.0), torch.tensor(0.3)),
    "RelaxedOneHotCategorical": lambda D: D.RelaxedOneHotCategorical(torch.tensor(1.0), torch.ones(3)),
    "StudentT": lambda D: D.StudentT(torch.tensor(1.0)),
    "Uniform": lambda D: D.Uniform(torch.tensor(0.0), torch.tensor(1.0)),
    "VonMises": lambda D: D.VonMises(torch.tensor(0.0), torch.tensor(1.0)),
    "Weibull": lambda D: D.Weibull(torch.tensor(1.0), torch.tensor(1.0)),
    "Wishart": lambda D: D.Wishart(torch.tensor(3.0), torch.eye(3)),
}


@pytest.mark.parametrize("name", _DISTRIBUTIONS)
def test_expanded_sizes_may_be_a_list(name):
    made = _DISTRIBUTIONS[name](torch.distributions)
    wide = made.expand([2, 3])
    assert type(wide) is type(made)
    assert (wide.batch_shape, wide.event_shape) == (torch.Size([2, 3]), made.event_shape)
    assert isinstance(wide.batch_shape, torch.Size)
    sample = wide.sample([4])
    assert sample.shape == (4, 2, 3, *made.event_shape)
    torch.testing.assert_close(wide.log_prob(sample)[1, 1, 2], made.log_prob(sample[1, 1, 2]))


def test_the_import_leaves_the_garbage_collector_as_it_was():
    assert gc.isenabled()
    for before in ("enable", "disable"):
        program = f"import gc; gc.{before}(); import mindtorch_v2; print(gc.isenabled())"
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        assert done.stdout.split() == [str(before == "enable")]
