"""Programs that are called with many sizes: after a few of them one set of graphs serves all, and results stay those of eager."""

import copy

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2._dynamo.utils import counters
from mindtorch_v2._lowered.open_arguments import Arguments, form_of
from mindtorch_v2._sizes.templates import NoTemplate, Numbers, filled, fitted

F = nn.functional


@pytest.fixture(autouse=True)
def _from_the_start():
    torch.compiler.reset()
    counters.clear()
    yield
    torch.compiler.reset()


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(16, 48), nn.Linear(16, 16)
        self.norm, self.up, self.down = nn.LayerNorm(16), nn.Linear(16, 32), nn.Linear(32, 16)

    def forward(self, x, keep=None):
        q, k, v = self.qkv(self.norm(x)).chunk(3, -1)
        q, k, v = (each.unflatten(-1, (4, 4)).transpose(1, 2) for each in (q, k, v))
        weights = q @ k.transpose(-1, -2) / 2.0
        if keep is not None:
            weights = weights.masked_fill(~keep, float("-inf"))
        x = x + self.out((weights.softmax(-1) @ v).transpose(1, 2).flatten(2))
        return x + self.down(F.gelu(self.up(x)))


def _graphs():
    return counters["inductor"]["graphs"]


def _compare(module, calls, training):
    """Results and gradients of the compiled module are those of eager; gives how many graphs were compiled after each call."""
    eager, made = copy.deepcopy(module), []
    compiled = torch.compile(module)
    for args in calls:
        results = []
        for run, own in ((compiled, module), (eager, eager)):
            own.zero_grad()
            with torch.set_grad_enabled(training):
                result = run(*args)
            if training:
                result.square().mean().backward()
            results.append([result.detach(), *(p.grad for p in own.parameters() if training)])
        for mine, theirs in zip(*results, strict=True):
            torch.testing.assert_close(mine, theirs, rtol=1e-5, atol=1e-5)
        made.append(_graphs())
    return made


@pytest.mark.parametrize("training", [True, False])
def test_one_set_of_graphs_for_all_lengths(training):
    lengths = [8, 9, 10, 30, 5, 3, 2, 77, 64, 31]
    made = _compare(Layer(), [(torch.randn(2, n, 16),) for n in lengths], training)
    assert (
        made[2:] == [6 if training else 3] * 8
    )  # the first has sizes that are fixed; two more are compiled, and opened


@pytest.mark.parametrize("training", [True, False])
def test_two_sizes_and_a_mask_of_the_second(training):
    sizes = [(2, 8), (3, 9), (4, 11), (7, 30), (3, 3), (2, 2), (5, 40)]
    calls = [(torch.randn(b, n, 16), torch.ones(n, n, dtype=torch.bool).tril()) for b, n in sizes]
    made = _compare(Layer(), calls, training)
    assert made[2:] == [made[2]] * 5


def test_a_size_of_1_has_a_graph_of_its_own():
    made = _compare(Layer(), [(torch.randn(2, n, 16),) for n in (8, 9, 10, 11, 1, 12)], True)
    assert made[2] == made[3] < made[4] == made[5]


def test_dropout_draws_what_it_draws_in_eager():
    module = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 2))
    eager, compiled = copy.deepcopy(module), torch.compile(module)
    for n in (4, 5, 6, 9, 30):
        x, found = torch.randn(n, 6), []
        for run in (eager, compiled):
            torch.manual_seed(n)
            found.append((run(x).detach(), torch.rand(1)))
        torch.testing.assert_close(found[0], found[1])
    assert _graphs() == 6


def test_running_statistics_are_written():
    module = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU())
    eager, compiled = copy.deepcopy(module), torch.compile(module)
    for n in (4, 5, 6, 9, 30):
        x = torch.randn(n, 6)
        torch.testing.assert_close(compiled(x), eager(x))
        torch.testing.assert_close(module[1].running_var, eager[1].running_var)
    assert _graphs() == 6


def test_a_cache_that_grows_by_one():
    """The sizes of both keep their distance: one is the other and 1."""

    def step(past, x):
        whole = torch.cat([past, x], 1)
        return whole, F.gelu(whole * 2).mean(1)

    compiled = torch.compile(step)
    past = other = torch.randn(2, 4, 8)
    for _ in range(12):
        x = torch.randn(2, 1, 8)
        (past, mine), (other, theirs) = compiled(past, x), step(other, x)
        torch.testing.assert_close(mine, theirs)
    assert torch.equal(past, other)
    assert _graphs() == 3


def test_numbers_that_are_sizes():
    def program(x, n):
        return F.gelu(x[:, :n] * 2) + torch.arange(n)

    compiled, x = torch.compile(program), torch.randn(3, 40)
    for n in (4, 5, 7, 30, 12, 2):
        torch.testing.assert_close(compiled(x, n), program(x, n))
    assert _graphs() <= 3


