"""Numbers after a seed are those that PyTorch's CUDA kernels draw: recorded on an H200, whose sizes the emulated GPU has."""

import json
import pathlib

import pytest

import mindtorch_v2 as torch

RECORDED = json.loads((pathlib.Path(__file__).parents[2] / "snapshots" / "cuda_random.json").read_text())["numbers"]
DRAWS = {
    "rand": lambda n: torch.rand(n, device="cuda"),
    "rand float64": lambda n: torch.rand(n, device="cuda", dtype=torch.float64),
    "rand bfloat16": lambda n: torch.rand(n, device="cuda", dtype=torch.bfloat16),
    "rand float16": lambda n: torch.rand(n, device="cuda", dtype=torch.float16),
    "uniform_": lambda n: torch.empty(n, device="cuda").uniform_(-2, 3),
    "randn": lambda n: torch.randn(n, device="cuda"),
    "randn float64": lambda n: torch.randn(n, device="cuda", dtype=torch.float64),
    "normal_ bfloat16": lambda n: torch.empty(n, device="cuda", dtype=torch.bfloat16).normal_(1, 2),
    "randint": lambda n: torch.randint(0, 1000, (n,), device="cuda"),
    "randint wide": lambda n: torch.randint(0, 1 << 40, (n,), device="cuda"),
    "random_ int32": lambda n: torch.empty(n, device="cuda", dtype=torch.int32).random_(),
    "random_ float32": lambda n: torch.empty(n, device="cuda").random_(),
    "bernoulli_": lambda n: torch.empty(n, device="cuda").bernoulli_(0.3),
    "bernoulli": lambda n: torch.bernoulli(torch.full((n,), 0.3, device="cuda")),
    "exponential_": lambda n: torch.empty(n, device="cuda").exponential_(2.0),
    "cauchy_": lambda n: torch.empty(n, device="cuda").cauchy_(),
    "log_normal_": lambda n: torch.empty(n, device="cuda").log_normal_(),
    "geometric_": lambda n: torch.empty(n, device="cuda").geometric_(0.3),
    "dropout": lambda n: torch.nn.functional.dropout(torch.ones(n, device="cuda"), 0.3),
    "randperm": lambda n: torch.randperm(n, device="cuda"),
    "multinomial": lambda n: torch.multinomial(torch.ones(n, device="cuda"), 4),
}


def test_every_recorded_draw_is_tried():
    assert {name.rpartition(" ")[0] for name in RECORDED} == set(DRAWS)


@pytest.mark.parametrize("name", sorted(RECORDED))
def test_numbers_after_a_seed_are_those_of_pytorch(name):
    draw, n = DRAWS[name.rpartition(" ")[0]], int(name.rpartition(" ")[2])
    torch.manual_seed(11)
    first, second = draw(n).double(), draw(n).double()
    found = [*first[:4].tolist(), *first[-3:].tolist(), *second[:3].tolist()]
    assert found == pytest.approx(RECORDED[name], rel=2e-6, abs=1e-6)


def test_a_generator_of_its_own_is_drawn_from_and_moves_on():
    own = torch.Generator(device="cuda")
    own.manual_seed(11)
    assert torch.rand(10, device="cuda", generator=own)[:4].tolist() == pytest.approx(RECORDED["rand 10"][:4])
    state = own.get_state()
    again = torch.rand(5, device="cuda", generator=own)
    own.set_state(state)
    assert torch.equal(torch.rand(5, device="cuda", generator=own), again)


def test_a_generator_of_the_cpu_is_refused():
    with pytest.raises(RuntimeError, match="Expected a 'cuda' device type for generator but found 'cpu'"):
        torch.rand(3, device="cuda", generator=torch.Generator())


def test_a_recorded_graph_draws_anew_at_each_replay():
    graph = torch.cuda.CUDAGraph()
    torch.cuda.manual_seed(11)
    with torch.cuda.graph(graph):
        drawn = torch.rand(10, device="cuda")
    graph.replay()
    first = drawn.tolist()
    graph.replay()
    assert first[:4] == pytest.approx(RECORDED["rand 10"][:4])
    assert drawn.tolist()[:3] == pytest.approx(RECORDED["rand 10"][7:])
