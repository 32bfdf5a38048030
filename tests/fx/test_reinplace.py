"""reinplace: results are written over first arguments that are not used again, and programs give what they gave."""

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.fx.experimental.proxy_tensor import make_fx
from mindtorch_v2.fx.passes.reinplace import reinplace

aten = torch.ops.aten


def _names(module):
    return [node.target.__name__ for node in module.graph.nodes if node.op == "call_function"]


def _once_used(x):
    return aten.mul.Tensor(aten.add.Tensor(aten.clone.default(x), 1), 2)


def _used_again(x):
    y = aten.clone.default(x)
    z = aten.add.Tensor(y, 1)
    return aten.mul.Tensor(z, y)


def _given(x):
    return aten.add.Tensor(x, 1)


def _twice_the_same(x):
    y = aten.clone.default(x)
    return aten.add.Tensor(y, y)


def _another_dtype(x):
    return aten.gt.Scalar(aten.clone.default(x), 0)


def _slice(x):
    y = aten.clone.default(x)
    part = aten.add.Tensor(aten.slice.Tensor(y, 0, 0, 1), 1)
    return aten.slice_scatter.default(y, part, 0, 0, 1)


def _view_of_the_given(x):
    return aten.add.Tensor(aten.view.default(x, [4]), 1)


@pytest.mark.parametrize(
    "program, names",
    [
        (_once_used, ["clone.default", "add_.Tensor", "mul_.Tensor"]),
        (_used_again, ["clone.default", "add.Tensor", "mul_.Tensor"]),
        (_given, ["add.Tensor"]),
        (_twice_the_same, ["clone.default", "add.Tensor"]),
        (_another_dtype, ["clone.default", "gt.Scalar"]),
        (_slice, ["clone.default", "slice.Tensor", "add_.Tensor"]),
        (_view_of_the_given, ["view.default", "add.Tensor"]),
    ],
)
def test_what_is_written_over(program, names):
    x = torch.arange(4.0).reshape(2, 2)
    expected = program(x.clone())
    module = reinplace(make_fx(program)(x.clone()), x.clone())
    assert _names(module) == names
    given = x.clone()
    assert torch.equal(module(given), expected)
    assert torch.equal(given, x)
