"""Ascend's runtime (ACL) by ctypes: initialisation, devices, streams, events, copies.

One call fails in one way: `check` raises `NPUError` with the function, its code, the code's meaning and CANN's own text.
"""

from __future__ import annotations

import ctypes
import functools
import os
from ctypes import c_char_p, c_float, c_int, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from typing import TYPE_CHECKING, Any, ClassVar

from ... import _C
from ..common import runtime as _common
from ..common.once import once
from ..common.runtime import D2D as D2D
from ..common.runtime import D2H as D2H
from ..common.runtime import H2D as H2D
from . import environment
from .errors import OUT_OF_MEMORY, NPUError, NPUOutOfMemoryError
from .faults import Faults
from .libraries import Libraries

EVENT_SYNC, EVENT_TIMELINE, EVENT_EXTERNAL = 1, 8, 0x20
_ALREADY_INITIALISED = 100002
_ASYNCHRONOUS = 500000  # errors of the device have codes from here

# name -> argument types; every function returns aclError unless it is in RESULTS.
SIGNATURES: dict[str, tuple] = {
    "aclFinalize": (),
    "aclGetDeviceCapability": (c_uint32, c_int, c_void_p),
    "aclGetRecentErrMsg": (),
    "aclInit": (c_char_p,),
    "aclmdlRICaptureBegin": (c_void_p, c_int),
    "aclmdlRICaptureEnd": (c_void_p, c_void_p),
    "aclmdlRICaptureGetInfo": (c_void_p, c_void_p, c_void_p),
    "aclmdlRICaptureTaskGrpBegin": (c_void_p,),
    "aclmdlRICaptureTaskGrpEnd": (c_void_p, c_void_p),
    "aclmdlRICaptureTaskUpdateBegin": (c_void_p, c_void_p),
    "aclmdlRICaptureTaskUpdateEnd": (c_void_p,),
    "aclmdlRICaptureThreadExchangeMode": (c_void_p,),
    "aclmdlRIDebugJsonPrint": (c_void_p, c_char_p, c_uint32),
    "aclmdlRIDebugPrint": (c_void_p,),
    "aclmdlRIDestroy": (c_void_p,),
    "aclmdlRIExecuteAsync": (c_void_p, c_void_p),
    "aclrtCreateEventExWithFlag": (c_void_p, c_uint32),
    "aclrtCreateStreamWithConfig": (c_void_p, c_uint32, c_uint32),
    "aclrtDestroyEvent": (c_void_p,),
    "aclrtDestroyStream": (c_void_p,),
    "aclrtEventElapsedTime": (c_void_p, c_void_p, c_void_p),
    "aclrtEventGetTimestamp": (c_void_p, c_void_p),
    "aclrtFree": (c_void_p,),
    "aclrtFreeHost": (c_void_p,),
    "aclrtGetDeviceCount": (c_void_p,),
    "aclrtGetDeviceIdFromExceptionInfo": (c_void_p,),
    "aclrtGetDeviceUtilizationRate": (c_int32, c_void_p),
    "aclrtGetMemInfo": (c_int, c_void_p, c_void_p),
    "aclrtGetSocName": (),
    "aclrtGetStreamIdFromExceptionInfo": (c_void_p,),
    "aclrtGetTaskIdFromExceptionInfo": (c_void_p,),
    "aclrtGetThreadLastTaskId": (c_void_p,),
    "aclrtGetVersion": (c_void_p, c_void_p, c_void_p),
    "aclrtHostRegister": (c_void_p, c_uint64, c_int, c_void_p),
    "aclrtHostRegisterV2": (c_void_p, c_uint64, c_uint32),
    "aclrtHostUnregister": (c_void_p,),
    "aclrtLaunchCallback": (c_void_p, c_void_p, c_int, c_void_p),
    "aclrtMalloc": (c_void_p, c_size_t, c_int),
    "aclrtMallocHost": (c_void_p, c_size_t),
    "aclrtMemcpyAsync": (c_void_p, c_size_t, c_void_p, c_size_t, c_int, c_void_p),
    "aclrtProcessReport": (c_int32,),
    "aclrtQueryEventStatus": (c_void_p, c_void_p),
    "aclrtRecordEvent": (c_void_p, c_void_p),
    "aclrtResetEvent": (c_void_p, c_void_p),
    "aclrtSetDevice": (c_int32,),
    "aclrtSetExceptionInfoCallback": (c_void_p,),
    "aclrtSetOpExecuteTimeOutWithMs": (c_uint32,),
    "aclrtSetSysParamOpt": (c_int, c_int64),
    "aclrtStreamGetId": (c_void_p, c_void_p),
    "aclrtStreamQuery": (c_void_p, c_void_p),
    "aclrtStreamWaitEvent": (c_void_p, c_void_p),
    "aclrtSubscribeReport": (c_uint64, c_void_p),
    "aclrtSynchronizeDevice": (),
    "aclrtSynchronizeEvent": (c_void_p,),
    "aclrtSynchronizeStream": (c_void_p,),
    "aclrtUnSubscribeReport": (c_uint64, c_void_p),
}
RESULTS = {
    "aclGetRecentErrMsg": c_char_p,
    "aclrtGetSocName": c_char_p,
    **dict.fromkeys((name for name in SIGNATURES if name.endswith("ExceptionInfo")), c_uint32),
}


