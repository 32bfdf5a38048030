"""The back end "gloo": collectives on tensors of the CPU, between processes, over TCP.

Every collective is one or two rounds in which ranks send to each other directly. Numbers are combined in the order of the
ranks, so that all of them, and every run, get the same bits.
"""

from __future__ import annotations

import ctypes
import itertools
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future as Outcome
from types import TracebackType
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2._backends.npu import groups
from mindtorch_v2.distributed._arguments import (
    check_exchanged,
    check_gathered,
    check_like,
    check_one_for_each,
    check_one_of_parts,
    check_reducible,
    check_root,
    check_splits,
    size_text,
)
from mindtorch_v2.distributed._mesh import COLLECTIVE, DIRECT, Mesh
from mindtorch_v2.distributed._reduce_op import RedOpType
from mindtorch_v2.distributed._work import Work, Worker, run_now

__all__ = ["ProcessGroupGloo"]

_MOST_RANKS = 64
_SMALL = 1 << 14  # bytes up to which an all_reduce sends everything to everybody, in one round
_COMBINE: dict[Any, tuple[Callable[..., torch.Tensor], Callable[..., torch.Tensor]]] = {
    RedOpType.SUM: (torch.add, torch.Tensor.add_),
    RedOpType.AVG: (torch.add, torch.Tensor.add_),
    RedOpType.PRODUCT: (torch.mul, torch.Tensor.mul_),
    RedOpType.MIN: (torch.minimum, lambda total, part: torch.minimum(total, part, out=total)),
    RedOpType.MAX: (torch.maximum, lambda total, part: torch.maximum(total, part, out=total)),
    RedOpType.BAND: (torch.bitwise_and, torch.Tensor.bitwise_and_),
    RedOpType.BOR: (torch.bitwise_or, torch.Tensor.bitwise_or_),
    RedOpType.BXOR: (torch.bitwise_xor, torch.Tensor.bitwise_xor_),
}
_OF_BOOL = {RedOpType.SUM: RedOpType.BOR, RedOpType.MAX: RedOpType.BOR, RedOpType.PRODUCT: RedOpType.BAND}
_OF_BOOL[RedOpType.MIN] = RedOpType.BAND


