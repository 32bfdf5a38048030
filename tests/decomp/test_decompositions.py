"""Each registered decomposition against the operator that it says the same as, on the samples of the operator's row.

The operators' own numbers are compared with PyTorch's in tests/ops; here the two ways to compute one thing are.
"""

from __future__ import annotations

from typing import Any

import pytest
from samples import Inputs, flat, samples

import mindtorch_v2 as torch
from mindtorch_v2._decomp import core_aten_decompositions, decomposition_table, get_decompositions
from mindtorch_v2._operators.table import ROWS

_OWN = {op: rule for op, rule in decomposition_table.items() if rule.__module__.startswith("mindtorch_v2._decomp")}
_ROWS = {op: next(row for row in ROWS.values() if row.handle is op._handle) for op in _OWN}
_BY_HAND = (torch.ops.aten.bucketize.Tensor, torch.ops.aten.eye.default)
_SAMPLED = [op for op in _OWN if samples(_ROWS[op]) and op not in _BY_HAND]


@pytest.mark.parametrize("op", _SAMPLED, ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_a_decomposition_computes_what_the_operator_does(op: Any, dtype: str) -> None:
    compared = 0
    for index in range(len(samples(_ROWS[op]))):
        inputs = Inputs(torch, _ROWS[op], index, dtype)
        try:
            expected = op(*inputs.args, **inputs.kwargs)
        except RuntimeError:
            continue  # a sample of what is refused
        _compare(_OWN[op](*inputs.args, **inputs.kwargs), expected)
        compared += 1
    assert compared


@pytest.mark.parametrize("name", ["_softmax_backward_data", "_log_softmax_backward_data"])
def test_gradients_of_softmax(name: str) -> None:
    op = getattr(torch.ops.aten, name).default
    grad, output = torch.randn(3, 4), torch.randn(3, 4).softmax(1)
    _compare(_OWN[op](grad, output, 1, torch.float32), op(grad, output, 1, torch.float32))


def _compare(seen: Any, expected: Any) -> None:
    for one, other in zip(flat(seen), flat(expected), strict=True):
        bounds = {"rtol": 0.02, "atol": 0.02} if other.dtype is torch.bfloat16 else {}
        torch.testing.assert_close(one, other, equal_nan=True, **bounds)


def test_numbers_that_are_none() -> None:
    nan, inf = float("nan"), float("inf")
    x, y = torch.tensor([nan, 1.0, inf, -inf, 0.0, -0.0]), torch.tensor([1.0, nan, -inf, 2.0, -0.0, 0.0])
    aten = torch.ops.aten
    for op, args in (
        (aten.fmax.default, (x, y)),
        (aten.fmin.default, (x, y)),
        (aten.copysign.Tensor, (x, y)),
        (aten.hypot.default, (x, y)),
        (aten.nan_to_num.default, (x, 3.0, 4.0, 5.0)),
        (aten.bucketize.Tensor, (x, torch.tensor([0.0, 1.0]))),
        (aten.lerp.Scalar, (x, y, 0.25)),
        (aten.eye.default, (3,)),
    ):
        _compare(_OWN[op](*args), op(*args))


def test_operators_of_the_core_stay() -> None:
    table = core_aten_decompositions()
    assert torch.ops.aten.std.correction in table and torch.ops.aten._softmax.default not in table
    assert set(get_decompositions([torch.ops.aten._softmax])) == {torch.ops.aten._softmax.default}
