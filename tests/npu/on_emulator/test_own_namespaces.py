"""The operators of Ascend's own namespaces on the device: the numbers that they give on the CPU, forward and backward."""

from typing import Any

import pytest
from samples import Inputs, flat

import mindtorch_v2 as torch
from mindtorch_v2._operators.table import rows_of

torch.npu.init()
torch.ops.npu.npu_rms_norm
ROWS = {**rows_of("npu"), **rows_of("atb")}
CASES = [(name, index) for name, row in sorted(ROWS.items()) for index in range(len(row.samples))]


def _run(row: Any, index: int, device: str | None) -> tuple[list[Any], list[Any]]:
    inputs = Inputs(torch, row, index, "float32", grad="!" not in row.schema, device=device)
    results = [r for r in flat(row.handle(*inputs.args, **inputs.kwargs)) if isinstance(r, torch.Tensor)]
    differentiable = row.grad is not None or "CompositeImplicitAutograd" in row.handle.kernels()
    refuses = "no_gradient" in getattr(next(iter((row.grad or {}).values()), None), "__qualname__", "")
    moving = [r for r in results if r.requires_grad]
    if differentiable and not refuses and moving and inputs.leaves:
        sum((r.float() ** 2).sum() for r in moving).backward()
    return results, [leaf.grad for leaf in inputs.leaves]


@pytest.mark.parametrize(("name", "index"), CASES, ids=[f"{name}-{index}" for name, index in CASES])
def test_device_and_cpu_agree(name: str, index: int) -> None:
    there, gradients = _run(ROWS[name], index, "npu")
    here, expected = _run(ROWS[name], index, None)
    for ours, theirs in zip([*there, *gradients], [*here, *expected], strict=True):
        if theirs is None:
            assert ours is None
            continue
        assert ours.device.type == "npu"
        torch.testing.assert_close(ours.detach().cpu(), theirs.detach(), rtol=1e-4, atol=1e-5)
