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
