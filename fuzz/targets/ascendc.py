"""Sources of AscendC kernels, as far as this package reads them: names and parameters of kernels, launchers made of them."""

from __future__ import annotations

from collections.abc import Iterator

from mindtorch_v2._backends.npu.ascendc import _kernels_of

MODULES = ("mindtorch_v2._backends.npu.ascendc",)


def one(data: bytes) -> None:
    """Find the kernels of a source."""
    for name, parameters in _kernels_of(data.decode("utf-8", "replace")):
        if not name.isidentifier():
            raise AssertionError(f"a kernel named {name!r}")
        parameters.split(",")


def seeds() -> Iterator[bytes]:
    """Two kernels, a template, and comments."""
    yield b'extern "C" __global__ __aicore__ void add(GM_ADDR x, GM_ADDR y, uint32_t n) { }\n'
    yield b"template <class T>\n__global__ __aicore__ void t(GM_ADDR x) {}\n/* __global__ __aicore__ void c() */ // x\n"
