"""Names of torch_npu beside its operators: what they do, or what they say that is not there."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

import mindtorch_v2 as torch
from mindtorch_v2._backends.npu import libraries
from mindtorch_v2.npu import torch_npu
from mindtorch_v2.testing._internal.common_utils import TestCase, instantiate_parametrized_tests, parametrize, subtest


def test_quantised_types_are_names_and_numbers() -> None:
    names = ["qint8", "quint8", "qint32", "quint4x2", "quint2x4"]
    assert [repr(getattr(torch, name)) for name in names] == [f"torch.{name}" for name in names]
    x = torch.tensor([[1.0, -2.6]])
    out = torch_npu.npu_quantize(x, torch.tensor([0.5]), None, torch.qint8, -1)
    assert out.tolist() == [[2, -5]] and out.dtype == torch.int8
    packed, _ = torch_npu.npu_dynamic_quant(torch.randn(2, 8), dst_type=torch.quint4x2)
    assert packed.shape == (2, 1) and packed.dtype == torch.int32


def test_dtypes_that_programs_leave_out() -> None:
    left_out = {torch.quint8, torch.quint4x2, torch.quint2x4, torch.qint32, torch.qint8}
    assert set(torch_npu.unsupported_dtype) == left_out


@pytest.mark.parametrize(
    "name",
    [
        "npu.stop_device", "npu.NPUPluggableAllocator", "contrib.module.QuantConv2d",
        "multiprocessing.reductions.rebuild_npu_tensor", "HiFloat8Tensor.to_hifloat8",
    ],
)  # fmt: skip
def test_names_without_means_say_so(name: str) -> None:
    value = torch_npu
    for part in name.split("."):
        value = getattr(value, part)
    with pytest.raises(NotImplementedError, match=f"{name.rpartition('.')[2]} is not implemented in mindtorch_v2"):
        value()


def test_switches_are_kept_and_refused() -> None:
    npu = torch.npu
    assert npu.native_device == "npu" and npu.get_sync_debug_mode() == 0 and npu.get_mm_bmm_format_nd()
    npu.set_mm_bmm_format_nd(False)
    assert not npu.get_mm_bmm_format_nd()
    npu.set_mm_bmm_format_nd(True)
    assert npu.preferred_linalg_library() is torch._C._LinalgBackend.Default
    with pytest.warns(UserWarning, match="Cusolver has no effect"):
        assert npu.preferred_linalg_library("Cusolver") is torch._C._LinalgBackend.Default
    with pytest.raises(TypeError, match="must be a bool, not int"):
        npu.set_mm_bmm_format_nd(1)  # type: ignore[arg-type]
    npu.set_deterministic_level(1)
    assert torch.are_deterministic_algorithms_enabled()
    npu.set_deterministic_level(0)
    assert not torch.are_deterministic_algorithms_enabled()
    with pytest.raises(ValueError, match="must be 0, 1 or 2, but it is 3"):
        npu.set_deterministic_level(3)
    npu.set_autocast_dtype(torch.bfloat16)
    assert npu.get_autocast_dtype() == torch.bfloat16 and not npu.is_autocast_enabled()
    npu.set_autocast_dtype(torch.float16)


def test_operations_are_counted_between_start_and_stop() -> None:
    counter = torch_npu.utils.FlopsCounter()
    a = torch.ones(2, 3)
    counter.start()
    a @ a.T
    counter.pause()
    a @ a.T
    counter.resume()
    a @ a.T
    assert counter.get_flops() == [2 * 2 * 3 * 2 * 2] * 2
    counter.stop()
    assert counter.get_flops() == [0, 0]


def test_modules_of_contrib() -> None:
    x = torch.randn(4, 3)
    assert torch_npu.contrib.Swish()(x).equal(torch.nn.functional.silu(x))
    assert torch_npu.contrib.module.SiLU is torch.nn.SiLU
    path = torch_npu.contrib.NpuDropPath(0.5)
    kept = path(torch.ones(1000, 2))
    assert set(kept[:, 0].tolist()) == {0.0, 2.0} and kept[:, 0].equal(kept[:, 1])
    assert path.eval()(x) is x


@instantiate_parametrized_tests
class Several(TestCase):
    """Tests for several values."""

    @parametrize("n", [1, 2])
    @parametrize("dtype, ok", [(torch.float32, True), subtest((torch.int64, False), "whole")])
    def test_values(self, n: int, dtype: torch.dtype, ok: bool) -> None:
        """A comparison of tensors."""
        self.assertEqual(torch.ones(n, dtype=dtype) / 2, torch.full((n,), 0.5))
        self.assertEqual(dtype.is_floating_point, ok)


def test_the_tests_were_made() -> None:
    names = {name for name in vars(Several) if name.startswith("test")}
    assert names == {
        f"test_values_{which}_n_{n}" for which in ("dtype_float32_ok_True", "whole") for n in (1, 2)
    } or names == {f"test_values_n_{n}_{which}" for which in ("dtype_float32_ok_True", "whole") for n in (1, 2)}
    with pytest.raises(AssertionError):
        Several("run").assertEqual(torch.ones(2), torch.zeros(2))


MOVED = """
import warnings
warnings.simplefilter("ignore")
import torch
import torch_npu
from torch_npu.contrib import transfer_to_npu
assert torch.cuda.is_available() and torch.cuda.device_count() == 1
x = torch.ones(2, device="cuda")
y = torch.tensor([1.0, 2.0]).cuda() + x.to("cuda:0").to(torch.device("cuda"))
layer = torch.nn.Linear(2, 2).to("cuda")
with torch.autocast("cuda", dtype=torch.bfloat16):
    z = layer(y)
