"""`torch_npu` as programs import it: operators, formats, profiler, fused optimizers, test cases."""

import csv
import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import mindtorch_v2 as torch
from mindtorch_v2.npu import torch_npu
from mindtorch_v2.npu.torch_npu.testing.testcase import TestCase


def test_operators_are_those_of_torch_ops() -> None:
    assert torch_npu.npu_rms_norm is torch.ops.npu.npu_rms_norm
    assert torch_npu._npu_paged_attention is torch.ops.atb._npu_paged_attention
    assert torch_npu.__version__ == "2.13.0" and torch_npu.float4_e2m1fn_x2 == 296


def test_forms_without_writing_are_made_when_they_are_asked_for() -> None:
    from mindtorch_v2.npu import torch_npu

    cache, rows = torch.zeros(2, 4, 1, 3), torch.ones(1, 1, 3)
    after = torch_npu._npu_reshape_and_cache_siso_functional(rows, cache, torch.tensor([5], dtype=torch.int32))
    assert not cache.any() and after[1, 1, 0].tolist() == [1, 1, 1] and after.sum() == 3
    for name in ("npu_rms_norm_functional", "nothing_functional", "nothing"):
        with pytest.raises(AttributeError, match=f"has no attribute '{name}'"):
            getattr(torch_npu, name)


def test_the_page_lists_the_operators() -> None:
    tool = pathlib.Path(__file__).resolve().parents[2] / "tools" / "list_npu_operators.py"
    done = subprocess.run([sys.executable, tool, "--check"], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout


def test_formats_are_orders_in_the_memory_of_npus() -> None:
    """`on_emulator/test_storage_formats.py` has the tensors of NPUs."""
    x = torch.arange(6.0).reshape(2, 3)
    assert torch_npu.get_npu_format(x) == 2 and torch_npu.get_npu_format(x.view(1, 1, 2, 3)) == 0
    assert torch_npu.npu_format_cast(x, torch_npu.Format.ND) is x and torch_npu.npu_format_cast_(x, 2) is x
    with pytest.raises(
        RuntimeError, match="FRACTAL_NZ is an order of elements in the memory of NPUs, but the tensor is on cpu"
    ):
        torch_npu.npu_format_cast(x, 29)
    meta = torch_npu.npu_format_cast(x.to("meta"), 29)
    assert meta.shape == x.shape and meta.is_meta


def test_the_profiler_writes_what_its_readers_look_for(tmp_path: pathlib.Path) -> None:
    profiler = torch_npu.profiler
    with profiler.profile(
        activities=[profiler.ProfilerActivity.CPU, profiler.ProfilerActivity.NPU],
        schedule=profiler.schedule(0, 1, repeat=2),
        on_trace_ready=profiler.tensorboard_trace_handler(str(tmp_path), "me"),
        experimental_config=profiler._ExperimentalConfig(profiler_level=profiler.ProfilerLevel.Level1),
    ) as running:
        for _ in range(2):
            torch.ones(3).sum()
            running.step()
    folders = sorted(tmp_path.iterdir())
    assert len(folders) == 2 and all(f.name.startswith("me_") and f.name.endswith("_ascend_pt") for f in folders)
    output = folders[0] / "ASCEND_PROFILER_OUTPUT"
    assert json.loads((output / "trace_view.json").read_text("utf-8"))
    with (output / "operator_details.csv").open(newline="", encoding="utf-8") as file:
        assert {"aten::ones", "aten::sum"} <= {row["Name"] for row in csv.DictReader(file)}
    assert profiler._ExperimentalConfig(export_type=["text", "db"]).export_type == ["db", "text"]
    with pytest.warns(UserWarning, match="aic_metrics, l2_cache have no effect here"):
        profiler._ExperimentalConfig("Level1", aic_metrics=profiler.AiCMetrics.Memory, l2_cache=True, mstx=True)
    with pytest.raises(TypeError, match="unexpected keyword argument 'levels'"):
        profiler._ExperimentalConfig(levels=1)


@pytest.mark.parametrize("name", ["Adam", "AdamW", "SGD"])
def test_fused_optimizers_step_as_the_plain_ones(name: str) -> None:
    courses = []
    for kind in (getattr(torch_npu.optim, f"NpuFused{name}"), getattr(torch.optim, name)):
        w = torch.tensor([1.0, -2.0], requires_grad=True)
        optimizer = kind([w], lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            (w * w).sum().backward()
            optimizer.step()
        courses.append(w.tolist())
    assert courses[0] == pytest.approx(courses[1], rel=1e-6)


class Case(TestCase):
    """A place for the comparisons."""

    def runTest(self) -> None:
        """Nothing: the methods are what is tried."""


def test_comparisons_tell_right_from_wrong() -> None:
    case = Case()
    x = torch.linspace(1, 2, 50)
    case.assertRtolEqual(x, x * (1 + 5e-5))
    case.assertRtolEqual(x.half(), x.half() * 1.0005)
    case.assertRtolEqual([x.numpy()], [x.numpy()])
    case.assertRtolEqual(np.array([np.nan, 1.0]), np.array([np.nan, 1.0]))
    for wrong in (x * 1.001, -x, x[:49], x.double(), x.clone().fill_(float("nan"))):
        with pytest.raises(AssertionError):
            case.assertRtolEqual(x, wrong)
    with pytest.raises(
        AssertionError, match=r"1 of 3 elements differ by more than 0.0001; the worst, at \(1,\), is 2.0"
    ):
        case.assertRtolEqual(np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.5, 3.0]))


def test_without_its_switch_torch_npu_says_which_it_is() -> None:
    program = (
        "import importlib.metadata, importlib.util; from mindtorch_v2 import _as_torch; _as_torch.as_torch()\n"
        "assert importlib.util.find_spec('torch_npu') is None\n"
        "assert not list(importlib.metadata.distributions(name='torch_npu'))\n"
        "import torch_npu"
    )
    environment = {name: value for name, value in os.environ.items() if name != "MINDTORCH_AS_TORCH_NPU"}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 1 and "No module named 'torch_npu'" in done.stderr
    assert "set MINDTORCH_AS_TORCH_NPU=1 before Python starts" in done.stderr


def test_with_its_switch_torch_npu_is_a_distribution_too() -> None:
    program = (
        "import importlib.metadata; from mindtorch_v2 import _as_torch; _as_torch.as_torch()\n"
        "assert importlib.metadata.version('torch_npu') == importlib.metadata.version('torch-npu')\n"
        "import torch_npu\n"
        "assert importlib.metadata.version('torch_npu') == torch_npu.__version__\n"
        "assert 'torch_npu' in importlib.metadata.packages_distributions()['torch_npu']\n"
    )
    environment = {**os.environ, "MINDTORCH_AS_TORCH_NPU": "1"}
    subprocess.run([sys.executable, "-c", program], env=environment, timeout=120, check=True)
