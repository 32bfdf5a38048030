"""`torch._custom_ops`, the way to define operators before `torch.library.custom_op`."""

from collections.abc import Sequence

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import _custom_ops

pytestmark = pytest.mark.no_torch


def test_gradients_of_lists_are_lists():
    name = "custom_ops_of_old::first"

    @_custom_ops.custom_op(name)
    def first(xs: Sequence[torch.Tensor]) -> torch.Tensor: ...

    gradients = []
    _custom_ops.impl(name)(lambda xs: xs[0].sin())
    _custom_ops.impl_save_for_backward(name)(lambda inputs, output: inputs.xs[0])
    _custom_ops.impl_backward(name)(lambda ctx, saved, grad: {"xs": gradients.pop()})
    xs = [torch.ones(2, requires_grad=True) for _ in range(2)]
    for wrong, text in (
        (None, "list of gradients"),
        ([1.0, None], "None or Tensor"),
        ([None], "2 gradients but got 1"),
    ):
        gradients.append(wrong)
        with pytest.raises(RuntimeError, match=text):
            torch.ops.custom_ops_of_old.first(xs).sum().backward()
    gradients.append([torch.full((2,), 3.0), None])
    torch.ops.custom_ops_of_old.first(xs).sum().backward()
    assert (xs[0].grad.tolist(), xs[1].grad) == ([3.0, 3.0], None)
