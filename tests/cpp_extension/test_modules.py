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


def test_a_module_of_cpp_in_python(modules):
    torch = modules.torch
    scale = modules.module.Scale(3)
    assert isinstance(scale, torch.nn.Module)
    named = dict(scale.named_parameters())
    assert list(named) == ["factor", "inner.weight"]
    optimizer = torch.optim.SGD(scale.parameters(), lr=0.5)
    scale(torch.ones(3)).sum().backward()
    weight = named["inner.weight"].detach().clone()
    optimizer.step()
    assert torch.allclose(scale.factor, 2 - 0.5 * weight[0])
    assert torch.allclose(scale.forward(torch.ones(3)), named["inner.weight"] @ scale.factor)
    assert scale.seen == 2
    scale.eval()
    assert not scale.training and not scale.cpp_module.training
    scale.double()
    assert scale.forward(torch.ones(3, dtype=torch.float64)).dtype == torch.float64


def test_its_state(modules):
    torch = modules.torch
    if torch.__name__ == "torch":
        pytest.skip("PyTorch's children of such modules have no state_dict")
    scale = modules.module.Scale(3)
    assert sorted(scale.state_dict()) == ["factor", "inner.weight", "seen"]
    scale.load_state_dict({**scale.state_dict(), "factor": torch.zeros(3)})
    assert scale.forward(torch.ones(3)) == 0
