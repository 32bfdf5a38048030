"""Programs with sizes that values decide: exported, decomposed, saved and loaded, they serve other values and other sizes."""

import io

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.export import Dim


class Program(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 2)

    def forward(self, x, k):
        places = x.nonzero()
        return x[x > 0] * 2, places.shape[0] + places, torch.unique(k), self.linear(x)[k > 1]


def arguments(rows, seed):
    torch.manual_seed(seed)
    return torch.randn(rows, 3), torch.randint(0, 4, (rows,))


@pytest.mark.parametrize("sizes", [None, {"x": {0: Dim("n")}, "k": {0: Dim("n")}}], ids=["static", "dynamic"])
def test_every_way(sizes):
    program = Program().eval()
    exported = torch.export.export(program, arguments(5, 0), dynamic_shapes=sizes)
    file = io.BytesIO()
    torch.export.save(exported, file)
    file.seek(0)
    ways = [exported, exported.run_decompositions(), torch.export.load(file)]
    for rows, seed in ((5, 1), (5, 2), *(((9, 3), (3, 4)) if sizes else ())):
        expected = program(*arguments(rows, seed))
        for way in ways:
            for found, wanted in zip(way.module()(*arguments(rows, seed)), expected):
                assert torch.equal(found, wanted)


def test_what_is_told_of_a_value_holds_for_its_quotients():
    class Told(torch.nn.Module):
        def forward(self, x, y):
            a = x.item()
            torch._check(a >= 10)
            torch._check(a <= 60)
            if a // 2 >= 5 and 3 - a // 3 <= 0 and max(a // 4, 1) > 1:
                return y + 2
            return y * 5

    program = torch.export.export(Told(), (torch.tensor(32), torch.ones(2)))
    file = io.BytesIO()
    torch.export.save(program, file)
    file.seek(0)
    for way in (program.module(), torch.export.load(file).module()):
        assert way(torch.tensor(20), torch.ones(2)).tolist() == [3, 3]
        with pytest.raises(RuntimeError, match="Runtime assertion failed for expression u0 >= 10 on node 'ge'"):
            way(torch.tensor(9), torch.ones(2))
        with pytest.raises(RuntimeError, match="Runtime assertion failed for expression u0 <= 60 on node 'le'"):
            way(torch.tensor(61), torch.ones(2))


def test_other_quotients_are_not_decided():
    class Open(torch.nn.Module):
        def forward(self, x, y):
            a = x.item()
            torch._check(a >= 10)
            return y + 2 if a // 2 >= 6 else y * 5

    with pytest.raises(RuntimeError, match="data-dependent"):
        torch.export.export(Open(), (torch.tensor(32), torch.ones(2)))


class ByItem(torch.nn.Module):
    def forward(self, x, count):
        n = count.item()
        torch._check(n >= 0)
        torch._check(n <= x.shape[0])
        return x[:n] * n


def _targets(program):
    return [str(node.target) for node in program.graph.nodes if node.op == "call_function"]


def test_programs_that_ask_for_elements_are_decomposed():
    """The element stays a number that a run knows, and what was checked of it is checked."""
    program = torch.export.export(ByItem(), (torch.randn(6, 4), torch.tensor(3)))
    assert "aten.item.default" in _targets(program)
    lowered = program.run_decompositions()
    assert "aten._local_scalar_dense.default" in _targets(lowered)
    assert _targets(lowered).count("aten._assert_scalar.default") == 2
    x = torch.randn(6, 4)
    for n in (0, 2, 6):
        assert torch.equal(lowered.module()(x, torch.tensor(n)), x[:n] * n)
    for n in (-1, 7):
        with pytest.raises(RuntimeError, match="Runtime assertion failed for expression u0"):
            lowered.module()(x, torch.tensor(n))


@pytest.mark.parametrize(("least", "most"), [(2, 3), (2, 4), (3, 4)])
def test_ranges_of_few_sizes(least, most):
    program = torch.export.export(
        torch.nn.Linear(4, 3),
        (torch.randn(least, 4),),
        dynamic_shapes=({0: torch.export.Dim("n", min=least, max=most)},),
    )
    for n in range(least, most + 1):
        assert program.module()(torch.ones(n, 4)).shape == (n, 3)
    with pytest.raises(AssertionError, match="Guard failed"):
        program.module()(torch.ones(most + 1, 4))
