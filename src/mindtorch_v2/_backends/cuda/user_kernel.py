"""Kernels of programs: `torch.cuda._compile_kernel`."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Sequence
from typing import Any

from ... import _C
from . import compiler, runtime

_DEFAULT_SHARED = 48 << 10  # bytes of dynamic shared memory that a kernel has without asking
_MOST_SHARED = 97  # CUdevice_attribute: bytes that one may ask for


class UserKernel:
    """A function of CUDA C++, compiled for each device at its first call there.

    Args:
        source: CUDA C++ with a function `extern "C" __global__ void name(...)`.
        name: of the function.
        target: the architecture, "sm_86"; None is that of the device.
        options: of the compiler.
    """

    def __init__(self, source: str, name: str, target: str | None, options: Sequence[str]) -> None:
        self.name = name
        self._source, self._target, self._options = source, target, tuple(options)
        self._functions: dict[int, int] = {}
        self._most_shared = 0
        self._sizes: list[int] | None = None  # of the parameters, in bytes

    def __call__(
        self,
        grid: tuple[int, int, int] = (1, 1, 1),
        block: tuple[int, int, int] = (1, 1, 1),
        args: Sequence[Any] | None = None,
        shared_mem: int = 0,
        stream: Any | None = None,
    ) -> None:
        """Enqueue the kernel.

        Args:
            grid, block: how many blocks, and threads in each.
            args: of the function: tensors for pointers, `int` for 32-bit integers, `float` for `double`.
            shared_mem: bytes of dynamic shared memory; from 48 KiB on `set_shared_memory_config` comes first.
            stream: None is the current one.

        Raises:
            ValueError: a tensor of the host that is not pinned.
            TypeError: another argument.
            RuntimeError: the source does not compile, too much shared memory, or the driver's error.
        """
        held = runtime.get()
        packed = [_packed(each) for each in args or ()]
        if shared_mem >= _DEFAULT_SHARED and shared_mem > self._most_shared:
            known = f"only {self._most_shared} bytes configured" if self._most_shared else "not configured"
            raise RuntimeError(
                f"Kernel requires {shared_mem} bytes of shared memory (>= 48KB), but {known}. Call "
                "kernel.set_shared_memory_config(shared_mem) after compilation and before launching the kernel."
            )
        device = held.thread.device if stream is None else stream.device_index
        function = self._function(device)
        self._check_sizes(packed)
        handle = held.stream_handle(device) if stream is None else stream.handle
        held.activate(device)
        if held.emulated:
            packed = [_one_block(packed)]
        places = (ctypes.c_void_p * max(len(packed), 1))(*(ctypes.addressof(each) for each in packed))
        code = held.cuLaunchKernel(function, *_three(grid), *_three(block), shared_mem, handle or None, places, None)
        held.check("cuLaunchKernel", code)
        if held.waits:
            held.synchronize_stream(device, handle)

    def set_shared_memory_config(self, shared_mem_bytes: int) -> None:
        """Ask for so many bytes of dynamic shared memory, before a launch that uses 48 KiB or more.

        RuntimeError for more than the device has.
        """
        held = runtime.get()
        device = held.thread.device
        most = held.attribute(_MOST_SHARED, device)
        if shared_mem_bytes > most:
            raise RuntimeError(
                f"Requested shared memory ({shared_mem_bytes} bytes) exceeds device limit ({most} bytes)."
            )
        if shared_mem_bytes >= _DEFAULT_SHARED:
            compiler.allow_shared(self._function(device), shared_mem_bytes)
        self._most_shared = shared_mem_bytes

    def _check_sizes(self, packed: Sequence[Any]) -> None:
        """RuntimeError for arguments that the kernel would take for something else, where the driver can tell."""
        given = [ctypes.sizeof(each) for each in packed]
        if self._sizes is not None and given != self._sizes:
            raise RuntimeError(
                f"{self.name}: its parameters have {self._sizes} bytes, but the arguments have {given}: tensors are pointers of 8 "
                "bytes, int is a C int of 4, float a double of 8"
            )

    def _function(self, device: int) -> int:
        found = self._functions.get(device)
        if found is None:
            source, entry = self._source, self.name
            if runtime.get().emulated:
                source, entry = _for_emulator(source, self.name), "emulated_user"
            found = compiler.function(source, entry, device, self.name, target=self._target, options=self._options)
            self._functions[device] = found
            self._sizes = _parameter_sizes(found)
        return found


def compile_kernel(
    kernel_source: str,
    kernel_name: str,
    compute_capability: str | None = None,
    cuda_include_dirs: list[str] | None = None,
    nvcc_options: list[str] | None = None,
) -> UserKernel:
    """A kernel from CUDA C++, which is compiled now and called with a grid, a block and arguments.

    Args:
        kernel_source: the source; `extern "C"` is put before the function where it is not.
        kernel_name: of the `__global__` function.
        compute_capability: "86"; None is the current device's.
        cuda_include_dirs: folders of headers.
        nvcc_options: further options of NVRTC.

    Raises:
        ValueError: the source has no such function.
        RuntimeError: it does not compile; the compiler's text is in it.
    """
    found = re.search(rf"(extern\s+\"C\"\s+)?\b__global__\b[^;{{}}]*?\b{re.escape(kernel_name)}\s*\(", kernel_source)
    if found is None:
        raise ValueError(f"_compile_kernel(): the source has no __global__ function {kernel_name}")
    at = found.start()
    if not found.group(1) and not re.search(r'extern\s+"C"\s*\{', kernel_source[:at]):
        kernel_source = f'{kernel_source[:at]}extern "C" {kernel_source[at:]}'
    options = [f"-I{folder}" for folder in cuda_include_dirs or ()] + list(nvcc_options or ())
    made = UserKernel(kernel_source, kernel_name, compute_capability and f"sm_{compute_capability}", options)
    made._function(runtime.get().thread.device)
    return made


def _parameter_sizes(function: int) -> list[int] | None:
    """The bytes of a function's parameters; None where the driver cannot tell."""
    told = runtime.get().parameter_info
    if told is None:
        return None
    offset, size = ctypes.c_size_t(), ctypes.c_size_t()
    sizes: list[int] = []
    while told(ctypes.c_void_p(function), len(sizes), ctypes.byref(offset), ctypes.byref(size)) == 0:
        sizes.append(size.value)
    return sizes


