"""The base of the runtimes of devices: the state of each thread, events that are alive, memory during a capture, the end."""

from __future__ import annotations

import abc
import atexit
import os
import threading
import weakref
from ctypes import c_int, c_void_p
from typing import Any, ClassVar

from ... import _C

H2D, D2H, D2D = 1, 2, 3
"""Kinds of copies, by the numbers that ACL gives them: host to device, device to host, device to device."""
_RELAXED = 2  # the mode of a thread that knows what it does while a graph is captured


class ThreadState:
    """State that each thread has of its own: its device, and its current stream on each."""

    def __init__(self) -> None:
        self.device = 0  # what the program chose
        self.streams: dict[int, Any] = {}  # device -> the current Stream, where it is not the default one
        self.handles: dict[int, int] = {}  # device -> its handle; 0 is the default stream
        self.pool: int | None = None  # while it captures or updates a graph: the number of the graph's pool
        self.routed: dict[int, Any] = {}  # device -> the program's pool that memory comes from
        self.draws: Any | None = None  # while it captures a graph: where random operators find seed and offset


class _Local(threading.local):
    def __init__(self, states: weakref.WeakSet[Any], kind: type[ThreadState]) -> None:
        self.state = kind()
        states.add(self.state)


class Runtime(abc.ABC):
    """The base of a device's runtime. Streams and events are handles, numbers; a code of 0 is success.

    A back end defines the abstract methods, the type of device, and `label`, its name in messages.
    """

    kind: ClassVar[str]  # the type of device
    label: ClassVar[str]
    thread_state: ClassVar[type[ThreadState]] = ThreadState
    out_of_memory_codes: ClassVar[frozenset[int]]
    device_count: int

    def __init__(self, *, blocking: bool) -> None:
        self.blocking = blocking  # whether the program has each operator waited for
        self._states: weakref.WeakSet[Any] = weakref.WeakSet()
        self.local = _Local(self._states, self.thread_state)
        self.finalizers: list = []
        self.events: set[int] = set()  # those that are alive
        self.closed = self.forked = False

    def end_with_process(self) -> None:
        """Have it closed at the end of the process, and refused to forked ones: contexts and streams are their parent's."""
        atexit.register(self.close)
        os.register_at_fork(after_in_child=self.in_child)

    def in_child(self) -> None:
        """Take note that this is a forked process."""
        self.closed = self.forked = True

    def refuse_fork(self) -> None:
        """RuntimeError in a forked process."""
        if self.forked:
            raise RuntimeError(
                f"Cannot re-initialize {self.label} in forked subprocess. To use {self.label} with multiprocessing, you must use "
                "the 'spawn' start method"
            )

    @property
    def thread(self) -> Any:
        """The state that this thread has of its own."""
        return self.local.state

    def thread_states(self) -> list[Any]:
        """The states of all threads that used the runtime."""
        return list(self._states)

    @property
    def waits(self) -> bool:
        """Whether each operator is waited for: as the environment says, but not while operators are recorded in a graph."""
        return self.blocking and self.thread.pool is None

    # ---- errors ----

    @abc.abstractmethod
    def fail(self, function: str, code: int) -> None:
        """Raise the error of a function's code."""

    def check(self, function: str, code: int) -> None:
        """Raise the error of a function's code, unless it is success."""
        if code:
            self.fail(function, code)

    # ---- devices ----

    @abc.abstractmethod
    def activate(self, index: int) -> None:
        """Make a device this thread's for the calls that follow."""

    @abc.abstractmethod
    def check_index(self, index: int) -> None:
        """Raise if there is no such device."""

    def set_device(self, index: int) -> None:
        """Make a device the one that this thread's program means where it names none."""
        self.check_index(index)
        self.activate(index)
        self.thread.device = index
        _C._set_current_device(self.kind, index)

    @abc.abstractmethod
    def synchronize(self, index: int) -> None:
        """Wait until a device has nothing left to do; raises the error of work that failed."""

    @abc.abstractmethod
    def memory_info(self, index: int) -> tuple[int, int]:
        """(free, total) bytes of a device's memory."""

    @abc.abstractmethod
    def opened(self) -> list[int]:
        """The devices that have to be waited for at the end."""

    @abc.abstractmethod
    def wait_for_device(self) -> int:
        """Wait for this thread's device. The code."""

    # ---- streams and events ----

    def stream_handle(self, index: int) -> int:
        """The handle of this thread's current stream on a device."""
        return self.thread.handles.get(index, 0)

    def set_stream(self, stream: Any) -> None:
        """Send this thread's work on a stream's device there."""
        thread = self.thread
        thread.streams[stream.device_index] = stream
        thread.handles[stream.device_index] = stream.handle

    @abc.abstractmethod
    def create_stream(self, index: int, priority: int = 0) -> int:
        """A new stream's handle."""

    @abc.abstractmethod
    def destroy_stream(self, handle: int) -> None:
        """Give a stream back."""

    @abc.abstractmethod
    def stream_done(self, index: int, handle: int) -> bool:
        """Whether a stream has nothing left to do."""

    @abc.abstractmethod
    def synchronize_stream(self, index: int, handle: int) -> None:
        """Wait until a stream has nothing left to do; raises the error of work that failed."""

    @abc.abstractmethod
    def create_event(self, timing: bool = False) -> int:
        """A new event's handle, given to `keep_event`."""

    @abc.abstractmethod
    def record_event(self, event: int, index: int, stream: int) -> None:
        """Mark the place that a stream has reached."""

    @abc.abstractmethod
    def event_done(self, event: int) -> bool:
        """Whether the work before the mark is done."""

    @abc.abstractmethod
    def wait_event(self, event: int, index: int, stream: int) -> None:
        """Let later work on a stream wait for the mark."""

    @abc.abstractmethod
    def synchronize_event(self, event: int) -> None:
        """Wait until the work before the mark is done."""

    @abc.abstractmethod
    def elapsed(self, first: int, second: int) -> float:
        """Milliseconds between two marks that were passed."""

    def keep_event(self, handle: c_void_p) -> int:
        """An event that was made, which `destroy_event` or the end of the process gives back."""
        assert handle.value is not None
        self.events.add(handle.value)
        return handle.value

    def destroy_event(self, event: int) -> None:
        """Give an event back; once."""
        if event in self.events:
            self.events.discard(event)
            self.check(*self.drop_event(event))

    @abc.abstractmethod
    def drop_event(self, event: int) -> tuple[str, int]:
        """Name and code of the call that destroys an event."""

    # ---- memory ----

    def malloc(self, nbytes: int, index: int) -> tuple[int, int]:
        """(address, code) of memory of a device; the caller decides what a failure means."""
        self.activate(index)
        address = c_void_p()
        if self.thread.pool is None:
            code = self.take_memory(address, nbytes)
        else:  # a capture forbids it, but for a thread that says that it knows
            mode = c_int(_RELAXED)
            self.exchange_capture_mode(mode)
            code = self.take_memory(address, nbytes)
            self.exchange_capture_mode(mode)
        return address.value or 0, code

    @abc.abstractmethod
    def take_memory(self, address: c_void_p, nbytes: int) -> int:
        """Let an address be that of new memory of this thread's device. The code."""

    @abc.abstractmethod
    def exchange_capture_mode(self, mode: c_int) -> None:
        """Give this thread another mode of capture, and the mode the one that it had."""

    @abc.abstractmethod
    def check_malloc(self, code: int) -> None:
        """Raise for the code of `malloc`, unless it is success."""

    @abc.abstractmethod
    def out_of_memory(self, code: int, size: int, index: int, held: str) -> Exception:
        """The error for a request that no memory is left for; `held` says what this process has."""

    @abc.abstractmethod
    def free(self, address: int, index: int) -> None:
        """Give memory of a device back."""

    @abc.abstractmethod
    def malloc_host(self, nbytes: int) -> tuple[int, int]:
        """(address, code) of page-locked memory of the host."""

    @abc.abstractmethod
    def check_malloc_host(self, code: int) -> None:
        """Raise for the code of `malloc_host`, unless it is success."""

    @abc.abstractmethod
    def free_host(self, address: int) -> None:
        """Give page-locked memory back."""

    @abc.abstractmethod
    def copy(self, to: int, source: int, nbytes: int, kind: int, index: int, stream: int) -> None:
        """Enqueue a copy of bytes: H2D, D2H or D2D."""

    # ---- the end ----

    def close(self) -> None:
        """Wait for every device and give everything back. Later calls are not made."""
        if self.closed:
            return
        for index in self.opened():
            self.activate(index)
            self.wait_for_device()
        for finalize in reversed(self.finalizers):
            finalize()
        for event in list(self.events):  # what the program holds to its end
            self.events.discard(event)
            self.drop_event(event)
        self.closed = True
        self.finish()

    @abc.abstractmethod
    def finish(self) -> None:
        """Give back what the runtime itself holds."""
