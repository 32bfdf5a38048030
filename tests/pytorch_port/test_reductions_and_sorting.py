"""Reductions, scans, sorting and searching: values, dtypes, `dim`, `keepdim`, and what empty inputs give."""

import math

import pytest

import mindtorch_v2 as torch

_X = [[3.0, 1.0, 2.0], [6.0, 5.0, 4.0]]


@pytest.mark.parametrize(
    ("reduce", "expected"),
    [
        (lambda x: x.sum(), 21),
        (lambda x: x.sum(0), [9, 6, 6]),
        (lambda x: x.sum((0, 1), keepdim=True), [[21]]),
        (lambda x: x.sum(-1, dtype=torch.float64), [6, 15]),
        (lambda x: x.mean(1), [2, 5]),
        (lambda x: x.prod(0), [18, 5, 8]),
        (lambda x: x.amax(1), [3, 6]),
        (lambda x: x.amin((0, 1)), 1),
        (lambda x: x.max(), 6),
        (lambda x: x.argmax(), 3),
        (lambda x: x.argmin(1, keepdim=True), [[1], [2]]),
        (lambda x: x.var(1), [1, 1]),
        (lambda x: x.var(1, correction=0), [2 / 3, 2 / 3]),
        (lambda x: x.std(1, unbiased=False), [math.sqrt(2 / 3)] * 2),
        (lambda x: x.norm(), math.sqrt(91)),
        (lambda x: x.norm(1, dim=1), [6, 15]),
        (lambda x: torch.linalg.vector_norm(x, float("inf"), dim=0), [6, 5, 4]),
        (lambda x: x.logsumexp(1), [math.log(sum(map(math.exp, row))) for row in _X]),
        (lambda x: x.cumsum(1), [[3, 4, 6], [6, 11, 15]]),
        (lambda x: x.cumprod(1), [[3, 3, 6], [6, 30, 120]]),
        (lambda x: x.cummax(1).values, [[3, 3, 3], [6, 6, 6]]),
        (lambda x: x.cummin(1).indices, [[0, 1, 1], [0, 1, 2]]),
        (lambda x: x.median(1).values, [2, 5]),
        (lambda x: x.kthvalue(2, 1).values, [2, 5]),
        (lambda x: x.count_nonzero(), 6),
        (lambda x: (x > 2).any(0), [True, True, True]),
        (lambda x: (x > 2).all(1), [False, True]),
        (lambda x: x.aminmax(dim=1).min, [1, 4]),
        (lambda x: x.diff(), [[-2, 1], [-1, -1]]),
        (lambda x: torch.quantile(x, 0.5), 3.5),
        (lambda x: x.nansum(), 21),
        (lambda x: torch.trapezoid(x, dim=1), [3.5, 10]),
    ],
)
def test_values(reduce: object, expected: object) -> None:
    result = reduce(torch.tensor(_X))
    actual = torch.tensor(expected)
    assert result.shape == actual.shape
    torch.testing.assert_close(result.double(), actual.double(), rtol=1e-6, atol=1e-6)


def test_pairs_are_named_tuples() -> None:
    result = torch.tensor(_X).max(1)
    assert result.values.tolist() == [3, 6]
    assert result.indices.tolist() == [0, 0]
    values, indices = torch.tensor(_X).sort(dim=1, descending=True)
    assert values.tolist() == [[3, 2, 1], [6, 5, 4]]
    assert indices.tolist() == [[0, 2, 1], [0, 1, 2]]
    assert type(result).__name__ == "max"


def test_top_k_and_search() -> None:
    x = torch.tensor([5, 1, 4, 2, 3])
    assert x.topk(2).values.tolist() == [5, 4]
    assert x.topk(2, largest=False).indices.tolist() == [1, 3]
    assert x.argsort().tolist() == [1, 3, 4, 2, 0]
    assert torch.searchsorted(torch.tensor([1, 3, 5]), torch.tensor([0, 3, 6])).tolist() == [0, 1, 3]
    assert torch.searchsorted(torch.tensor([1, 3, 5]), 3, right=True).item() == 2
    assert torch.bucketize(torch.tensor([2.5]), torch.tensor([1.0, 2.0, 3.0])).tolist() == [2]
    assert torch.isin(x, torch.tensor([1, 2])).tolist() == [
        False,
        True,
        False,
        True,
        False,
    ]
    assert torch.nonzero(x > 3).tolist() == [[0], [2]]
    assert torch.nonzero(x > 3, as_tuple=True)[0].tolist() == [0, 2]
    assert torch.where(x > 3)[0].tolist() == [0, 2]
    with pytest.raises(RuntimeError, match="selected index k out of range"):
        x.topk(6)