def _for_emulator(source: str, name: str) -> str:
    """The source for the host's compiler: dynamic shared memory is where the emulator has it."""
    shared = r"\bextern\s+__shared__\s+(?:__align__\(\d+\)\s+)?([\w:\s]+?)\s+(\w+)\s*\[\s*\]\s*;"
    source = re.sub(shared, r"\1* \2 = static_cast<\1*>(emulated_now->shared);", source)
    return f'{source}\n#include "on_cpu/user.h"\nEMULATED_USER_KERNEL({name})\n'


def _packed(argument: Any) -> Any:
    """An argument as the bytes that a kernel gets."""
    if isinstance(argument, _C.TensorBase):
        if not (argument.device.type == "cuda" or (argument.is_cpu and argument.is_pinned())):
            raise ValueError("All tensor arguments must be CUDA tensors or pinned CPU tensors")
        return ctypes.c_void_p(argument.data_ptr())
    if isinstance(argument, int):
        return ctypes.c_int(argument)
    if isinstance(argument, float):
        return ctypes.c_double(argument)
    raise TypeError(f"Unsupported argument type: {type(argument)}")


def _one_block(packed: Sequence[Any]) -> Any:
    """Arguments one after the other, each where its alignment allows, as the emulated GPU takes them."""
    data = bytearray()
    for each in packed:
        data += bytes(-len(data) % ctypes.sizeof(each)) + bytes(each)
    return (ctypes.c_char * max(len(data), 1)).from_buffer_copy(bytes(data) or b"\0")


def _three(sizes: Sequence[int]) -> list[int]:
    if len(sizes) != 3:
        raise ValueError(f"a grid and a block have three sizes, but {tuple(sizes)} was given")
    return [int(size) for size in sizes]