assert isinstance(torch.autocast, type) and z.dtype == torch.bfloat16
torch.save({"y": y}, "y.pt")
loaded = torch.load("y.pt", map_location={"cuda:0": "cpu"})["y"]
print(x.device, y.is_cuda, z.device, next(layer.parameters()).device, torch.zeros_like(z, device="cpu").device)
import torch.cuda
torch.cuda.synchronize()
from torch.distributed import ProcessGroupNCCL
from torch.distributed.distributed_c10d import ProcessGroupNCCL as other
assert other is ProcessGroupNCCL and ProcessGroupNCCL.Options().hccl_config == {}
event = torch.Event("cuda:0", enable_timing=True)
print(event.device, torch.autograd.profiler_util.Kernel("k", "cuda", 11).device)
event.record()
assert event.device == x.device and torch.cuda.amp.grad_scaler is torch_npu.npu.amp.grad_scaler
with torch.device("cuda"):
    assert torch.ones(2).is_cuda and torch.nn.Linear(2, 2).weight.is_cuda
assert not torch.ones(2).is_cuda and torch.ones(2, device="cuda").new(3).is_cuda
assert torch.UntypedStorage(4, device="cuda").device == x.device and torch.Stream("cuda").device == x.device
assert torch.cuda.Stream(device="cuda:0").device == x.device and torch.cuda.DoubleTensor is torch.npu.FloatTensor
assert torch.equal(torch.cuda.random.get_rng_state("cuda:0"), torch.npu.get_rng_state())
assert torch.cuda.memory.memory_allocated("cuda") == torch.npu.memory_allocated()
assert torch.cuda.get_arch_list() == [] and torch.jit.script(layer) is layer
both = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
with torch.profiler.profile(activities=both, with_stack=True) as profiled:
    torch.exp(torch.ones(1 << 18, device="cuda"))
