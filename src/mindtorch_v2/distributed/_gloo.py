"""The back end "gloo": collectives on tensors of the CPU, between processes, over TCP.

Up to eight ranks, every collective is one or two rounds in which ranks send to each other directly; numbers are combined in the
order of the ranks. Among more they go in rings and trees (`_rings`). Either way all ranks, and every run, get the same bits.
"""

from __future__ import annotations

import functools
import itertools
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2.distributed import _flight, _rings
from mindtorch_v2.distributed._arguments import check_root, size_text
from mindtorch_v2.distributed._collectives import Collectives
from mindtorch_v2.distributed._memory import bytes_of, check_contiguous, combined, contiguous, packed, plain
from mindtorch_v2.distributed._mesh import COLLECTIVE, DIRECT, JOINED, Mesh
from mindtorch_v2.distributed._outcome import Outcome
from mindtorch_v2.distributed._reduce_op import RedOpType
from mindtorch_v2.distributed._stores import seconds_of
from mindtorch_v2.distributed._work import Work, Worker, run_now

__all__ = ["ProcessGroupGloo"]

_MOST_RANKS = 64
MOST_DIRECT = 8  # ranks up to which everyone sends to everyone
SMALL = 1 << 14  # bytes up to which an all_reduce sends everything to everybody, in one round
_QUESTIONS = 1.0, 0.1  # seconds, or this part of the time-out, that are left for asking who keeps the others waiting


