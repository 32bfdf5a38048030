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
_ROWS = {op: next((row for row in ROWS.values() if row.handle is op._handle), None) for op in _OWN}
_BY_HAND = (
    torch.ops.aten.bucketize.Tensor,
    torch.ops.aten.eye.default,
    torch.ops.aten.arange.default,
    torch.ops.aten.arange.start,
    torch.ops.aten.new_empty.default,
)
_SAMPLED = [op for op in _OWN if _ROWS[op] and samples(_ROWS[op]) and op not in _BY_HAND]


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
        (aten.arange.default, (5,)),
        (aten.arange.start, (2, 4.5)),
        (aten.heaviside.default, (x, y)),
        (aten.logaddexp.default, (x, y)),
        (aten.logaddexp2.default, (x, y)),
        (aten.xlogy.Tensor, (x, y)),
        (aten.special_xlog1py.default, (x, y)),
        (aten.special_entr.default, (x,)),
        (aten.isclose.default, (x, y, 0.1, 0.1, True)),
        (aten.logsumexp.default, (x, [0])),
        (aten.linspace.default, (-1.5, 7, 6)),
    ):
        _compare(_OWN[op](*args), op(*args))


def test_operators_of_the_core_stay() -> None:
    table = core_aten_decompositions()
    assert torch.ops.aten.std.correction in table and torch.ops.aten._softmax.default not in table
    assert set(get_decompositions([torch.ops.aten._softmax])) == {torch.ops.aten._softmax.default}


@pytest.mark.parametrize("shape", [(2, 3, 5, 7), (1, 2, 4, 4)])
@pytest.mark.parametrize("scales", [(None, None), (1.7, 0.6)])
@pytest.mark.parametrize("name", ["upsample_nearest2d", "_upsample_nearest_exact2d"])
def test_the_nearest_neighbours_of_larger_and_smaller_images(shape: Any, scales: Any, name: str) -> None:
    op = getattr(torch.ops.aten, name).default
    image = torch.randn(shape).contiguous(memory_format=torch.channels_last)
    seen, expected = _OWN[op](image, [9, 3], *scales), op(image, [9, 3], *scales)
    assert torch.equal(seen, expected) and seen.stride() == expected.stride()


@pytest.mark.parametrize("train", [True, False])
def test_the_gradient_of_batch_norm(train: bool) -> None:
    op = torch.ops.aten.native_batch_norm_backward.default
    x, grad, weight = torch.randn(4, 3, 5), torch.randn(4, 3, 5), torch.randn(3)
    mean, var = x.mean([0, 2]), x.var([0, 2], correction=0)
    args = (grad, x, weight, mean + 1, var + 1, mean, torch.rsqrt(var + 1e-5), train, 1e-5, [True, True, True])
    _compare(_OWN[op](*args), op(*args))
    masked = (*args[:-1], [False, True, False])
    assert [each is None for each in _OWN[op](*masked)] == [True, False, True]


@pytest.mark.parametrize("reduction", [0, 1, 2])
@pytest.mark.parametrize("weighted", [True, False])
def test_losses_of_classes_and_their_gradients(reduction: int, weighted: bool) -> None:
    aten = torch.ops.aten
    x, target = torch.randn(4, 3, 2, 2), torch.tensor([[[0, 2], [1, -100]]] * 4)
    weight = torch.rand(3) if weighted else None
    args = (x, target, weight, reduction, -100)
    loss, total = aten.nll_loss2d_forward.default(*args)
    seen = _OWN[aten.nll_loss2d_forward.default](*args)
    _compare(seen if reduction == 1 else seen[:1], (loss, total) if reduction == 1 else (loss,))
    back = (torch.randn(loss.shape), *args, total)
    _compare(_OWN[aten.nll_loss2d_backward.default](*back), aten.nll_loss2d_backward.default(*back))


def test_steps_of_an_lstm() -> None:
    op = torch.ops.aten._lstm_scan.default
    args = torch.randn(3, 2, 20), torch.randn(2, 5), torch.randn(2, 5), torch.randn(20, 5)
    for reverse in (False, True):
        _compare(_OWN[op](*args, reverse), op(*args, reverse))


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("mask", [None, "bool", "float"])
def test_attention(causal: bool, mask: str | None) -> None:
    if causal and mask:
        return  # refused
    op = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default
    query, key, value = torch.randn(2, 4, 3, 8), torch.randn(2, 4, 5, 8), torch.randn(2, 4, 5, 8)
    masks = {"bool": torch.rand(3, 5) > 0.3, "float": torch.randn(3, 5), None: None}
    args, kwargs = (query, key, value, 0.0, causal), {"attn_mask": masks[mask]}
    _compare(_OWN[op](*args, **kwargs)[0], op(*args, **kwargs)[0])


def test_writes_in_place() -> None:
    x = torch.randn(3)
    rule = decomposition_table[torch.ops.aten.mul_.Tensor]
    expected = (x * 2).tolist()
    assert rule(x, 2) is x and x.tolist() == expected
    assert torch.ops.aten.t_.default not in decomposition_table


def test_an_exported_model_comes_down_to_the_core() -> None:
    class Model(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y = torch.nn.functional.mish(x) + torch.nn.functional.hardswish(x).tril()
            y = torch.stack([y, torch.logaddexp(x, y)]).roll(1, 0)
            return torch.nn.functional.softplus(y).logsumexp(-1).t()

    model, x = Model(), torch.randn(4, 4)
    program = torch.export.export(model, (x,)).run_decompositions()
    called = [node.target for node in program.graph.nodes if node.op == "call_function"]
    assert all(torch.Tag.core in op.tags for op in called), [op for op in called if torch.Tag.core not in op.tags]
    torch.testing.assert_close(program.module()(x), model(x))
