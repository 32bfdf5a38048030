"""Gradients of each sample: outer products for a linear layer, and for others what a loop over the samples gives."""

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.nn.utils._per_sample_grad import call_for_per_sample_grads


@pytest.mark.parametrize("reduction", ["sum", "mean"])
def test_linear(reduction):
    model = torch.nn.Linear(3, 2)
    x = torch.randn(4, 3, requires_grad=True)
    loss = call_for_per_sample_grads(model, loss_reduction=reduction)(x).pow(2)
    (loss.sum() if reduction == "sum" else loss.sum(1).mean()).backward()
    outer = 2 * model(x).detach()[:, :, None] * x.detach()[:, None, :]
    torch.testing.assert_close(model.weight.grad_sample, outer)
    assert model.weight.grad is None
    assert x.grad is not None


def _loop(model, x):
    found = []
    for sample in x:
        out = model(sample[None])
        out = out[0] if isinstance(out, tuple) else out
        found.append(torch.autograd.grad(out.pow(2).sum(), list(model.parameters())))
    return [torch.stack(each) for each in zip(*found, strict=True)]


MODELS = {
    "convolution": (
        lambda: torch.nn.Sequential(
            torch.nn.Conv2d(2, 4, 3),
            torch.nn.GroupNorm(2, 4),
            torch.nn.Tanh(),
            torch.nn.Flatten(),
            torch.nn.LazyLinear(2),
        ),
        (3, 2, 5, 5),
    ),
    "lstm": (lambda: torch.nn.LSTM(2, 3, 2, batch_first=True), (3, 4, 2)),
    "gru": (lambda: torch.nn.GRU(2, 3, batch_first=True, bidirectional=True), (3, 4, 2)),
    "prelu": (lambda: torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.PReLU(3)), (3, 2)),
    "norms": (lambda: torch.nn.Sequential(torch.nn.LayerNorm(4), torch.nn.InstanceNorm1d(2, affine=True)), (3, 2, 4)),
}


@pytest.mark.parametrize("name", MODELS)
def test_equals_a_loop(name):
    make, shape = MODELS[name]
    model, x = make().double(), torch.randn(shape, dtype=torch.float64)
    model(x)
    expected = _loop(model, x)
    out = call_for_per_sample_grads(model)(x)
    (out[0] if isinstance(out, tuple) else out).pow(2).sum().backward()
    for p, each in zip(model.parameters(), expected, strict=True):
        torch.testing.assert_close(p.grad_sample, each)


def test_refusals():
    class Scale(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(2))

        def forward(self, x):
            return x * self.weight

    model = torch.nn.Sequential(torch.nn.Linear(3, 2), Scale())
    with pytest.raises(RuntimeError, match="Expanded Weights encountered but cannot handle function"):
        call_for_per_sample_grads(model)(torch.ones(4, 3))
    with pytest.raises(RuntimeError, match="one with batch size 5"):
        call_for_per_sample_grads(torch.nn.Bilinear(3, 3, 2))(torch.ones(4, 3), torch.ones(5, 3))
    with pytest.raises(RuntimeError, match="cannot handle function bilinear: of two inputs"):
        call_for_per_sample_grads(torch.nn.Bilinear(3, 3, 2))(torch.ones(4, 3), torch.ones(4, 3))
    with pytest.raises(RuntimeError, match="Expected loss_reduction argument to be sum or mean"):
        call_for_per_sample_grads(model, loss_reduction="max")
    linear = torch.nn.Linear(3, 2)
    call_for_per_sample_grads(linear)(torch.ones(4, 3)).sum().backward()
    with pytest.raises(RuntimeError, match="Set grad_sample to None first"):
        call_for_per_sample_grads(linear)
