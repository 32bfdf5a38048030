"""The back end "mpi": collectives on tensors of the CPU, by the MPI that mpi4py was built for or finds.

Every collective is one of MPI's, on the tensor's own memory. It is started without waiting (`Iallreduce` and the like), so that
it may fail in time and not hang; those that the program does not wait for are carried on by one thread. Large ones that MPI has
better ways for if it waits itself (`Allreduce` and the like) wait in a thread of their own, where MPI allows that. Whether two runs give
the same bits is up to MPI: it promises so where the order in which it combines does not depend on time, which is usual, and may
depend on where processes run.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2.distributed._arguments import check_root
from mindtorch_v2.distributed._collectives import Collectives
from mindtorch_v2.distributed._memory import bytes_of, check_contiguous, combine_into, contiguous, packed, plain
from mindtorch_v2.distributed._outcome import Outcome
from mindtorch_v2.distributed._reduce_op import RedOpType
from mindtorch_v2.distributed._work import Work, Worker, run_now

__all__ = ["ProcessGroupMPI", "address_of_first", "world"]

_SPINS = 2000  # looks at a request before the thread lets others run between looks
_LARGE = 1 << 20  # bytes from which MPI waits itself: a thread is woken meanwhile in no time
_MOST_BYTES = 1 << 30  # of a message: MPI counts in 32 bits


def _library() -> Any:
    """`mpi4py.MPI`, which begins MPI when it is first imported."""
    try:
        from mpi4py import MPI
    except ImportError as error:
        raise RuntimeError(
            f"Distributed package doesn't have MPI built in: it needs mpi4py and an MPI ({error}); pip install mindtorch_v2[mpi]"
        ) from error
    return MPI


def world() -> tuple[int, int]:
    """(rank, size) of the job that `mpirun`, Slurm or another launcher started."""
    everybody = _library().COMM_WORLD
    return everybody.Get_rank(), everybody.Get_size()


def address_of_first(value: Any) -> Any:
    """The value of the first rank of the job, on all of them."""
    return _library().COMM_WORLD.bcast(value, 0)


class _Kinds:
    """MPI's datatypes and operations for dtypes; those that MPI lacks are of our own."""

    def __init__(self, mpi: Any) -> None:
        self.mpi = mpi
        self.types = {
            torch.float32: mpi.FLOAT,
            torch.float64: mpi.DOUBLE,
            torch.int8: mpi.INT8_T,
            torch.uint8: mpi.UINT8_T,
            torch.int16: mpi.INT16_T,
            torch.int32: mpi.INT32_T,
            torch.int64: mpi.INT64_T,
            torch.bool: mpi.C_BOOL,
        }
        self.operations = {
            RedOpType.SUM: mpi.SUM,
            RedOpType.AVG: mpi.SUM,
            RedOpType.PRODUCT: mpi.PROD,
            RedOpType.MIN: mpi.MIN,
            RedOpType.MAX: mpi.MAX,
            RedOpType.BAND: mpi.BAND,
            RedOpType.BOR: mpi.BOR,
            RedOpType.BXOR: mpi.BXOR,
        }
        self.of_bool = {
            RedOpType.SUM: mpi.LOR,
            RedOpType.MAX: mpi.LOR,
            RedOpType.BOR: mpi.LOR,
            RedOpType.PRODUCT: mpi.LAND,
            RedOpType.MIN: mpi.LAND,
            RedOpType.BAND: mpi.LAND,
            RedOpType.BXOR: mpi.LXOR,
        }
        self.halves = mpi.BYTE.Create_contiguous(2).Commit()
        self._own: dict[Any, Any] = {}

    def of(self, tensor: torch.Tensor, op: RedOpType) -> tuple[Any, Any]:
        """(datatype, operation) for tensors of real numbers."""
        if tensor.dtype is torch.bool:
            return self.types[torch.bool], self.of_bool[op]
        if tensor.dtype in self.types:
            return self.types[tensor.dtype], self.operations[op]
        return self.halves, self._own_operation(tensor.dtype, op)

    def _own_operation(self, dtype: torch.dtype, op: RedOpType) -> Any:
        """An operation on numbers of sixteen bits, by our operators."""
        kind = RedOpType.SUM if op is RedOpType.AVG else op
        made = self._own.get((dtype, kind))
        if made is None:

            def combine(theirs: Any, ours: Any, datatype: Any) -> None:
                with torch.no_grad():
                    into = torch.frombuffer(ours, dtype=dtype)
                    combine_into(into, torch.frombuffer(bytearray(theirs), dtype=dtype), kind)

            made = self._own[dtype, kind] = self.mpi.Op.Create(combine, commute=True)
        return made


