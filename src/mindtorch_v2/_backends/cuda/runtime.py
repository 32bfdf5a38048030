"""CUDA's driver by ctypes: devices, memory, streams, events, copies, modules. Launches are the core's (csrc/cuda/driver.cpp).

One call fails in one way: `check` raises `CUDAError` with the function, its code and CUDA's own words for it.
"""

from __future__ import annotations

import ctypes
import os
from ctypes import c_char_p, c_float, c_int, c_size_t, c_uint, c_uint64, c_void_p
from typing import TYPE_CHECKING, Any, ClassVar

from ... import _C
from ..common import runtime as _common
from ..common.once import once
from ..common.runtime import D2D as D2D
from ..common.runtime import D2H as D2H
from ..common.runtime import H2D as H2D
from . import libraries
from .errors import OUT_OF_MEMORY, STICKY, CUDAError, CUDAOutOfMemoryError

_NON_BLOCKING = 1  # of streams: they do not wait for the default one
_NO_TIMING = 2  # of events
_NOT_READY = 600
_PORTABLE = 1  # pinned memory for every context

# name -> argument types; every function returns CUresult.
SIGNATURES: dict[str, tuple] = {
    "cuCtxSynchronize": (),
    "cuDeviceCanAccessPeer": (c_void_p, c_int, c_int),
    "cuDeviceGet": (c_void_p, c_int),
    "cuDeviceGetAttribute": (c_void_p, c_int, c_int),
    "cuDeviceGetCount": (c_void_p,),
    "cuDeviceGetName": (c_char_p, c_int, c_int),
    "cuDeviceGetUuid_v2": (c_void_p, c_int),
    "cuDevicePrimaryCtxRelease_v2": (c_int,),
    "cuDevicePrimaryCtxRetain": (c_void_p, c_int),
    "cuDeviceTotalMem_v2": (c_void_p, c_int),
    "cuDriverGetVersion": (c_void_p,),
    "cuEventCreate": (c_void_p, c_uint),
    "cuEventDestroy_v2": (c_void_p,),
    "cuEventElapsedTime": (c_void_p, c_void_p, c_void_p),
    "cuEventQuery": (c_void_p,),
    "cuEventRecord": (c_void_p, c_void_p),
    "cuEventSynchronize": (c_void_p,),
    "cuFuncSetAttribute": (c_void_p, c_int, c_int),
    "cuGetErrorName": (c_int, c_void_p),
    "cuGetErrorString": (c_int, c_void_p),
    "cuGraphDestroy": (c_void_p,),
    "cuGraphExecDestroy": (c_void_p,),
    "cuGraphInstantiateWithFlags": (c_void_p, c_void_p, c_uint64),
    "cuGraphLaunch": (c_void_p, c_void_p),
    "cuInit": (c_uint,),
    "cuLaunchKernel": (c_void_p, *[c_uint] * 7, c_void_p, c_void_p, c_void_p),
    "cuMemAlloc_v2": (c_void_p, c_size_t),
    "cuMemFreeHost": (c_void_p,),
    "cuMemFree_v2": (c_uint64,),
    "cuMemGetInfo_v2": (c_void_p, c_void_p),
    "cuMemHostAlloc": (c_void_p, c_size_t, c_uint),
    "cuMemcpyDtoDAsync_v2": (c_uint64, c_uint64, c_size_t, c_void_p),
    "cuMemcpyDtoHAsync_v2": (c_void_p, c_uint64, c_size_t, c_void_p),
    "cuMemcpyHtoDAsync_v2": (c_uint64, c_void_p, c_size_t, c_void_p),
    "cuMemsetD8Async": (c_uint64, ctypes.c_ubyte, c_size_t, c_void_p),
    "cuModuleGetFunction": (c_void_p, c_void_p, c_char_p),
    "cuModuleLoadData": (c_void_p, c_void_p),
    "cuModuleUnload": (c_void_p,),
    "cuStreamBeginCapture_v2": (c_void_p, c_int),
    "cuStreamCreateWithPriority": (c_void_p, c_uint, c_int),
    "cuStreamDestroy_v2": (c_void_p,),
    "cuStreamEndCapture": (c_void_p, c_void_p),
    "cuStreamIsCapturing": (c_void_p, c_void_p),
    "cuStreamQuery": (c_void_p,),
    "cuStreamSynchronize": (c_void_p,),
    "cuStreamWaitEvent": (c_void_p, c_void_p, c_uint),
    "cuThreadExchangeStreamCaptureMode": (c_void_p,),
}


