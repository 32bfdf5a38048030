"""Numbers that a program is called with: the second time that one differs the graph takes it as an input, as PyTorch's does."""

import pytest

import mindtorch_v2 as torch


@pytest.fixture(autouse=True)
def _from_the_start():
    torch.compiler.reset()
    yield
    torch.compiler.reset()


def _graphs(program, calls, **options):
    """The inputs of each graph that is made, by their classes; results are those of eager."""
    made = []

    def backend(module, examples):
        made.append(sorted(type(each).__name__.removeprefix("Fake") for each in examples))
        return module.forward

    compiled = torch.compile(program, backend=backend, **options)
    for args in calls:
        found, expected = compiled(*args), program(*args)
        if isinstance(expected, torch.Tensor):
            assert torch.equal(found, expected)
        else:
            assert found == expected
    return made


def _loop(x, n):
    for i in range(n):
        x = x + i
    return x


X = torch.arange(24.0).view(4, 6)
T, TN = ["Tensor"], ["Tensor", "int"]

# Program, values of its number, and the inputs of the graphs that PyTorch 2.13 makes of these calls.
PROGRAMS = {
    "factor": (lambda x, n: x * n, range(2, 9), [T, TN]),
    "0 and 1 have graphs of their own": (lambda x, n: x * n, range(3), [T, T, TN]),
    "end of a slice": (lambda x, n: x[:n].sum(0), range(2, 5), [T, TN]),
    "size": (lambda x, n: torch.zeros(n) + x.sum(), range(2, 9), [T, TN]),
    "a loop": (_loop, range(2, 6), [T, T, T, T]),
    "in a dictionary": (lambda x, d: x * d["n"], [{"n": i} for i in range(2, 9)], [T, TN]),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_as_many_graphs_as_in_pytorch(name):
    program, numbers, expected = PROGRAMS[name]
    assert _graphs(program, [(X, n) for n in numbers]) == expected


def test_floats_become_inputs_too():
    assert _graphs(lambda x, n: x * n, [(X, n / 2) for n in range(9)]) == [T, ["Tensor", "float"]]


def test_sizes_in_a_tuple():
    shapes = [(4, 6), (2, 12), (8, 3), (3, 8)]
    assert _graphs(lambda x, shape: x.reshape(shape), [(X, shape) for shape in shapes]) == [T, ["Tensor", "int", "int"]]


def test_numbers_that_are_computed_are_right_and_numbers():
    def program(x, n):
        return n + 1, n / 2, n // 2, -n, 2**n, max(n, 3), isinstance(n, int)

    _graphs(program, [(X, n) for n in (5, 7, 2, 4)])


def test_a_decision_holds_for_what_decides_the_same():
    calls = [(X, n) for n in (2, 3, 4, 9, 10, 11)]
    assert len(_graphs(lambda x, n: x + 1 if n > 4 else x - 1, calls)) == 3


def test_an_autograd_function_takes_it_too():
    class Scaled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, n):
            return x * n

        @staticmethod
        def backward(ctx, gradient):
            return gradient, None

    assert _graphs(Scaled.apply, [(X, n) for n in range(2, 5)]) == [T, TN]


def test_what_needs_to_know_the_number_takes_it_as_it_is():
    assert _graphs(lambda x, n: x * len("ab" * n), [(X, n) for n in range(2, 5)]) == [T, T, T]


def test_with_dynamic_sizes_integers_are_inputs_from_the_first_call():
    assert _graphs(lambda x, n: x * n, [(X, n) for n in range(2, 5)], dynamic=True) == [TN]


def test_without_dynamic_sizes_they_never_are():
    assert _graphs(lambda x, n: x * n, [(X, n) for n in range(2, 5)], dynamic=False) == [T, T, T]


def test_a_module_keeps_the_numbers_that_it_was_made_with():
    class Powers(torch.nn.Module):
        def forward(self, x):
            return x**self.n

    module, made = Powers(), []
    compiled = torch.compile(module, backend=lambda graph, examples: made.append(examples) or graph.forward)
    for module.n in (2, 3, 4):
        assert torch.equal(compiled(X), X**module.n)
    assert [len(each) for each in made] == [1, 1, 1]


def test_a_counter_that_the_program_writes():
    class Counter:
        def __init__(self):
            self.n = 2

        def step(self, x):
            self.n += 1
            return x * self.n

    counter = Counter()
    compiled = torch.compile(counter.step, backend="eager", fullgraph=True)
    assert [compiled(torch.ones(())).item() for _ in range(6)] == [3, 4, 5, 6, 7, 8]
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == 2
    assert counter.n == 8


def test_a_number_that_is_written_what_it_was_once_is_written_in_each_call():
    class Box:
        def __init__(self):
            self.total = 0

    def program(x, n):
        box.total += 5
        box.total = n + 1
        return x + 1

    box, totals = Box(), []
    compiled = torch.compile(program, backend="eager", fullgraph=True)
    for n in (1, 1, 2, 2, 1, 0, 1, 2):
        compiled(X, n)
        totals.append(box.total)
    assert totals == [2, 2, 3, 3, 2, 1, 2, 3]
