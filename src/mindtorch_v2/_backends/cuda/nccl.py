"""NVIDIA's collective communication (NCCL) by ctypes: communicators between devices, and calls on them.

An error of the work itself (a rank that has gone) does not end what waits on a stream: NCCL tells it to who asks, and the stream goes
on when the communicator is aborted. `Communicator.trouble` asks.
"""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Iterator, Sequence
from ctypes import Structure, c_char, c_char_p, c_int, c_size_t, c_void_p
from typing import Any

from ..._core.dtype import DTYPES
from ..._operators.table import aten
from ..common import communicator
from ..common.communicator import offsets
from . import libraries, runtime

SUM, PROD, MAX, MIN, AVG = range(5)
TYPES = {
    "int8": 0, "uint8": 1, "int32": 2, "uint32": 3, "int64": 4, "uint64": 5, "float16": 6, "float32": 7, "float64": 8, "bfloat16": 9,
    "float8_e4m3fn": 10, "float8_e5m2": 11,
}  # fmt: skip
"""ncclDataType_t of a dtype's name. There is none for truth values: they travel as uint8."""
_SIZES = dict(zip(TYPES.values(), (1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1), strict=True))


class UniqueId(Structure):
    """The token that the first rank makes and all ranks have to know: opaque."""

    _fields_ = [("internal", c_char * 128)]


# name -> argument types; every function returns ncclResult_t unless it is in RESULTS.
SIGNATURES: dict[str, tuple] = {
    "ncclAllGather": (c_void_p, c_void_p, c_size_t, c_int, c_void_p, c_void_p),
    "ncclAllReduce": (c_void_p, c_void_p, c_size_t, c_int, c_int, c_void_p, c_void_p),
    "ncclBroadcast": (c_void_p, c_void_p, c_size_t, c_int, c_int, c_void_p, c_void_p),
    "ncclCommAbort": (c_void_p,),
    "ncclCommDestroy": (c_void_p,),
    "ncclCommGetAsyncError": (c_void_p, c_void_p),
    "ncclCommInitRank": (c_void_p, c_int, UniqueId, c_int),
    "ncclGetErrorString": (c_int,),
    "ncclGetLastError": (c_void_p,),
    "ncclGetUniqueId": (c_void_p,),
    "ncclGetVersion": (c_void_p,),
    "ncclGroupEnd": (),
    "ncclGroupStart": (),
    "ncclRecv": (c_void_p, c_size_t, c_int, c_int, c_void_p, c_void_p),
    "ncclReduce": (c_void_p, c_void_p, c_size_t, c_int, c_int, c_int, c_void_p, c_void_p),
    "ncclReduceScatter": (c_void_p, c_void_p, c_size_t, c_int, c_int, c_void_p, c_void_p),
    "ncclSend": (c_void_p, c_size_t, c_int, c_int, c_void_p, c_void_p),
}
RESULTS = {"ncclGetErrorString": c_char_p, "ncclGetLastError": c_char_p}


class Library(communicator.Library):
    """The functions of libnccl.so.2. OSError, which names the wheel to install, if it is not there.

    Args:
        error: the class of errors of calls.
    """

    def __init__(self, error: type[Exception] = RuntimeError) -> None:
        self.error = error
        super().__init__(ctypes.CDLL(libraries.find("nccl")), SIGNATURES, RESULTS)

    def words(self, code: int) -> str:
        """NCCL's sentence for a code, and what it said last."""
        told, last = self.functions["ncclGetErrorString"](code), self.functions["ncclGetLastError"](None)
        return ": ".join(part.decode() for part in (told, last) if part)

    def fail(self, name: str, code: int) -> None:
        raise self.error(f"NCCL error in {name} ({code}): {self.words(code)}")

    def root_info(self) -> bytes:
        """The id that the first rank of a communicator makes for all."""
        made = UniqueId()
        self.call("ncclGetUniqueId", ctypes.byref(made))
        return bytes(made)


class Communicator(communicator.Communicator):
    """One rank of a communicator on a device. Made by all ranks together."""

    def __init__(self, library: Library, size: int, root: bytes, rank: int, device: int) -> None:
        super().__init__(library, runtime.get(), size, root, rank, device)

    def join(self, size: int, root: bytes, rank: int) -> Any:
        handle = c_void_p()
        self.library.call("ncclCommInitRank", ctypes.byref(handle), size, UniqueId.from_buffer_copy(root), rank)
        return handle

    def leave(self, handle: Any) -> None:
        self.library.call("ncclCommDestroy", handle)

    def trouble(self) -> str:
        """The error that work of this communicator met, or nothing."""
        code = c_int()
        if self.handle is not None:
            self.library.call("ncclCommGetAsyncError", self.handle, ctypes.byref(code))
        return self.library.words(code.value) if code.value else ""  # type: ignore[attr-defined]  # (NCCL's own class)

    def abort(self) -> None:
        """End it at once, with what is enqueued."""
        handle, self.handle = self.handle, None
        if handle is not None and not self.runtime.closed:
            self.runtime.activate(self.device)
            self.library.call("ncclCommAbort", handle)

    def close(self) -> None:
        if self.handle is not None and not self.runtime.closed and self.trouble():
            self.abort()  # its work would be waited for in vain
        super().close()

    @contextlib.contextmanager
    def _together(self) -> Iterator[None]:
        self.library.call("ncclGroupStart")
        try:
            yield
        finally:
            self.library.call("ncclGroupEnd")

    def reduce(self, at: int, count: int, kind: int, op: int, root: int | None = None) -> None:
        if root is None:
            self.call("ncclAllReduce", at, at, count, kind, op)
        else:
            self.call("ncclReduce", at, at, count, kind, op, root)

    def broadcast(self, at: int, count: int, kind: int, root: int) -> None:
        self.call("ncclBroadcast", at, at, count, kind, root)

    def all_gather(self, at: int, into: int, count: int, kind: int) -> None:
        self.call("ncclAllGather", at, into, count, kind)

    def reduce_scatter(self, at: int, into: int, count: int, kind: int, op: int) -> None:
        self.call("ncclReduceScatter", at, into, count, kind, op)

    def scatter(self, at: int, into: int, count: int, kind: int, root: int) -> None:
        step = count * _SIZES[kind]
        sends = [(True, at + rank * step, count, kind, rank) for rank in range(self.size)] if self.rank == root else []
        self.transfer([*sends, (False, into, count, kind, root)])

    def exchange(self, at: int, sends: Sequence[int], into: int, receives: Sequence[int], kind: int) -> None:
        parts = ((True, at, sends), (False, into, receives))
        self.transfer(
            [
                (going, start + before * _SIZES[kind], count, kind, rank)
                for going, start, counts in parts
                for rank, (count, before) in enumerate(zip(counts, offsets(counts), strict=True))
            ]
        )

    def transfer(self, items: Sequence[tuple[bool, int, int, int, int]]) -> None:
        self.runtime.activate(self.device)
        stream = self.runtime.stream_handle(self.device) or None
        with self._together():
            for sends, at, count, kind, rank in items:
                name = "ncclSend" if sends else "ncclRecv"
                self.library.call(name, at, count, kind, rank, self.handle, stream)
        if self.runtime.waits:
            self.synchronize()

    def barrier(self) -> None:
        token = aten.zeros([1], dtype=DTYPES["float32"], device=f"cuda:{self.device}")
        self.reduce(token.data_ptr(), 1, TYPES["float32"], SUM)
