"""The back end "hccl": collectives on tensors of NPUs, by Ascend's library.

Work is enqueued on the current stream of the tensor's device, behind what computes its operands. As everywhere on an NPU, an
error of the work itself (a rank that has gone) appears where the program waits for it.
"""

from __future__ import annotations

import ctypes
import math
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch
from mindtorch_v2._backends.npu import hccl
from mindtorch_v2._backends.npu.casts import in_rows
from mindtorch_v2.distributed._arguments import check_gathered, check_one_of_parts, check_root
from mindtorch_v2.distributed._collectives import Collectives
from mindtorch_v2.distributed._outcome import Outcome
from mindtorch_v2.distributed._reduce_op import RedOpType
from mindtorch_v2.distributed._work import Work

if TYPE_CHECKING:
    from mindtorch_v2.types import Device


__all__ = ["ProcessGroupHCCL"]

_OPS = {
    RedOpType.SUM: hccl.SUM,
    RedOpType.AVG: hccl.SUM,  # and a division
    RedOpType.PRODUCT: hccl.PROD,
    RedOpType.MAX: hccl.MAX,
    RedOpType.MIN: hccl.MIN,
}
# Dtypes that HCCL does not combine, and another that holds their sums.
_WIDER = {torch.bool: torch.int32, torch.uint8: torch.int32}


