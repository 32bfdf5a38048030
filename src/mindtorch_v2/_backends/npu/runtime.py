"""Ascend's runtime (ACL) by ctypes: initialisation, devices, streams, events, copies.

One call fails in one way: `check` raises `NPUError` with the function, its code, the code's meaning and CANN's own text.
"""

from __future__ import annotations

import atexit
import ctypes
import functools
import os
import threading
import weakref
from ctypes import c_char_p, c_float, c_int, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from typing import TYPE_CHECKING, Any

from ... import _C
from . import environment
from .errors import OUT_OF_MEMORY, NPUError, NPUOutOfMemoryError
from .faults import Faults
from .libraries import Libraries

H2D, D2H, D2D = 1, 2, 3
EVENT_SYNC, EVENT_TIMELINE, EVENT_EXTERNAL = 1, 8, 0x20
_RELAXED = 2
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


class ThreadState:
    """State that each thread has of its own: its device, its current stream on each, and room for what calls return."""

    def __init__(self) -> None:
        self.device = 0  # what the program chose
        self.active = -1  # what ACL was told last
        self.streams: dict[int, Any] = {}  # device -> the current Stream, where it is not the default one
        self.handles: dict[int, int] = {}  # device -> its handle; 0 is the default stream
        self.size, self.executor = c_uint64(), c_void_p()  # what the first phase of an operator says
        self.size_reference, self.executor_reference = ctypes.byref(self.size), ctypes.byref(self.executor)
        self.task = c_uint32()  # the last that this thread enqueued
        self.task_reference = ctypes.byref(self.task)
        self.pool: int | None = None  # while it captures or updates a graph: the number of the graph's pool
        self.routed: dict[int, Any] = {}  # device -> the program's pool that memory comes from
        self.draws: Any | None = None  # while it captures a graph: where random operators find seed and offset
        self.epoch: int | None = None  # while it calls an operator: which descriptors it may have found


class _Local(threading.local):
    def __init__(self, states: weakref.WeakSet[ThreadState]) -> None:
        self.state = ThreadState()
        states.add(self.state)


