"""The names of the graph's nodes, as PyTorch 2.13 prints them for the same calls."""

import pytest

import mindtorch_v2 as torch

F = torch.nn.functional
X = [[0.5, 0.25], [0.75, 0.125]]
NAMES = {
    "AddBackward0": lambda x: x + 2,
    "SubBackward0": lambda x: x - 2,
    "MulBackward0": lambda x: 2 * x,
    "DivBackward0": lambda x: x / 2,
    "PowBackward0": lambda x: x**2,
    "PowBackward1": lambda x: x**x,
    "PowBackward2": lambda x: 2**x,
    "ClampBackward1": lambda x: x.clamp(0, 1),
    "MaxBackward0": lambda x: x.max(0)[0],
    "MaxBackward1": lambda x: x.max(),
    "TransposeBackward0": lambda x: x.transpose(0, 1),
    "SqueezeBackward1": lambda x: x.squeeze(0),
    "SliceBackward0": lambda x: x.narrow(0, 0, 1),
    "AddmmBackward0": lambda x: F.linear(x, x, x[0]),
    "MmBackward0": lambda x: F.linear(x, x),
    "ViewBackward0": lambda x: F.linear(x[None], x, x[0]),
    "UnsafeViewBackward0": lambda x: F.linear(x[None], x),
    "DotBackward0": lambda x: x[0] @ x[1],
    "MvBackward0": lambda x: x @ x[0],
    "NllLossBackward0": lambda x: F.cross_entropy(x, torch.tensor([0, 1])),
    "NllLoss2DBackward0": lambda x: F.cross_entropy(x[None, :, :, None], torch.zeros(1, 2, 1, dtype=torch.int64)),
    "AvgPool2DBackward0": lambda x: F.avg_pool2d(x[None, None], 2),
    "MaxPool2DWithIndicesBackward0": lambda x: F.max_pool2d(x[None, None], 2),
    "UpsampleNearest2DBackward0": lambda x: F.interpolate(x[None, None], scale_factor=2),
    "Log1PBackward0": lambda x: x.log1p(),
    "ErfBackward0": lambda x: x.erf(),
}


@pytest.mark.parametrize("name", sorted(NAMES))
def test_node_is_named(name):
    node = NAMES[name](torch.tensor(X, requires_grad=True)).grad_fn
    assert type(node).__name__ == name
    assert node.name() == name


def test_dropout_is_a_product():
    assert F.dropout(torch.tensor(X, requires_grad=True), 0.5).grad_fn.name() == "MulBackward0"
