"""Steps that `fuzz/stateful` put together, where this package did something else than PyTorch 2.13."""

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


@pytest.mark.parametrize(
    "change",
    [
        lambda x: x.set_(x),
        lambda x: x.set_(torch.zeros(3)),
        lambda x: x.set_(torch.zeros(3).untyped_storage()),
        lambda x: x.set_(),
    ],
)
def test_leaves_that_require_gradients_keep_their_storages(change) -> None:
    for tensor in (torch.zeros(1, requires_grad=True), torch.zeros(1, requires_grad=True)[:1]):
        with pytest.raises(
            RuntimeError, match="leaf Variable that requires grad is being used in an in-place operation"
        ):
            change(tensor)
        with torch.no_grad():
            change(tensor)


def test_another_storage_does_not_hide_what_changed() -> None:
    x = torch.ones(2).add_(1)
    weight = torch.ones(2, requires_grad=True)
    product = (x * weight).sum()
    x.set_(torch.zeros(2))
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.backward()


def test_matrices_of_no_dimensions_are_their_own_transposes() -> None:
    x = torch.ones(()) * 1j
    assert x.mT is x
    assert x.mH.item() == x.adjoint().item() == -1j


@pytest.mark.parametrize("layout", ["csr", "csc", "bsr", "bsc"])
def test_batches_of_no_matrices_have_no_compressed_layout(layout) -> None:
    with pytest.raises(RuntimeError, match=f"to_sparse_{layout}: Expected product of batch dimensions to be non-zero"):
        getattr(torch.ones(0, 2, 2), f"to_sparse_{layout}")(*[(1, 1)] * (layout[0] == "b"))


def test_nested_tensors_are_filled() -> None:
    x = torch.nested.nested_tensor([torch.ones(2), torch.ones(1)])
    assert [each.tolist() for each in x.fill_(3).unbind()] == [[3, 3], [3]]
    assert [each.tolist() for each in x.zero_().unbind()] == [[0, 0], [0]]


def test_a_nested_weight_is_refused() -> None:
    x = torch.nested.nested_tensor([torch.ones(2, 2)], layout=torch.jagged)
    for given, weight in ((x, x), (torch.ones(2, 2), x)):
        with pytest.raises(ValueError, match="weight must be a tensor that is not nested"):
            torch.nn.functional.linear(given, weight)


def test_bytes_of_storages_are_written_where_they_are() -> None:
    storage = torch.ones(1).untyped_storage()
    for index in (-1, 4):
        with pytest.raises(RuntimeError, match="out of bounds"):
            storage[index] = 0
    with pytest.raises(RuntimeError, match="only a step of 1"):
        storage[::2] = 0


def test_classes_of_errors() -> None:
    with pytest.raises(IndexError, match="0-dim"):
        torch.slice_scatter(torch.ones(()), torch.ones(()), 0, 1)
    with pytest.raises(RuntimeError, match="sizes must be non-empty"):
        torch.ones(()).unflatten(0, [])


def test_only_leaves_are_told_that_they_require_gradients() -> None:
    x = torch.ones(2, requires_grad=True) * 2
    with pytest.raises(RuntimeError, match="you can only change requires_grad flags of leaf variables."):
        x.requires_grad = True
    assert x.requires_grad_(True) is x


def test_nested_tensors_of_lists_have_memory_of_their_own() -> None:
    x = torch.ones(2)
    nested = torch.nested.as_nested_tensor([x, x])
    x.add_(1)
    assert [each.tolist() for each in nested.unbind()] == [[1, 1], [1, 1]]


def test_lists_are_written_as_a_whole_or_not_at_all() -> None:
    plain, leaf = torch.zeros(2), torch.zeros(2, requires_grad=True)
    for write in (
        lambda x: torch._foreach_add_(x, 1.0),
        lambda x: torch._foreach_copy_(x, [torch.ones(2)] * 2),
        lambda x: torch._foreach_mul_(x, x),
    ):
        for last in (leaf, leaf[:]):
            with pytest.raises(
                RuntimeError, match="leaf Variable that requires grad is being used in an in-place operation"
            ):
                write([plain, last])
            assert (plain.tolist(), plain._version) == ([0, 0], 0)
    with torch.no_grad():
        torch._foreach_add_([plain, leaf], 1.0)
    assert leaf.tolist() == plain.tolist() == [1, 1]


def test_an_output_of_another_dtype_keeps_its_size() -> None:
    out = torch.zeros(2, dtype=torch.int64)
    with pytest.raises(RuntimeError, match="can't be cast"):
        torch.add(torch.ones(3, 3), 1, out=out)
    assert out.shape == (2,)


def test_steps_of_windows_that_overflow() -> None:
    with pytest.raises(RuntimeError, match="beyond 63 bits"):
        torch.ones(4, 4).unfold(0, 1, 2**63 - 1)


def test_entries_of_a_nested_tensor_have_the_dtype_of_the_first() -> None:
    for make in (torch.nested.nested_tensor, torch.nested.as_nested_tensor):
        made = make([torch.ones(2, dtype=torch.int64), torch.tensor([-1.5])])
        assert [each.tolist() for each in made.unbind()] == [[1, 1], [-1]]
        assert made.dtype == made.unbind()[1].dtype == torch.int64


def test_a_nested_tensor_is_copied_to_nested_ones_alone() -> None:
    nested = torch.nested.nested_tensor([torch.ones(2)])
    for into, source in ((torch.ones(1, 2), nested), (nested, torch.ones(1, 2))):
        with pytest.raises(RuntimeError, match="same size for Nested"):
            into.copy_(source)