def test_a_float_that_differs_in_each_call():
    def program(x, rate):
        return F.gelu(x.abs() * rate) * 2

    compiled, x = torch.compile(program), torch.randn(3, 40)
    for rate in (0.5, 0.25, -3.0, 1e-3, 7.5, 0.0, 1.0):
        torch.testing.assert_close(compiled(x, rate), program(x, rate))
    assert _graphs() == 4  # that of 0.0 among them
    assert compiled(x, -0.0).signbit().equal(program(x, -0.0).signbit())


def test_numbers_of_which_others_are_computed_are_not_compiled_for_ever():
    def program(x, step):
        return F.gelu(x / (1 - 0.9**step)) * 2

    compiled, x = torch.compile(program), torch.randn(3, 40)
    for step in range(1, 20):
        torch.testing.assert_close(compiled(x, step), program(x, step))
    assert _graphs() <= 7


def test_what_differs_by_more_than_numbers_is_compiled_by_itself_and_then_runs_as_it_is():
    def program(x):
        return F.gelu(x.unfold(0, 2, 3).sum() + F.pad(x, (0, -x.shape[0] % 4)).view(4, -1) * 2).sum(0)

    compiled = torch.compile(program)
    for n in (8, 9, 11, 14, 30, 21, 33, 47, 50, 61):
        x = torch.randn(n)
        torch.testing.assert_close(compiled(x), program(x))


def test_half_a_size_rounded_down_and_up():
    def program(x):
        n = x.shape[0]
        return F.gelu(x[: n // 2] * 2).sum() - F.gelu(x[: (n + 1) // 2] * 3).sum()

    compiled = torch.compile(program)
    for n in (16, 32, 64, 128, 33, 35, 50, 2, 3):
        x = torch.randn(n)
        torch.testing.assert_close(compiled(x), program(x))


def test_templates():
    numbers = Numbers({"n": (3, 5, 8, 11), "m": (4, 9, 7, 20)})
    template = fitted(
        [{"a": [n, (n * m, "x")], "b": slice(0, n + 2)} for n, m in ((3, 4), (5, 9), (8, 7), (11, 20))], numbers
    )
    assert filled(template, numbers.at({"n": 100, "m": 6}).__getitem__) == {"a": [100, (600, "x")], "b": slice(0, 102)}
    with pytest.raises(NoTemplate, match="no expression of the sizes"):
        fitted([1, 7, 2, 30], numbers)
    with pytest.raises(NoTemplate, match="'x' became 'y'"):
        fitted(["x", "y", "x", "x"], numbers)
    with pytest.raises(NoTemplate, match="int became float"):
        fitted([1, 2.0, 1, 1], numbers)


def test_numbers_told_by_the_first_samples_are_known_or_refused():
    numbers = Numbers({"n": (2, 4, 5, 9), "m": (6, 3, 7, 8)})
    fitted([[n, n * n, n * m] for n, m in ((2, 6), (4, 3), (5, 7), (9, 8))], numbers)
    numbers.by_first(2)
    assert numbers.at({"n": 7, "m": 1})[numbers.place((4, 16))] == 49
    with pytest.raises(NoTemplate, match="several expressions of the sizes, or none"):
        numbers.place((3, 9))
    assert fitted([(5, 5), (5, 5)], numbers) == (5, 5)
    with pytest.raises(NoTemplate, match="12 may be the same for all sizes, or an expression"):
        fitted([12, 12], numbers)  # the product of both, for all that is known


def test_arguments_of_other_sizes():
    kinds = [[form_of(torch.empty(b, 3, n)), form_of(torch.empty(n, n).T), 7] for b, n in ((2, 5), (4, 6))]
    arguments = Arguments(kinds, together=False)
    assert arguments.values == {"s0": (2, 4), "s1": (5, 6)}
    assert arguments.forms_at({"s0": 9, "s1": 8}) == [((9, 3, 8), (24, 8, 1)), ((8, 8), (1, 8)), 7]
    assert arguments.symbols_of([((9, 3, 8), (24, 8, 1)), ((8, 8), (1, 8)), 7]) == {"s0": 9, "s1": 8}
    assert arguments.symbols_of([((9, 3, 8), (24, 8, 1)), ((8, 8), (8, 1)), 7]) is None
    together = Arguments([[form_of(torch.empty(n)), form_of(torch.empty(n - 3))] for n in (6, 8)], together=True)
    assert together.values == {"s0": (6, 8)} and together.forms_at({"s0": 9}) == [((9,), (1,)), ((6,), (1,))]
    assert together.symbols_of([((4,), (1,)), ((1,), (1,))]) is None
    with pytest.raises(NoTemplate, match="a size of 0 or 1"):
        together.forms_at({"s0": 2})
    with pytest.raises(NoTemplate, match="not dense"):
        Arguments([[form_of(torch.empty(n, 4)[:, :2])] for n in (3, 4)], together=False)