def _absent(name: str, *arguments: Any) -> int:
    raise NotImplementedError(f"libascendcl.so of this CANN has no {name}")


class ThreadState(_common.ThreadState):
    """The state of a thread, with the device that ACL knows, and room for what calls return."""

    def __init__(self) -> None:
        super().__init__()
        self.active = -1  # what ACL was told last
        self.size, self.executor = c_uint64(), c_void_p()  # what the first phase of an operator says
        self.size_reference, self.executor_reference = ctypes.byref(self.size), ctypes.byref(self.executor)
        self.task = c_uint32()  # the last that this thread enqueued
        self.task_reference = ctypes.byref(self.task)
        self.epoch: int | None = None  # while it calls an operator: which descriptors it may have found


class Runtime(_common.Runtime):
    """The runtime of this process; made once, by `get`."""

    kind, label = "npu", "NPU"
    thread_state = ThreadState
    out_of_memory_codes: ClassVar = OUT_OF_MEMORY

    if TYPE_CHECKING:  # CANN's functions, by their names

        def __getattr__(self, name: str) -> Any: ...

    def __init__(self) -> None:
        self.libraries = Libraries()
        self.missing: list[str] = []  # functions that this version of CANN does not have
        for name, argtypes in SIGNATURES.items():
            function = getattr(self.libraries.acl, name, None)
            if function is None:
                self.missing.append(name)
                setattr(self, name, functools.partial(_absent, name))
                continue
            function.argtypes = argtypes
            function.restype = RESULTS.get(name, c_int)
            setattr(self, name, function)
        names = ("ACL_LAUNCH_BLOCKING", "ASCEND_LAUNCH_BLOCKING")
        super().__init__(blocking=any(os.environ.get(name) == "1" for name in names))
        code = self.aclInit(environment.options_file())
        if code not in (0, _ALREADY_INITIALISED):
            self.fail("aclInit", code)
        count = c_uint32()
        self.check("aclrtGetDeviceCount", self.aclrtGetDeviceCount(ctypes.byref(count)))
        self.device_count = count.value
        if self.device_count == 0:
            raise RuntimeError("No NPU: aclrtGetDeviceCount found no device")
        self.activate(0)
        self._destroyed: set[int] = set()  # handles of streams that are gone, of which calls may still be noted
        told = (getattr(self, f"aclrtGet{what}IdFromExceptionInfo") for what in ("Device", "Stream", "Task"))
        self.faults = Faults(list(told), self._stream_id)
        self.check("aclrtSetExceptionInfoCallback", self.aclrtSetExceptionInfoCallback(self.faults.callback))
        self.end_with_process()

    def in_child(self) -> None:
        super().in_child()
        for thread in self.thread_states():
            thread.active = -1

    # ---- errors ----

    def message(self) -> str:
        text = self.aclGetRecentErrMsg()
        return text.decode(errors="replace").strip() if text else ""

    def error(self, function: str, code: int, note: str = "") -> NPUError:
        """The error for what a call returned; says whose work it was that failed, if it was work enqueued before."""
        told = self.message()  # first: what is asked for the origin may fail, with a message of its own
        origin = self.faults.origin() if code >= _ASYNCHRONOUS else None
        return NPUError(function, code, told, note, origin)

    def fail(self, function: str, code: int, note: str = "") -> None:
        raise self.error(function, code, note)

    # ---- devices ----

    def activate(self, index: int) -> None:
        """Make a device ACL's current one on this thread, if it is not."""
        thread = self.thread
        if thread.active != index:
            self.refuse_fork()
            self.check("aclrtSetDevice", self.aclrtSetDevice(index))
            thread.active = index

    def check_index(self, index: int) -> None:
        if not 0 <= index < self.device_count:
            raise RuntimeError(
                f"Invalid device ID: invalid NPU device {index}: there are {self.device_count}. Check whether the device ID is valid."
            )

    def soc_name(self) -> str:
        name = self.aclrtGetSocName()
        return name.decode() if name else ""

    def version(self) -> tuple[int, int, int]:
        parts = [c_int32() for _ in range(3)]
        self.check("aclrtGetVersion", self.aclrtGetVersion(*map(ctypes.byref, parts)))
        return parts[0].value, parts[1].value, parts[2].value

    def memory_info(self, index: int) -> tuple[int, int]:
        """(free, total) bytes of a device's main memory."""
        self.activate(index)
        free, total = c_size_t(), c_size_t()
        self.check("aclrtGetMemInfo", self.aclrtGetMemInfo(1, ctypes.byref(free), ctypes.byref(total)))
        return free.value, total.value

    def utilization(self, index: int) -> int:
        """The share of time, in per cent, in which a device's units work: the mean of matrix and vector unit."""
        told = (c_int32 * 6)()  # aclrtUtilizationInfo: matrix unit, vector unit, control CPU, memory; a pointer
        code = self.aclrtGetDeviceUtilizationRate(index, ctypes.byref(told))
        self.check("aclrtGetDeviceUtilizationRate", code)
        found = [each for each in told[:2] if each >= 0]
        return sum(found) // len(found) if found else 0

    def synchronize(self, index: int) -> None:
        self.activate(index)
        code = self.aclrtSynchronizeDevice()
        if code:
            self.fail("aclrtSynchronizeDevice", code, self.hint())

    def hint(self) -> str:
        return (
            "" if self.blocking else "Set ACL_LAUNCH_BLOCKING=1 to have the error raised where the operator is called."
        )

    # ---- work that may fail later ----

    def note(self, what: str, device: int, stream: int) -> None:
        """Remember that this thread has just enqueued work, and which line of the program did."""
        thread = self.thread
        self.aclrtGetThreadLastTaskId(thread.task_reference)
        _C._note_call(what, device, stream, thread.task.value)

    def _stream_id(self, device: int, handle: int) -> int:
        number = c_int32(-1)
        if handle in self._destroyed:
            return number.value
        self.activate(device)
        self.aclrtStreamGetId(handle or None, ctypes.byref(number))
        return number.value

    # ---- streams and events: raw handles ----

    def create_stream(self, index: int, priority: int = 0) -> int:
        """A new stream's handle; the priority makes no difference to a device, as with torch_npu."""
        self.activate(index)
        handle = c_void_p()
        code = self.aclrtCreateStreamWithConfig(ctypes.byref(handle), 0, 0)
        self.check("aclrtCreateStreamWithConfig", code)
        self._destroyed.discard(handle.value or 0)
        return handle.value or 0

    def destroy_stream(self, handle: int) -> None:
        self._destroyed.add(handle)
        self.aclrtDestroyStream(handle)

    def stream_done(self, index: int, handle: int) -> bool:
        self.activate(index)
        status = c_int()
        self.check("aclrtStreamQuery", self.aclrtStreamQuery(handle or None, ctypes.byref(status)))
        return status.value == 0

    def synchronize_stream(self, index: int, handle: int) -> None:
        self.activate(index)
        code = self.aclrtSynchronizeStream(handle or None)
        if code:
            self.fail("aclrtSynchronizeStream", code, self.hint())

    def create_event(self, timing: bool = False, external: bool = False) -> int:
        handle = c_void_p()
        flags = EVENT_EXTERNAL if external else EVENT_SYNC | (EVENT_TIMELINE if timing else 0)
        self.check("aclrtCreateEventExWithFlag", self.aclrtCreateEventExWithFlag(ctypes.byref(handle), flags))
        return self.keep_event(handle)

    def record_event(self, event: int, index: int, stream: int) -> None:
        self.activate(index)
        self.check("aclrtRecordEvent", self.aclrtRecordEvent(event, stream or None))

    def event_done(self, event: int) -> bool:
        status = c_int()
        self.check("aclrtQueryEventStatus", self.aclrtQueryEventStatus(event, ctypes.byref(status)))
        return status.value == 1

    def wait_event(self, event: int, index: int, stream: int) -> None:
        self.activate(index)
        self.check("aclrtStreamWaitEvent", self.aclrtStreamWaitEvent(stream or None, event))

    def synchronize_event(self, event: int) -> None:
        self.check("aclrtSynchronizeEvent", self.aclrtSynchronizeEvent(event))

    def drop_event(self, event: int) -> tuple[str, int]:
        return "aclrtDestroyEvent", self.aclrtDestroyEvent(event)

    def elapsed(self, first: int, second: int) -> float:
        ms = c_float()
        self.check("aclrtEventElapsedTime", self.aclrtEventElapsedTime(ctypes.byref(ms), first, second))
        return ms.value

    # ---- memory ----

    def take_memory(self, address: c_void_p, nbytes: int) -> int:
        return self.aclrtMalloc(ctypes.byref(address), nbytes, 0)

    def exchange_capture_mode(self, mode: c_int) -> None:
        self.aclmdlRICaptureThreadExchangeMode(ctypes.byref(mode))

    def check_malloc(self, code: int) -> None:
        self.check("aclrtMalloc", code)

    def out_of_memory(self, code: int, size: int, index: int, held: str) -> NPUOutOfMemoryError:
        """The error for a request that no memory is left for; `held` says what this process has."""
        detail = self.message()
        free, total = self.memory_info(index)
        return NPUOutOfMemoryError(
            "aclrtMalloc",
            code,
            detail,
            f"NPU out of memory. Tried to allocate {size} bytes on npu:{index}, which has {total} bytes, of which {free} are "
            f"free. {held}",
        )

    def malloc_host(self, nbytes: int) -> tuple[int, int]:
        """(address, code) of page-locked memory of the host."""
        address = c_void_p()
        code = self.aclrtMallocHost(ctypes.byref(address), nbytes)
        return address.value or 0, code

    def check_malloc_host(self, code: int) -> None:
        self.check("aclrtMallocHost", code)

    def free_host(self, address: int) -> None:
        self.check("aclrtFreeHost", self.aclrtFreeHost(address))

    def free(self, address: int, index: int) -> None:
        if not self.closed:
            self.activate(index)
            self.check("aclrtFree", self.aclrtFree(address))

    def copy(self, to: int, source: int, nbytes: int, kind: int, index: int, stream: int) -> None:
        self.activate(index)
        code = self.aclrtMemcpyAsync(to, nbytes, source, nbytes, kind, stream or None)
        if code:
            self.fail("aclrtMemcpyAsync", code, self.hint())
        self.note("aclrtMemcpyAsync", index, stream)

    # ---- the end ----

    def opened(self) -> list[int]:
        return list(range(self.device_count))

    def wait_for_device(self) -> int:
        return self.aclrtSynchronizeDevice()

    def finish(self) -> None:
        self.aclrtSetExceptionInfoCallback(None)
        self.aclFinalize()


get, started = once(Runtime)


def get_runtime(device_id: int = 0) -> Runtime:
    """The runtime with a device made current on this thread: the name of the design document of NPU operators."""
    runtime = get()
    runtime.activate(device_id)
    return runtime
