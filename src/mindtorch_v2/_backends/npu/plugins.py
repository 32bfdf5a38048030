"""Questions of C++ plug-ins to this back end, as operators, so that their libraries need no symbol of it: `csrc/include/mindtorch/npu`."""

from __future__ import annotations

import ctypes
import importlib
from typing import Any

from ...library import Library
from ..common.draws import signed_state
from . import state
from .stream import Stream

_SCHEMAS = (
    "current_device() -> int",
    "define_own_operators() -> int",
    "device_count() -> int",
    "enqueued(str name, int device, int code) -> int",
    "generator(int device, str ask, int number) -> int[]",
    "pooled_stream(int device, bool urgent) -> int",
    "set_device(int device) -> int",
    "set_stream(int device, int stream) -> int",
    "stream(int device) -> int",
    "symbol(str name) -> int",
    "synchronize(int device, int stream) -> int",
    "synchronize_device(int device) -> int",
    "used_on_stream(int device, int address, int stream) -> int",
)


def current_device() -> int:
    """The index of this thread's current device."""
    return state.get().runtime.thread.device


def define_own_operators() -> int:
    """Define torch_npu's own operators, if nobody asked for one so far."""
    importlib.import_module(".rows", __package__)
    return 0


def device_count() -> int:
    """The number of devices."""
    return state.get().runtime.device_count


def enqueued(name: str, device: int, code: int) -> int:
    """Note work for the errors that may come of it, and wait for it where every operator is waited for; NPUError for a code."""
    runtime = state.get().runtime
    if code:
        raise runtime.error(name, code, "" if name.endswith("GetWorkspaceSize") else runtime.hint())
    stream = runtime.stream_handle(device)
    runtime.note(name, device, stream)
    if runtime.waits:
        runtime.synchronize_stream(device, stream)
    return 0


def generator(device: int, ask: str, number: int) -> list[int]:
    """[seed, offset] of a device's generator, which moves on by `number` ('draw'), or gets it for its seed or its offset."""
    asked = state.get().generators[device]
    if ask == "seed":
        asked.manual_seed(number)
    elif ask == "offset":
        asked.set_offset(number)
    return list(signed_state(asked, number if ask == "draw" else 0))


def pooled_stream(device: int, urgent: bool) -> int:
    """The handle of the next stream of a device's pool."""
    return Stream(device, priority=-1 if urgent else 0).handle


def set_device(device: int) -> int:
    """Make a device this thread's current one."""
    state.get().runtime.set_device(device)
    return device


def set_stream(device: int, stream: int) -> int:
    """Send this thread's work on a device to a stream, by its handle."""
    state.get().runtime.set_stream(Stream(device, handle=stream))
    return stream


def stream(device: int) -> int:
    """The handle of the stream that this thread's work on a device goes to; the device is made ready for calls."""
    runtime = state.get().runtime
    index = runtime.thread.device if device < 0 else device
    runtime.activate(index)
    return runtime.stream_handle(index)


def symbol(name: str) -> int:
    """The address of a function of operator packages, of ACLNN, of descriptors or of the runtime; 0 if none has it."""
    libraries = state.get().runtime.libraries
    function: Any = libraries.operator(name)
    for library in (libraries.base, libraries.acl):
        function = function or getattr(library, name, None)
    return ctypes.cast(function, ctypes.c_void_p).value or 0 if function is not None else 0


def synchronize(device: int, stream: int) -> int:
    """Wait for a stream."""
    state.get().runtime.synchronize_stream(device, stream)
    return 0


def synchronize_device(device: int) -> int:
    """Wait until a device has nothing left to do."""
    state.get().runtime.synchronize(device)
    return device


def used_on_stream(device: int, address: int, stream: int) -> int:
    """Keep the block of memory at an address from being used anew before a stream has passed this place."""
    state.get().memory[device].record_stream(address, stream)
    return stream


_LIBRARY = Library("mindtorch_npu", "DEF")
for _schema in _SCHEMAS:
    _LIBRARY.define(_schema)
    _name = _schema.partition("(")[0]
    _LIBRARY.impl(_name, globals()[_name], "CompositeExplicitAutograd")