class ProcessGroupMPI(Collectives):
    """A group of processes, each with tensors on the CPU, on a communicator of MPI.

    Args:
        store: by which the ranks tell each other which processes of the job they are.
        rank: this process' rank.
        size: how many there are.
        timeout: how long a collective may take: a `datetime.timedelta`.
    """

    name, title = "mpi", "ProcessGroupMPI"

    def __init__(self, store: Any, rank: int, size: int, timeout: Any) -> None:
        mpi = self._mpi = _library()
        self.rank, self.size, self.timeout = rank, size, timeout
        if mpi.Query_thread() < mpi.THREAD_SERIALIZED and size > 1:
            raise RuntimeError("this MPI allows calls from one thread only: MPI_THREAD_SERIALIZED is needed")
        everybody = mpi.COMM_WORLD
        if size > everybody.Get_size():
            raise RuntimeError(
                f"a group of {size} ranks, but MPI started {everybody.Get_size()} processes: start the program by mpirun or srun"
            )
        store.set(f"mpi/{rank}", str(everybody.Get_rank()))
        members = [int(store.get(f"mpi/{each}")) for each in range(size)]
        self._comm = everybody.Create_group(everybody.Get_group().Incl(members), tag=sum(members) % 1024)
        self._kinds = _Kinds(mpi)
        self._worker, self._queued = Worker(), 0
        self._waiting = Worker() if mpi.Query_thread() == mpi.THREAD_MULTIPLE else None  # for what waits in MPI
        self._lock = threading.Lock()
        self._broken: RuntimeError | None = None

    # ---- collectives ----

    def _all_reduce(self, tensor: torch.Tensor, op: Any) -> None:
        with contiguous(tensor) as flat:
            own = plain(flat)
            datatype, operation = self._kinds.of(own, op)
            memory = [bytes_of(own), own.numel(), datatype]
            self._carry_out("all_reduce", "Allreduce", memory[0], self._mpi.IN_PLACE, memory, operation)
            self._averaged(own, op)

    def _broadcast(self, tensor: torch.Tensor, root: int) -> None:
        with contiguous(tensor, write=self.rank != root) as flat:
            for piece in _pieces(flat):
                self._carry_out("broadcast", "Bcast", piece, [piece, self._mpi.BYTE], root)

    def _reduce(self, tensor: torch.Tensor, root: int, op: Any) -> None:
        here = self.rank == root
        with contiguous(tensor, write=here) as flat:
            own = plain(flat)
            datatype, operation = self._kinds.of(own, op)
            memory = [bytes_of(own), own.numel(), datatype]
            sent, received = (self._mpi.IN_PLACE, memory) if here else (memory, None)
            self._wait("reduce", self._comm.Ireduce(sent, received, operation, root))
            if here:
                self._averaged(own, op)

    def _all_gather(self, tensor: torch.Tensor, outputs: Sequence[torch.Tensor]) -> None:
        sent = packed(tensor)
        whole = torch.empty((self.size, sent.numel()), dtype=sent.dtype)
        self._gather_into(whole, sent)
        for output, row in zip(outputs, whole, strict=True):
            output.copy_(row.view(output.shape))

    def _gather_into(self, whole: torch.Tensor, sent: torch.Tensor) -> None:
        memory = bytes_of(sent)
        received = [bytes_of(whole), self._mpi.BYTE]
        self._carry_out("all_gather", "Allgather", memory, [memory, self._mpi.BYTE], received)

    def _all_gather_into(self, tensor: torch.Tensor, output: torch.Tensor) -> None:
        with contiguous(output, read=False) as whole:
            self._gather_into(whole, packed(tensor))

    def _gather(self, tensor: torch.Tensor, outputs: Any, root: int) -> None:
        sent = packed(tensor)
        whole = torch.empty((self.size, sent.numel()), dtype=sent.dtype) if self.rank == root else None
        memory = None if whole is None else [bytes_of(whole), self._mpi.BYTE]
        self._wait("gather", self._comm.Igather([bytes_of(sent), self._mpi.BYTE], memory, root))
        if whole is not None:
            for output, row in zip(outputs, whole, strict=True):
                output.copy_(row.view(output.shape))

    def _scatter(self, output: torch.Tensor, inputs: Any, root: int) -> None:
        memory = [bytes_of(_joined(inputs)), self._mpi.BYTE] if self.rank == root else None
        with contiguous(output, read=False) as flat:
            self._wait("scatter", self._comm.Iscatter(memory, [bytes_of(flat), self._mpi.BYTE], root))

    def _reduce_scatter(self, output: torch.Tensor, inputs: Sequence[torch.Tensor], op: Any) -> None:
        sent = plain(_joined(inputs))
        with contiguous(output, read=False) as flat:
            own = plain(flat)
            datatype, operation = self._kinds.of(own, op)
            memory, received = [bytes_of(sent), datatype], [bytes_of(own), datatype]
            self._carry_out("reduce_scatter", "Reduce_scatter_block", memory[0], memory, received, operation)
            self._averaged(own, op)

    def _all_to_all(self, inputs: Sequence[torch.Tensor], outputs: Sequence[torch.Tensor]) -> None:
        sent = _joined(inputs)
        counts = [each.numel() * each.element_size() for each in outputs]
        received = torch.empty(sum(each.numel() for each in outputs), dtype=outputs[0].dtype)
        request = self._comm.Ialltoallv(
            [bytes_of(sent), ([each.numel() * each.element_size() for each in inputs], None), self._mpi.BYTE],
            [bytes_of(received), (counts, None), self._mpi.BYTE],
        )
        self._wait("all_to_all", request)
        for output, piece in zip(outputs, received.split([each.numel() for each in outputs]), strict=True):
            output.copy_(piece.view(output.shape))

    def _barrier(self) -> None:
        self._wait("barrier", self._comm.Ibarrier())

    def monitored_barrier(self, timeout: Any, wait_all_ranks: bool) -> None:
        """Wait until all ranks are there: RuntimeError if they are not in time. MPI does not say which."""
        self._wait("monitored_barrier", self._comm.Ibarrier(), (timeout or self.timeout).total_seconds())

    # ---- point to point ----

    def _send(self, tensor: torch.Tensor, rank: int, tag: int) -> Work:
        check_contiguous(tensor)
        check_root("ProcessGroupMPI::send", rank, self.size, "destination")
        request = self._comm.Isend([bytes_of(tensor), self._mpi.BYTE], rank, tag)
        return self._direct("send", request, tensor)

    def _recv(self, tensor: torch.Tensor, rank: int | None, tag: int) -> Work:
        check_contiguous(tensor)
        source = self._mpi.ANY_SOURCE if rank is None else rank
        request = self._comm.Irecv([bytes_of(tensor), self._mpi.BYTE], source, tag)
        return self._direct("recv", request, tensor)

    def _direct(self, name: str, request: Any, tensor: torch.Tensor) -> Work:
        return _Message(self, name, request, tensor)

    # ---- lives ----

    def abort(self) -> None:
        """Let nothing more begin; MPI cannot take back what has begun."""
        self._broken = RuntimeError("the process group was aborted")

    def close(self) -> None:
        """Finish what was started, and give the communicator back."""
        self._worker.close()
        if self._broken is None:
            if self._waiting is not None:
                self._waiting.close()
            if not self._mpi.Is_finalized():
                self._comm.Free()

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
        """Run now, or behind what the thread has to do: collectives of a communicator begin in one order on all ranks."""

        def work() -> None:
            try:
                with torch.no_grad():
                    run(*operands)
            finally:
                if queued:
                    with self._lock:
                        self._queued -= 1

        with self._lock:
            queued = asynchronous or self._queued > 0
            self._queued += queued
        outcome = self._worker.submit(work) if queued else run_now(work, Outcome())
        return Work(outcome, list(written), name, self.timeout.total_seconds() * 2)

    def _carry_out(self, name: str, method: str, memory: memoryview, *arguments: Any) -> None:
        """Do a collective of MPI's, `Allreduce` or another one, on so many bytes: their number is the same on all ranks.

        MPI's collectives that wait and those that do not are no partners of each other.
        """
        if self._waiting is None or len(memory) < _LARGE:
            begin = getattr(self._comm, "I" + method[0].lower() + method[1:])
            self._wait(name, begin(*arguments))
            return
        if self._broken is not None:
            raise self._broken
        limit = self.timeout.total_seconds()
        outcome = self._waiting.submit(lambda: getattr(self._comm, method)(*arguments))
        try:
            outcome.result(limit)
        except TimeoutError:
            raise self._break(name, limit) from None

    def _break(self, name: str, seconds: float) -> RuntimeError:
        """Let nothing more begin, as a collective is late; the error."""
        self._broken = RuntimeError(f"Timed out waiting {round(seconds * 1000)}ms for {name} operation to complete")
        return self._broken

    def _wait(self, name: str, request: Any, seconds: float | None = None) -> Any:
        """Carry a request on until it is done; RuntimeError after the time that the group allows."""
        if self._broken is not None:
            raise self._broken
        limit = self.timeout.total_seconds() if seconds is None else seconds
        deadline, looks = time.monotonic() + limit, 0
        status = self._mpi.Status()
        while not request.Test(status):
            looks += 1
            if looks > _SPINS:
                time.sleep(0 if looks < 2 * _SPINS else 5e-5)
                if time.monotonic() > deadline:
                    raise self._break(name, limit)
        return status

    def _averaged(self, tensor: torch.Tensor, op: RedOpType) -> None:
        if op is RedOpType.AVG:
            tensor.div_(self.size)