def test_stable_sort_keeps_order() -> None:
    x = torch.tensor([2, 1, 2, 1] * 20)
    order = x.sort(stable=True).indices
    assert order.tolist() == [i for i in range(80) if i % 2] + [i for i in range(80) if not i % 2]


def test_unique_and_counts() -> None:
    x = torch.tensor([3, 1, 3, 2, 1])
    values, inverse, counts = torch.unique(x, return_inverse=True, return_counts=True)
    assert (values.tolist(), inverse.tolist(), counts.tolist()) == (
        [1, 2, 3],
        [2, 0, 2, 1, 0],
        [2, 1, 2],
    )
    assert torch.unique_consecutive(torch.tensor([1, 1, 2, 1])).tolist() == [1, 2, 1]
    assert torch.bincount(x).tolist() == [0, 2, 1, 2]
    assert torch.bincount(x, weights=torch.ones(5), minlength=5).tolist() == [
        0,
        2,
        1,
        2,
        0,
    ]
    assert torch.histc(x.float(), bins=3, min=1, max=3).tolist() == [2, 1, 2]


def test_nan_wins() -> None:
    x = torch.tensor([1.0, float("nan"), 3.0])
    assert x.max().isnan()
    assert x.argmax().item() == 1
    assert x.amin().isnan()
    assert torch.maximum(x, torch.zeros(3)).isnan().tolist() == [False, True, False]
    assert torch.fmax(x, torch.zeros(3)).tolist() == [1, 0, 3]
    assert x.nanmean().item() == 2
    assert x.sort().values[-1].isnan()
    assert torch.nan_to_num(x, nan=9.0).tolist() == [1, 9, 3]


def test_empty_inputs() -> None:
    empty = torch.empty(0, 3)
    assert empty.sum().item() == 0
    assert empty.prod().item() == 1
    assert empty.sum(0).tolist() == [0, 0, 0]
    assert empty.mean().isnan()
    assert empty.all().item() is True
    assert empty.any().item() is False
    assert tuple(empty.max(1).values.shape) == (0,)
    assert tuple(empty.sort(0).values.shape) == (0, 3)
    with pytest.raises(IndexError, match="Expected reduction dim 0 to have non-zero size"):
        empty.max(0)
    with pytest.raises(RuntimeError, match="(?s)Expected reduction dim to be specified for input.numel"):
        empty.max()
    with pytest.raises((RuntimeError, IndexError), match="non-zero size|to be specified"):
        empty.argmax()


def test_a_dimension_named_twice() -> None:
    with pytest.raises(RuntimeError, match="dim 0 appears multiple times in the list of dims"):
        torch.zeros(2, 3).sum((0, -2))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_low_precision_sums_are_accumulated_wide(dtype: torch.dtype) -> None:
    assert torch.ones(4000, dtype=dtype).sum().item() == torch.tensor(4000.0, dtype=dtype).item()
    assert torch.full((3000,), 0.1, dtype=dtype).mean().item() == pytest.approx(0.1, rel=1e-2)


def test_gradients_of_ties_and_zeros() -> None:
    x = torch.tensor([2.0, 2.0, 1.0], requires_grad=True)
    x.max().backward()
    assert x.grad.tolist() == [0.5, 0.5, 0]
    x.grad = None
    x.max(0).values.backward()
    assert x.grad.tolist() == [1, 0, 0]
    x.grad = None
    x.amax().backward()
    assert x.grad.tolist() == [0.5, 0.5, 0]
    zeros = torch.tensor([0.0, 3.0, 0.0], requires_grad=True)
    zeros.prod().backward()
    assert zeros.grad.tolist() == [0, 0, 0]
    zeros.grad = None
    zeros.norm().backward()
    assert zeros.grad.tolist() == [0, 1, 0]
    origin = torch.zeros(2, requires_grad=True)
    origin.norm().backward()
    assert origin.grad.tolist() == [0, 0]
