"""Device memory: blocks are kept when freed, and belong to the stream that they were made for.

On its own stream a freed block can be used again at once, for work runs in order there. Where another stream uses a
block, `record_stream` says so, and the block comes back when that stream has passed the place. Small blocks are cut from
segments of 2 MiB, those of 1 to 10 MiB from larger ones (`allocator_settings`).
"""

from __future__ import annotations

import threading
from collections import deque
from typing import Any

from .allocator_settings import Settings
from .memory_history import History
from .runtime import Runtime

_ROUND = 512
_BEYOND = 32  # bytes that kernels of the device may read behind a tensor's end
_SMALL = 1 << 20
_SEGMENT = 2 << 20
_MEDIUM = 10 << 20  # blocks below it share segments


def counted(nbytes: int) -> int:
    """Bytes of the memory that a request takes, in whole steps."""
    return (nbytes + _BEYOND + _ROUND - 1) // _ROUND * _ROUND if nbytes else _ROUND


class _Segment:
    __slots__ = ("address", "cut", "size", "stream")

    def __init__(self, address: int, size: int, stream: int) -> None:
        self.address, self.size, self.stream = address, size, stream
        self.cut = 0  # bytes handed out as blocks so far


class _Block:
    __slots__ = ("address", "counted", "home", "requested", "segment", "size", "stream", "users")

    def __init__(self, address: int, size: int, stream: int, segment: _Segment, home: list[_Block]) -> None:
        self.address, self.size, self.stream, self.segment = address, size, stream, segment
        self.home = home  # the free blocks of its stream and size
        self.requested = self.counted = 0  # bytes of what it is used for, as asked for and in whole steps
        self.users: set[int] | None = None  # other streams that use it


