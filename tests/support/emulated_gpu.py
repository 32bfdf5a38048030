"""Programs against the emulated GPU's own libraries: each in a process of its own, with nothing of the package loaded."""

import array
import ctypes
import functools
import inspect
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable
from typing import Any

import pytest

import mindtorch_v2

PACKAGE = pathlib.Path(mindtorch_v2.__file__).parent / "_backends" / "cuda"
LIBRARIES = PACKAGE / "emulator" / "lib64"
HEADER = PACKAGE / "kernels" / "on_cpu.h"

needs_emulator = pytest.mark.skipif(not LIBRARIES.exists(), reason="the emulated GPU was not built")
needs_compiler = pytest.mark.skipif(not shutil.which("g++"), reason="kernels for the emulated GPU are compiled by g++")

_RUN = "import sys, runpy; sys.path[:] = {path!r}; runpy.run_path({file!r})[{name!r}].program(**{arguments!r})"


def own_process(**environment: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A test whose body runs in a process of its own, with these variables of the environment."""

    def decorate(program: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(program)
        def test(**arguments: Any) -> None:
            done = run(program, environment, arguments)
            assert done.returncode == 0, done.stderr

        test.program = program  # type: ignore[attr-defined]  # (what runs in the process)
        return needs_emulator(needs_compiler(test))

    return decorate


def run(program: Callable[..., None], environment: dict[str, str], arguments: dict[str, Any]) -> Any:
    """The finished process that a test's body was run in."""
    code = _RUN.format(path=sys.path, file=inspect.getfile(program), name=program.__name__, arguments=arguments)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("MINDTORCH_CUDA_", "CUDA_"))}
    command = [sys.executable, "-c", code]
    return subprocess.run(command, env={**kept, **environment}, capture_output=True, text=True, timeout=120)


class CudaError(Exception):
    """A call that did not return 0; `code` is what it returned."""

    def __init__(self, function: str, code: int) -> None:
        super().__init__(f"{function} returned {code}")
        self.code = code


class Library:
    """A shared library whose functions raise unless they return 0."""

    def __init__(self, name: str) -> None:
        self.bare = ctypes.CDLL(str(LIBRARIES / name), mode=ctypes.RTLD_GLOBAL)

    def __getattr__(self, name: str) -> Callable[..., None]:
        """The function of that name; numbers beyond 32 bits are passed as such."""
        function = getattr(self.bare, name)

        def call(*arguments: Any) -> None:
            wide = [ctypes.c_uint64(a) if isinstance(a, int) and a >> 31 else a for a in arguments]
            code = function(*wide)
            if code:
                raise CudaError(name, code)

        return call


def code_of(call: Callable[..., None], *arguments: Any) -> int:
    """The code that a call returns: 0 or its error."""
    try:
        call(*arguments)
    except CudaError as error:
        return error.code
    return 0


class Gpu:
    """The emulated device, with its primary context current."""

    def __init__(self, device: int = 0) -> None:
        self.cu = Library("libcuda.so.1")
        self.cu.bare.emulated_report.restype = ctypes.c_char_p
        self.cu.bare.emulated_fault.restype = ctypes.c_char_p
        self.cu.cuInit(0)
        self.context = ctypes.c_void_p()
        self.cu.cuDevicePrimaryCtxRetain(ctypes.byref(self.context), device)
        self.cu.cuCtxSetCurrent(self.context)

    def new(self, function: str, *arguments: Any, kind: Any = ctypes.c_void_p) -> Any:
        """The handle or number that a function stores at its first argument."""
        made = kind()
        getattr(self.cu, function)(ctypes.byref(made), *arguments)
        return made.value

    def stream(self, flags: int = 1, priority: int = 0) -> Any:
        """A new stream, one that does not wait for the legacy one unless flags is 0."""
        return ctypes.c_void_p(self.new("cuStreamCreateWithPriority", flags, priority))

    def event(self, flags: int = 0) -> Any:
        """A new event."""
        return ctypes.c_void_p(self.new("cuEventCreate", flags))

    def alloc(self, size: int) -> int:
        """Device memory of so many bytes."""
        return int(self.new("cuMemAlloc_v2", ctypes.c_size_t(size), kind=ctypes.c_uint64))

    def put(self, values: Any, code: str = "f", stream: Any = None) -> int:
        """New device memory with these values, of a type code of `array`."""
        data = array.array(code, values)
        memory = self.alloc(max(1, len(data) * data.itemsize))
        size = ctypes.c_size_t(len(data) * data.itemsize)
        self.cu.cuMemcpyHtoDAsync_v2(memory, ctypes.c_void_p(data.buffer_info()[0]), size, stream)
        return memory

    def get(self, memory: int, number: int, code: str = "f", stream: Any = None) -> list[Any]:
        """Values of device memory, when the stream's work is done."""
        data = array.array(code, bytes(number * array.array(code).itemsize))
        size = ctypes.c_size_t(len(data) * data.itemsize)
        self.cu.cuMemcpyDtoHAsync_v2(ctypes.c_void_p(data.buffer_info()[0]), memory, size, stream)
        return data.tolist()

    def module(self, source: str) -> Any:
        """A module of kernels, compiled from their source."""
        with tempfile.TemporaryDirectory() as folder:
            built = pathlib.Path(folder, "kernels.so")
            command = ["g++", "-std=c++17", "-O1", "-fPIC", "-shared", "-fvisibility=hidden", "-Wall", "-Werror"]
            command += ["-include", str(HEADER), "-x", "c++", "-", "-o", str(built)]
            subprocess.run(command, input=source, text=True, check=True)
            return ctypes.c_void_p(self.new("cuModuleLoadData", built.read_bytes()))

    def kernel(self, source: str, name: str = "kernel") -> "Kernel":
        """A kernel of a module of its own."""
        return Kernel(self, ctypes.c_void_p(self.new("cuModuleGetFunction", self.module(source), name.encode())))

    def report(self) -> dict[str, int]:
        """Numbers of what is alive, by kind."""
        import json

        return dict(json.loads(self.cu.bare.emulated_report()))

    def fault(self) -> str:
        """The text of the last fault."""
        return self.cu.bare.emulated_fault().decode()


class Kernel:
    """A kernel that takes 64-bit integers (and addresses): `kernel[grid, block](*arguments)`."""

    def __init__(self, gpu: Gpu, handle: Any) -> None:
        self.gpu = gpu
        self.handle = handle

    def __getitem__(self, sizes: tuple[Any, ...]) -> Callable[..., None]:
        """A launch with a grid and a block, each a number or three; then bytes of shared memory and a stream."""
        grid, block, *rest = sizes
        shared = rest[0] if rest else 0
        stream = rest[1] if len(rest) > 1 else None
        whole = [(n, 1, 1) if isinstance(n, int) else n for n in (grid, block)]

        def launch(*arguments: int) -> None:
            packed = ctypes.create_string_buffer(struct.pack(f"{len(arguments)}q", *arguments))
            parameters = (ctypes.c_void_p * 1)(ctypes.addressof(packed))
            self.gpu.cu.cuLaunchKernel(self.handle, *whole[0], *whole[1], shared, stream, parameters, None)

        return launch
