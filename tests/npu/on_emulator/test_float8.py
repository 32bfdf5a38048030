"""Numbers of eight bits, which Ascend950 computes with: the same there as on the CPU, and refused elsewhere."""

import os
import subprocess
import sys

import pytest

import mindtorch_v2 as torch

_SAME = """
import mindtorch_v2 as torch
npu = torch.ops.npu
generator = torch.Generator().manual_seed(0)
x = torch.cat([
    torch.randn(4000, generator=generator) * torch.exp(torch.randn(4000, generator=generator) * 5),
    torch.linspace(-600, 600, 4801),
    torch.tensor([0.0, -0.0, float("inf"), -float("inf"), float("nan"), 1e38, 2**-9, 2**-10, 2**-17, 3 * 2**-17, 2**-127]),
])
bits = torch.arange(256).to(torch.uint8)
for dtype in (torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e8m0fnu):
    ours, theirs = x.npu().to(dtype), x.to(dtype)
    assert torch.equal(ours.cpu().view(torch.uint8), theirs.view(torch.uint8)), dtype
    assert torch.equal(bits.npu().view(dtype).float().cpu().nan_to_num(7.25), bits.view(dtype).float().nan_to_num(7.25)), dtype
    assert torch.equal(torch.cat([ours, ours])[::2].cpu().view(torch.uint8), torch.cat([theirs, theirs])[::2].view(torch.uint8))
    assert torch.zeros(2, dtype=dtype, device="npu").view(torch.uint8).cpu().tolist() == torch.zeros(2, dtype=dtype).view(torch.uint8).tolist()
x = torch.randn(6, 32, generator=generator)
w = torch.randn(16, 32, generator=generator).to(torch.float8_e4m3fn)
scale, rows = torch.rand(16, generator=generator), torch.rand(6, generator=generator)

def everything(move):
    quantised, by_row = npu.npu_dynamic_quant(move(x.half()), dst_type=torch.float8_e4m3fn)
    whole = npu.npu_quantize(move(x), move(torch.tensor([0.5])), None, torch.float8_e5m2, -1, True)
    product = npu.npu_quant_matmul(
        move(x.to(torch.float8_e4m3fn)), move(w).t(), move(scale), pertoken_scale=move(rows), output_dtype=torch.bfloat16
    )
    scaled = torch._scaled_mm(
        quantised, move(w).t(), scale_a=by_row.reshape(-1, 1), scale_b=move(scale).reshape(1, -1), out_dtype=torch.bfloat16
    )
    return quantised.view(torch.uint8), by_row, whole.view(torch.uint8), product, scaled

for ours, theirs in zip(everything(lambda t: t.npu()), everything(lambda t: t), strict=True):
    torch.testing.assert_close(ours.cpu(), theirs)
print("same")
"""


def test_casts_and_products_are_those_of_the_cpu() -> None:
    soc = {**os.environ, "ASCEND_EMULATOR_SOC": "Ascend950PR_9599"}
    done = subprocess.run([sys.executable, "-c", _SAME], env=soc, capture_output=True, text=True, timeout=300)
    assert done.stdout == "same\n", done.stderr


def test_other_chips_only_move_them() -> None:
    x = torch.tensor([1.5, -448.0]).to(torch.float8_e4m3fn)
    moved = x.npu()
    assert torch.equal(moved.cpu().view(torch.uint8), x.view(torch.uint8))
    with pytest.raises(
        RuntimeError, match="a tensor is of float8_e4m3fn, which Ascend910B1 does not compute with; Ascend950"
    ):
        moved.float()
