"""Refusals of pooling, embedding and slices, and the order of memory that they keep: PyTorch 2.13's texts and strides."""

import pytest

import mindtorch_v2 as torch
import mindtorch_v2.nn.functional as F


def test_weights_of_samples_have_the_tables_dtype():
    table, index, starts = torch.ones(5, 2), torch.tensor([0, 1, 2]), torch.tensor([0, 2])
    with pytest.raises(RuntimeError, match="have the same type as tensor for argument"):
        F.embedding_bag(index, table, starts, mode="sum", per_sample_weights=torch.ones(3, dtype=torch.float64))


def test_a_sparse_gradient_of_rows_without_columns_has_no_entries():
    table = torch.nn.Embedding(10, 0, sparse=True)
    table(torch.tensor([[0, 2], [4, 3]])).sum().backward()
    assert table.weight.grad.shape == (10, 0)
    assert table.weight.grad._nnz() == 0


@pytest.mark.parametrize("name", ["adaptive_max_pool2d", "adaptive_max_pool3d", "adaptive_avg_pool2d"])
def test_no_gradient_through_windows_of_nothing(name):
    x = torch.ones(1, 4, 6, 5, requires_grad=True)
    with pytest.raises(RuntimeError, match="Expected grad_output to have non-zero size for non-batch dimensions"):
        getattr(F, name)(x, 0).sum().backward()


def test_one_item_with_channels_last_keeps_them_in_max_pool3d():
    x = torch.arange(2 * 4 * 4 * 6.0).reshape(1, 2, 4, 4, 6).contiguous(memory_format=torch.channels_last_3d)[0]
    values, places = F.max_pool3d(x, 2, return_indices=True)
    assert values.stride() == places.stride() == (1, 12, 6, 2)
    expected, where = F.max_pool3d(x.contiguous(), 2, return_indices=True)
    assert torch.equal(values, expected)
    assert torch.equal(places, where)
    assert expected.is_contiguous()


@pytest.mark.parametrize(
    "call, error, text",
    [
        (
            lambda x: x.index_add(1, torch.tensor([3]), x[:, :1]),
            RuntimeError,
            "index 3 is out of bounds for dimension 1",
        ),
        (lambda x: x[0].index_add(0, torch.tensor([3]), x[0, :1]), IndexError, "index out of range in self"),
        (lambda x: x.index_copy(1, torch.tensor([-1]), x[:, :1]), IndexError, "index out of range in self"),
        (
            lambda x: torch.grid_sampler(x[None, None], torch.ones(2, 1, 1, 2), 0, 0, True),
            RuntimeError,
            "same batch size",
        ),
        (
            lambda x: F.fractional_max_pool2d(x[None], (1,), output_size=(1, 1)),
            RuntimeError,
            "single Int or tuple of Ints",
        ),
        (lambda x: torch.nn.utils.rnn.pack_padded_sequence(torch.ones(0, 0), []), RuntimeError, "Cannot pack empty"),
        (lambda x: torch.int64.to_complex(), RuntimeError, "Unknown Complex ScalarType for Long"),
        (lambda x: delattr(x, "data"), RuntimeError, "Deleting tensor.data is not allowed"),
        (lambda x: torch.autograd.SavedTensor(), RuntimeError, "Trying to create a SavedTensor object from Python"),
    ],
)
def test_refusals(call, error, text):
    with pytest.raises(error, match=text):
        call(torch.ones(2, 3))