class Allocator:
    """The memory of one device."""

    def __init__(self, runtime: Runtime, index: int, settings: Settings) -> None:
        self.runtime, self.index, self.local, self.settings = runtime, index, runtime.local, settings
        self.lock = threading.RLock()  # a tensor may die, and give its block back, within a call here
        self.free: dict[tuple[int, int], list[_Block]] = {}  # (stream, size) -> blocks
        self.used: dict[int, _Block] = {}  # by address
        self.segments: dict[int, _Segment] = {}
        self.filling: dict[tuple[int, bool], _Segment] = {}  # stream, small -> the segment that blocks are cut from
        self.waiting: deque[tuple[_Block, list[int]]] = deque()  # freed, but other streams have not passed yet
        self.allocated = self.reserved = 0
        self.peak_allocated = self.peak_reserved = 0
        self.requested = self.peak_requested = self.ever_requested = 0
        self.pending = self.peak_pending = 0  # bytes of blocks that wait
        self.ever_allocated = self.ever_reserved = self.ever_segments = 0
        self.peak_blocks = self.peak_segments = 0
        self.allocations = self.retries = self.failures = 0
        self.limit: int | None = None  # the most that may be held
        self.history: History | None = None

    def allocate(self, nbytes: int) -> int:
        """The address of a block for the current stream of this thread. The back end's error of no memory, with the sizes."""
        thread = self.local.state
        stream = thread.handles.get(self.index, 0) if thread.pool is None else thread.pool
        if thread.routed and thread.pool is None and self.index in thread.routed:
            stream = thread.routed[self.index].number_for(self.index, stream)
        used = self.settings.rounded(nbytes + _BEYOND) if self.settings.divisions else 0
        used = used or counted(nbytes)
        size = used if used <= _SMALL else (used + _SEGMENT - 1) // _SEGMENT * _SEGMENT
        if size >= _MEDIUM and size - used <= _SMALL:  # a rest that nobody else gets
            used = size
        with self.lock:
            if self.waiting and thread.pool is None:  # a capture allows no question after events
                self._collect()
            blocks = self.free.get((stream, size))
            if blocks:
                block = blocks.pop()
            else:
                block = (self._larger(size, stream) if self.settings.largest_split else None) or self._cut(size, stream)
            self.used[block.address] = block
            if block.size > size:  # a free one that is not split
                used = block.size
            block.requested, block.counted = nbytes, used
            self.allocations += 1
            self.allocated += used
            self.ever_allocated += used
            self.requested += nbytes
            self.ever_requested += nbytes
            if self.history is not None:
                self.history.add("alloc", block.address, used, stream)
            if self.allocated > self.peak_allocated:
                self.peak_allocated = self.allocated
            if self.requested > self.peak_requested:
                self.peak_requested = self.requested
            if len(self.used) > self.peak_blocks:
                self.peak_blocks = len(self.used)
            return block.address

    def release(self, address: int) -> None:
        """Give a block back."""
        with self.lock:
            block = self.used.pop(address)
            self.allocated -= block.counted
            self.requested -= block.requested
            if self.history is not None:
                self.history.add("free_requested", address, block.counted, block.stream)
                self.history.add("free_completed", address, block.counted, block.stream)
            if block.users and self.local.state.pool is None:
                self._settle(block, [])
            elif block.users:
                self._wait(block, [])
            else:
                block.home.append(block)

    def record_stream(self, address: int, stream: int) -> None:
        """Work queued on another stream uses the block: it must not be used again before that is done."""
        with self.lock:
            block = self.used[address]
            if stream != block.stream and block.stream >= 0:  # a graph's pool is used by its graph only
                block.users = (block.users or set()) | {stream}

    def erase_stream(self, address: int, stream: int) -> None:
        """Take `record_stream` back: the other stream has no more work with the block, as who calls this knows."""
        with self.lock:
            block = self.used[address]
            if block.users is not None:
                block.users.discard(stream)

    def forget_pool(self, number: int) -> None:
        """The blocks of a graph's pool are for everybody again: nothing is recorded with them any more."""
        with self.lock:
            for segment in self.segments.values():
                if segment.stream == number:
                    segment.stream = 0
            for block in self.used.values():
                if block.stream == number:
                    block.stream, block.home = 0, self._home(0, block.size)
            for small in (False, True):
                self.filling.pop((number, small), None)
            for key in [key for key in self.free if key[0] == number]:
                for block in self.free.pop(key):
                    block.stream, block.home = 0, self._home(0, block.size)
                    block.home.append(block)

    def block_of(self, address: int) -> _Block | None:
        """The block in use that an address lies in; None for memory that is not from here."""
        with self.lock:
            block = self.used.get(address)
            if block is None:
                block = next((b for b in self.used.values() if b.address <= address < b.address + b.size), None)
            return block

    def empty(self, number: int | None = None) -> None:
        """Give segments without a block in use back to the device: those of a pool by its number, else those of no pool.

        What a graph recorded uses blocks of its pool that no tensor has.
        """
        with self.lock:
            for block, events in list(self.waiting):
                self._mark(block, events)
        self.runtime.synchronize(self.index)
        with self.lock:
            self._collect()
            idle = {a for a, s in self.segments.items() if (s.stream >= 0 if number is None else s.stream == number)}
            idle -= {block.segment.address for block in self.used.values()}
            idle -= {block.segment.address for block, _ in self.waiting}
            if not idle:
                return
            for blocks in self.free.values():
                blocks[:] = [b for b in blocks if b.segment.address not in idle]
            self.filling = {key: s for key, s in self.filling.items() if s.address not in idle}
            for address in idle:
                segment = self.segments.pop(address)
                self.reserved -= segment.size
                if self.history is not None:
                    self.history.add("segment_free", address, segment.size, segment.stream)
                self.runtime.free(address, self.index)

    def close(self) -> None:
        """Give everything back, blocks in use included: the process ends."""
        with self.lock:
            for _, events in self.waiting:
                for event in events:
                    self.runtime.destroy_event(event)
            self.waiting.clear()
            for address in self.segments:
                self.runtime.free(address, self.index)
            self.segments.clear()

    def statistics(self) -> dict[str, int]:
        """Counts under PyTorch's names: of blocks, segments and bytes, all of them taken together."""
        found: dict[str, int] = {}

        def add(name: str, current: int, peak: int, ever: int) -> None:
            numbers = {"current": current, "peak": peak, "allocated": ever, "freed": ever - current}
            found.update({f"{name}.all.{kind}": number for kind, number in numbers.items()})

        with self.lock:
            waiting = len(self.waiting)
            blocks, pending = len(self.used), self.pending
            add("allocation", blocks, self.peak_blocks, self.allocations)
            add("segment", len(self.segments), self.peak_segments, self.ever_segments)
            add("allocated_bytes", self.allocated, self.peak_allocated, self.ever_allocated)
            add("requested_bytes", self.requested, self.peak_requested, self.ever_requested)
            add("reserved_bytes", self.reserved, self.peak_reserved, self.ever_reserved)
            active = self.allocated + pending
            add("active_bytes", active, max(active, self.peak_allocated, self.peak_pending), self.ever_allocated)
            add("active", blocks + waiting, max(blocks + waiting, self.peak_blocks), self.allocations)
            found |= {"num_alloc_retries": self.retries, "num_ooms": self.failures}
        return found

    def snapshot(self) -> list[dict[str, Any]]:
        """The segments that are held and the blocks in them, under PyTorch's names."""
        with self.lock:
            found: dict[int, dict[str, Any]] = {
                segment.address: {
                    "device": self.index, "address": segment.address, "total_size": segment.size,
                    "stream": segment.stream, "segment_type": "small" if segment.size <= _SEGMENT else "large",
                    "allocated_size": 0, "active_size": 0, "blocks": [],
                }
                for segment in self.segments.values()
            }  # fmt: skip
            free = [block for blocks in self.free.values() for block in blocks]
            waiting = [block for block, _ in self.waiting]
            states = (
                ("active_allocated", self.used.values()), ("active_pending_free", waiting), ("inactive", free),
            )  # fmt: skip
            for state, blocks in states:
                for block in blocks:
                    segment = found[block.segment.address]
                    segment["blocks"].append({"address": block.address, "size": block.size, "state": state})
                    segment["allocated_size"] += block.counted * (state == "active_allocated")
                    segment["active_size"] += block.counted * (state != "inactive")
            for segment in found.values():
                segment["blocks"].sort(key=lambda block: block["address"])
                end = segment["address"] + sum(block["size"] for block in segment["blocks"])
                left = segment["address"] + segment["total_size"] - end  # what was not handed out so far
                if left:
                    segment["blocks"].append({"address": end, "size": left, "state": "inactive"})
            return sorted(found.values(), key=lambda segment: segment["address"])

    def reset_peaks(self) -> None:
        self.peak_allocated, self.peak_reserved = self.allocated, self.reserved
        self.peak_requested, self.peak_pending = self.requested, self.allocated + self.pending
        self.peak_blocks, self.peak_segments = len(self.used), len(self.segments)

    # ---- with the lock held ----

    def _home(self, stream: int, size: int) -> list[_Block]:
        return self.free.setdefault((stream, size), [])

    def _settle(self, block: _Block, events: list[int]) -> None:
        """Free the block if the other streams that used it have passed the events; else it waits. An error loses nothing."""
        try:
            self._mark(block, events)
            while events and self.runtime.event_done(events[-1]):
                self.runtime.destroy_event(events.pop())
        finally:
            if block.users or events:
                self._wait(block, events)
            else:
                block.home.append(block)

    def _wait(self, block: _Block, events: list[int]) -> None:
        self.waiting.append((block, events))
        self.pending += block.counted
        self.peak_pending = max(self.peak_pending, self.allocated + self.pending)

    def _mark(self, block: _Block, events: list[int]) -> None:
        """An event on each other stream that uses the block."""
        while block.users:
            stream = min(block.users)
            event = self.runtime.create_event()
            try:
                self.runtime.record_event(event, self.index, stream)
            except BaseException:
                self.runtime.destroy_event(event)
                raise
            events.append(event)
            block.users.discard(stream)

    def _collect(self) -> None:
        for _ in range(len(self.waiting)):
            if self.waiting:  # fewer, where a tensor died within a call and its block was settled there
                block, events = self.waiting.popleft()
                self.pending -= block.counted
                self._settle(block, events)

    def _larger(self, size: int, stream: int) -> _Block | None:
        """A free block that is larger, though not by much, where such blocks are not split; None if there is none."""
        if size <= (self.settings.largest_split or size):
            return None
        fitting = [
            s for at, s in self.free if at == stream and size <= s <= size + self.settings.rounding and self.free[at, s]
        ]
        return self.free[stream, min(fitting)].pop() if fitting else None

    def _cut(self, size: int, stream: int) -> _Block:
        """A new block, from a segment with room for it or from a new one."""
        shared, key = size < _MEDIUM, (stream, size <= _SMALL)
        segment = self.filling.get(key) if shared else None
        if segment is None or segment.cut + size > segment.size:
            if segment is not None and not key[1]:
                self._keep_rest(segment)
            wanted = _SEGMENT if key[1] else self.settings.segment if shared else size
            address, got = self._reserve(wanted, max(size, _SEGMENT))
            segment = _Segment(address, got, stream)
            self.segments[segment.address] = segment
            if self.history is not None:
                self.history.add("segment_alloc", address, got, stream)
            if shared:
                self.filling[key] = segment
        block = _Block(segment.address + segment.cut, size, stream, segment, self._home(stream, size))
        segment.cut += size
        return block

    def _keep_rest(self, segment: _Segment) -> None:
        """Let the rest of a segment be a free block."""
        rest = segment.size - segment.cut
        if rest:
            home = self._home(segment.stream, rest)
            home.append(_Block(segment.address + segment.cut, rest, segment.stream, segment, home))
            segment.cut = segment.size

    def _malloc(self, size: int) -> tuple[int, int]:
        if self.limit is not None and self.reserved + size > self.limit:
            return 0, min(self.runtime.out_of_memory_codes)
        return self.runtime.malloc(size, self.index)

    def _reserve(self, size: int, least: int) -> tuple[int, int]:
        """A new segment and its size: that which is wanted, or the least where there is no room."""
        address, code = self._malloc(size)
        waits = self.local.state.pool is None  # in a capture it may not
        if code in self.runtime.out_of_memory_codes and waits:
            self.retries += 1
            self.empty()
            address, code = self._malloc(size)
        if code in self.runtime.out_of_memory_codes and least < size:
            size = least
            address, code = self._malloc(size)
        if code in self.runtime.out_of_memory_codes:
            self.failures += 1
            allowed = "" if self.limit is None else f" This process may hold {self.limit} bytes of it."
            held = (
                f"{self.allocated} bytes are in use by tensors, and {self.reserved - self.allocated} are reserved beside "
                f"them.{allowed}"
            )
            raise self.runtime.out_of_memory(code, size, self.index, held)
        self.runtime.check_malloc(code)
        self.reserved += size
        self.ever_reserved += size
        self.ever_segments += 1
        self.peak_reserved = max(self.peak_reserved, self.reserved)
        self.peak_segments = max(self.peak_segments, len(self.segments) + 1)
        return address, size


def allocators(runtime: Runtime, settings: Settings) -> list[Allocator]:
    """The memory of each device, with the options that the environment gives; it is given back as the runtime ends."""
    settings.read_environment()
    made = [Allocator(runtime, index, settings) for index in range(runtime.device_count)]
    for index, allocator in enumerate(made):
        if settings.fraction is not None:
            allocator.limit = int(settings.fraction * runtime.memory_info(index)[1])
        runtime.finalizers.append(allocator.close)
    return made
