"""Views: strides, sharing, contiguity, and the errors of shapes that do not fit."""

import pytest

import mindtorch_v2 as torch


@pytest.mark.parametrize(
    ("make", "shape", "stride", "offset"),
    [
        (lambda x: x.t(), (4, 3), (1, 4), 0),
        (lambda x: x.transpose(0, 1), (4, 3), (1, 4), 0),
        (lambda x: x.permute(1, 0), (4, 3), (1, 4), 0),
        (lambda x: x.view(2, 6), (2, 6), (6, 1), 0),
        (lambda x: x.view(-1), (12,), (1,), 0),
        (lambda x: x.reshape(2, 2, -1), (2, 2, 3), (6, 3, 1), 0),
        (lambda x: x.unsqueeze(1), (3, 1, 4), (4, 4, 1), 0),
        (lambda x: x.unsqueeze(-1), (3, 4, 1), (4, 1, 1), 0),
        (lambda x: x[:, 1:3], (3, 2), (4, 1), 1),
        (lambda x: x[::2], (2, 4), (8, 1), 0),
        (lambda x: x.narrow(1, 1, 2), (3, 2), (4, 1), 1),
        (lambda x: x.select(0, 2), (4,), (1,), 8),
        (lambda x: x.diagonal(), (3,), (5,), 0),
        (lambda x: x.diagonal(1), (3,), (5,), 1),
        (lambda x: x.expand(2, 3, 4), (2, 3, 4), (0, 4, 1), 0),
        (lambda x: x[:1].expand(5, 4), (5, 4), (0, 1), 0),
        (lambda x: x.unfold(1, 2, 1), (3, 3, 2), (4, 1, 1), 0),
        (lambda x: x.as_strided((2, 2), (1, 2), 3), (2, 2), (1, 2), 3),
        (lambda x: x.movedim(0, 1), (4, 3), (1, 4), 0),
        (lambda x: x.flatten(), (12,), (1,), 0),
        (lambda x: x.unflatten(1, (2, 2)), (3, 2, 2), (4, 2, 1), 0),
        (lambda x: x.mT, (4, 3), (1, 4), 0),
        (lambda x: x.chunk(2, 1)[1], (3, 2), (4, 1), 2),
        (lambda x: x.split([1, 3], 1)[1], (3, 3), (4, 1), 1),
        (lambda x: x.unbind(0)[1], (4,), (1,), 4),
        (lambda x: x.squeeze(), (3, 4), (4, 1), 0),
        (lambda x: x.swapaxes(0, 1), (4, 3), (1, 4), 0),
        (lambda x: x.detach(), (3, 4), (4, 1), 0),
    ],
)
def test_geometry_and_sharing(make: object, shape: tuple, stride: tuple, offset: int) -> None:
    x = torch.arange(12.0).reshape(3, 4)
    y = make(x)
    assert (tuple(y.shape), y.stride(), y.storage_offset()) == (shape, stride, offset)
    assert y.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()


def test_contiguity() -> None:
    x = torch.zeros(3, 4)
    assert x.is_contiguous()
    assert not x.t().is_contiguous()
    assert x.t().contiguous().stride() == (3, 1)
    assert x.contiguous() is x
    assert torch.zeros(1, 5).t().is_contiguous()
    assert torch.zeros(0, 3).t().is_contiguous()
    images = torch.zeros(2, 3, 4, 5).to(memory_format=torch.channels_last)
    assert images.stride() == (60, 1, 15, 3)
    assert images.is_contiguous(memory_format=torch.channels_last)


def test_reshape_copies_only_if_it_must() -> None:
    x = torch.arange(6).reshape(2, 3)
    assert x.reshape(3, 2).data_ptr() == x.data_ptr()
    assert x.t().reshape(6).data_ptr() != x.data_ptr()
    assert x.t().reshape(6).tolist() == [0, 3, 1, 4, 2, 5]


