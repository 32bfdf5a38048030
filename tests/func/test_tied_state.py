"""Modules whose tensors have several names, as functions of them; Modules that cannot be stacked."""

import pytest

import mindtorch_v2 as torch
from mindtorch_v2._functorch.make_functional import make_functional_with_buffers


class Tied(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)
        self.weight = self.linear.weight
        self.register_buffer("shift", torch.randn(3))
        self.register_buffer("again", self.shift)

    def forward(self, x):
        return torch.nn.functional.linear(self.linear(x), self.weight) + self.shift * self.again


def test_one_tensor_for_all_its_names():
    model, x = Tied(), torch.randn(2, 3)
    function, parameters, buffers = make_functional_with_buffers(model)
    assert (len(parameters), len(buffers)) == (2, 1)
    assert torch.equal(function(parameters, buffers, x), model(x))
    gradients = torch.func.grad(lambda p: function(p, buffers, x).sum())(parameters)
    for gradient, expected in zip(
        gradients, torch.autograd.grad(model(x).sum(), list(model.parameters())), strict=True
    ):
        torch.testing.assert_close(gradient, expected)


def test_states_that_differ_are_not_stacked():
    models = [torch.nn.Linear(2, 3) for _ in range(2)]
    models[1].bias.requires_grad_(False)
    with pytest.raises(RuntimeError, match="Expected bias from each model to have the same .requires_grad"):
        torch.func.stack_module_state(models)
