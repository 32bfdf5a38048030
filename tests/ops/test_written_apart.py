"""Operators that write where indices say: what is written shares no memory with the indices, nor with what is written."""

import pytest

import mindtorch_v2 as torch

REFUSED = "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single"


def _made():
    return torch.tensor([2, 1, 0]), torch.arange(6.0)


@pytest.mark.parametrize(
    "write",
    [
        lambda i, y: i.index_add_(0, i, i.clone()),
        lambda i, y: i.index_add_(0, i.clone(), i),
        lambda i, y: y.index_add_(0, i, y[:3]),
        lambda i, y: i.index_copy_(0, i, i.clone()),
        lambda i, y: i.index_copy_(0, i.clone(), i),
        lambda i, y: i.index_fill_(0, i, 0),
        lambda i, y: i.index_reduce_(0, i, i.clone(), "amax"),
        lambda i, y: i.put_(i, i.clone()),
        lambda i, y: i.put_(i.clone(), i),
        lambda i, y: y.put_(i[0], y[0]),
        lambda i, y: i.index_put_((i,), i.clone()),
        lambda i, y: i.index_put_((i.clone(),), i),
        lambda i, y: y.index_put_((i,), y[:3]),
        lambda i, y: i.scatter_(0, i, i.clone()),
        lambda i, y: y.scatter_(0, i, y[:3]),
        lambda i, y: i.scatter_(0, i, 5),
        lambda i, y: i.scatter_(0, i, 5, reduce="add"),
        lambda i, y: i.scatter_add_(0, i, i.clone()),
        lambda i, y: i.scatter_reduce_(0, i, i.clone(), "sum"),
        lambda i, y: torch.scatter(torch.zeros(3, dtype=torch.int64), 0, i, 5, out=i),
        lambda i, y: torch.index_add(torch.zeros(3, dtype=torch.int64), 0, i.clone(), i, out=i),
    ],
)
def test_shared_memory_is_refused(write):
    i, y = _made()
    with pytest.raises(RuntimeError, match=REFUSED):
        write(i, y)
    assert i.tolist() == [2, 1, 0] and y.tolist() == list(range(6))


def test_what_makes_a_new_tensor_may_read_itself():
    i, y = _made()
    assert i.index_add(0, i, i).tolist() == [2, 2, 2]
    assert i.scatter(0, i, i).tolist() == [0, 1, 2]
    assert i.index_put((i,), i).tolist() == [0, 1, 2]
    assert y.index_add(0, i, y[:3]).tolist() == [2, 2, 2, 3, 4, 5]


def test_the_first_argument_may_be_what_is_written():
    i, y = _made()
    assert torch.index_add(y, 0, i, torch.ones(3), out=y).tolist() == [1, 2, 3, 3, 4, 5]


def test_a_mask_may_be_one_of_itself():
    m = torch.tensor([True, False, True])
    m[m] = False
    assert m.tolist() == [False] * 3


def test_empty_selections_tell_of_bad_positions():
    with pytest.raises(RuntimeError, match="self indexing axis dim should be positive"):
        torch.index_select(torch.ones(0, 3), 0, torch.tensor([0]))
    with pytest.raises(RuntimeError, match="INDICES element is out of DATA bounds, id=5 axis_dim=3"):
        torch.index_select(torch.ones(0, 3), 1, torch.tensor([0, 5]))
    assert torch.index_select(torch.ones(0, 3), 1, torch.tensor([0, 2])).shape == (0, 2)
    with pytest.raises(IndexError, match="index out of range in self"):
        torch.index_select(torch.ones(2, 3), 1, torch.tensor([3]))