class ProcessGroupHCCL(Collectives):
    """A group of processes, each with tensors on an NPU. A communicator is made when a device is first used.

    Args:
        store: by which the ranks get the root's information.
        rank: this process' rank.
        size: how many there are.
        timeout: how long a collective may take, unless HCCL_EXEC_TIMEOUT says so.
    """

    name, title = "hccl", "ProcessGroupHCCL"

    class Options:
        """Options of a group as programs fill them in; the configuration is kept and has no effect."""

        def __init__(self) -> None:
            self.hccl_config: dict = {}
            self.is_high_priority_stream = False
            self.global_ranks_in_group: list = []
            self.group_id = ""

    def __init__(self, store: Any, rank: int, size: int, timeout: Any) -> None:
        self.rank, self.size, self.timeout = rank, size, timeout
        self._store = store
        self._communicators: dict[Any, Any] = {}
        self._library: hccl.Library | None = None

    # ---- collectives: enqueued, whether they are waited for or not ----

    def _start(
        self,
        name: str,
        run: Callable[..., None],
        operands: tuple[Any, ...],
        written: Sequence[torch.Tensor],
        asynchronous: bool,
        *details: Any,
    ) -> Work:
        run(*operands)
        return self._started(*(written or operands[:1]))

    def _check_reducible(self, name: str, tensor: torch.Tensor, op: Any) -> None:
        if op not in _OPS:
            raise RuntimeError(f"Cannot use ReduceOp.{op.name} with HCCL")

    def _all_reduce(self, tensor: torch.Tensor, op: Any) -> None:
        self._combine("HcclAllReduce", tensor, op, ())

    def _reduce(self, tensor: torch.Tensor, root: int, op: Any) -> None:
        self._combine("HcclReduce", tensor, op, (root,), write=self.rank == root)

    def _combine(self, function, tensor, op, more, write=True):
        held = _reducible(tensor)
        place = held.data_ptr()
        self._on(tensor).call(function, place, place, held.numel(), _type(held), _OPS[op], *more)
        if write:
            _settle(tensor, held, op, self.size)

    def _broadcast(self, tensor: torch.Tensor, root: int) -> None:
        held = _plain(tensor)
        self._on(tensor).call("HcclBroadcast", held.data_ptr(), held.numel(), _type(held), root)
        _restore(tensor, held)

    def _all_gather(self, tensor: torch.Tensor, outputs: Sequence[torch.Tensor]) -> None:
        whole = torch.empty((self.size, *tensor.shape), dtype=tensor.dtype, device=tensor.device)
        self._all_gather_into(tensor, whole)
        for output, part in zip(outputs, whole, strict=True):
            output.detach().copy_(part)

    def allgather_into(self, output: torch.Tensor, tensor: torch.Tensor, asynchronous: bool = False) -> Work:
        """Put the ranks' tensors one after the other into `output`, whose sizes may be any of as many elements."""
        if output.dtype != tensor.dtype:
            raise TypeError("output tensor must have the same type as input tensor")
        if output.numel() != self.size * tensor.numel():
            check_gathered("ProcessGroupHCCL::allgather", list(output.chunk(self.size)), tensor, self.size)
            raise ValueError("output tensor size must be equal to world_size times input tensor size")
        return self._begin("all_gather", self._all_gather_into, (tensor, output), [output], asynchronous)

    def _all_gather_into(self, tensor: torch.Tensor, output: torch.Tensor) -> None:
        held, landing = _plain(tensor), _plain(output)
        place = landing.data_ptr()
        self._on(tensor).call("HcclAllGather", held.data_ptr(), place, held.numel(), _type(held))
        _restore(output, landing)

    def _gather(self, tensor: torch.Tensor, outputs: Any, root: int) -> None:
        if self.rank != root:
            self.send(tensor.contiguous(), root, 0)
            return
        kind: dict[str, Any] = {"dtype": tensor.dtype, "device": tensor.device}
        landing = [tensor.detach() if rank == root else torch.empty(tensor.shape, **kind) for rank in range(self.size)]
        self.batch([(False, landing[rank], rank, 0) for rank in range(self.size) if rank != root])
        for output, part in zip(outputs, landing, strict=True):
            output.detach().copy_(part)

    def _scatter(self, output: torch.Tensor, inputs: Any, root: int) -> None:
        whole = torch.stack([each.detach() for each in inputs]) if self.rank == root else output
        held, landing = _plain(whole), _plain(output)
        self._on(output).call("HcclScatter", held.data_ptr(), landing.data_ptr(), landing.numel(), _type(held), root)
        _restore(output, landing)

    def _reduce_scatter(self, output: torch.Tensor, inputs: Sequence[torch.Tensor], op: Any) -> None:
        self._combine_parts(output, torch.stack([each.detach() for each in inputs]), op)

    def reduce_scatter_from(
        self, output: torch.Tensor, tensor: torch.Tensor, op: Any, asynchronous: bool = False
    ) -> Work:
        """Combine the ranks' `tensor`, of which each gets its part along the first dimension as `output`."""
        check_one_of_parts(output, tensor, self.size)
        self._check_reducible("reduce_scatter", output, op)
        return self._begin("reduce_scatter", self._combine_parts, (output, tensor, op), [output], asynchronous)

    def _combine_parts(self, output, whole, op):
        held, landing = _reducible(whole), _reducible(output)
        place, count = landing.data_ptr(), landing.numel()
        self._on(output).call("HcclReduceScatter", held.data_ptr(), place, count, _type(held), _OPS[op])
        _settle(output, landing, op, self.size)

    def _all_to_all(self, inputs: Sequence[torch.Tensor], outputs: Sequence[torch.Tensor]) -> None:
        held = _plain(torch.cat([each.detach().reshape(-1) for each in inputs]))
        landing = torch.empty(sum(each.numel() for each in outputs), dtype=held.dtype, device=held.device)
        sends, receives = ([each.numel() for each in tensors] for tensors in (inputs, outputs))
        places = [hccl.counts([sum(sizes[:rank]) for rank in range(self.size)]) for sizes in (sends, receives)]
        kind = _type(held)
        out = held.data_ptr(), hccl.counts(sends), places[0], kind
        into = landing.data_ptr(), hccl.counts(receives), places[1], kind
        self._on(held).call("HcclAlltoAllV", *out, *into)
        for output, part in zip(outputs, landing.split(receives), strict=True):
            output.detach().copy_(part.view(output.shape))

    def barrier(self, asynchronous: bool = False) -> _Barrier:
        """Wait until all ranks are there."""
        device = torch.npu.current_device()
        self._communicator(device).call("HcclBarrier")
        return _Barrier((), device)

    # ---- point to point: what is sent is done when it is received; tags are not looked at, messages come in their order ----

    def _send(self, tensor: torch.Tensor, rank: int, tag: int) -> Work:
        return self.batch([(True, tensor, rank, tag)])[0]

    def _recv(self, tensor: torch.Tensor, rank: int | None, tag: int) -> Work:
        if rank is None:
            raise NotImplementedError("hccl does not receive from any rank: name it as src")
        return self.batch([(False, tensor, rank, tag)])[0]

    def batch(self, operations: Sequence[tuple[bool, torch.Tensor, int, int]]) -> list:
        """Begin all of (whether it sends, tensor, rank, tag), in whatever order they can be done; a list of Work."""
        held = []
        for _, tensor, rank, _ in operations:
            if not tensor.is_contiguous():
                raise RuntimeError("input tensor has to be contiguous")
            check_root("ProcessGroupHCCL::send", rank, self.size, "remote")
            held.append(_plain(tensor))
        items = (hccl.SendRecvItem * len(operations))()
        for item, (sends, _, rank, _), tensor in zip(items, operations, held, strict=True):
            item.kind, item.rank = hccl.SEND if sends else hccl.RECV, rank
            item.buffer, item.count, item.type = tensor.data_ptr(), tensor.numel(), _type(tensor)
        self._on(operations[0][1]).call("HcclBatchSendRecv", ctypes.byref(items), len(items))
        return [self._started(tensor, source=None if sends else rank) for sends, tensor, rank, _ in operations]

    # ---- lives ----

    def abort(self) -> None:
        """End the communicators, here and for the others."""
        self.close()

    def close(self) -> None:
        """Finish what was started, and end the communicators."""
        for communicator in self._communicators.values():
            communicator.close()
        self._communicators = {}

    def _on(self, tensor):
        return self._communicator(tensor.device.index)

    def _communicator(self, device):
        made = self._communicators.get(device)
        if made is None:
            if self._library is None:
                os.environ.setdefault("HCCL_EXEC_TIMEOUT", str(math.ceil(self.timeout.total_seconds())))
                self._library = hccl.Library()
            key = f"root/{len(self._communicators)}"
            if self.rank == 0:
                self._store.set(key, self._library.root_info())
            root = self._store.get(key)
            made = hccl.Communicator(self._library, self.size, root, self.rank, device)
            self._communicators[device] = made
        return made

    def _started(self, *tensors, source=None):
        return _Queued(tensors, tensors[0].device, source)


