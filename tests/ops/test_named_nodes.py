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
    # PyTorch records one node for these; of ours, made of others, the last one has its name.
    "AddrBackward0": lambda x: torch.addr(x, x[0], x[1]),
    "AffineGridGeneratorBackward0": lambda x: F.affine_grid(F.pad(x, (0, 1))[None], [1, 1, 2, 2], align_corners=False),
    "BinaryCrossEntropyWithLogitsBackward0": lambda x: F.binary_cross_entropy_with_logits(x, x.detach()),
    "CeluBackward0": lambda x: F.celu(x),
    "CeluBackward1": lambda x: F.celu(x.clone(), inplace=True),
    "ChannelShuffleBackward0": lambda x: F.channel_shuffle(x[None, :, :, None], 2),
    "CholeskyBackward0": lambda x: torch.cholesky(x @ x.mT),
    "Deg2RadBackward0": lambda x: x.clone().deg2rad_(),
    "DistBackward0": lambda x: torch.dist(x, x.detach() + 1),
    "EluBackward1": lambda x: F.selu(x.clone(), inplace=True),
    "GridSampler3DBackward0": lambda x: F.grid_sample(
        x[None, None, None], torch.zeros(1, 1, 1, 1, 3), align_corners=False
    ),
    "LdexpBackward0": lambda x: torch.ldexp(x, torch.tensor(2)),
    "LinalgLstsqBackward0": lambda x: torch.linalg.lstsq(x, x.detach())[0],
    "LinalgLuBackward0": lambda x: torch.linalg.lu(x)[1],
    "LinalgLuSolveBackward0": lambda x: torch.linalg.lu_solve(*torch.linalg.lu_factor(x), x.detach()),
    "LinalgSolveTriangularBackward0": lambda x: torch.linalg.solve_triangular(x, x.detach(), upper=True),
    "MaxUnpool2DBackward0": lambda x: F.max_unpool2d(*F.max_pool2d(x[None, None], 2, return_indices=True), 2),
    "MkldnnRnnLayerBackward0": lambda x: torch.nn.LSTM(2, 3)(x[None])[0],
    "MultiMarginLossBackward0": lambda x: F.multi_margin_loss(x, torch.tensor([0, 1])),
    "MultilabelMarginLossBackward0": lambda x: F.multilabel_margin_loss(x, torch.tensor([[0, 1], [1, -1]])),
    "MvlgammaBackward0": lambda x: torch.mvlgamma(x + 3, 2),
    "NarrowCopyBackward0": lambda x: torch.narrow_copy(x, 0, 0, 1),
    "PixelShuffleBackward0": lambda x: F.pixel_shuffle(x.reshape(1, 4, 1, 1), 2),
    "PixelUnshuffleBackward0": lambda x: F.pixel_unshuffle(x[None, None], 2),
    "Rad2DegBackward0": lambda x: torch.rad2deg(x),
    "RenormBackward0": lambda x: torch.renorm(x, 2, 0, 0.1),
    "Rot90Backward0": lambda x: torch.rot90(x, 0),
    "RreluWithNoiseBackward0": lambda x: F.rrelu(x, training=True),
    "SoftMarginLossBackward0": lambda x: F.soft_margin_loss(x, x.detach()),
    "TriangularSolveBackward0": lambda x: torch.triangular_solve(x, x.detach())[0],
}


@pytest.mark.parametrize("name", sorted(NAMES))
def test_node_is_named(name):
    node = NAMES[name](torch.tensor(X, requires_grad=True)).grad_fn
    assert type(node).__name__ == name
    assert node.name() == name


def test_dropout_is_a_product():
    assert F.dropout(torch.tensor(X, requires_grad=True), 0.5).grad_fn.name() == "MulBackward0"


def test_a_body_that_gives_its_argument_back_renames_nothing():
    x = torch.tensor(X, requires_grad=True) * 2
    begin = torch._C._next_sequence_nr()
    torch._C._name_last_node([x, None], begin, "CeluBackward0")
    assert x.grad_fn.name() == "MulBackward0"
    torch._C._name_last_node([x, None], begin - 1, "CeluBackward0")
    assert x.grad_fn.name() == "CeluBackward0"
    (gradient,) = torch.autograd.grad(x.sum(), x.grad_fn.next_functions[0][0].variable)
    assert gradient.tolist() == [[2, 2], [2, 2]]


@pytest.mark.parametrize(
    ("call", "inputs"),
    [
        (lambda x: x + 2, 2),
        (lambda x: 2 * x, 2),
        (lambda x: x / 2, 2),
        (lambda x: x - 2, 2),
        (lambda x: x.clone().mul_(2), 2),
        (lambda x: torch.add(x, 2), 2),
        (lambda x: 2 - x, 1),
        (lambda x: x**2, 1),
        (lambda x: -x, 1),
        (lambda x: x * x.detach(), 2),
        (lambda x: x.remainder(2), 1),
        (lambda x: torch.maximum(x, x.detach()), 2),
        (lambda x: torch.where(x > 0, x, 0.0), 2),
        (lambda x: F.linear(x, x.detach()), 2),
    ],
)
def test_numbers_count_as_inputs_where_pytorch_makes_tensors_of_them(call, inputs):
    edges = call(torch.tensor(X, requires_grad=True)).grad_fn.next_functions
    assert len(edges) == inputs
    assert edges[0][0] is not None
    assert edges[1:] in ((), ((None, 0),))


def test_inputs_of_linear_stand_as_those_of_addmm():
    x, bias = (torch.tensor(each, requires_grad=True) for each in (X, X[0]))
    node = F.linear(x * 2, x.detach(), bias).grad_fn
    assert [each and each.name() for each, _ in node.next_functions] == [
        "torch::autograd::AccumulateGrad",
        "MulBackward0",
        None,
    ]
    assert node.next_functions[0][0].variable is bias
    node = torch.where(x > 0, 0.0, x).grad_fn
    assert [each and each.name() for each, _ in node.next_functions] == [None, "torch::autograd::AccumulateGrad"]
