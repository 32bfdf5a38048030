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


def test_it_gives_lists_of_what_it_has_now(modules):
    torch = modules.torch
    scale = modules.module.Scale(3)
    assert str(scale) == "ScaleImpl" and len(scale.modules()) == 2
    assert scale.parameters()[0] is scale.factor and len(scale.buffers()) == 1
    named = scale.named_parameters()
    assert "factor" in named and "seen" not in named and named["factor"] is scale.factor
    assert scale.named_buffers()[0][0] == "seen"
    assert len(scale._parameters) == 1 and list(scale._modules.keys()) == ["inner"]
    copy = scale.clone()
    assert len(copy.parameters()) == 2 and copy.parameters()[0] is not scale.factor
    scale.grow("more")
    assert len(scale._parameters) == 2 and len(scale.parameters()) == 3
    around = torch.nn.Sequential(scale)
    assert len(list(around.parameters())) == 3 and len(list(around.modules())) == 3


def test_its_state(modules):
    torch = modules.torch
    if torch.__name__ == "torch":
        pytest.skip("PyTorch's children of such modules have no state_dict")
    scale = modules.module.Scale(3)
    assert sorted(scale.state_dict()) == ["factor", "inner.weight", "seen"]
    scale.load_state_dict({**scale.state_dict(), "factor": torch.zeros(3)})
    assert scale.forward(torch.ones(3)) == 0