@pytest.mark.parametrize(
    ("act", "text"),
    [
        (lambda x: x.view(5), r"shape '\[5\]' is invalid for input of size 6"),
        (lambda x: x.view(-1, -1), "only one dimension can be inferred"),
        (
            lambda x: x.t().view(6),
            "view size is not compatible with input tensor's size and stride",
        ),
        (lambda x: x.expand(4, 3), "must match the existing size"),
        (lambda x: x.permute(0, 0), "duplicate"),
        (lambda x: x.narrow(0, 1, 5), "exceeds dimension size"),
        (lambda x: torch.zeros(2, 2, 2).t(), "expects a tensor with <= 2 dimensions"),
    ],
)
def test_bad_shapes_are_named(act: object, text: str) -> None:
    with pytest.raises(RuntimeError, match=text):
        act(torch.arange(6).reshape(2, 3))


@pytest.mark.parametrize("dim", [2, -3])
def test_a_dimension_out_of_range_is_an_index_error(dim: int) -> None:
    with pytest.raises(
        IndexError,
        match=r"Dimension out of range \(expected to be in range of \[-2, 1\]",
    ):
        torch.zeros(2, 3).sum(dim)


def test_view_as_another_dtype() -> None:
    x = torch.tensor([1.0, -2.0])
    assert x.view(torch.int32).tolist() == [0x3F800000, -0x40000000]
    assert tuple(x.view(torch.uint8).shape) == (8,)
    assert x.view(torch.uint8).view(torch.float32).tolist() == [1, -2]
    assert torch.view_as_real(torch.tensor([1 + 2j])).tolist() == [[1, 2]]


def test_base_and_is_view() -> None:
    x = torch.zeros(2, 3)
    y = x.view(6)[1:]
    assert y._is_view()
    assert y._base is x
    assert not x._is_view()
    assert x._base is None


def test_joining_and_tiling() -> None:
    a, b = torch.tensor([[1, 2]]), torch.tensor([[3, 4]])
    assert torch.cat([a, b]).tolist() == [[1, 2], [3, 4]]
    assert torch.cat([a, b], dim=-1).tolist() == [[1, 2, 3, 4]]
    assert torch.cat([torch.empty(0), torch.tensor([1.0])]).tolist() == [1]
    assert torch.stack([a, b], dim=1).shape == (1, 2, 2)
    assert torch.hstack([a, b]).tolist() == [[1, 2, 3, 4]]
    assert torch.vstack([a, b]).tolist() == [[1, 2], [3, 4]]
    assert a.repeat(2, 2).tolist() == [[1, 2, 1, 2], [1, 2, 1, 2]]
    assert torch.tile(a, (2,)).tolist() == [[1, 2, 1, 2]]
    assert a.repeat_interleave(2, dim=1).tolist() == [[1, 1, 2, 2]]
    assert torch.flip(a, [1]).tolist() == [[2, 1]]
    assert torch.roll(torch.arange(4), 1).tolist() == [3, 0, 1, 2]
    with pytest.raises(RuntimeError, match="Sizes of tensors must match except in dimension 0"):
        torch.cat([a, torch.zeros(1, 3)])
    with pytest.raises(RuntimeError, match="stack expects each tensor to be equal size"):
        torch.stack([a, torch.zeros(1, 3)])


def test_broadcasting() -> None:
    assert (torch.zeros(3, 1) + torch.arange(2)).shape == (3, 2)
    assert [tuple(t.shape) for t in torch.broadcast_tensors(torch.zeros(3, 1), torch.zeros(2))] == [(3, 2), (3, 2)]
    assert torch.broadcast_shapes((3, 1), (2,)) == torch.Size([3, 2])
    with pytest.raises(
        RuntimeError,
        match=r"The size of tensor a \(3\) must match the size of tensor b \(2\)",
    ):
        torch.zeros(3) + torch.zeros(2)


def test_set_and_resize() -> None:
    x = torch.arange(6)
    x.resize_(2, 2)
    assert x.tolist() == [[0, 1], [2, 3]]
    y = torch.empty(0, dtype=x.dtype)
    y.set_(x)
    assert y.data_ptr() == x.data_ptr()
    assert torch.Size([2, 3]).numel() == 6
