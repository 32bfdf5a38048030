"""Operators on seeded random numbers beside snapshots of PyTorch's results, in the form that the design document gives them.

Seeds give PyTorch's numbers, so that nothing but results is stored. tests/ops does the same for every operator, from its row.
"""

import pytest
import reference
from array_snapshots import assert_matches_snapshot

import mindtorch_v2 as torch


def test_add():
    a = torch.randn(3, 4)
    b = torch.randn(3, 4)
    result = torch.add(a, b)
    assert_matches_snapshot(result, "add_3x4")


OPERATORS = {
    "sub_3x4": lambda a, b: a - b,
    "mul_3x4": lambda a, b: a * b,
    "div_3x4": lambda a, b: a / b,
    "matmul_3x4": lambda a, b: a @ b.t(),
    "pow_3x4": lambda a, b: a.abs() ** b,
    "sum_3x4": lambda a, b: a.sum(dim=1),
    "mean_3x4": lambda a, b: a.mean(),
    "max_3x4": lambda a, b: tuple(a.max(dim=0)),
    "min_3x4": lambda a, b: tuple(a.min(dim=1)),
    "softmax_3x4": lambda a, b: a.softmax(dim=-1),
    "layer_norm_3x4": lambda a, b: torch.nn.functional.layer_norm(a, (4,)),
    "gelu_3x4": lambda a, b: torch.nn.functional.gelu(a),
    "comparisons_3x4": lambda a, b: (a == b, a != b, a > b, a < b, a >= b, a <= b),
}


@pytest.mark.parametrize("name", OPERATORS)
def test_operators(name):
    a, b = torch.randn(3, 4), torch.randn(3, 4)
    assert_matches_snapshot(OPERATORS[name](a, b), name)


def test_a_snapshot_that_differs_is_seen(monkeypatch):
    monkeypatch.setattr(reference, "is_reference", lambda: False)
    with pytest.raises(AssertionError):
        assert_matches_snapshot(torch.add(torch.randn(3, 4), torch.randn(3, 4)) + 1e-3, "add_3x4")
    with pytest.raises(AssertionError, match="there is no snapshot"):
        assert_matches_snapshot(torch.ones(1), "of nothing")
