"""Sizes that values of tensors decide: symbols of their own where sizes are symbolic, an error where they are numbers."""

import copy
import io

import pytest

import mindtorch_v2 as torch
from mindtorch_v2._subclasses.fake_tensor import DynamicOutputShapeException, FakeCopyMode, FakeTensor, FakeTensorMode
from mindtorch_v2.fx.experimental.proxy_tensor import make_fx
from mindtorch_v2.fx.experimental.symbolic_shapes import ShapeEnv

PROGRAMS = {
    "nonzero": lambda x: x.nonzero() * 2,
    "size": lambda x: x.new_ones(()) * x.nonzero().shape[0],
    "mask": lambda x: x[x > 0].reshape(-1, 1),
    "masked_select": lambda x: torch.masked_select(x, x > 0).cumsum(0),
    "unique": lambda x: torch.unique(x.round(), return_inverse=True, return_counts=True),
    "unique of rows": lambda x: torch.unique(x.round(), dim=0),
    "unique_consecutive": lambda x: torch.unique_consecutive(x.round().flatten()),
    "bincount": lambda x: torch.bincount(x.abs().to(torch.int64).flatten()),
    "repeat_interleave": lambda x: torch.repeat_interleave(x[:, 0].abs().to(torch.int64)),
    "two": lambda x: torch.cat([x[x > 0], x[x < 0]]),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_graph_serves_other_numbers(name):
    torch.manual_seed(0)
    program = PROGRAMS[name]
    graph = make_fx(program, tracing_mode="symbolic")(torch.randn(5, 4) * 3)
    for shape in ((5, 4), (7, 3), (2, 2)):
        x = torch.randn(shape) * 3
        found, expected = graph(x), program(x)
        pairs = zip(found, expected) if isinstance(expected, tuple) else [(found, expected)]
        assert all(torch.equal(one, other) for one, other in pairs)


def test_sizes_that_are_numbers():
    with FakeTensorMode(), pytest.raises(DynamicOutputShapeException, match="aten.nonzero.default"):
        torch.ones(3).nonzero()


def test_symbols():
    with FakeTensorMode(shape_env=ShapeEnv()):
        x = torch.ones(3, 4)
        assert str(x.nonzero().shape) == "torch.Size([u0, 2])"
        assert str(x[x > 0].shape) == "torch.Size([u1])"


# ---- what FakeTensorMode takes ----


def test_numbers_alone():
    with FakeTensorMode():
        assert isinstance(torch.div(3, 2), FakeTensor)
        assert (torch.zeros(2, dtype=torch.int32) * 2.0).dtype is torch.float32
        assert isinstance(torch.Tensor([1, 2, 3]), FakeTensor)


def test_known_values_are_forgotten_with_their_memory():
    with FakeTensorMode():
        step, other = torch.tensor(1.0), torch.tensor([2.0])
        other.add_(torch.rand(1))
        assert other.constant is None
        assert step.item() == 1.0
        step.resize_(2)
        assert step.constant is None


def test_real_tensors_are_printed():
    x = torch.zeros(2)
    with FakeTensorMode():
        assert str(x) == "tensor([0., 0.])"


def test_load_and_copy():
    file = io.BytesIO()
    torch.save({"w": torch.nn.Parameter(torch.ones(2, 3))}, file)
    file.seek(0)
    with FakeTensorMode() as mode:
        loaded = torch.load(file)["w"]
        copied = copy.deepcopy(torch.nn.Linear(2, 3))
    assert isinstance(loaded, FakeTensor)
    assert isinstance(copied.weight, FakeTensor)
    with FakeCopyMode(mode):
        norm = copy.deepcopy(torch.nn.BatchNorm1d(3))
    assert isinstance(norm.running_mean, FakeTensor)
    assert isinstance(norm.weight, FakeTensor)
