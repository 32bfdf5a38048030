"""Libraries of collective communication: their functions by ctypes, and one rank of a communicator on a device.

A library of a back end says what its functions are and how an error of theirs is raised; its communicator has the collectives that
process groups ask for (`torch.distributed`), on addresses and in the library's numbers of dtypes and operations.
"""

from __future__ import annotations

from collections.abc import Sequence
from ctypes import c_int
from typing import Any


class Library:
    """The functions of a library, by their signatures.

    Args:
        library: as it was loaded.
        signatures: name -> argument types.
        results: those that return something else than a code.
    """

    def __init__(self, library: Any, signatures: dict[str, tuple], results: dict[str, Any]) -> None:
        self.functions: dict[str, Any] = {}
        for name, argtypes in signatures.items():
            function = getattr(library, name)
            function.argtypes = argtypes
            function.restype = results.get(name, c_int)
            self.functions[name] = function

    def fail(self, name: str, code: int) -> None:
        """Raise the error of a code."""
        raise NotImplementedError

    def call(self, name: str, *arguments: Any) -> None:
        """Call a function; an error for a result that is not 0."""
        code = self.functions[name](*arguments)
        if code:
            self.fail(name, code)


class Communicator:
    """One rank of a communicator on a device. Made by all ranks together.

    Collectives are enqueued on the device's current stream of the calling thread. In them `at` and `into` are addresses, `kind` and
    `op` the library's numbers.
    """

    def __init__(self, library: Library, runtime: Any, size: int, root: bytes, rank: int, device: int) -> None:
        self.library, self.runtime, self.device, self.size, self.rank = library, runtime, device, size, rank
        runtime.activate(device)
        self.handle: Any = self.join(size, root, rank)
        runtime.finalizers.append(self.close)

    def join(self, size: int, root: bytes, rank: int) -> Any:
        """Meet the other ranks; the library's handle."""
        raise NotImplementedError

    def leave(self, handle: Any) -> None:
        """Destroy the library's communicator."""
        raise NotImplementedError

    def call(self, name: str, *arguments: Any) -> None:
        """Enqueue a collective on the device's current stream of this thread."""
        self.runtime.activate(self.device)
        self.library.call(name, *arguments, self.handle, self.runtime.stream_handle(self.device) or None)
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
            self.runtime.wait_for_device()  # work that failed was reported where it was waited for
            self.leave(handle)

    # ---- what a back end's communicator does ----

    def reduce(self, at: int, count: int, kind: int, op: int, root: int | None = None) -> None:
        """Combine, in place, everywhere or at the root."""
        raise NotImplementedError

    def broadcast(self, at: int, count: int, kind: int, root: int) -> None:
        raise NotImplementedError

    def all_gather(self, at: int, into: int, count: int, kind: int) -> None:
        raise NotImplementedError

    def reduce_scatter(self, at: int, into: int, count: int, kind: int, op: int) -> None:
        raise NotImplementedError

    def scatter(self, at: int, into: int, count: int, kind: int, root: int) -> None:
        raise NotImplementedError

    def exchange(self, at: int, sends: Sequence[int], into: int, receives: Sequence[int], kind: int) -> None:
        """Send each rank so many elements, one rank's behind the other's, and receive so many."""
        raise NotImplementedError

    def transfer(self, items: Sequence[tuple[bool, int, int, int, int]]) -> None:
        """All of (whether it sends, address, count, kind, rank), in whatever order they can be done."""
        raise NotImplementedError

    def barrier(self) -> None:
        raise NotImplementedError


def offsets(counts: Sequence[int]) -> list[int]:
    """Where each part begins, of parts that follow each other."""
    return [sum(counts[:place]) for place in range(len(counts))]