profiled.export_stacks("stacks.txt", "self_npu_time_total")
assert any("moved.py" in line and int(line.rsplit(" ", 1)[1]) > 0 for line in open("stacks.txt"))
import os
os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="0", RANK="0", WORLD_SIZE="1")
store = torch.distributed.HashStore()
torch.distributed.init_process_group("cuda:nccl", store=store, rank=0, world_size=1, device_id=torch.device("cuda:0"))
print(torch.distributed.get_backend())
torch.distributed.destroy_process_group()
"""


def test_programs_for_cuda_run_on_npus(tmp_path: pathlib.Path) -> None:
    if not (libraries.EMULATOR / "lib64" / "libascendcl.so").exists():
        pytest.skip("the emulator is not built")
    (tmp_path / "moved.py").write_text(MOVED)
    command = [
        sys.executable,
        "-m",
        "mindtorch_v2.npu",
        "emulate",
        "--",
        sys.executable,
        "-m",
        "mindtorch_v2",
        "moved.py",
    ]
    environment = {**os.environ, "MINDTORCH_AS_TORCH_NPU": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.split() == ["npu:0", "True", "npu:0", "npu:0", "cpu", "npu", "npu", "npu:hccl"]


@pytest.mark.no_torch
@pytest.mark.skipif(not (libraries.EMULATOR / "lib64" / "libascendcl.so").exists(), reason="the emulator is not built")
@pytest.mark.parametrize("loaded", [True, False])
def test_programs_need_not_import_it(loaded: bool, tmp_path: pathlib.Path) -> None:
    program = """
