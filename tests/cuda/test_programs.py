"""Whole programs on the emulated GPU: trainings with delayed streams, calls of the driver that fail, and thousands of steps."""

import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
from typing import Any

import pytest

from mindtorch_v2._backends.cuda import libraries

pytestmark = [
    pytest.mark.no_torch,
    pytest.mark.skipif(not (libraries.EMULATOR / "libcuda.so.1").exists(), reason="the emulated GPU is not built"),
    pytest.mark.skipif(shutil.which(os.environ.get("CXX", "g++")) is None, reason="kernels need a C++ compiler"),
]
_PROGRAMS = pathlib.Path(__file__).parent / "programs"
_FIRST = """
cuInit cuDeviceGetCount cuDeviceGet cuDeviceGetAttribute cuDevicePrimaryCtxRetain cuCtxSetCurrent cuModuleLoadData cuModuleGetFunction
cuMemHostAlloc cuStreamCreateWithPriority cuMemAlloc_v2 cuLaunchKernel cublasCreate_v2 cublasSetStream_v2
""".split()


def _lines(command: list[str], **variables: str) -> list[Any]:
    environment = {**os.environ, "MINDTORCH_CUDA_EMULATOR": "1", "PYTHONPATH": os.pathsep.join(sys.path), **variables}
    done = subprocess.run(
        [sys.executable, *command], capture_output=True, text=True, timeout=1200, check=False, env=environment
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return [json.loads(line) for line in done.stdout.splitlines() if line[:1] in "[{"]


@pytest.mark.parametrize("model", ["bert", "gpt2", "llama", "vit", "resnet"])
def test_twenty_steps_have_the_losses_of_the_cpu(model: str) -> None:
    if importlib.util.find_spec("transformers") is None:
        pytest.skip("transformers is not installed")
    program = ["-m", "mindtorch_v2", str(_PROGRAMS / "train_model.py"), model]
    (ours,), (theirs,) = (_lines([*program, device, "20"], MINDTORCH_CUDA_HOSTILE="7") for device in ("cuda", "cpu"))
    assert len(ours) == len(theirs) == 20
    assert ours == pytest.approx(theirs, abs=1e-4, rel=0)
    assert theirs[-1] < theirs[0] - 0.01


def _assert_survived(fault: dict[str, Any]) -> None:
    """A fault was told, or made no difference, and the work that followed was done."""
    assert fault["survived"] is True, fault
    if fault["fired"]:
        assert fault["error"] or fault["right"], fault
    else:
        assert fault["right"], fault
    if fault["error"]:
        assert "CUDA" in fault["error"], fault


def test_a_call_that_fails_is_told_and_survived() -> None:
    told = _lines([str(_PROGRAMS / "survive_faults.py")])
    for fault in told:
        _assert_survived(fault)
    fired = {fault["function"] for fault in told if fault["fired"]}
    assert {
        "cuLaunchKernel",
        "cuMemAlloc_v2",
        "cuEventRecord",
        "cuStreamBeginCapture_v2",
        "cuStreamEndCapture",
    } <= fired
    named = [fault for fault in told if fault["error"] and fault["function"].removesuffix("_v2") in fault["error"]]
    assert len(named) > len(fired)


@pytest.mark.parametrize("function", _FIRST)
def test_a_first_call_that_fails_is_told_and_survived(function: str) -> None:
    (fault,) = _lines([str(_PROGRAMS / "survive_faults.py"), function])
    assert fault["fired"]
    _assert_survived(fault)
    assert fault["right"] or function.removesuffix("_v2") in fault["error"], fault


def test_nothing_grows_over_thousands_of_steps() -> None:
    ((_, middle, last),) = _lines([str(_PROGRAMS / "run_long.py"), "3000"])
    for name in (
        "allocations",
        "allocated_bytes",
        "streams",
        "modules",
        "graphs",
        "graph_execs",
        "allocated",
        "reserved",
    ):
        assert last[name] == middle[name], (name, middle, last)
    for name in ("events", "pinned"):  # of copies that were not asked after yet
        assert last[name] <= middle[name] + 40, (name, middle, last)
    assert last["launches"] - middle["launches"] > 30000
    assert last["resident_kib"] - middle["resident_kib"] < 2048, (middle, last)
