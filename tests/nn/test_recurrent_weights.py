"""Recurrent layers whose weights are replaced from outside: what the operator is given must be what the module shows."""

import pytest

import mindtorch_v2 as torch

LAYERS = [torch.nn.LSTM, torch.nn.GRU, torch.nn.RNN]


@pytest.mark.parametrize("kind", LAYERS)
def test_functional_call(kind):
    layer, other = kind(3, 4, num_layers=2), kind(3, 4, num_layers=2)
    x = torch.randn(5, 2, 3)
    before = layer(x)[0]
    given = {name: p.detach().clone().requires_grad_() for name, p in other.named_parameters()}
    out = torch.func.functional_call(layer, given, (x,))[0]
    assert torch.equal(out, other(x)[0])
    out.sum().backward()
    other(x)[0].sum().backward()
    for name, p in other.named_parameters():
        assert torch.equal(given[name].grad, p.grad)
    assert torch.equal(layer(x)[0], before)


@pytest.mark.parametrize("kind", LAYERS)
def test_parametrizations(kind):
    class Nothing(torch.nn.Module):
        def forward(self, x):
            return x * 0

    layer = kind(3, 4)
    assert layer(torch.ones(5, 2, 3))[0].abs().max() > 0
    for name in list(layer._flat_weights_names):
        torch.nn.utils.parametrize.register_parametrization(layer, name, Nothing())
    assert layer(torch.ones(5, 2, 3))[0].abs().max() == 0


@pytest.mark.filterwarnings("ignore:There is a performance drop")
def test_functions_of_weights():
    layer = torch.nn.LSTM(3, 4)
    x = torch.randn(5, 2, 3)
    weights = {name: torch.stack([p.detach(), 2 * p.detach()]) for name, p in layer.named_parameters()}
    both = torch.func.vmap(lambda w: torch.func.functional_call(layer, w, (x,))[0])(weights)
    torch.testing.assert_close(both[0], layer(x)[0].detach())
    assert not torch.allclose(both[0], both[1])
