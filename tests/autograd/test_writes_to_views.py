"""In-place writes: what may be written to, and what backward then goes through. Texts and numbers are PyTorch's."""

from __future__ import annotations

from typing import Any

import pytest

import mindtorch_v2 as torch


class _View(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad


def _of_a_silent_view(mode: Any) -> Any:
    x = torch.zeros(2)
    with mode():
        y = x.view(2)
    return y.requires_grad_().view(2)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: _of_a_silent_view(torch.no_grad), "Output 0 of View is a view of a view which was created in no_grad mode"
         " and is being modified inplace with grad mode enabled. Given"),
        (lambda: _of_a_silent_view(torch.inference_mode), "Output 0 of View is a view of a view which was created in "
         "inference mode and is being modified inplace in normal mode. Given"),
        (lambda: _View.apply(torch.zeros(2)), "A view was created in no_grad mode and is being modified inplace with grad "
         "mode enabled. This view was created inside a custom Function"),
        (lambda: _View.apply(torch.zeros(2, requires_grad=True).clone()), "Output 0 of _View is a view and is being "
         "modified inplace. This view was created inside a custom Function"),
        (lambda: torch.zeros(1, 2).unbind()[0], "A view was created in no_grad mode and is being modified inplace with "
         "grad mode enabled. This view is the output of a function that returns multiple views"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("write", [lambda x, y: x.add_(y), lambda x, y: x.copy_(y)], ids=["add_", "copy_"])
def test_views_that_may_not_be_written_to(make: Any, text: str, write: Any) -> None:
    with pytest.raises(RuntimeError) as error:
        write(make(), torch.ones(2, requires_grad=True))
    assert str(error.value).startswith(text)


def test_a_second_gradient_through_a_write_to_a_view() -> None:
    x = torch.rand(4, requires_grad=True)
    y = (x * 2).view(2, 2)
    y.relu_()
    (first,) = torch.autograd.grad(y.pow(2).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    assert second.tolist() == [8, 8, 8, 8]


def test_detached_in_place_after_it_was_saved() -> None:
    x = torch.ones(1, requires_grad=True).clone()
    y = x.sin()
    x.detach_()
    with pytest.raises(RuntimeError, match="Trying to use a saved tensor that has been detached in-place"):
        y.backward()
    x = torch.zeros(1, requires_grad=True).clone()
    y = x.exp()  # keeps its result
    x.detach_()
    y.backward()


def test_a_leaf_with_another_storage_is_another_leaf() -> None:
    x = torch.rand(2, requires_grad=True)
    edge = torch.autograd.graph.get_gradient_edge(x)
    out = x.clone()
    with torch.no_grad():
        x.set_(torch.rand(2))
    with pytest.raises(RuntimeError, match="appears to not have been used in the graph"):
        torch.autograd.grad(out.sum(), x, retain_graph=True)
    assert torch.autograd.grad(out.sum(), edge)[0].tolist() == [1, 1]


def test_sparse_gradients_of_two_leaves_share_no_memory() -> None:
    class Same(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any) -> Any:
            return x + y

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            values = torch.rand(1, 3).expand(8, 3)
            sparse = torch.sparse_coo_tensor(torch.ones(1, 1, dtype=torch.int64).expand(1, 8), values, (10, 3))
            return sparse, sparse

    x, y = (torch.rand(10, 3, requires_grad=True) for _ in range(2))
    Same.apply(x, y).sum().backward()
    assert x.grad._values().is_contiguous() and y.grad._values().is_contiguous()
    assert x.grad._values().data_ptr() != y.grad._values().data_ptr()


def test_the_sparse_gradient_of_gather_with_one_index() -> None:
    x = torch.rand(10, requires_grad=True)
    torch.gather(x, 0, torch.tensor(3), sparse_grad=True).backward()
    assert x.grad.is_sparse and x.grad.to_dense().tolist() == [0, 0, 0, 1, 0, 0, 0, 0, 0, 0]