class _Message(Work):
    """A message under way: whoever waits carries it on."""

    def __init__(self, group: ProcessGroupMPI, name: str, request: Any, tensor: torch.Tensor) -> None:
        super().__init__(Outcome(), [tensor], name)
        self._group, self._name, self._request, self._kept = group, name, request, tensor

    def _finish(self, timeout: Any) -> bool:
        """Wait, at most for `timeout` (a `datetime.timedelta`); True. RuntimeError if it is not done in time."""
        if not self._outcome.done():
            status = self._group._wait(self._name, self._request, timeout.total_seconds() if timeout else None)
            self._outcome.set_result(status.Get_source())
        return True

    def is_completed(self) -> bool:
        """Whether it is done."""
        if not self._outcome.done():
            status = self._group._mpi.Status()
            if self._request.Test(status):
                self._outcome.set_result(status.Get_source())
        return self._outcome.done()

    def source_rank(self) -> int:
        """Who sent what was received."""
        self.wait()
        return self._outcome.result()

    _source_rank = source_rank


def _joined(tensors: Sequence[torch.Tensor]) -> torch.Tensor:
    """Tensors one after the other, as one row."""
    return torch.cat([each.detach().reshape(-1) for each in tensors])


def _pieces(tensor: torch.Tensor) -> list[memoryview]:
    """A tensor's memory in pieces whose bytes MPI can count."""
    memory = bytes_of(tensor)
    return [memory[start : start + _MOST_BYTES] for start in range(0, max(1, len(memory)), _MOST_BYTES)]