class ProcessGroupGloo(Collectives):
    """A group of processes, each with tensors on the CPU.

    Args:
        store: where the ranks find each other.
        rank: this process' rank.
        size: how many there are.
        timeout: how long a collective may take: a `datetime.timedelta`.

    >>> import datetime
    >>> store = torch.distributed.HashStore()
    >>> group = torch.distributed.ProcessGroupGloo(store, 0, 1, datetime.timedelta(seconds=10))
    >>> group.rank, group.size
    (0, 1)
    """

    name, title = "gloo", "ProcessGroupGloo"

    def __init__(self, store: Any, rank: int, size: int, timeout: Any) -> None:
        if size > _MOST_RANKS:
            raise RuntimeError(
                f'"gloo" connects every rank with every other, and takes at most {_MOST_RANKS} ranks, not {size}: start the '
                'program by mpirun or srun and use init_process_group("mpi") (pip install mindtorch_v2[mpi])'
            )
        self.rank, self.size = rank, size
        self.recorded = _flight.recorder.group(timeout.total_seconds())
        self.set_timeout(timeout)
        self._last: tuple[int, str, bool] = -1, "", True  # the last collective that was begun, and whether it is done
        self._mesh = Mesh(store, rank, size, self.seconds, self._doing)
        self._numbers, self._messages = itertools.count(), itertools.count()
        self._worker = Worker()
        self._rings = size > MOST_DIRECT

    def set_timeout(self, timeout: Any) -> None:
        """Say how long the collectives that begin from now on may take: a `datetime.timedelta`."""
        super().set_timeout(timeout)
        self.seconds = self.recorded.seconds = timeout.total_seconds()

    # ---- how they run ----

    def _start(
        self,
        name: str,
        run: Callable[..., None],
        operands: tuple[Any, ...],
        written: Sequence[torch.Tensor],
        asynchronous: bool,
        *details: Any,
    ) -> Work:
        number = next(self._numbers)
        label = _label(name, operands, details)
        read = [operands[0]] if operands and isinstance(operands[0], torch.Tensor) else []
        entry = _flight.recorder.begin(self.recorded, number, name, read, written)
        self.recorded.asked = number
        exchange = _Exchange(self, number, name, label)

        def work() -> None:
            entry.begun = time.time_ns()
            self._last = number, label, False
            with torch.no_grad():
                run(exchange, *operands)
            self._last = number, label, True
            entry.done = time.time_ns()
            self.recorded.finished = number

        outcome = self._worker.submit(work) if asynchronous else run_now(work, Outcome())
        return Work(outcome, list(written), name)

    def _doing(self) -> str:
        """Words for what this rank does, for others that wait for it."""
        number, label, done = self._last
        if number < 0:
            return "has not begun any collective of this group"
        return f"is through with collective {number} ({label})" if done else f"waits in collective {number} ({label})"

    def _others(self) -> list[int]:
        return [rank for rank in range(self.size) if rank != self.rank]

    def _fill(self, exchange, outputs, sends) -> None:
        """One round, in which every other rank's part goes into the output at its place."""
        landing = {
            rank: outputs[rank] if outputs[rank].is_contiguous() else torch.empty_like(outputs[rank]).contiguous()
            for rank in self._others()
        }
        exchange(0, sends, {rank: bytes_of(tensor) for rank, tensor in landing.items()})
        for rank, tensor in landing.items():
            if tensor is not outputs[rank]:
                outputs[rank].copy_(tensor)

    # ---- what they do: the first argument carries out a round ----

    def _all_reduce(self, exchange, tensor, op) -> None:
        with contiguous(tensor) as whole:
            flat = plain(whole)
            small = flat.numel() * flat.element_size() <= SMALL
            if self._rings:
                (_rings.all_reduce_small if small else _rings.all_reduce)(exchange, self.rank, self.size, flat, op)
            elif small:
                parts = self._parts(flat)
                own = bytes_of(flat)
                exchange(0, dict.fromkeys(self._others(), own), self._landing(parts))
                _put(flat, combined(parts, op, self.size, self.rank))
            else:
                self._all_reduce_pieces(exchange, flat, op)

    def _all_reduce_pieces(self, exchange, flat, op) -> None:
        """Each rank combines one piece, and then gives it to all."""
        step = -(-flat.numel() // self.size)
        pieces = [flat[min(rank * step, flat.numel()) : (rank + 1) * step] for rank in range(self.size)]
        mine = pieces[self.rank]
        parts = self._parts(mine)
        exchange(0, {rank: bytes_of(pieces[rank]) for rank in self._others()}, self._landing(parts))
        _put(mine, combined(parts, op, self.size, self.rank))
        exchange(1, dict.fromkeys(self._others(), bytes_of(mine)), self._landing(pieces))

    def _parts(self, own) -> list[torch.Tensor]:
        """Room for each rank's part; this rank's own in its place."""
        return [own if rank == self.rank else torch.empty_like(own) for rank in range(self.size)]

    def _landing(self, parts) -> dict[int, memoryview]:
        return {rank: bytes_of(parts[rank]) for rank in self._others()}

    def _broadcast(self, exchange, tensor, root) -> None:
        with contiguous(tensor, read=self.rank == root, write=self.rank != root) as flat:
            view = bytes_of(flat)
            if self._rings:
                _rings.broadcast(exchange, self.rank, self.size, view, root)
            elif self.rank == root:
                exchange(0, dict.fromkeys(self._others(), view), {})
            else:
                exchange(0, {}, {root: view})

    def _reduce(self, exchange, tensor, root, op) -> None:
        with contiguous(tensor, write=self.rank == root) as whole:
            own = plain(whole)
            if self._rings:
                _rings.reduce(exchange, self.rank, self.size, own, root, op)
            elif self.rank == root:
                parts = self._parts(own)
                exchange(0, {}, self._landing(parts))
                _put(own, combined(parts, op, self.size, self.rank))
            else:
                exchange(0, {root: bytes_of(own)}, {})

    def _all_gather(self, exchange, tensor, outputs) -> None:
        own = packed(tensor)
        if self._rings:
            _rings.all_gather(exchange, self.rank, self.size, own, outputs)
        else:
            self._fill(exchange, outputs, dict.fromkeys(self._others(), bytes_of(own)))
        outputs[self.rank].copy_(tensor)

    def _all_gather_into(self, exchange, tensor, output) -> None:
        self._all_gather(exchange, tensor, list(output.chunk(self.size)))

    def _gather(self, exchange, tensor, outputs, root) -> None:
        if self.rank == root:
            self._fill(exchange, outputs, {})
            outputs[root].copy_(tensor)
        else:
            exchange(0, {root: bytes_of(packed(tensor))}, {})

    def _scatter(self, exchange, output, inputs, root) -> None:
        if self.rank == root:
            sent = [packed(each) for each in inputs]
            exchange(0, {rank: bytes_of(sent[rank]) for rank in self._others()}, {})
            output.copy_(inputs[root])
        else:
            with contiguous(output, read=False) as flat:
                exchange(0, {}, {root: bytes_of(flat)})

    def _reduce_scatter(self, exchange, output, inputs, op) -> None:
        own = [plain(packed(each)) for each in inputs]
        with contiguous(output, read=False) as flat:
            into = plain(flat)
            if self._rings:
                _rings.reduce_scatter(exchange, self.rank, self.size, own, into, op)
                return
            parts = self._parts(into)  # the program's own parts stay as they are
            exchange(0, {rank: bytes_of(own[rank]) for rank in self._others()}, self._landing(parts))
            into.copy_(own[self.rank])
            _put(into, combined(parts, op, self.size, self.rank))

    def _all_to_all(self, exchange, inputs, outputs) -> None:
        sent = [packed(each) for each in inputs]
        self._fill(exchange, outputs, {rank: bytes_of(sent[rank]) for rank in self._others()})
        outputs[self.rank].copy_(inputs[self.rank])

    def _barrier(self, exchange) -> None:
        if self._rings:
            _rings.barrier(exchange, self.rank, self.size)
        else:
            nothing = memoryview(bytearray())
            exchange(0, dict.fromkeys(self._others(), nothing), dict.fromkeys(self._others(), nothing))

    def monitored_barrier(self, timeout: Any, wait_all_ranks: bool) -> None:
        """Wait until all ranks are there; the rank 0 says who is missing: RuntimeError."""
        seconds = seconds_of(timeout or self.timeout)
        key, label, nothing = (COLLECTIVE, next(self._numbers), 0), b"monitored_barrier", memoryview(bytearray())
        deadline = time.monotonic() + seconds
        if self.rank != 0:
            self._mesh.send(0, key, label, nothing)
            try:
                self._mesh.receive(0, key, label, nothing).result(seconds)
            except (RuntimeError, TimeoutError) as error:
                raise RuntimeError(
                    f"Rank {self.rank} successfully reached monitoredBarrier, but received errors while waiting for "
                    f"send/recv from rank 0. Please check rank 0 logs for faulty rank. ({error})"
                ) from None
            return
        missing = []
        for rank in self._others():
            try:
                self._mesh.receive(rank, key, label, nothing).result(max(0, deadline - time.monotonic()))
            except (RuntimeError, TimeoutError):
                missing.append(rank)
                if not wait_all_ranks:
                    break
        if missing:
            ranks = ", ".join(map(str, missing))
            failure = RuntimeError(
                f"[Rank 0]: {'Ranks' if wait_all_ranks else 'Rank'} {ranks} failed to pass monitoredBarrier "
                f"in {round(seconds * 1000)} ms"
            )
            self.break_up(failure)
            raise failure
        for rank in self._others():
            self._mesh.send(rank, key, label, nothing).result()

    # ---- point to point ----

    def _send(self, tensor: torch.Tensor, rank: int, tag: int) -> Work:
        check_contiguous(tensor)
        check_root("ProcessGroupGloo::send", rank, self.size, "destination")
        outcome = self._mesh.send(rank, (DIRECT, tag, 0), b"send", bytes_of(tensor))
        return _Message(self, outcome, "send", tensor, rank)

    def _recv(self, tensor: torch.Tensor, rank: int | None, tag: int) -> Work:
        check_contiguous(tensor)
        if rank is not None:
            check_root("ProcessGroupGloo::recv", rank, self.size, "source")
        outcome = self._mesh.receive(rank, (DIRECT, tag, 0), b"send", bytes_of(tensor))
        return _Message(self, outcome, "recv", tensor, rank)

    # ---- when something goes wrong ----

    def wait_for(self, outcomes: dict[int, list[Outcome]], name: str, seconds: float) -> None:
        """Wait for what ranks send and take: {rank: futures}. RuntimeError that names those that do not.

        Before the time is over, the ranks are asked what they do, so that the error can tell a rank that is gone from a late one.
        """
        futures = [future for each in outcomes.values() for future in each]
        deadline = time.monotonic() + seconds
        questions = min(_QUESTIONS[0], seconds * _QUESTIONS[1])
        try:
            self._mesh.wait(futures, outcomes, deadline - questions)
        except TimeoutError:
            pass
        else:
            return
        answers = self._mesh.ask(self._others(), questions, lambda: all(future.done() for future in futures))
        try:
            self._mesh.wait(futures, outcomes, deadline)
        except TimeoutError:
            late = [rank for rank, each in outcomes.items() if not all(future.done() for future in each)]
            broken = self._mesh.failures()
            names = [*late, *(rank for rank in self._others() if rank not in answers and rank not in late)]
            found = [f"rank {each} {answers.get(each) or broken.get(each) or 'does not answer'}" for each in names]
            error = RuntimeError(
                f"Timed out waiting {round(seconds * 1000)}ms for {name} operation to complete: {'; '.join(found)}"
            )
            raise error from None

    def break_up(self, error: BaseException) -> None:
        """Break the group's connections, so that all ranks learn of an error; write down what was under way."""
        self._mesh.abort(error)
        _flight.dump_on_failure(self.rank)

    def abort(self) -> None:
        """Break all connections."""
        self._mesh.abort(RuntimeError("the process group was aborted"))

    def close(self) -> None:
        """Finish what was started, and hang up."""
        self._worker.close()
        self._mesh.close()


class _Exchange:
    """The rounds of one collective."""

    def __init__(self, group: ProcessGroupGloo, number: int, name: str, label: str) -> None:
        self.group, self.number, self.name, self.label = group, number, name, label.encode()

    def __call__(self, turn: int, sends: dict[int, memoryview], receives: dict[int, memoryview]) -> None:
        """Send and receive: both are {rank: memoryview}. Any failure breaks the group's connections, so that all ranks learn of it."""
        mesh, key = self.group._mesh, (COLLECTIVE, self.number, turn)
        outcomes = mesh.swap(key, self.label, sends, receives) if _is_swap(sends, receives) else None
        if outcomes is None:
            outcomes = {rank: [mesh.receive(rank, key, self.label, view)] for rank, view in receives.items()}
            for rank, view in sends.items():
                outcomes.setdefault(rank, []).append(mesh.send(rank, key, self.label, view, awaited=True))
        if not outcomes:
            return
        try:
            self.group.wait_for(outcomes, self.name, self.group.seconds)
        except RuntimeError as error:
            self.group.break_up(error)
            raise


def _is_swap(sends: dict[int, memoryview], receives: dict[int, memoryview]) -> bool:
    """Whether ranks give each other as many bytes, and few."""
    if not sends or sends.keys() != receives.keys():
        return False
    size = len(next(iter(sends.values())))
    return size <= JOINED and all(len(sends[rank]) == len(receives[rank]) == size for rank in sends)


class _Message(Work):
    """A message under way: whoever waits moves its bytes."""

    def __init__(
        self, group: ProcessGroupGloo, outcome: Outcome, name: str, tensor: torch.Tensor, rank: int | None
    ) -> None:
        super().__init__(outcome, [tensor], name)
        self._group, self._rank = group, rank

    def _finish(self, timeout: Any) -> bool:
        """Wait, at most for `timeout` (a `datetime.timedelta`); True. RuntimeError if it failed or is not done in time."""
        ranks: Iterable[int] = self._group._others() if self._rank is None else [self._rank]
        seconds = seconds_of(timeout) if timeout else self._group.seconds
        try:
            self._group.wait_for({rank: [self._outcome] for rank in ranks}, self._description, seconds)
        except RuntimeError as error:
            if not self._outcome.done():
                self._group.break_up(error)
            raise
        return True


def _put(tensor: torch.Tensor, total: torch.Tensor) -> None:
    if total is not tensor:
        tensor.copy_(total)


def _label(name: str, operands: tuple[Any, ...], details: tuple[Any, ...]) -> str:
    """A collective in words: what other ranks have to call as well."""
    if name == "all_to_all":
        return f"{name} of {operands[0][0].dtype}" if operands[0] else name
    return _words(name, operands[0].shape, operands[0].dtype, details) if operands else name


@functools.lru_cache(256)  # most programs call the same again and again
def _words(name: str, shape: tuple[int, ...], dtype: torch.dtype, details: tuple[Any, ...]) -> str:
    parts = [f"{name} of {size_text(shape)} {str(dtype).removeprefix('torch.')}"]
    return " ".join(parts + [detail.name if isinstance(detail, RedOpType) else detail for detail in details])
