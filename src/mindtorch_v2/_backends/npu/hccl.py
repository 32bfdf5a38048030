"""Ascend's collective communication (HCCL) by ctypes: communicators between devices, and calls on them."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from ctypes import Structure, c_char, c_char_p, c_int, c_uint32, c_uint64, c_void_p
from typing import Any

from ..common import communicator
from ..common.communicator import offsets
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


class Library(communicator.Library):
    """The functions of libhccl.so; RuntimeError that lists every path tried if it is not there."""

    def __init__(self) -> None:
        path, tried = find("libhccl.so")
        if path is None:
            places = "\n  ".join(tried)
            raise RuntimeError(f"Ascend's libhccl.so was not found. Tried:\n  {places}")
        super().__init__(ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL), SIGNATURES, RESULTS)

    def fail(self, name: str, code: int) -> None:
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


class Communicator(communicator.Communicator):
    """One rank of a communicator on a device. Made by all ranks together."""

    def __init__(self, library: Library, size: int, root: bytes, rank: int, device: int) -> None:
        super().__init__(library, state.get().runtime, size, root, rank, device)

    def join(self, size: int, root: bytes, rank: int) -> Any:
        info, handle = RootInfo.from_buffer_copy(root), c_void_p()
        self.library.call("HcclCommInitRootInfo", size, ctypes.byref(info), rank, ctypes.byref(handle))
        return handle

    def leave(self, handle: Any) -> None:
        self.library.call("HcclCommDestroy", handle)

    def reduce(self, at: int, count: int, kind: int, op: int, root: int | None = None) -> None:
        if root is None:
            self.call("HcclAllReduce", at, at, count, kind, op)
        else:
            self.call("HcclReduce", at, at, count, kind, op, root)

    def broadcast(self, at: int, count: int, kind: int, root: int) -> None:
        self.call("HcclBroadcast", at, count, kind, root)

    def all_gather(self, at: int, into: int, count: int, kind: int) -> None:
        self.call("HcclAllGather", at, into, count, kind)

    def reduce_scatter(self, at: int, into: int, count: int, kind: int, op: int) -> None:
        self.call("HcclReduceScatter", at, into, count, kind, op)

    def scatter(self, at: int, into: int, count: int, kind: int, root: int) -> None:
        self.call("HcclScatter", at, into, count, kind, root)

    def exchange(self, at: int, sends: Sequence[int], into: int, receives: Sequence[int], kind: int) -> None:
        out = at, counts(sends), counts(offsets(sends)), kind
        self.call("HcclAlltoAllV", *out, into, counts(receives), counts(offsets(receives)), kind)

    def transfer(self, items: Sequence[tuple[bool, int, int, int, int]]) -> None:
        told = (SendRecvItem * len(items))()
        for item, (sends, at, count, kind, rank) in zip(told, items, strict=True):
            item.kind, item.rank = SEND if sends else RECV, rank
            item.buffer, item.count, item.type = at, count, kind
        self.call("HcclBatchSendRecv", ctypes.byref(told), len(told))

    def barrier(self) -> None:
        self.call("HcclBarrier")


def counts(values: Sequence[int]) -> Any:
    """Numbers for the ranks, as a host array; keep it until the call returns."""
    return (c_uint64 * len(values))(*values)


__all__ = ["MAX", "MIN", "PROD", "RECV", "SEND", "SUM", "TYPES", "Communicator", "Library", "SendRecvItem", "counts"]
