"""Steps that `fuzz/stateful.py` put together, where this package did something else than PyTorch 2.13."""

import numpy
import pytest

import mindtorch_v2 as torch


def test_a_view_that_alone_requires_gradients_is_not_written_to():
    x = torch.zeros(1).reshape(()).requires_grad_()
    with pytest.raises(
        RuntimeError, match="a view of a leaf Variable that requires grad is being used in an in-place operation."
    ):
        x.add_(x)
    with torch.no_grad():
        x.add_(1)
    assert x.item() == 1
    base = torch.zeros(2)
    base[:1].mul_(torch.ones(1, requires_grad=True))  # a view that begins to require them by the write is
    assert base.requires_grad


@pytest.mark.parametrize("shape", [(0,), (2, 0), (0, 3)])
def test_arrays_without_elements_have_the_strides_of_numpys(shape):
    tensor = torch.zeros(shape)
    array, own = tensor.numpy(), numpy.zeros(shape, dtype=numpy.float32)
    assert (array.strides, array.dtype, array.shape) == (own.strides, own.dtype, shape)
    assert torch.from_numpy(array).stride() == torch.from_numpy(own).stride()


def test_in_place_operators_on_lists_hand_the_list_back() -> None:
    x = [torch.tensor([-1.0]), torch.tensor([2.0])]
    assert torch._foreach_abs_(x) is x
    assert torch._foreach_add_(x, 1.0) is x
    assert torch.ops.aten._foreach_abs_(x) is None
    assert [each.item() for each in x] == [2.0, 3.0]


def test_a_convolution_without_channels_has_no_bias_gradient() -> None:
    """As in PyTorch, which takes such an input for an empty problem."""
    bias = torch.ones(3, requires_grad=True)
    torch.nn.functional.conv2d(torch.ones(2, 0, 4, 4), torch.ones(3, 0, 1, 1), bias).sum().backward()
    assert bias.grad.tolist() == [0.0, 0.0, 0.0]