class Runtime:
    """The runtime of this process; made once, by `get`."""

    out_of_memory_codes = OUT_OF_MEMORY

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
        self._states: weakref.WeakSet[ThreadState] = weakref.WeakSet()
        self.local = _Local(self._states)
        self.blocking = any(os.environ.get(n) == "1" for n in ("ACL_LAUNCH_BLOCKING", "ASCEND_LAUNCH_BLOCKING"))
        self.finalizers: list = []
        self.events: set[int] = set()  # those that are alive
        self.closed = self.forked = False
        code = self.aclInit(environment.options_file())
        if code not in (0, _ALREADY_INITIALISED):
            self.fail("aclInit", code)
        count = c_uint32()
        self.check("aclrtGetDeviceCount", self.aclrtGetDeviceCount(ctypes.byref(count)))
        self.device_count = count.value
        if self.device_count == 0:
            raise RuntimeError("No NPU: aclrtGetDeviceCount found no device")
        self.activate(0)
        told = (getattr(self, f"aclrtGet{what}IdFromExceptionInfo") for what in ("Device", "Stream", "Task"))
        self.faults = Faults(list(told), self._stream_id)
        self.check("aclrtSetExceptionInfoCallback", self.aclrtSetExceptionInfoCallback(self.faults.callback))
        atexit.register(self.close)
        os.register_at_fork(after_in_child=self._in_child)

    def _in_child(self) -> None:
        """Refuse the device to a forked process, which can only say so: streams are threads of its parent."""
        self.closed = self.forked = True
        for thread in self.thread_states():
            thread.active = -1

    @property
    def thread(self) -> ThreadState:
        """The state that this thread has of its own."""
        return self.local.state

    def thread_states(self) -> list[ThreadState]:
        """The states of all threads that used the runtime."""
        return list(self._states)

    # ---- errors ----

    def message(self) -> str:
        text = self.aclGetRecentErrMsg()
        return text.decode(errors="replace").strip() if text else ""

    def error(self, function: str, code: int, note: str = "") -> NPUError:
        """The error for what a call returned; says whose work it was that failed, if it was work enqueued before."""
        origin = self.faults.origin() if code >= _ASYNCHRONOUS else None
        return NPUError(function, code, self.message(), note, origin)

    def fail(self, function: str, code: int, note: str = "") -> None:
        raise self.error(function, code, note)

    def check(self, function: str, code: int) -> None:
        if code:
            self.fail(function, code)

    # ---- devices ----

    def activate(self, index: int) -> None:
        """Make a device ACL's current one on this thread, if it is not."""
        thread = self.thread
        if thread.active != index:
            if self.forked:
                raise RuntimeError(
                    "Cannot re-initialize NPU in forked subprocess. To use NPU with multiprocessing, you must use the 'spawn' "
                    "start method"
                )
            self.check("aclrtSetDevice", self.aclrtSetDevice(index))
            thread.active = index

    def set_device(self, index: int) -> None:
        if not 0 <= index < self.device_count:
            raise RuntimeError(
                f"Invalid device ID: invalid NPU device {index}: there are {self.device_count}. Check whether the device ID is valid."
            )
        self.activate(index)
        self.thread.device = index
        _C._set_current_device(index)

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
        self.activate(device)
        self.aclrtStreamGetId(handle or None, ctypes.byref(number))  # -1 for a stream that is gone
        return number.value

    # ---- streams and events: raw handles ----

    def stream_handle(self, index: int) -> int:
        return self.thread.handles.get(index, 0)

    def create_stream(self, index: int) -> int:
        self.activate(index)
        handle = c_void_p()
        code = self.aclrtCreateStreamWithConfig(ctypes.byref(handle), 0, 0)
        self.check("aclrtCreateStreamWithConfig", code)
        return handle.value or 0

    def synchronize_stream(self, index: int, handle: int) -> None:
        self.activate(index)
        code = self.aclrtSynchronizeStream(handle or None)
        if code:
            self.fail("aclrtSynchronizeStream", code, self.hint())

    def create_event(self, timing: bool = False, external: bool = False) -> int:
        handle = c_void_p()
        flags = EVENT_EXTERNAL if external else EVENT_SYNC | (EVENT_TIMELINE if timing else 0)
        self.check("aclrtCreateEventExWithFlag", self.aclrtCreateEventExWithFlag(ctypes.byref(handle), flags))
        assert handle.value is not None
        self.events.add(handle.value)
        return handle.value

    def record_event(self, event: int, index: int, stream: int) -> None:
        self.activate(index)
        self.check("aclrtRecordEvent", self.aclrtRecordEvent(event, stream or None))

    def event_done(self, event: int) -> bool:
        status = c_int()
        self.check("aclrtQueryEventStatus", self.aclrtQueryEventStatus(event, ctypes.byref(status)))
        return status.value == 1

    def destroy_event(self, event: int) -> None:
        if event in self.events:
            self.events.discard(event)
            self.check("aclrtDestroyEvent", self.aclrtDestroyEvent(event))

    def elapsed(self, first: int, second: int) -> float:
        ms = c_float()
        self.check("aclrtEventElapsedTime", self.aclrtEventElapsedTime(ctypes.byref(ms), first, second))
        return ms.value

    @property
    def waits(self) -> bool:
        """Whether each operator is waited for: as the environment says, but not while operators are recorded in a graph."""
        return self.blocking and self.thread.pool is None

    # ---- memory ----

    def malloc(self, nbytes: int, index: int) -> tuple[int, int]:
        """(address, code); the caller decides what a failure means."""
        self.activate(index)
        address = c_void_p()
        if self.thread.pool is None:
            code = self.aclrtMalloc(ctypes.byref(address), nbytes, 0)
        else:  # a capture forbids it, but for a thread that says that it knows
            mode = c_int(_RELAXED)
            self.aclmdlRICaptureThreadExchangeMode(ctypes.byref(mode))
            code = self.aclrtMalloc(ctypes.byref(address), nbytes, 0)
            self.aclmdlRICaptureThreadExchangeMode(ctypes.byref(mode))
        return address.value or 0, code

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

    def close(self) -> None:
        """Wait for every device, give everything back, finalise ACL. Later calls are not made."""
        if self.closed:
            return
        for index in range(self.device_count):
            self.activate(index)
            self.aclrtSynchronizeDevice()
        for finalize in reversed(self.finalizers):
            finalize()
        for event in list(self.events):  # what the program holds to its end
            self.destroy_event(event)
        self.closed = True
        self.aclrtSetExceptionInfoCallback(None)
        self.aclFinalize()


_runtime: Runtime | None = None
_lock = threading.Lock()


def get() -> Runtime:
    """The runtime, started at the first call. RuntimeError if CANN is not found or there is no device."""
    global _runtime
    if _runtime is None:
        with _lock:
            if _runtime is None:
                _runtime = Runtime()
    return _runtime


def get_runtime(device_id: int = 0) -> Runtime:
    """The runtime with a device made current on this thread: the name of the design document of NPU operators."""
    runtime = get()
    runtime.activate(device_id)
    return runtime


def started() -> bool:
    """Whether the runtime was started in this process."""
    return _runtime is not None
