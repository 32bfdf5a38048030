"""`torch.npu`'s switches, marks and types where no device is asked for."""

import subprocess
import sys

import pytest

import mindtorch_v2 as torch
from mindtorch_v2._backends.npu import settings


def test_products_may_be_kept_exact() -> None:
    assert not torch.npu.matmul.allow_hf32 and settings.matmul.cube_math_type() == 0
    assert torch.npu.conv.allow_hf32 and settings.conv.cube_math_type() == 1
    torch.npu.matmul.allow_hf32 = True
    try:
        assert settings.matmul.cube_math_type() == 1 and settings.conv.cube_math_type() == 1
    finally:
        torch.npu.matmul.allow_hf32 = False
    with pytest.raises(TypeError, match="allow_hf32 must be a bool, not int"):
        torch.npu.conv.allow_hf32 = 1


def test_operators_are_not_compiled_when_called() -> None:
    torch.npu.set_compile_mode(jit_compile=False)
    assert torch.npu.is_jit_compile_false()
    with pytest.warns(UserWarning, match="jit_compile=True has no effect: the operators called are those of ACLNN"):
        torch.npu.set_compile_mode(jit_compile=True)
    assert torch.npu.is_jit_compile_false()
    torch.npu.set_option({"jitCompile": "disable", "ACL_OP_DEBUG_LEVEL": 1})
    with pytest.warns(UserWarning, match="jit_compile=True"):
        torch.npu.set_option({"jitCompile": "enable"})
    with pytest.raises(TypeError, match="npu option must be a dict, not str"):
        torch.npu.set_option("jitCompile")
    torch.npu.set_option({"ACL_PRECISION_MODE": "must_keep_origin_dtype", "ACL_AICORE_NUM": "8"})
    for name, value in (("ACL_PRECISION_MODE", "500"), ("ACL_OP_DEBUG_LEVEL", "5"), ("ACL_AICORE_NUM", "at")):
        with pytest.raises(ValueError, match=f"{name} (must|should) be .*(is|got) '?{value}"):
            torch.npu.set_option({name: value})


def test_ranges_are_seen_by_the_profiler() -> None:
    @torch.npu.mstx.mstx_range("whole")
    def work() -> None:
        number = torch.npu.mstx.range_start("part")
        torch.ones(3).sum()
        torch.npu.mstx.range_end(number)
        assert torch.npu.mstx.range_push("inner") == 0
        assert torch.npu.mstx.range_pop() == 0 and torch.npu.mstx.range_pop() == -1
        torch.npu.mstx.mark("here")

    with torch.profiler.profile() as profile:
        work()
    assert {"whole", "part", "inner", "here"} <= {event.key for event in profile.key_averages()}


def test_types_say_where_they_are() -> None:
    assert torch.npu.FloatTensor.dtype is torch.float32 and torch.npu.FloatTensor.device == "npu"
    assert not isinstance(torch.ones(2), torch.npu.FloatTensor) and isinstance(torch.ones(2), torch.FloatTensor)


def test_a_capability_is_what_the_environment_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TORCH_NPU_DEVICE_CAPABILITY", raising=False)
    assert torch.npu.get_device_capability() is None
    monkeypatch.setenv("TORCH_NPU_DEVICE_CAPABILITY", "9.1")
    assert torch.npu.get_device_capability() == (9, 1)


PROGRAM = """
import warnings
import torch
x = torch.npu.FloatTensor([1.0, 2.0])
assert x.device.type == "npu" and isinstance(x, torch.npu.FloatTensor) and not isinstance(x, torch.FloatTensor)
with torch.npu.amp.autocast():
    assert (x.unsqueeze(0) @ x.unsqueeze(1)).dtype == torch.float16
scaler = torch.npu.amp.GradScaler(init_scale=4.0, dynamic=False)
w = torch.ones(2, device="npu", requires_grad=True)
optimizer = torch.optim.SGD([w], lr=1.0)
scaler.scale((w * x).sum()).backward()
scaler.step(optimizer)
scaler.update()
assert scaler.get_scale() == 4.0 and w.tolist() == [0.0, -1.0]
parameters = [torch.nn.Parameter(torch.ones(2, device="npu")) for _ in range(3)]
optimizers = [torch.optim.SGD([each], lr=1.0) for each in parameters]
scaler = torch.npu.amp.GradScaler(init_scale=4.0)
scaler.scale(sum(each.sum() for each in parameters)).backward()
parameters[1].grad.fill_(float("inf"))
for each in optimizers:
    scaler.step(each)
scaler.update()
# As torch_npu: who steps after an overflow of this iteration does not, either.
assert [each.tolist() for each in parameters] == [[0.0, 0.0], [1.0, 1.0], [1.0, 1.0]] and scaler.get_scale() == 2.0
assert torch.npu.utils.get_soc_version() >= 220 and torch.npu.utils.is_support_inf_nan()
assert torch.npu.utils.npu_check_overflow(torch.tensor([1.0, float("inf")], device="npu"))
assert not torch.npu.utils.npu_check_overflow(x)
state = torch.npu.random.get_rng_state()
a = torch.rand(3, device="npu")
torch.npu.random.set_rng_state(state)
assert torch.rand(3, device="npu").equal(a)
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    torch.npu.reset_max_memory_allocated()
assert "reset_peak_memory_stats" in str(said[0].message)
nested = torch.npu.memory_stats_as_nested_dict()
assert nested["allocated_bytes"]["all"]["current"] == torch.npu.memory_allocated() > 0
assert "Allocated memory" in torch.npu.memory.memory_summary()
with torch.npu.device_of(x):
    assert torch.npu.current_device() == 0
torch.npu.matmul.allow_hf32 = False
assert (x.unsqueeze(0) @ x.unsqueeze(1)).item() == 5.0
print("done")
"""


def test_the_surface_on_the_emulator(tmp_path: object) -> None:
    launcher = [sys.executable, "-m", "mindtorch_v2.npu", "emulate", "--soc", "Ascend910B1", "--"]
    path = f"{tmp_path}/program.py"
    with open(path, "w", encoding="utf-8") as file:
        file.write(PROGRAM)
    command = [*launcher, sys.executable, "-m", "mindtorch_v2", path]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0 and done.stdout == "done\n", done.stderr[-4000:]
