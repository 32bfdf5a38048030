"""Every kernel compiles for GPUs, whose compiler knows names that the host's does not. It needs no GPU, but NVIDIA's NVRTC."""

import functools
import re
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
