"""The collectives of a back end as process groups call them: their arguments are looked at here, the work is each back end's own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
)
from mindtorch_v2.distributed._reduce_op import RedOpType
from mindtorch_v2.distributed._schedule import recorded
from mindtorch_v2.distributed._work import Work

__all__ = ["Collectives"]


class Collectives:
    """A back end of a process group. Each collective returns a `Work`.

    A subclass has `_start`, and for each collective a method that does it: `_all_reduce`, `_broadcast` and so on.
    """

    name: str
    title: str  # what errors call the class
    rank: int
    size: int
    SUM = RedOpType.SUM  # for those below who combine by it

    # Each back end's own, on operands that were looked at. Gloo's get before them what carries out a round.
    _all_reduce: Callable[..., None]  # (tensor, op)
    _broadcast: Callable[..., None]  # (tensor, root)
    _reduce: Callable[..., None]  # (tensor, root, op)
    _all_gather: Callable[..., None]  # (tensor, outputs)
    _all_gather_into: Callable[..., None]  # (tensor, output)
    _gather: Callable[..., None]  # (tensor, outputs, root)
    _scatter: Callable[..., None]  # (output, inputs, root)
    _reduce_scatter: Callable[..., None]  # (output, inputs, op)
    _all_to_all: Callable[..., None]  # (inputs, outputs)
    _barrier: Callable[..., None]  # ()

    timeout: Any  # how long a collective may take: a `datetime.timedelta`

    def set_timeout(self, timeout: Any) -> None:
        """Say how long the collectives that begin from now on may take: a `datetime.timedelta`."""
        self.timeout = timeout

    def _start(
        self,
        name: str,
        run: Callable[..., None],
        operands: tuple[Any, ...],
        written: Sequence[torch.Tensor],
        asynchronous: bool,
        *details: Any,
    ) -> Work:
        """Do `run(*operands)`, now or behind what is under way. `name` and `details` are the same on all ranks."""
        raise NotImplementedError

    def _begin(
        self,
        name: str,
        run: Callable[..., None],
        operands: tuple[Any, ...],
        written: Sequence[torch.Tensor],
        asynchronous: bool,
        *details: Any,
    ) -> Work:
        """Start a collective, which a schedule may record."""

        def start() -> Work:
            return self._start(name, run, operands, written, asynchronous, *details)

        return recorded(self, name, operands, asynchronous, start)

    def _check_reducible(self, name: str, tensor: torch.Tensor, op: Any) -> None:
        check_reducible(name, tensor, op)

    def get_hccl_comm_name(self, rank: int) -> str:
        """The name by which fused operators take this group; `rank` is this process', as it was for HCCL."""
        check_root("ProcessGroup::get_hccl_comm_name", rank, self.size)
        return groups.name_of(self)

    def allreduce(self, tensor: torch.Tensor, op: Any, asynchronous: bool = False) -> Work:
        """Combine `tensor` over the ranks, in place, everywhere."""
        self._check_reducible("all_reduce", tensor, op)
        return self._begin("all_reduce", self._all_reduce, (tensor, op), [tensor], asynchronous, op)

    def broadcast(self, tensor: torch.Tensor, root: Any, asynchronous: bool = False) -> Work:
        """Copy `tensor` from the rank `root` to all."""
        check_root(f"{self.title}::broadcast", root, self.size)
        return self._begin("broadcast", self._broadcast, (tensor, root), [tensor], asynchronous, f"from {root}")

    def reduce(self, tensor: torch.Tensor, root: Any, op: Any, asynchronous: bool = False) -> Work:
        """Combine `tensor` over the ranks, in place, on the rank `root`."""
        check_root(f"{self.title}::reduce", root, self.size)
        self._check_reducible("reduce", tensor, op)
        return self._begin("reduce", self._reduce, (tensor, root, op), [tensor], asynchronous, op, f"to {root}")

    def allgather(self, outputs: Sequence[torch.Tensor], tensor: torch.Tensor, asynchronous: bool = False) -> Work:
        """Copy each rank's `tensor` into `outputs[rank]`, everywhere."""
        check_gathered(f"{self.title}::allgather", outputs, tensor, self.size)
        return self._begin("all_gather", self._all_gather, (tensor, outputs), outputs, asynchronous)

    def allgather_into(self, output: torch.Tensor, tensor: torch.Tensor, asynchronous: bool = False) -> Work:
        """Put the ranks' tensors one after the other, along the first dimension, into `output`."""
        check_gathered(f"{self.title}::allgather", list(output.chunk(self.size)), tensor, self.size)
        return self._begin("all_gather", self._all_gather_into, (tensor, output), [output], asynchronous)

    def gather(self, tensor: torch.Tensor, outputs: Any, root: Any, asynchronous: bool = False) -> Work:
        """Copy each rank's `tensor` into `outputs[rank]` on the rank `root`; `outputs` is None elsewhere."""
        check_root(f"{self.title}::gather", root, self.size)
        if self.rank == root:
            check_one_for_each(f"{self.title}::gather", "output", outputs, self.size)
            check_like(f"{self.title}::gather", tensor, outputs)
        written = outputs if self.rank == root else []
        return self._begin("gather", self._gather, (tensor, outputs, root), written, asynchronous, f"to {root}")

    def scatter(self, output: torch.Tensor, inputs: Any, root: Any, asynchronous: bool = False) -> Work:
        """Copy `inputs[rank]` of the rank `root` into each rank's `output`; `inputs` is None elsewhere."""
        check_root(f"{self.title}::scatter", root, self.size)
        if self.rank == root:
            check_one_for_each(f"{self.title}::scatter", "input", inputs, self.size)
            check_like(f"{self.title}::scatter", output, inputs)
        return self._begin("scatter", self._scatter, (output, inputs, root), [output], asynchronous, f"from {root}")

    def reduce_scatter(
        self, output: torch.Tensor, inputs: Sequence[torch.Tensor], op: Any, asynchronous: bool = False
    ) -> Work:
        """Combine the ranks' `inputs[rank]` into each rank's `output`."""
        if len(inputs) != self.size:
            raise RuntimeError("invalid input tensor list size, must be world size")
        check_like(f"{self.title}::reduce_scatter", output, inputs)
        self._check_reducible("reduce_scatter", output, op)
        return self._begin("reduce_scatter", self._reduce_scatter, (output, inputs, op), [output], asynchronous, op)

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
        check_exchanged(f"{self.title}::alltoall", outputs, inputs, self.size)
        return self._begin("all_to_all", self._all_to_all, (inputs, outputs), outputs, asynchronous)

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
        return self._begin("barrier", self._barrier, (), [], asynchronous)

    # ---- point to point ----

    def _send(self, tensor: torch.Tensor, rank: int, tag: int) -> Work:
        raise NotImplementedError

    def _recv(self, tensor: torch.Tensor, rank: int | None, tag: int) -> Work:
        raise NotImplementedError

    def send(self, tensor: torch.Tensor, rank: int, tag: int) -> Work:
        """Send `tensor` to a rank; done when its bytes are on their way."""
        return recorded(self, "send", [tensor], True, lambda: self._send(tensor, rank, tag), rank)

    def recv(self, tensor: torch.Tensor, rank: int | None, tag: int) -> Work:
        """Receive into `tensor` from a rank; None is any."""
        return recorded(self, "recv", [tensor], True, lambda: self._recv(tensor, rank, tag), rank)

    def batch(self, operations: Sequence[tuple[bool, torch.Tensor, int, int]]) -> list[Work]:
        """Begin all of (whether it sends, tensor, rank, tag); a list of Work."""
        return [(self.send if sends else self.recv)(tensor, rank, tag) for sends, tensor, rank, tag in operations]
