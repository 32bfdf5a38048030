"""modules.cpp: torch::nn in C++. Expected values are closed forms; --live asks PyTorch."""

import pytest


@pytest.mark.parametrize("name", ["functions", "modules", "layers"])
def test_in_cpp(modules, name):
    getattr(modules.module, name)()


def test_layers_begin_as_pythons_do(modules):
    torch = modules.torch
    found = modules.module.seeded(5)
    torch.manual_seed(5)
    linear, conv, table = torch.nn.Linear(3, 2), torch.nn.Conv2d(2, 3, 2), torch.nn.Embedding(4, 2)
    drawn = [
        torch.nn.init.xavier_normal_(torch.empty(3, 4)),
        torch.nn.init.kaiming_normal_(torch.empty(3, 4)),
    ]
    expected = [linear.weight, linear.bias, conv.weight, conv.bias, table.weight, *drawn]
    assert len(found) == len(expected) == 7
    for ours, pythons in zip(found, expected, strict=True):
        assert torch.allclose(ours, pythons, rtol=1e-6, atol=0)