class Runtime(_common.Runtime):
    """The driver in this process; made once, by `get`."""

    kind, label = "cuda", "CUDA"
    out_of_memory_codes: ClassVar = OUT_OF_MEMORY

    if TYPE_CHECKING:  # the driver's functions, by their names

        def __getattr__(self, name: str) -> Any: ...

    def __init__(self) -> None:
        path = libraries.driver_path()
        try:
            driver = ctypes.CDLL(path)
        except OSError as error:
            raise AssertionError(
                "Torch not compiled with CUDA enabled: there is no driver of NVIDIA on this host "
                f"({error}). `python -m mindtorch_v2.cuda emulate -- python script.py` runs a program on the emulated GPU."
            ) from None
        for name, argtypes in SIGNATURES.items():
            function = getattr(driver, name, None)
            if function is None:
                raise RuntimeError(
                    f"The driver of CUDA on this host is too old: it has no {name}; 12.0 or later is needed"
                )
            function.argtypes = argtypes
            setattr(self, name, function)
        self.parameter_info = getattr(driver, "cuFuncGetParamInfo", None)  # from 12.4 on
        self.emulated = libraries.emulated()
        super().__init__(blocking=os.environ.get("CUDA_LAUNCH_BLOCKING") == "1")
        self.check("cuInit", self.cuInit(0))
        self.device_count = self._int(self.cuDeviceGetCount)
        if self.device_count == 0:
            raise RuntimeError("No CUDA GPUs are available")
        self.version = self._int(self.cuDriverGetVersion)
        self.devices = [self._int(self.cuDeviceGet, index) for index in range(self.device_count)]
        self.contexts: dict[int, int] = {}
        _C._cuda_open(path, self._failed, self.blocking)
        self._targets: dict[int, str] = {}
        self._attributes: dict[tuple[int, int], int] = {}
        self.activate(0)
        self.end_with_process()

    def _int(self, function: Any, *arguments: Any) -> int:
        told = c_int()
        self.check(function.__name__, function(ctypes.byref(told), *arguments))
        return told.value

    # ---- errors ----

    def words(self, code: int) -> tuple[str, str]:
        """Name and sentence of a code."""
        found = []
        for function in (self.cuGetErrorName, self.cuGetErrorString):
            text = c_char_p()
            function(code, ctypes.byref(text))
            found.append(text.value.decode() if text.value else "unknown error")
        return found[0], found[1]

    def fail(self, function: str, code: int) -> None:
        name, text = self.words(code)
        note = ""
        if code in STICKY:
            note = " The work that failed may have been enqueued before, and the device is lost to this process." + (
                "" if self.blocking else " CUDA_LAUNCH_BLOCKING=1 has the error raised where the operator is called."
            )
        raise CUDAError(function, code, name, text, note)

    def _failed(self, function: str, code: int) -> None:
        self.fail(function, code)

    # ---- devices ----

    def activate(self, index: int) -> None:
        """Make a device's context this thread's."""
        if index not in self.contexts:
            self.refuse_fork()
            context = c_void_p()
            code = self.cuDevicePrimaryCtxRetain(ctypes.byref(context), self.devices[index])
            self.check("cuDevicePrimaryCtxRetain", code)
            self.contexts[index] = context.value or 0
            _C._cuda_set_context(index, self.contexts[index])
        _C._cuda_activate(index)

    def check_index(self, index: int) -> None:
        if not 0 <= index < self.device_count:
            self.fail("cuDeviceGet", 101)  # invalid device ordinal

    def attribute(self, number: int, index: int) -> int:
        """A property of a device by the driver's number."""
        found = self._attributes.get((number, index))
        if found is None:
            found = self._attributes[number, index] = self._int(self.cuDeviceGetAttribute, number, self.devices[index])
        return found

    def capability(self, index: int) -> tuple[int, int]:
        return self.attribute(75, index), self.attribute(76, index)

    def has_tensor_cores(self, index: int) -> bool:
        """Whether a device has those that kernels are written for: products of bfloat16, copies beside them."""
        return self.attribute(75, index) >= 8

    def most_shared(self, index: int) -> int:
        """Bytes of shared memory that a block can have when its kernel asks for them."""
        return self.attribute(97, index)

    def target(self, index: int) -> str:
        """The architecture that kernels are compiled for: "sm_90", or the host of an emulated device."""
        found = self._targets.get(index)
        if found is None:
            major, minor = self.capability(index)
            found = self._targets[index] = "host" if self.emulated else f"sm_{major}{minor}"
        return found

    def name(self, index: int) -> str:
        text = ctypes.create_string_buffer(256)
        self.check("cuDeviceGetName", self.cuDeviceGetName(text, len(text), self.devices[index]))
        return text.value.decode()

    def memory_info(self, index: int) -> tuple[int, int]:
        """(free, total) bytes of a device's memory."""
        self.activate(index)
        free, total = c_size_t(), c_size_t()
        self.check("cuMemGetInfo", self.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total)))
        return free.value, total.value

    def synchronize(self, index: int) -> None:
        self.activate(index)
        self.check("cuCtxSynchronize", self.cuCtxSynchronize())

    # ---- kernels ----

    def load_module(self, index: int, image: bytes) -> int:
        self.activate(index)
        module = c_void_p()
        self.check("cuModuleLoadData", self.cuModuleLoadData(ctypes.byref(module), image))
        return module.value or 0

    def module_function(self, module: int, name: str) -> int:
        function = c_void_p()
        self.check("cuModuleGetFunction", self.cuModuleGetFunction(ctypes.byref(function), module, name.encode()))
        return function.value or 0

    # ---- streams and events: raw handles ----

    def set_stream(self, stream: Any) -> None:
        super().set_stream(stream)
        _C._cuda_set_stream(stream.device_index, stream.handle)

    def create_stream(self, index: int, priority: int = 0) -> int:
        self.activate(index)
        handle = c_void_p()
        code = self.cuStreamCreateWithPriority(ctypes.byref(handle), _NON_BLOCKING, priority)
        self.check("cuStreamCreateWithPriority", code)
        return handle.value or 0

    def destroy_stream(self, handle: int) -> None:
        self.cuStreamDestroy_v2(handle)

    def stream_done(self, index: int, handle: int) -> bool:
        self.activate(index)
        return self._passed("cuStreamQuery", self.cuStreamQuery(handle or None))

    def _passed(self, function: str, code: int) -> bool:
        if code not in (0, _NOT_READY):
            self.fail(function, code)
        return code == 0

    def synchronize_stream(self, index: int, handle: int) -> None:
        self.activate(index)
        self.check("cuStreamSynchronize", self.cuStreamSynchronize(handle or None))

    def create_event(self, timing: bool = False) -> int:
        handle = c_void_p()
        self.check("cuEventCreate", self.cuEventCreate(ctypes.byref(handle), 0 if timing else _NO_TIMING))
        return self.keep_event(handle)

    def record_event(self, event: int, index: int, stream: int) -> None:
        self.activate(index)
        self.check("cuEventRecord", self.cuEventRecord(event, stream or None))

    def event_done(self, event: int) -> bool:
        return self._passed("cuEventQuery", self.cuEventQuery(event))

    def wait_event(self, event: int, index: int, stream: int) -> None:
        self.activate(index)
        self.check("cuStreamWaitEvent", self.cuStreamWaitEvent(stream or None, event, 0))

    def synchronize_event(self, event: int) -> None:
        self.check("cuEventSynchronize", self.cuEventSynchronize(event))

    def drop_event(self, event: int) -> tuple[str, int]:
        return "cuEventDestroy", self.cuEventDestroy_v2(event)

    def elapsed(self, first: int, second: int) -> float:
        ms = c_float()
        self.check("cuEventElapsedTime", self.cuEventElapsedTime(ctypes.byref(ms), first, second))
        return ms.value

    # ---- memory ----

    def take_memory(self, address: c_void_p, nbytes: int) -> int:
        return self.cuMemAlloc_v2(ctypes.byref(address), nbytes)

    def exchange_capture_mode(self, mode: c_int) -> None:
        self.cuThreadExchangeStreamCaptureMode(ctypes.byref(mode))

    def check_malloc(self, code: int) -> None:
        self.check("cuMemAlloc", code)

    def out_of_memory(self, code: int, size: int, index: int, held: str) -> CUDAOutOfMemoryError:
        """The error for a request that no memory is left for; `held` says what this process has."""
        free, total = self.memory_info(index)
        text = (
            f"CUDA out of memory. Tried to allocate {_amount(size)}. GPU {index} has a total capacity of {_amount(total)} of which "
            f"{_amount(free)} is free. {held}"
        )
        return CUDAOutOfMemoryError("cuMemAlloc", code, self.words(code)[0], text)

    def free(self, address: int, index: int) -> None:
        if not self.closed:
            self.activate(index)
            self.check("cuMemFree", self.cuMemFree_v2(address))

    def malloc_host(self, nbytes: int) -> tuple[int, int]:
        """(address, code) of page-locked memory of the host."""
        self.activate(self.thread.device)
        address = c_void_p()
        code = self.cuMemHostAlloc(ctypes.byref(address), nbytes, _PORTABLE)
        return address.value or 0, code

    def check_malloc_host(self, code: int) -> None:
        self.check("cuMemHostAlloc", code)

    def free_host(self, address: int) -> None:
        self.check("cuMemFreeHost", self.cuMemFreeHost(address))

    def copy(self, to: int, source: int, nbytes: int, kind: int, index: int, stream: int) -> None:
        """Enqueue a copy of bytes."""
        self.activate(index)
        function = {H2D: self.cuMemcpyHtoDAsync_v2, D2H: self.cuMemcpyDtoHAsync_v2, D2D: self.cuMemcpyDtoDAsync_v2}[
            kind
        ]
        self.check(function.__name__, function(to, source, nbytes, stream or None))

    # ---- the end ----

    def opened(self) -> list[int]:
        return list(self.contexts)

    def wait_for_device(self) -> int:
        return self.cuCtxSynchronize()

    def finish(self) -> None:
        for index in self.contexts:
            self.cuDevicePrimaryCtxRelease_v2(self.devices[index])


def _amount(nbytes: int) -> str:
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if nbytes >= size:
            return f"{nbytes / size:.2f} {unit}"
    return f"{nbytes} bytes"


get, started = once(Runtime)
