"""Gradients through as_strided and as_strided_scatter: any geometry of the input, overlaps, reads beside the input."""

import pytest

import mindtorch_v2 as torch


def test_gradient_of_a_view_of_a_transposed_input():
    x = torch.arange(6.0).reshape(2, 3).t().requires_grad_()
    x.as_strided((2, 2), (1, 3)).backward(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    # Storage positions 0, 3, 1, 4 are x[0, 0], x[0, 1], x[1, 0], x[1, 1].
    assert x.grad.tolist() == [[1.0, 2.0], [3.0, 4.0], [0.0, 0.0]]


def test_gradient_with_an_offset_and_overlap():
    base = torch.arange(10.0)
    x = base[2:8].requires_grad_()
    windows = x.as_strided((4, 3), (1, 1))
    assert windows[0].tolist() == [2.0, 3.0, 4.0]
    windows.sum().backward()
    assert x.grad.tolist() == [1.0, 2.0, 3.0, 3.0, 2.0, 1.0]


def test_what_lies_beside_the_input_gets_no_gradient():
    x = torch.arange(10.0)[4:8].requires_grad_()
    beside = x.as_strided((6,), (1,), 2)
    assert beside.tolist() == [2.0, 3.0, 4.0, 5.0, 6.0, 7.0]
    beside.backward(torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]))
    assert x.grad.tolist() == [3.0, 4.0, 5.0, 6.0]


def test_an_expanded_input_shares_the_gradient_among_its_positions():
    x = torch.ones(1).expand(4).requires_grad_()
    x.as_strided((1,), (1,)).backward(torch.tensor([8.0]))
    assert x.grad.tolist() == [2.0, 2.0, 2.0, 2.0]


def test_scatter_has_the_slopes_of_what_it_computes():
    x, part = torch.randn(3, 4, dtype=torch.float64), torch.randn(2, 2, dtype=torch.float64)
    assert torch.autograd.gradcheck(
        lambda x, part: torch.as_strided_scatter(x, part, (2, 2), (4, 1), 1),
        (x.requires_grad_(), part.requires_grad_()),
    )


def test_scatter_outside_the_storage_is_refused():
    with pytest.raises(RuntimeError, match="requiring a storage size of 1604 are out of bounds for storage of size 64"):
        torch.as_strided_scatter(torch.ones(4, 4), torch.ones(2, 2), (2, 2), (200, 200), 0)
