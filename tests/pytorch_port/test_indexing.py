"""Getting and setting by every kind of index: values, shapes, and which results share memory."""

import pytest

import mindtorch_v2 as torch


@pytest.fixture
def x() -> torch.Tensor:
    return torch.arange(24).reshape(2, 3, 4)


@pytest.mark.parametrize(
    ("index", "shape", "first"),
    [
        (0, (3, 4), 0),
        (-1, (3, 4), 12),
        ((1, 2), (4,), 20),
        ((1, 2, 3), (), 23),
        (slice(None), (2, 3, 4), 0),
        (slice(1, None), (1, 3, 4), 12),
        ((slice(None), slice(None, None, 2)), (2, 2, 4), 0),
        ((Ellipsis, 1), (2, 3), 1),
        ((0, Ellipsis, 2), (3,), 2),
        ((None, 0), (1, 3, 4), 0),
        ((Ellipsis, None), (2, 3, 4, 1), 0),
        ((slice(None), None, 1), (2, 1, 4), 4),
        ((slice(5, 9),), (0, 3, 4), None),
        ((slice(None), slice(-2, None), slice(1, -1)), (2, 2, 2), 5),
    ],
)
def test_basic_index_is_a_view(x: torch.Tensor, index: object, shape: tuple[int, ...], first: int | None) -> None:
    result = x[index]
    assert tuple(result.shape) == shape
    if first is not None:
        assert result.flatten()[0].item() == first
        result.flatten()  # a copy or a view: only the line below decides
        result.fill_(-7)
        assert (x == -7).sum().item() == result.numel()


@pytest.mark.parametrize(
    ("index", "expected"),
    [
        (([0, 1, 1],), [[0, 1, 2], [3, 4, 5], [3, 4, 5]]),
        (([0, 2], [1, 0]), [1, 6]),
        ((slice(None), [2, 0]), [[2, 0], [5, 3], [8, 6]]),
        (([[0], [2]], [0, 1]), [[0, 1], [6, 7]]),
        (([-1],), [[6, 7, 8]]),
        ((1, [0, 0]), [3, 3]),
    ],
)
def test_lists_and_tensors_index_alike(index: tuple, expected: list) -> None:
    x = torch.arange(9).reshape(3, 3)
    assert x[index].tolist() == expected
    tensors = tuple(torch.tensor(part) if isinstance(part, list) else part for part in index)
    assert x[tensors].tolist() == expected


def test_separated_advanced_indices_come_first() -> None:
    x = torch.arange(120).reshape(2, 3, 4, 5)
    assert tuple(x[:, [0, 1, 2], :, [0, 0, 1]].shape) == (3, 2, 4)
    assert tuple(x[:, [0, 1, 2], [0, 0, 1]].shape) == (2, 3, 5)
    # An integer is a selection made first, unlike in NumPy.
    assert tuple(x[0, :, [1, 2]].shape) == (3, 2, 5)
    assert tuple(x[..., [[1], [2]], 0].shape) == (2, 3, 2, 1)


def test_boolean_masks() -> None:
    x = torch.arange(6).reshape(2, 3)
    assert x[x > 3].tolist() == [4, 5]
    assert x[torch.tensor([False, True])].tolist() == [[3, 4, 5]]
    assert x[:, torch.tensor([True, False, True])].tolist() == [[0, 2], [3, 5]]
    assert tuple(x[torch.tensor(True)].shape) == (1, 2, 3)
    assert tuple(x[False].shape) == (0, 2, 3)
    assert x[torch.zeros(2, 3, dtype=torch.bool)].numel() == 0
    with pytest.raises(IndexError, match="The shape of the mask"):
        x[torch.tensor([True, False, True])]


def test_advanced_index_copies() -> None:
    x = torch.zeros(4)
    y = x[[0, 1]]
    y.fill_(1)
    assert x.sum().item() == 0


@pytest.mark.parametrize(
    ("index", "value", "expected"),
    [
        (0, 9, [[9, 9, 9], [3, 4, 5]]),
        ((slice(None), 1), [7, 8], [[0, 7, 2], [3, 8, 5]]),
        ((Ellipsis, slice(None, None, 2)), 0, [[0, 1, 0], [0, 4, 0]]),
        (([1, 0], [0, 2]), [10, 20], [[0, 1, 20], [10, 4, 5]]),
        ((slice(None), [0, 2]), [[1], [2]], [[1, 1, 1], [2, 4, 2]]),
    ],
)
def test_setting(index: object, value: object, expected: list) -> None:
    x = torch.arange(6).reshape(2, 3)
    x[index] = torch.tensor(value) if isinstance(value, list) else value
    assert x.tolist() == expected


