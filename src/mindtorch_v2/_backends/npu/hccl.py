"""Ascend's collective communication (HCCL) by ctypes: communicators between devices, and calls on them."""

from __future__ import annotations

import ctypes
from ctypes import Structure, c_char, c_char_p, c_int, c_uint32, c_uint64, c_void_p
from typing import Any

from . import state
from .errors import NPUError
from .libraries import find

# name -> argument types; every function returns HcclResult unless it is in RESULTS.
SIGNATURES: dict[str, tuple] = {
    "HcclAllGather": (c_void_p, c_void_p, c_uint64, c_int, c_void_p, c_void_p),
    "HcclAllReduce": (c_void_p, c_void_p, c_uint64, c_int, c_int, c_void_p, c_void_p),
    "HcclAlltoAllV": (c_void_p, c_void_p, c_void_p, c_int, c_void_p, c_void_p, c_void_p, c_int, c_void_p, c_void_p),
    "HcclBarrier": (c_void_p, c_void_p),
    "HcclBatchSendRecv": (c_void_p, c_uint32, c_void_p, c_void_p),
    "HcclBroadcast": (c_void_p, c_uint64, c_int, c_uint32, c_void_p, c_void_p),
    "HcclCommDestroy": (c_void_p,),
    "HcclCommInitRootInfo": (c_uint32, c_void_p, c_uint32, c_void_p),
    "HcclGetErrorString": (c_int,),
    "HcclGetRootInfo": (c_void_p,),
    "HcclRecv": (c_void_p, c_uint64, c_int, c_uint32, c_void_p, c_void_p),
    "HcclReduce": (c_void_p, c_void_p, c_uint64, c_int, c_int, c_uint32, c_void_p, c_void_p),
    "HcclReduceScatter": (c_void_p, c_void_p, c_uint64, c_int, c_int, c_void_p, c_void_p),
    "HcclScatter": (c_void_p, c_void_p, c_uint64, c_int, c_uint32, c_void_p, c_void_p),
    "HcclSend": (c_void_p, c_uint64, c_int, c_uint32, c_void_p, c_void_p),
}
RESULTS = {"HcclGetErrorString": c_char_p}

SUM, PROD, MAX, MIN = range(4)
TYPES = {
    "int8": 0,
    "int16": 1,
    "int32": 2,
    "float16": 3,
    "float32": 4,
    "int64": 5,
    "uint64": 6,
    "uint8": 7,
    "uint16": 8,
    "uint32": 9,
    "float64": 10,
    "bfloat16": 11,
}
"""HcclDataType of a dtype's name. There is none for truth values: they travel as uint8."""


class RootInfo(Structure):
    """The token that the first rank makes and all ranks have to know: opaque."""

    _fields_ = [("internal", c_char * 4108)]


class SendRecvItem(Structure):
    """One transfer of HcclBatchSendRecv."""

    _fields_ = [
        ("kind", c_int),
        ("buffer", c_void_p),
        ("count", c_uint64),
        ("type", c_int),
        ("rank", c_uint32),
    ]


SEND, RECV = 0, 1


class Library:
    """The functions of libhccl.so; RuntimeError that lists every path tried if it is not there."""

    def __init__(self) -> None:
        path, tried = find("libhccl.so")
        if path is None:
            places = "\n  ".join(tried)
            raise RuntimeError(f"Ascend's libhccl.so was not found. Tried:\n  {places}")
        library = ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
        self.functions: dict[str, Any] = {}
        for name, argtypes in SIGNATURES.items():
            function = getattr(library, name)
            function.argtypes = argtypes
            function.restype = RESULTS.get(name, c_int)
            self.functions[name] = function

    def call(self, name: str, *arguments: Any) -> None:
        """Call a function; NPUError for a result that is not 0."""
        code = self.functions[name](*arguments)
        if code:
            meaning = self.functions["HcclGetErrorString"](code)
            error = NPUError(name, code, state.get().runtime.message())
            error.meaning = meaning.decode() if meaning else "error"
            error.args = (f"{name} returned {code} ({error.meaning})" + (f": {error.detail}" if error.detail else ""),)
            raise error

    def root_info(self) -> bytes:
        """The token that the first rank of a communicator makes for all."""
        info = RootInfo()
        self.call("HcclGetRootInfo", ctypes.byref(info))
        return bytes(info)


class Communicator:
    """One rank of a communicator on a device. Made by all ranks together."""

    def __init__(self, library: Library, size: int, root: bytes, rank: int, device: int) -> None:
        self.library, self.device = library, device
        self.runtime = state.get().runtime
        self.runtime.activate(device)
        info = RootInfo.from_buffer_copy(root)
        handle = c_void_p()
        library.call("HcclCommInitRootInfo", size, ctypes.byref(info), rank, ctypes.byref(handle))
        self.handle: Any = handle
        self.runtime.finalizers.append(self.close)

    def call(self, name: str, *arguments: Any) -> None:
        """Enqueue a collective on the device's current stream of this thread."""
        self.runtime.activate(self.device)
        stream = self.runtime.stream_handle(self.device) or None
        self.library.call(name, *arguments, self.handle, stream)
        if self.runtime.waits:
            self.synchronize()

    def synchronize(self) -> None:
        """Wait for the device's current stream of this thread."""
        self.runtime.synchronize_stream(self.device, self.runtime.stream_handle(self.device))

    def close(self) -> None:
        """Destroy it, once what was enqueued is done."""
        if self.handle is not None and not self.runtime.closed:
            handle, self.handle = self.handle, None
            self.runtime.activate(self.device)
            self.runtime.aclrtSynchronizeDevice()  # work that failed was reported where it was waited for
            self.library.call("HcclCommDestroy", handle)


def counts(values: list[int]) -> Any:
    """Numbers for the ranks, as a host array; keep it until the call returns."""
    return (c_uint64 * len(values))(*values)


__all__ = ["MAX", "MIN", "PROD", "RECV", "SEND", "SUM", "TYPES", "Communicator", "Library", "SendRecvItem", "counts"]
