"""Collectives on tensors of devices, by a library that enqueues them: what the back ends of NPUs and of NVIDIA GPUs share.

Work is enqueued on the current stream of the tensor's device, behind what computes its operands.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2._backends.common.communicator import Communicator
from mindtorch_v2.distributed._arguments import check_gathered, check_one_of_parts, check_root
from mindtorch_v2.distributed._collectives import Collectives
from mindtorch_v2.distributed._outcome import Outcome
from mindtorch_v2.distributed._reduce_op import RedOpType
from mindtorch_v2.distributed._work import Work

__all__ = ["DeviceCollectives", "Queued"]


class DeviceCollectives(Collectives):
    """A group of processes, each with tensors on a device. A communicator is made when a device is first used.

    Args:
        store: by which the ranks get what the first one knows of a communicator.
        rank: this process' rank.
        size: how many there are.
        timeout: how long a collective may take.
    """

    device: str  # the kind of devices
    types: dict[str, int]  # the library's numbers of dtypes, by their names
    ops: dict[Any, int]  # and of operations
    averages = False  # whether the library divides, where a mean is asked for
    wider: dict[Any, Any] = {}  # dtypes that the library does not combine -> another that holds their sums

    def __init__(self, store: Any, rank: int, size: int, timeout: Any) -> None:
        self.rank, self.size, self.timeout = rank, size, timeout
        self._store = store
        self._communicators: dict[Any, Communicator] = {}

    # ---- what a library's class has ----

    def root(self) -> bytes:
        """The token of a new communicator, which the first rank makes and all have to know."""
        raise NotImplementedError

    def connect(self, root: bytes, device: int) -> Communicator:
        """Meet the other ranks."""
        raise NotImplementedError

    def in_rows(self, tensor: torch.Tensor) -> torch.Tensor:
        """The tensor as its elements lie in memory, where a device has other formats."""
        return tensor

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
        if op not in self.ops:
            raise RuntimeError(f"Cannot use ReduceOp.{op.name} with {self.name.upper()}")

    def _all_reduce(self, tensor: torch.Tensor, op: Any) -> None:
        self._combine(tensor, op)

    def _reduce(self, tensor: torch.Tensor, root: int, op: Any) -> None:
        self._combine(tensor, op, root)

    def _combine(self, tensor, op, root=None):
        held = self._reducible(tensor)
        self._on(tensor).reduce(held.data_ptr(), held.numel(), self._type(held), self.ops[op], root)
        if root is None or self.rank == root:
            self._settle(tensor, held, op)

    def _broadcast(self, tensor: torch.Tensor, root: int) -> None:
        held = self._plain(tensor)
        self._on(tensor).broadcast(held.data_ptr(), held.numel(), self._type(held), root)
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
            check_gathered(f"{self.title}::allgather", list(output.chunk(self.size)), tensor, self.size)
            raise ValueError("output tensor size must be equal to world_size times input tensor size")
        return self._begin("all_gather", self._all_gather_into, (tensor, output), [output], asynchronous)

    def _all_gather_into(self, tensor: torch.Tensor, output: torch.Tensor) -> None:
        held, landing = self._plain(tensor), self._plain(output)
        self._on(tensor).all_gather(held.data_ptr(), landing.data_ptr(), held.numel(), self._type(held))
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
        held, landing = self._plain(whole), self._plain(output)
        self._on(output).scatter(held.data_ptr(), landing.data_ptr(), landing.numel(), self._type(held), root)
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
        held, landing = self._reducible(whole), self._reducible(output)
        self._on(output).reduce_scatter(
            held.data_ptr(), landing.data_ptr(), landing.numel(), self._type(held), self.ops[op]
        )
        self._settle(output, landing, op)

    def _all_to_all(self, inputs: Sequence[torch.Tensor], outputs: Sequence[torch.Tensor]) -> None:
        held = self._plain(torch.cat([each.detach().reshape(-1) for each in inputs]))
        landing = torch.empty(sum(each.numel() for each in outputs), dtype=held.dtype, device=held.device)
        sends, receives = ([each.numel() for each in tensors] for tensors in (inputs, outputs))
        self._on(held).exchange(held.data_ptr(), sends, landing.data_ptr(), receives, self._type(held))
        for output, part in zip(outputs, landing.split(receives), strict=True):
            output.detach().copy_(part.view(output.shape))

    def barrier(self, asynchronous: bool = False) -> _Barrier:
        """Wait until all ranks are there."""
        index = _functions(self.device).current_device()
        self._communicator(index).barrier()
        return _Barrier((), torch.device(self.device, index))

    # ---- point to point: what is sent is done when it is received; tags are not looked at, messages come in their order ----

    def _send(self, tensor: torch.Tensor, rank: int, tag: int) -> Work:
        return self.batch([(True, tensor, rank, tag)])[0]

    def _recv(self, tensor: torch.Tensor, rank: int | None, tag: int) -> Work:
        if rank is None:
            raise NotImplementedError(f"{self.name} does not receive from any rank: name it as src")
        return self.batch([(False, tensor, rank, tag)])[0]

    def batch(self, operations: Sequence[tuple[bool, torch.Tensor, int, int]]) -> list:
        """Begin all of (whether it sends, tensor, rank, tag), in whatever order they can be done; a list of Work."""
        held = []
        for _, tensor, rank, _ in operations:
            if not tensor.is_contiguous():
                raise RuntimeError("input tensor has to be contiguous")
            check_root(f"{self.title}::send", rank, self.size, "remote")
            held.append(self._plain(tensor))
        self._on(operations[0][1]).transfer(
            [
                (sends, tensor.data_ptr(), tensor.numel(), self._type(tensor), rank)
                for (sends, _, rank, _), tensor in zip(operations, held, strict=True)
            ]
        )
        return [self._started(tensor, source=None if sends else rank) for sends, tensor, rank, _ in operations]

    # ---- operands as the library takes them ----

    def _type(self, tensor):
        name = str(tensor.dtype).removeprefix("torch.")
        if name not in self.types:
            raise TypeError(f"{self.name} has no data type for {tensor.dtype}")
        return self.types[name]

    def _plain(self, tensor):
        """A tensor without gaps, truth values as bytes: the memory itself where that is possible."""
        held = self.in_rows(tensor.detach().contiguous())
        return held.view(torch.uint8) if held.dtype is torch.bool else held

    def _reducible(self, tensor):
        """A tensor without gaps of a dtype that the library combines."""
        held = tensor.detach()
        return held.to(self.wider[held.dtype]) if held.dtype in self.wider else self.in_rows(held.contiguous())

    def _settle(self, tensor, held, op) -> None:
        """Put what was combined into its tensor."""
        if op is RedOpType.AVG and not self.averages:
            held.div_(self.size)
        if held.data_ptr() != tensor.data_ptr():
            tensor.detach().copy_(held)

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
            key = f"root/{len(self._communicators)}"
            if self.rank == 0:
                self._store.set(key, self.root())
            made = self.connect(self._store.get(key), device)
            self._communicators[device] = made
        return made

    def _started(self, *tensors, source=None):
        return Queued(tensors, tensors[0].device, source)


class Queued(Work):
    """Work on a stream: what is enqueued there later finds it done, so `wait` has to do something for other streams only."""

    def __init__(self, result: Sequence[torch.Tensor], device: torch.device, source: int | None = None) -> None:
        outcome: Outcome = Outcome()
        outcome.set_result(source)
        super().__init__(outcome, result, source=source)
        self._functions = _functions(device.type)
        self._device, self._event = device, self._functions.Event()
        self._event.record(self._functions.current_stream(device))

    raise_trouble: Callable[[], None] = staticmethod(lambda: None)  # an error that is known of the work by now

    def _finish(self, timeout: Any) -> bool:
        """Let the current stream wait for it; True."""
        self.raise_trouble()
        self._functions.current_stream(self._device).wait_event(self._event)
        return True

    def is_completed(self) -> bool:
        """Whether it is done."""
        return self._event.query()

    is_success = is_completed

    def completion(self) -> Callable[[], bool]:
        """The question whether it is done, which does not keep its tensors."""
        query: Callable[[], bool] = self._event.query
        return query


class _Barrier(Queued):
    """A barrier, for which the host waits as well."""

    def _finish(self, timeout: Any) -> bool:
        """Wait until all ranks are there; True."""
        self._event.synchronize()
        self.raise_trouble()
        return True


def _functions(kind: str) -> Any:
    """`torch.npu` or `torch.cuda`."""
    return getattr(torch, kind)


def _restore(tensor, held) -> None:
    """Put what was received into a tensor, if it is not there already."""
    if held.data_ptr() != tensor.data_ptr():
        tensor.detach().copy_(held.view(tensor.dtype))