def test_setting_by_mask() -> None:
    x = torch.arange(6.0).reshape(2, 3)
    x[x > 2] = -1
    assert x.tolist() == [[0, 1, 2], [-1, -1, -1]]
    x[torch.tensor([[True, False, True], [False, False, True]])] = torch.tensor([10.0, 20.0, 30.0])
    assert x.tolist() == [[10, 1, 20], [-1, -1, 30]]


def test_setting_converts_the_value() -> None:
    x = torch.zeros(3, dtype=torch.int64)
    x[1] = torch.tensor(2.9)
    x[2] = True
    assert x.tolist() == [0, 2, 1]


def test_index_put_accumulates() -> None:
    x = torch.zeros(4)
    at = (torch.tensor([1, 1, 3]),)
    x.index_put_(at, torch.tensor([1.0, 2.0, 5.0]), accumulate=True)
    assert x.tolist() == [0, 3, 0, 5]
    assert x.index_put(at, torch.tensor(1.0)).tolist() == [0, 1, 0, 1]


@pytest.mark.parametrize(
    ("index", "error", "text"),
    [
        (2, IndexError, "index 2 is out of bounds for dimension 0 with size 2"),
        ((0, 0, 0, 0), IndexError, "too many indices for tensor of dimension 3"),
        (slice(None, None, -1), ValueError, "step must be greater than zero"),
        ("a", (TypeError, IndexError), None),
        (1.5, (TypeError, IndexError), None),
        (([5],), IndexError, "out of bounds"),
    ],
)
def test_what_does_not_fit_is_named(x: torch.Tensor, index: object, error: type, text: str | None) -> None:
    with pytest.raises(error, match=text):
        x[index]


def test_iteration_and_length(x: torch.Tensor) -> None:
    assert len(x) == 2
    assert [part.sum().item() for part in x] == [66, 210]
    first, second = x
    assert second[0, 0].item() == 12
    with pytest.raises(TypeError):
        len(torch.tensor(3))
    with pytest.raises(TypeError, match="iteration over a 0-d tensor"):
        iter(torch.tensor(3))


def test_gather_scatter_and_select() -> None:
    x = torch.arange(6.0).reshape(2, 3)
    index = torch.tensor([[2, 0], [1, 1]])
    assert x.gather(1, index).tolist() == [[2, 0], [4, 4]]
    assert torch.zeros(2, 3).scatter(1, index, x[:, :2]).tolist() == [
        [1, 0, 0],
        [0, 4, 0],
    ]
    assert torch.zeros(2, 3).scatter_add(1, index, torch.ones(2, 2)).tolist() == [
        [1, 0, 1],
        [0, 2, 0],
    ]
    assert torch.zeros(2, 3).scatter(1, index, 5.0).tolist() == [[5, 0, 5], [0, 5, 0]]
    assert x.index_select(1, torch.tensor([2, 2])).tolist() == [[2, 2], [5, 5]]
    assert x.masked_fill(x > 3, 0).tolist() == [[0, 1, 2], [3, 0, 0]]
    assert torch.take(x, torch.tensor([0, 5])).tolist() == [0, 5]
    assert x.take_along_dim(x.argsort(dim=1, descending=True), dim=1).tolist() == [
        [2, 1, 0],
        [5, 4, 3],
    ]


def test_gradient_of_indexing() -> None:
    x = torch.arange(6.0).reshape(2, 3).requires_grad_()
    (x[0].sum() + 2 * x[:, [1, 1]].sum() + 3 * x[x > 4].sum()).backward()
    assert x.grad.tolist() == [[1, 5, 1], [0, 4, 3]]


def test_gradient_of_setting() -> None:
    x = torch.ones(3, requires_grad=True)
    value = torch.tensor(2.0, requires_grad=True)
    y = x * 3
    y[1] = value * 5
    y.sum().backward()
    assert x.grad.tolist() == [3, 0, 3]
    assert value.grad.item() == 5
