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
