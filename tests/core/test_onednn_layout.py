"""Tensors in oneDNN's layout: made, computed with, differentiated, given back."""

import pytest

import mindtorch_v2 as torch
import mindtorch_v2.nn.functional as F


def test_made_and_given_back():
    x = torch.arange(6.0).reshape(2, 3)
    y = x.to_mkldnn()
    assert (y.layout, y.is_mkldnn, x.is_mkldnn) == (torch._mkldnn, True, False)
    assert (y.shape, y.dtype, y.device.type) == (x.shape, torch.float32, "cpu")
    assert torch.equal(y.to_dense(), x)
    y.to_dense().zero_()
    x.zero_()
    assert y.to_dense().sum().item() == 15.0
    assert x.to_mkldnn(torch.bfloat16).to_dense().dtype == torch.bfloat16


def test_operators_give_tensors_of_the_layout():
    x, w = torch.randn(1, 2, 5), torch.randn(3, 2, 3)
    found = F.conv1d(x.to_mkldnn(), w)
    assert found.layout == torch._mkldnn
    assert torch.equal(found.to_dense(), F.conv1d(x, w))
    y = torch.ones(2).to_mkldnn()
    assert y.add_(1) is y
    assert y.relu().to_dense().tolist() == [2.0, 2.0]


def test_gradients():
    x, w = torch.randn(1, 2, 5, requires_grad=True), torch.randn(3, 2, 3, requires_grad=True)
    out = F.conv1d(x.to_mkldnn(), w)
    out.backward(torch.ones(1, 3, 3).to_mkldnn())
    expected = torch.autograd.grad(F.conv1d(x, w), [x, w], torch.ones(1, 3, 3))
    assert x.grad.layout == w.grad.layout == torch.strided
    assert torch.allclose(x.grad, expected[0])
    assert torch.allclose(w.grad, expected[1])


def test_back_ends_of_convolutions():
    x, w = torch.randn(1, 2, 5).to_mkldnn(), torch.randn(3, 2, 3)
    names = torch._C._ConvBackend
    assert torch._C._select_conv_backend(x, w, None, (1,), (0,), (1,), False, (0,), 1) == names.Mkldnn
    empty = torch.randn(0, 2, 5).to_mkldnn()
    assert torch._C._select_conv_backend(empty, w, None, (1,), (0,), (1,), False, (0,), 1) == names.MkldnnEmpty


def test_refusals():
    with pytest.raises(RuntimeError, match="dense_to_mkldnn expects float, bfloat16, half, uint8, int8 tensor input"):
        torch.ones(2, dtype=torch.float64).to_mkldnn()
    y = torch.ones(2).to_mkldnn()
    with pytest.raises(TypeError, match="can't convert mkldnn layout tensor to numpy"):
        y.numpy()
    with pytest.raises(RuntimeError, match="Cannot access data pointer"):
        y.data_ptr()
