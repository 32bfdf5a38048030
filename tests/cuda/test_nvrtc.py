"""Every kernel compiles for GPUs, whose compiler knows names that the host's does not. It needs no GPU, but NVIDIA's NVRTC."""

import functools
import re
import subprocess
import sys
from typing import Any

import pytest

from mindtorch_v2._backends.cuda import compiler, libraries
from tests.cuda import kernel_sources

pytestmark = pytest.mark.no_torch

_RECORD = kernel_sources.read()
_TARGETS = ["sm_80", "sm_90", "sm_100"]
_OWN = kernel_sources.own(_RECORD["own"])
_FIRST = {name.split()[0]: (name, source) for name, source in reversed(_OWN)}
_CHOICES = 3  # of words, that are compiled for one architecture; the first for each


def _others() -> list[tuple[str, str]]:
    """Further choices of words of each kernel."""
    found = []
    for kernel in _FIRST:
        found += [pair for pair in _OWN if pair[0].split()[0] == kernel][1:_CHOICES]
    return found


@functools.cache
def _elsewhere() -> dict[str, Any]:
    return kernel_sources.elsewhere()


def _compile(name: str, source: str, target: str) -> None:
    try:
        libraries.nvrtc()
    except (ImportError, OSError, RuntimeError) as missing:
        pytest.skip(str(missing))
    assert compiler.nvrtc(source, target, name)[:4] == b"\x7fELF"


def test_every_kernel_is_recorded() -> None:
    """Else run `python -m tests.cuda.kernel_sources` with the file of tests/cuda/on_emulator that runs it."""
    headers = compiler.HEADERS.glob("*.cuh")
    entries = {
        f"{path.name}:{entry}" for path in headers for entry in re.findall(r"^KERNEL\((\w+),", path.read_text(), re.M)
    }
    assert entries - {"pointwise.cuh:pointwise"} == set(_FIRST)
    assert _elsewhere()["names"] == sorted(_RECORD["element-wise"])


@pytest.mark.parametrize("target", _TARGETS)
@pytest.mark.parametrize("kernel", sorted(_FIRST))
def test_kernels_with_a_header_compile(kernel: str, target: str) -> None:
    _compile(*_FIRST[kernel], target)


@pytest.mark.parametrize(("name", "source"), _others(), ids=[name for name, _ in _others()])
def test_other_choices_of_words_compile(name: str, source: str) -> None:
    _compile(name, source, "sm_90")


@pytest.mark.parametrize("target", _TARGETS)
def test_element_wise_kernels_compile(target: str) -> None:
    for source in _elsewhere()["2" if target == "sm_90" else "1"]:
        _compile("element-wise kernels", source, target)


def test_what_does_not_compile_is_told() -> None:
    try:
        libraries.nvrtc()
    except (ImportError, OSError, RuntimeError) as missing:
        pytest.skip(str(missing))
    with pytest.raises(RuntimeError, match="its CUDA kernel does not compile for sm_90"):
        compiler.nvrtc("int nothing(", "sm_90", "nothing")


_CHAIN = """
import mindtorch_v2 as torch
from mindtorch_v2._backends import cuda
from mindtorch_v2._backends.common.chains import Place, Step
from mindtorch_v2._backends.cuda import chains, pointwise
cuda.register_kernels()
aten, half, whole = torch.ops.aten, torch.float16, torch.int64
steps = [
    Step(aten.add.Tensor, {"self": Place(0), "other": Place(1), "alpha": 2}, (half,), half),
    Step(aten.gelu.default, {"self": Place(3), "approximate": "tanh"}, (half,), half),
    Step(aten.clamp.default, {"self": Place(4), "min": None, "max": float("inf")}, (half,), half),
    Step(aten.gt.Scalar, {"self": Place(5), "other": 0.1}, (torch.bool,), half),
    Step(aten._to_copy.default, {"self": Place(2)}, (half,), whole),
    Step(aten.where.self, {"condition": Place(6), "self": Place(5), "other": Place(7)}, (half,), None),
]
dtypes = {0: half, 1: half, 2: whole, 3: half, 4: half, 5: half, 6: torch.bool, 7: half}
assert all(chains.takes(step, {k: dtypes[k] for k in step.given.values() if isinstance(k, Place)}) for step in steps)
kernel = chains.kernel_of("chain", [half, half, whole], steps, [8, 6])
numbers = {half: 5, torch.bool: 11, whole: 4}  # of dtypes, as keys say them
tensors = [half, torch.bool, half, half, whole]  # results and arguments: one after the other in memory, on device 0
key = "".join("t" + chr(33 + numbers[dtype]) for dtype in tensors) + "|" + chr(33 + numbers[half]) + "0nv"
print(kernel.source_of(pointwise.read(key.encode("latin-1")))[0])
"""


@pytest.mark.parametrize("target", _TARGETS)
def test_chains_compile(target: str) -> None:
    """Several calls in one kernel, of two results, as torch.compile makes them."""
    done = subprocess.run([sys.executable, "-c", _CHAIN], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    _compile("chain", done.stdout, target)
