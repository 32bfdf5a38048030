"""Tensors and NumPy's arrays in one expression, as PyTorch 2.13 has it."""

import numpy as np
import pytest

import mindtorch_v2 as torch

A, X = np.array([1.0, 3.0]), torch.tensor([2.0, 3.0])


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (lambda: X * A, [2.0, 9.0]),
        (lambda: X + A, [3.0, 6.0]),
        (lambda: A / X, [0.5, 1.0]),
        (lambda: A / torch.tensor([2, 4]), [0.5, 0.75]),
        (lambda: np.float64(6) / X, [3.0, 2.0]),
        (lambda: X @ A, 11.0),
        (lambda: np.maximum(X, A), [2.0, 3.0]),
        (lambda: np.negative(X), [-2.0, -3.0]),
        (lambda: np.sqrt(torch.tensor(4.0)), 2.0),
    ],
)
def test_results_are_tensors(result, expected):
    value = result()
    assert type(value) is torch.Tensor
    torch.testing.assert_close(value, torch.tensor(expected, dtype=value.dtype))


def test_equality_is_by_element():
    assert (X == A).tolist() == [False, True] and (A == X).tolist() == [False, True]
    assert np.isnan(X).dtype == torch.uint8
    assert (X == np.array(["a"])) is False and (X == [2, 3]) is False
    with pytest.raises(RuntimeError, match=r"The size of tensor a \(2\) must match the size of tensor b \(3\)"):
        X == np.ones(3)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: A - X, "unsupported operand type(s) for -: 'numpy.ndarray' and 'Tensor'"),
        (lambda: A @ X, "unsupported operand type(s) for @: 'numpy.ndarray' and 'Tensor'"),
        (lambda: X @ 3, "unsupported operand type(s) for @: 'Tensor' and 'int'"),
        (lambda: "a" / X, "unsupported operand type(s) for /: 'str' and 'Tensor'"),
        (
            lambda: X.requires_grad_("a"),
            "requires_grad_(): argument 'requires_grad' (position 1) must be bool, not str",
        ),
        (
            lambda: torch.finfo(torch.int),
            "torch.finfo() requires a floating point input type. Use torch.iinfo to handle 'torch.finfo'",
        ),
    ],
)
def test_refusals(call, text):
    with pytest.raises(TypeError) as refused:
        call()
    assert str(refused.value) == text