import sys
import torch
print("torch_npu" in sys.modules, torch._is_device_backend_autoload_enabled())
import torch_npu.npu.graphs, torch_npu.npu.streams
import torch_npu.dynamo.torchair, torchair
print(torch_npu.npu is torch.npu, torch_npu.npu.graphs.NPUGraph is torch.npu.NPUGraph, torch_npu.dynamo.torchair is torchair)
g = torch.Generator("cuda")
print(torch.randn(2, device="cuda").device, g.device, isinstance(g, torch.Generator), torch.cuda.current_stream("cuda:0").device)
"""
    (tmp_path / "program.py").write_text(program)
    command = [
        sys.executable,
        "-m",
        "mindtorch_v2.npu",
        "emulate",
        "--",
        sys.executable,
        "-m",
        "mindtorch_v2",
        "program.py",
    ]
    switches = {"MINDTORCH_AS_TORCH_NPU": "1", "TORCH_TRANSFER_TO_NPU": "1"}
    if not loaded:
        switches["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
    environment = {**os.environ, **switches, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.splitlines() == [f"{loaded} {loaded}", "True True True", "npu:0 npu:0 True npu:0"]


def test_cases_are_made_for_dtypes_and_formats() -> None:
    class Case(torch_npu.testing.testcase.TestCase):
        @torch_npu.testing.decorator.Dtypes(torch.float32, torch.int32)
        @torch_npu.testing.decorator.Formats(2, 29)
        def test_made(self, dtype, npu_format):
            self.assertExpectedInline(f"{dtype} {npu_format}", f"{dtype} {npu_format}")

    made = torch_npu.testing.decorator.instantiate_tests(Case)
    names = sorted(name for name in vars(made) if name.startswith("test_"))
    assert names == [f"test_made_{dtype}_{number}" for dtype in ("float32", "int32") for number in (2, 29)]
    made("test_made_int32_29").debug()
    with pytest.raises(AssertionError):
        made("test_made_int32_29").assertExpectedInline("one", "other")
    with pytest.raises(RuntimeError, match="dtypes were expected"):
        torch_npu.testing.decorator.Dtypes("float32")
    here, there = torch_npu.testing.common_utils.create_dtype_tensor((3, 4), torch.float16, no_zero=True, device="cpu")
    assert torch.equal(here, there) and here.dtype == torch.float16 and bool((here != 0).all())
    assert torch_npu.testing.common_utils.create_dtype_tensor((5,), torch.bool, device="cpu")[0].dtype == torch.bool
    state = torch.get_rng_state()
    with torch_npu.testing.common_utils.freeze_rng_state():
        torch.rand(3)
    assert torch.equal(state, torch.get_rng_state())


def test_cases_compare_tensors_numbers_and_collections() -> None:
    case = torch_npu.testing.testcase.TestCase()
    x = torch.tensor([1.0, float("nan")])
    case.assertEqual([x, {"a": x}], [x.clone(), {"a": x.double()}])
    case.assertEqual([0, 3], torch.Size([0, 3]))
    case.assertEqual(x.numpy(), x.clone().numpy())
    case.assertEqual(x, x.tolist())
    with pytest.raises(AssertionError):
        case.assertEqual(x.numpy(), x.numpy() + 1)
    case.assertEqual(torch.tensor(2.0), 2)
    case.assertEqual(x, x + 0.01, prec=0.02)
    case.assertTensorsSlowEqual(x, x + 0.01, 0.02)
    case.assertNotEqual(x, x + 0.01, message="text")
    case.assertNotEqual(x, x[:1])
    for wrong in (
        lambda: case.assertEqual(x, x + 0.01),
        lambda: case.assertEqual(torch.tensor(2.0), 2.1),
        lambda: case.assertEqual([x], [x, x]),
        lambda: case.assertEqual([0, 4], torch.Size([0, 3])),
        lambda: case.assertEqual({"a": 1}, {"b": 1}),
        lambda: case.assertTensorsSlowEqual(x, x.double(), 1.0),
        lambda: case.assertNotEqual(x, x.clone()),
        lambda: case.assertNotEqual(3, 3),
    ):
        with pytest.raises(AssertionError):
            wrong()
    with pytest.raises(AssertionError, match="said"):
        case.assertEqual(1, 2, "said")


def test_switches_of_attention_and_of_kernels() -> None:
    npu = torch.npu
    npu.enable_flash_sdp(False)
    assert not npu.flash_sdp_enabled() and not torch.backends.cuda.flash_sdp_enabled()
    npu.enable_flash_sdp(True)
    assert npu.flash_sdp_enabled() and npu.math_sdp_enabled() and npu.mem_efficient_sdp_enabled()
    with pytest.warns(UserWarning, match="kernels are not fused"):
        npu.super_kernel_scope_begin("scope")
    npu.super_kernel_scope_end("scope")
    with pytest.raises(RuntimeError, match="scope_name must not be empty"):
        npu.super_kernel_scope_begin("  ")
    for wrong, text in ((3, "expected one of 0,1,2"), ("loud", "expected one of `default`, `warn`, `error`")):
        with pytest.raises(RuntimeError, match=text):
            npu.set_sync_debug_mode(wrong)


def test_a_capability_that_is_no_pair_of_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCH_NPU_DEVICE_CAPABILITY", "8.a")
    with pytest.warns(UserWarning, match="must be two numbers, 8.0 say, but it is '8.a'"):
        assert torch.npu.get_device_capability() is None
    monkeypatch.setenv("TORCH_NPU_DEVICE_CAPABILITY", "9.1")
    assert torch.npu.get_device_capability() == (9, 1)


def test_the_modules_of_gradients_are_names() -> None:
    program = "import mindtorch_v2 as torch; assert torch.autograd.grad_mode.no_grad is torch.no_grad"
    subprocess.run([sys.executable, "-c", program], check=True)


def test_the_record_of_torch_npus_own_tests_agrees_with_itself() -> None:
    root = pathlib.Path(__file__).parents[2]
    record = json.loads((root / "tests/snapshots/torch_npu_suite.json").read_text("utf-8"))
    failing, excepted = set(record["failing"]), set(record["not counted"])
    assert not failing & excepted and all(record["not counted"].values())
    for folder, figures in record["figures"].items():
        assert figures["failed"] == sum(name.startswith(folder) for name in failing)
        assert figures["excepted"] == sum(name.startswith(folder) for name in excepted)
