"""Scans with functions: `associative_scan` and `scan`, on integers, whose results are closed forms."""

import itertools

import pytest

import mindtorch_v2 as torch
from mindtorch_v2._dynamo.exc import UncapturedHigherOrderOpError
from mindtorch_v2._higher_order_ops import associative_scan, scan


def recurrence(first, second):
    """Of x -> a x + b: what the second does after the first."""
    return first[0] * second[0], second[0] * first[1] + second[1]


@pytest.mark.parametrize("length", [1, 2, 3, 4, 5, 8, 13])
@pytest.mark.parametrize("reverse", [False, True])
def test_a_linear_recurrence(length, reverse):
    a = torch.arange(2 * length).view(2, length) % 3 - 1
    b = torch.arange(2 * length).view(2, length) % 5
    _, found = associative_scan(recurrence, (a, b), -1, reverse=reverse, combine_mode="generic")
    for row, factors, terms in zip(found.tolist(), a.tolist(), b.tolist()):
        order = list(zip(factors, terms))[:: -1 if reverse else 1]
        expected = list(itertools.accumulate(order, lambda x, step: (0, step[0] * x[1] + step[1])))
        assert row == [each[1] for each in expected][:: -1 if reverse else 1]


def test_structures_and_gradients():
    x = torch.tensor([1.0, 2.0, 4.0], requires_grad=True)
    product = associative_scan(lambda a, b: {"x": a["x"] * b["x"]}, {"x": x}, 0, combine_mode="generic")["x"]
    assert product.tolist() == [1, 2, 8]
    product.sum().backward()
    assert x.grad.tolist() == [11, 5, 2]


def test_scan_hands_on_its_carry():
    x = torch.arange(6).view(2, 3)
    carry, y = scan(lambda total, x: (total + x, {"before": total * 1}), torch.zeros(2, dtype=torch.int64), x, dim=1)
    assert carry.tolist() == [3, 12]
    assert y["before"].tolist() == [[0, 0, 1], [0, 3, 7]]
    carry, y = scan(lambda total, x: (total - x, total * 1), torch.tensor(10), torch.tensor([1, 2, 3]), reverse=True)
    assert carry.item() == 4
    assert y.tolist() == [5, 7, 10]
    assert scan(lambda total, x: (total, x), torch.tensor(1), ()) == (torch.tensor(1), [])


def test_gradients_of_scan():
    x = torch.tensor([2.0, 3.0], requires_grad=True)
    scan(lambda product, x: (product * x, product + 0), torch.ones(()), x)[0].backward()
    assert x.grad.tolist() == [3, 2]


X = torch.zeros(3, 4)


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ((torch.add, X, 0), ValueError, "all input tensors need to be on CUDA or XPU"),
        (
            (torch.add, X, 0, False, "fast"),
            ValueError,
            "Combine_mode must either 'pointwise' or 'generic', but got fast",
        ),
        ((3, X, 0, False, "generic"), ValueError, "Combine_fn must be a callable, but got 3"),
        ((torch.add, X, 2, False, "generic"), IndexError, r"expected to be in range of \[-2, 1\], but got 2"),
        ((torch.add, X, "a", False, "generic"), ValueError, "Dim must be an int, but got <class 'str'>"),
        ((torch.add, X, 0, 3, "generic"), RuntimeError, "Reverse must be a bool, but got <class 'int'>"),
        ((torch.add, X[:0], 0, False, "generic"), ValueError, "scan dimension > 0"),
        ((torch.add, (), 0, False, "generic"), ValueError, "Expected at least 1 xs leaf"),
        ((torch.add, (X, 3.0), 0, False, "generic"), ValueError, "xs leaves must be a Tensor"),
    ],
)
def test_arguments(arguments, error, text):
    with pytest.raises(error, match=text):
        associative_scan(*arguments)


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ((lambda c, x: (c, x), X[0], X[:0]), RuntimeError, "scan dimension > 0"),
        ((lambda c, x: (c, x), (), X), RuntimeError, r"scan\(\) operator requires init leaves."),
        ((lambda c, x: (c, x), 3, X), RuntimeError, "All init leaves must be a Tensor but got 3"),
        ((lambda c, x: (c, x), X[0], 3), RuntimeError, "All xs leaves must be a Tensor but got 3"),
        ((lambda c, x: (c[:1], x), X[0], X), UncapturedHigherOrderOpError, "carry and init to have same metadata"),
    ],
)
def test_arguments_of_scan(arguments, error, text):
    with pytest.raises(error, match=text):
        scan(*arguments)
