"""The generator: same seed, same numbers, PyTorch's numbers. Expected values were drawn by PyTorch on the CPU."""

import pytest

import mindtorch_v2 as torch

RAND = [
    0.028979241847991943,
    0.4018985629081726,
    0.25984418392181396,
    0.3666413426399231,
]
RAND64 = [0.46640616040796923, 0.41437948768611854]
RANDN_SMALL = [0.0461304634809494, 0.4024028182029724, -1.0115290880203247]
RANDN_LARGE = [
    -0.3143523931503296,
    -0.6207640767097473,
    1.7455637454986572,
    -1.0988695621490479,
]
NORMAL = [10.108368873596191, 9.922550201416016, 9.314705848693848, 9.934040069580078]
RANDINT = [75, 71, 6, 65, 16, 64]
RANDINT32 = [-3, 0, 0, 4, -2, -4]
RANDPERM = [2, 6, 5, 0, 4, 3, 1, 7]
RANDOM40 = [508342954426, 517547833200, 947828256069]
BERNOULLI = [1.0, 0.0, 1.0, 1.0, 1.0, 0.0, 1.0, 0.0]
MULTINOMIAL = [2, 1, 1, 1, 1, 3]
MULTINOMIAL_DISTINCT = [1, 3, 2]
EXPONENTIAL = [0.13187482953071594, 0.041014011949300766, 0.31406015157699585]
UNIFORM = [-0.8964052200317383, -0.06372153759002686, 0.34761226177215576]
GEOMETRIC = [2.0, 2.0, 2.0]
LOG_NORMAL = [0.6273794174194336, 4.2168965339660645]
CAUCHY = [1.966827154159546, -0.20830987393856049]
LINEAR = [
    -0.5438879132270813,
    -0.11327777802944183,
    -0.27730804681777954,
    -0.15398931503295898,
    -0.5100303888320923,
    0.2316845804452896,
]
EMBEDDING = [
    -1.3892054557800293,
    -0.6207640767097473,
    -0.02416170760989189,
    -1.040229320526123,
]
CONV = [
    0.466511070728302,
    0.23994922637939453,
    -0.048282086849212646,
    -0.024269163608551025,
]


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(1234)


def test_uniform_bit_for_bit() -> None:
    assert torch.rand(4).tolist() == RAND
    assert torch.rand(2, dtype=torch.float64).tolist() == RAND64


def test_normal() -> None:
    assert torch.randn(3).tolist() == pytest.approx(RANDN_SMALL, rel=3e-7)
    assert torch.randn(16)[::5].tolist() == pytest.approx(RANDN_LARGE, rel=3e-7)
    assert torch.empty(4).normal_(10, 0.5).tolist() == pytest.approx(NORMAL, rel=3e-7)


def test_integers() -> None:
    assert torch.randint(0, 100, (6,)).tolist() == RANDINT
    assert torch.randint(-5, 5, (6,), dtype=torch.int32).tolist() == RANDINT32
    assert torch.randperm(8).tolist() == RANDPERM
    assert torch.empty(3, dtype=torch.int64).random_(0, 2**40).tolist() == RANDOM40


def test_choices() -> None:
    assert torch.bernoulli(torch.full((8,), 0.4)).tolist() == BERNOULLI
    weights = torch.tensor([0.1, 0.2, 0.3, 0.4])
    assert torch.multinomial(weights, 6, replacement=True).tolist() == MULTINOMIAL
    assert torch.multinomial(weights, 3).tolist() == MULTINOMIAL_DISTINCT


def test_other_distributions() -> None:
    assert torch.empty(3).exponential_(2.0).tolist() == pytest.approx(EXPONENTIAL, rel=3e-7)
    assert torch.empty(3).uniform_(-1, 1).tolist() == UNIFORM
    assert torch.empty(3).geometric_(0.3).tolist() == GEOMETRIC
    assert torch.empty(2).log_normal_().tolist() == pytest.approx(LOG_NORMAL, rel=1e-6)
    assert torch.empty(2).cauchy_().tolist() == pytest.approx(CAUCHY, rel=1e-6)


def test_fresh_layers_have_pytorchs_weights() -> None:
    assert torch.nn.Linear(3, 2).weight.flatten().tolist() == LINEAR
    assert torch.nn.Embedding(4, 4).weight[1].tolist() == pytest.approx(EMBEDDING, rel=3e-7)
    assert torch.nn.Conv2d(1, 1, 2).weight.flatten().tolist() == CONV


def test_state_can_be_saved_and_restored() -> None:
    torch.randn(7)
    state = torch.get_rng_state()
    first = torch.randn(20).tolist(), torch.rand(3).tolist()
    torch.set_rng_state(state)
    assert (torch.randn(20).tolist(), torch.rand(3).tolist()) == first
    with torch.random.fork_rng():
        torch.rand(100)
    assert state.dtype == torch.uint8
    assert state.numel() == 5056


def test_generators_are_independent() -> None:
    before = torch.get_rng_state()
    generator = torch.Generator().manual_seed(1234)
    assert torch.rand(4, generator=generator).tolist() == RAND
    assert torch.equal(torch.get_rng_state(), before)
    assert generator.initial_seed() == 1234
    assert torch.initial_seed() == 1234
    again = torch.Generator()
    again.set_state(generator.get_state())
    assert torch.rand(1, generator=again).item() == torch.rand(1, generator=generator).item()


@pytest.mark.parametrize(
    ("act", "text"),
    [
        (
            lambda: torch.randint(5, 5, (1,)),
            "random_ expects 'from' to be less than 'to'",
        ),
        (
            lambda: torch.bernoulli(torch.tensor([1.5])),
            "Expected p_in >= 0 && p_in <= 1",
        ),
        (
            lambda: torch.multinomial(torch.tensor([0.0, 0.0]), 1),
            "invalid multinomial distribution",
        ),
        (
            lambda: torch.multinomial(torch.ones(2), 3),
            "cannot sample n_sample > prob_dist.size",
        ),
        (lambda: torch.empty(1).normal_(0, -1), "normal expects std >= 0.0"),
        (lambda: torch.empty(1).uniform_(1, 0), "uniform_ expects to return a"),
    ],
)
def test_bad_parameters_are_named(act: object, text: str) -> None:
    with pytest.raises(RuntimeError, match=text):
        act()
