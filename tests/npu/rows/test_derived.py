"""Checks that follow for each row of Ascend's namespaces from its samples: gradients, meta tensors, schema, other devices."""

from typing import Any

import pytest
from samples import Inputs, flat

import mindtorch_v2 as torch
from mindtorch_v2._operators.table import rows_of

torch.ops.npu.npu_rms_norm
ROWS = {**rows_of("npu"), **rows_of("atb")}
CASES = [(name, index) for name, row in sorted(ROWS.items()) for index in range(len(row.samples))]
cases = pytest.mark.parametrize(("name", "index"), CASES, ids=[f"{name}-{index}" for name, index in CASES])


def _moves(row: Any) -> bool:
    """Whether autograd has a way through the operator: a formula, or the body's own operators."""
    if "!" in row.schema or "no_gradient" in getattr(next(iter((row.grad or {}).values()), None), "__qualname__", ""):
        return False
    return row.grad is not None or "CompositeImplicitAutograd" in row.handle.kernels()


def test_there_are_samples() -> None:
    assert len(CASES) >= 45


@cases
def test_gradients_are_difference_quotients(name: str, index: int) -> None:
    row = ROWS[name]
    inputs = Inputs(torch, row, index, "float64", grad=True)
    if not _moves(row) or not inputs.leaves:
        pytest.skip("no gradient, as its row says")

    def call(*leaves: torch.Tensor) -> list[Any]:
        results = flat(row.handle(*inputs.args, **inputs.kwargs))
        return [r for r in results if isinstance(r, torch.Tensor) and r.requires_grad]

    assert torch.autograd.gradcheck(call, tuple(inputs.leaves), nondet_tol=0.0)


@cases
def test_an_operator_without_a_gradient_says_so(name: str, index: int) -> None:
    row = ROWS[name]
    inputs = Inputs(torch, row, index, "float32", grad=True)
    if _moves(row) or "!" in row.schema or not inputs.leaves:
        pytest.skip("it has a gradient, or writes")
    results = [r for r in flat(row.handle(*inputs.args, **inputs.kwargs)) if isinstance(r, torch.Tensor)]
    floating = [r for r in results if r.requires_grad]
    for result in floating:
        with pytest.raises(RuntimeError, match=f"derivative for npu::{row.handle.name} is not implemented"):
            result.sum().backward()


@cases
def test_meta_tensors_have_the_form_of_real_ones(name: str, index: int) -> None:
    row = ROWS[name]
    real = flat(row.handle(*(i := Inputs(torch, row, index, "bfloat16")).args, **i.kwargs))
    meta = flat(row.handle(*(i := Inputs(torch, row, index, "bfloat16", device="meta")).args, **i.kwargs))
    assert len(real) == len(meta)
    for ours, theirs in zip(meta, real, strict=True):
        if isinstance(theirs, torch.Tensor):
            assert (ours.shape, ours.dtype, ours.stride()) == (theirs.shape, theirs.dtype, theirs.stride())
            assert ours.device.type == "meta"


@cases
def test_the_schema_tells_the_truth(name: str, index: int) -> None:
    row = ROWS[name]
    inputs = Inputs(torch, row, index, "float32")
    torch.library.opcheck(
        getattr(getattr(getattr(torch.ops, row.handle.namespace), row.handle.name), row.handle.overload or "default"),
        tuple(inputs.args),
        inputs.kwargs,
        test_utils=("test_schema", "test_faketensor"),
    )