class ProcessGroupGloo:
    """A group of processes, each with tensors on the CPU.

    Args:
        store: where the ranks find each other.
        rank: this process' rank.
        size: how many there are.
        timeout: how long a collective may take: a `datetime.timedelta`.
    """

    name = "gloo"
    SUM = RedOpType.SUM  # for those below who combine by it

    def __init__(self, store: Any, rank: int, size: int, timeout: Any) -> None:
        if size > _MOST_RANKS:
            raise RuntimeError(
                f'"gloo" connects every rank with every other, and takes at most {_MOST_RANKS} ranks, not {size}: start the '
                'program by mpirun or srun and use init_process_group("mpi") (pip install mindtorch_v2[mpi])'
            )
        self.rank, self.size, self.timeout = rank, size, timeout
        self._mesh = Mesh(store, rank, size, timeout.total_seconds())
        self._numbers = itertools.count()
        self._worker = Worker()

    def get_hccl_comm_name(self, rank: int) -> str:
        """The name by which fused operators take this group; `rank` is this process', as it was for HCCL."""
        check_root("ProcessGroup::get_hccl_comm_name", rank, self.size)
        return groups.name_of(self)

    # ---- collectives: each returns a Work ----

    def allreduce(self, tensor: torch.Tensor, op: Any, asynchronous: bool = False) -> Work:
        """Combine `tensor` over the ranks, in place, everywhere."""
        check_reducible("all_reduce", tensor, op)

        def run(exchange: _Exchange) -> None:
            with _contiguous(tensor) as flat:
                self._all_reduce(exchange, _plain(flat), op)

        return self._start("all_reduce", _label("all_reduce", tensor, op), run, [tensor], asynchronous)

    def broadcast(self, tensor: torch.Tensor, root: Any, asynchronous: bool = False) -> Work:
        """Copy `tensor` from the rank `root` to all."""
        check_root("ProcessGroupGloo::broadcast", root, self.size)

        def run(exchange: _Exchange) -> None:
            with _contiguous(tensor, read=self.rank == root, write=self.rank != root) as flat:
                view = _bytes(flat)
                if self.rank == root:
                    exchange(0, dict.fromkeys(self._others(), view), {})
                else:
                    exchange(0, {}, {root: view})

        return self._start("broadcast", _label("broadcast", tensor, f"from {root}"), run, [tensor], asynchronous)

    def reduce(self, tensor: torch.Tensor, root: Any, op: Any, asynchronous: bool = False) -> Work:
        """Combine `tensor` over the ranks, in place, on the rank `root`."""
        check_root("ProcessGroupGloo::reduce", root, self.size)
        check_reducible("reduce", tensor, op)

        def run(exchange: _Exchange) -> None:
            with _contiguous(tensor, write=self.rank == root) as flat:
                own = _plain(flat)
                if self.rank == root:
                    parts = [own if rank == root else torch.empty_like(own) for rank in range(self.size)]
                    exchange(0, {}, {rank: _bytes(parts[rank]) for rank in self._others()})
                    own.copy_(_combined(parts, op, self.size))
                else:
                    exchange(0, {root: _bytes(own)}, {})

        return self._start("reduce", _label("reduce", tensor, op, f"to {root}"), run, [tensor], asynchronous)

    def allgather(self, outputs: Sequence[torch.Tensor], tensor: torch.Tensor, asynchronous: bool = False) -> Work:
        """Copy each rank's `tensor` into `outputs[rank]`, everywhere."""
        check_gathered("ProcessGroupGloo::allgather", outputs, tensor, self.size)

        def run(exchange: _Exchange) -> None:
            own = _bytes(_packed(tensor))
            self._fill(exchange, outputs, dict.fromkeys(self._others(), own))
            outputs[self.rank].copy_(tensor)

        return self._start("all_gather", _label("all_gather", tensor), run, outputs, asynchronous)

    def allgather_into(self, output: torch.Tensor, tensor: torch.Tensor, asynchronous: bool = False) -> Work:
        """Put the ranks' tensors one after the other, along the first dimension, into `output`."""
        return self.allgather(list(output.chunk(self.size)), tensor, asynchronous)

    def gather(self, tensor: torch.Tensor, outputs: Any, root: Any, asynchronous: bool = False) -> Work:
        """Copy each rank's `tensor` into `outputs[rank]` on the rank `root`; `outputs` is None elsewhere."""
        check_root("ProcessGroupGloo::gather", root, self.size)
        if self.rank == root:
            check_one_for_each("ProcessGroupGloo::gather", "output", outputs, self.size)
            check_like("ProcessGroupGloo::gather", tensor, outputs)

        def run(exchange: _Exchange) -> None:
            if self.rank == root:
                self._fill(exchange, outputs, {})
                outputs[root].copy_(tensor)
            else:
                exchange(0, {root: _bytes(_packed(tensor))}, {})

        return self._start("gather", _label("gather", tensor, f"to {root}"), run, outputs or [], asynchronous)

    def scatter(self, output: torch.Tensor, inputs: Any, root: Any, asynchronous: bool = False) -> Work:
        """Copy `inputs[rank]` of the rank `root` into each rank's `output`; `inputs` is None elsewhere."""
        check_root("ProcessGroupGloo::scatter", root, self.size)
        if self.rank == root:
            check_one_for_each("ProcessGroupGloo::scatter", "input", inputs, self.size)
            check_like("ProcessGroupGloo::scatter", output, inputs)

        def run(exchange: _Exchange) -> None:
            if self.rank == root:
                packed = [_packed(each) for each in inputs]
                exchange(0, {rank: _bytes(packed[rank]) for rank in self._others()}, {})
                output.copy_(inputs[root])
            else:
                with _contiguous(output, read=False) as flat:
                    exchange(0, {}, {root: _bytes(flat)})

        return self._start("scatter", _label("scatter", output, f"from {root}"), run, [output], asynchronous)

    def reduce_scatter(
        self, output: torch.Tensor, inputs: Sequence[torch.Tensor], op: Any, asynchronous: bool = False
    ) -> Work:
        """Combine the ranks' `inputs[rank]` into each rank's `output`."""
        if len(inputs) != self.size:
            raise RuntimeError("invalid input tensor list size, must be world size")
        check_like("ProcessGroupGloo::reduce_scatter", output, inputs)
        check_reducible("reduce_scatter", output, op)

        def run(exchange: _Exchange) -> None:
            packed = [_plain(_packed(each)) for each in inputs]
            parts = [packed[rank] if rank == self.rank else torch.empty_like(packed[rank]) for rank in range(self.size)]
            others = self._others()
            exchange(0, {r: _bytes(packed[r]) for r in others}, {r: _bytes(parts[r]) for r in others})
            with _contiguous(output, read=False) as flat:
                _plain(flat).copy_(_combined(parts, op, self.size))

        return self._start("reduce_scatter", _label("reduce_scatter", output, op), run, [output], asynchronous)

    def reduce_scatter_from(
        self, output: torch.Tensor, tensor: torch.Tensor, op: Any, asynchronous: bool = False
    ) -> Work:
        """Combine the ranks' `tensor`, of which each gets its part along the first dimension as `output`."""
        check_one_of_parts(output, tensor, self.size)
        return self.reduce_scatter(output, list(tensor.chunk(self.size)), op, asynchronous)

    def alltoall(
        self, outputs: Sequence[torch.Tensor], inputs: Sequence[torch.Tensor], asynchronous: bool = False
    ) -> Work:
        """Copy `inputs[other]` of each rank into `outputs[rank]` of the other."""
        check_exchanged("ProcessGroupGloo::alltoall", outputs, inputs, self.size)

        def run(exchange: _Exchange) -> None:
            packed = [_packed(each) for each in inputs]
            self._fill(exchange, outputs, {rank: _bytes(packed[rank]) for rank in self._others()})
            outputs[self.rank].copy_(inputs[self.rank])

        label = f"all_to_all of {inputs[0].dtype}" if inputs else "all_to_all"
        return self._start("all_to_all", label, run, outputs, asynchronous)

    def alltoall_single(
        self,
        output: torch.Tensor,
        tensor: torch.Tensor,
        output_splits: Sequence[int] | None,
        input_splits: Sequence[int] | None,
        asynchronous: bool = False,
    ) -> Work:
        """Copy the parts of `tensor` along its first dimension to the ranks; `output` gets theirs, one after the other."""
        outputs = check_splits(output, output_splits, self.size)
        inputs = check_splits(tensor, input_splits, self.size)
        if not output_splits and not input_splits and output.numel() != tensor.numel():
            raise RuntimeError(
                f"all_to_all_single: the input has {tensor.numel()} elements, the output {output.numel()}"
            )
        return self.alltoall(list(outputs), list(inputs), asynchronous)

    def barrier(self, asynchronous: bool = False) -> Work:
        """Wait until all ranks are there."""
        nothing = memoryview(bytearray())

        def run(exchange: _Exchange) -> None:
            others = self._others()
            exchange(0, dict.fromkeys(others, nothing), dict.fromkeys(others, nothing))

        return self._start("barrier", "barrier", run, [], asynchronous)

    def monitored_barrier(self, timeout: Any, wait_all_ranks: bool) -> None:
        """Wait until all ranks are there; the rank 0 says who is missing: RuntimeError."""
        seconds = (timeout or self.timeout).total_seconds()
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
            self._mesh.abort(failure)
            raise failure
        for rank in self._others():
            self._mesh.send(rank, key, label, nothing).result()

    # ---- point to point ----

    def send(self, tensor: torch.Tensor, rank: int, tag: int) -> Work:
        """Send `tensor` to a rank; done when its bytes are on their way."""
        _check_contiguous(tensor)
        check_root("ProcessGroupGloo::send", rank, self.size, "destination")
        outcome = self._mesh.send(rank, (DIRECT, tag, 0), b"send", _bytes(tensor))
        return self._direct(outcome, "send", tensor)

    def recv(self, tensor: torch.Tensor, rank: int | None, tag: int) -> Work:
        """Receive into `tensor` from a rank; None is any."""
        _check_contiguous(tensor)
        if rank is not None:
            check_root("ProcessGroupGloo::recv", rank, self.size, "source")
        outcome = self._mesh.receive(rank, (DIRECT, tag, 0), b"send", _bytes(tensor))
        return self._direct(outcome, "recv", tensor)

    def batch(self, operations: Sequence[tuple[bool, torch.Tensor, int, int]]) -> list:
        """Begin all of (whether it sends, tensor, rank, tag); a list of Work."""
        return [(self.send if sends else self.recv)(tensor, rank, tag) for sends, tensor, rank, tag in operations]

    def _direct(self, outcome, description, tensor):
        return Work(outcome, [tensor], description, self.timeout.total_seconds(), on_timeout=self._mesh.abort)

    # ---- lives ----

    def abort(self) -> None:
        """Break all connections."""
        self._mesh.abort(RuntimeError("the process group was aborted"))

    def close(self) -> None:
        """Finish what was started, and hang up."""
        self._worker.close()
        self._mesh.close()

    # ---- how they run ----

    def _others(self) -> list:
        return [rank for rank in range(self.size) if rank != self.rank]

    def _start(self, name, label, run, result, asynchronous):
        exchange = _Exchange(self._mesh, next(self._numbers), name, label.encode(), self.timeout)

        def work() -> None:
            with torch.no_grad():
                run(exchange)

        outcome = self._worker.submit(work) if asynchronous else run_now(work, Outcome())
        return Work(outcome, [tensor for tensor in result], name)

    def _fill(self, exchange, outputs, sends) -> None:
        """One round, in which every other rank's part goes into the output at its place."""
        landing = {
            rank: outputs[rank] if outputs[rank].is_contiguous() else torch.empty_like(outputs[rank]).contiguous()
            for rank in self._others()
        }
        exchange(0, sends, {rank: _bytes(tensor) for rank, tensor in landing.items()})
        for rank, tensor in landing.items():
            if tensor is not outputs[rank]:
                outputs[rank].copy_(tensor)

    def _all_reduce(self, exchange, flat, op) -> None:
        others = self._others()
        if flat.numel() * flat.element_size() <= _SMALL:
            parts = [flat if rank == self.rank else torch.empty_like(flat) for rank in range(self.size)]
            own = _bytes(flat)
            exchange(0, dict.fromkeys(others, own), {rank: _bytes(parts[rank]) for rank in others})
            flat.copy_(_combined(parts, op, self.size))
            return
        # Each rank combines one piece, and then gives it to all.
        step = -(-flat.numel() // self.size)
        pieces = [flat[min(rank * step, flat.numel()) : (rank + 1) * step] for rank in range(self.size)]
        mine = pieces[self.rank]
        parts = [mine if rank == self.rank else torch.empty_like(mine) for rank in range(self.size)]
        exchange(0, {r: _bytes(pieces[r]) for r in others}, {r: _bytes(parts[r]) for r in others})
        mine.copy_(_combined(parts, op, self.size))
        exchange(1, dict.fromkeys(others, _bytes(mine)), {rank: _bytes(pieces[rank]) for rank in others})


class _Exchange:
    """The rounds of one collective."""

    def __init__(self, mesh: Any, number: int, name: str, label: bytes, timeout: Any) -> None:
        self.mesh, self.number, self.name, self.label = mesh, number, name, label
        self.timeout = timeout.total_seconds()

    def __call__(self, turn: int, sends: dict[int, memoryview], receives: dict[int, memoryview]) -> None:
        """Send and receive: both are {rank: memoryview}. Any failure breaks the group's connections, so that all ranks learn of it."""
        deadline = time.monotonic() + self.timeout
        key = (COLLECTIVE, self.number, turn)
        futures = [self.mesh.receive(rank, key, self.label, view) for rank, view in receives.items()]
        futures += [self.mesh.send(rank, key, self.label, view) for rank, view in sends.items()]
        try:
            for future in futures:
                future.result(max(0, deadline - time.monotonic()))
        except TimeoutError:
            error = RuntimeError(
                f"Timed out waiting {round(self.timeout * 1000)}ms for {self.name} operation to complete"
            )
            self.mesh.abort(error)
            raise error from None
        except RuntimeError as error:
            self.mesh.abort(error)
            raise


def _label(name, tensor, *details) -> str:
    parts = [f"{name} of {size_text(tensor)} {str(tensor.dtype).removeprefix('torch.')}"]
    return " ".join(parts + [detail.name if isinstance(detail, RedOpType) else detail for detail in details])


def _combined(parts, op, size):
    """The ranks' parts as one, in the order of the ranks."""
    if parts[0].dtype is torch.bool:
        op = _OF_BOOL.get(op, op)
    if len(parts) == 1:
        return parts[0]
    combine, combine_into = _COMBINE[op]
    total = combine(parts[0], parts[1])
    for part in parts[2:]:
        combine_into(total, part)
    if op is RedOpType.AVG:
        total = total.div_(size)
    return total


def _plain(tensor):
    """A contiguous tensor as a row of real numbers."""
    return (torch.view_as_real(tensor) if tensor.is_complex() else tensor).view(-1)


def _check_contiguous(tensor) -> None:
    if not tensor.is_contiguous():
        raise RuntimeError("input tensor has to be contiguous")


def _packed(tensor):
    """The tensor, or a copy of it without gaps."""
    return tensor.detach().contiguous()


def _bytes(tensor):
    """The memory of a contiguous tensor, which lives as long as this view of it."""
    nbytes = tensor.numel() * tensor.element_size()
    if not nbytes:
        return memoryview(bytearray())
    memory = (ctypes.c_char * nbytes).from_address(tensor.data_ptr())
    memory.owner = tensor
    return memoryview(memory).cast("B")


class _contiguous:
    """A tensor without gaps in its place: the tensor itself, or a copy that is copied back.

    Args:
        tensor: the tensor.
        read: whether what it holds matters.
        write: whether it is to be changed.
    """

    def __init__(self, tensor: torch.Tensor, read: bool = True, write: bool = True) -> None:
        self.tensor, self.read, self.write = tensor.detach(), read, write

    def __enter__(self) -> torch.Tensor:
        if self.tensor.is_contiguous():
            self.flat = self.tensor
        elif self.read:
            self.flat = self.tensor.contiguous()
        else:
            self.flat = torch.empty(self.tensor.shape, dtype=self.tensor.dtype)
        return self.flat

    def __exit__(self, kind: type[BaseException] | None, error: Any, traceback: TracebackType | None) -> None:
        if kind is None and self.write and self.flat is not self.tensor:
            self.tensor.copy_(self.flat)