class _Queued(Work):
    """Work on a stream: what is enqueued there later finds it done, so `wait` has to do something for other streams only."""

    def __init__(self, result: Sequence[torch.Tensor], device: Device, source: int | None = None) -> None:
        outcome: Outcome = Outcome()
        outcome.set_result(source)
        super().__init__(outcome, result, source=source)
        self._device, self._event = device, torch.npu.Event()
        self._event.record(torch.npu.current_stream(device))

    def _finish(self, timeout: Any) -> bool:
        """Let the current stream wait for it; True."""
        torch.npu.current_stream(self._device).wait_event(self._event)
        return True

    def is_completed(self) -> bool:
        """Whether it is done."""
        return self._event.query()

    is_success = is_completed


class _Barrier(_Queued):
    """A barrier, for which the host waits as well."""

    def _finish(self, timeout: Any) -> bool:
        """Wait until all ranks are there; True."""
        self._event.synchronize()
        return True


def _type(tensor):
    name = str(tensor.dtype).removeprefix("torch.")
    if name not in hccl.TYPES:
        raise TypeError(f"hccl has no data type for {tensor.dtype}")
    return hccl.TYPES[name]


def _plain(tensor):
    """A tensor without gaps, truth values as bytes: the memory itself where that is possible."""
    held = in_rows(tensor.detach().contiguous())
    return held.view(torch.uint8) if held.dtype is torch.bool else held


def _restore(tensor, held) -> None:
    """Put what was received into a tensor, if it is not there already."""
    if held.data_ptr() != tensor.data_ptr():
        tensor.detach().copy_(held.view(tensor.dtype))


def _reducible(tensor):
    """A tensor without gaps of a dtype that HCCL combines."""
    held = tensor.detach()
    return held.to(_WIDER[held.dtype]) if held.dtype in _WIDER else in_rows(held.contiguous())


def _settle(tensor, held, op, size) -> None:
    """Put what was combined into its tensor."""
    if op is RedOpType.AVG:
        held.div_(size)
    if held.data_ptr() != tensor.data_ptr():
        tensor.detach().copy_(held)
