"""The collectives as methods of process groups: PyTorch's two forms, tensors in lists with options, and plain tensors."""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from mindtorch_v2.distributed import _options
from mindtorch_v2.distributed._arguments import check_parts_of_ranks
from mindtorch_v2.distributed._reduce_op import RedOpType, reduce_type
from mindtorch_v2.distributed._work import Work, together

if TYPE_CHECKING:
    from mindtorch_v2._tensor import Tensor
    from mindtorch_v2.distributed._collectives import Collectives

__all__ = ["GroupCalls"]


class GroupCalls:
    """Methods of a process group. Each begins a collective on all ranks of the group and returns its `Work`.

    Where a method takes lists, they hold one tensor (or one list of tensors) for each device of the process, of which there is one.
    `opts` are the options of PyTorch, such as `AllreduceOptions`; ranks in them and as arguments are those of the group.
    """

    _backends: dict[str, Any]

    def _get_backend(self, device: Any) -> Any:
        raise NotImplementedError

    def size(self) -> int:
        """How many processes there are."""
        raise NotImplementedError

    @contextlib.contextmanager
    def _for(self, tensor: Tensor | _On, opts: Any, timeout: datetime.timedelta | None) -> Iterator[Collectives]:
        """The back end of a tensor, which waits as long as the options or the argument say for what begins here."""
        backend = self._get_backend(tensor.device)
        limit = opts.limit() if isinstance(opts, _options._Options) else timeout
        if limit is None:
            yield backend
            return
        before = backend.timeout
        backend.set_timeout(limit)
        try:
            yield backend
        finally:
            backend.set_timeout(before)

    def allreduce(self, tensors: Any, opts: Any = RedOpType.SUM, timeout: datetime.timedelta | None = None) -> Work:
        """Combine a tensor, or the one in a list, over the ranks, in place; `opts` may be a `ReduceOp`."""
        tensor = _only(tensors, "allreduce")
        with self._for(tensor, opts, timeout) as backend:
            return backend.allreduce(tensor, _operation(opts), True)

    def allreduce_coalesced(self, tensors: Sequence[Tensor], opts: Any = RedOpType.SUM) -> Work:
        """Combine each of some tensors over the ranks, in place."""
        if not tensors:
            raise ValueError("ProcessGroup::allreduce_coalesced: requires non-empty tensor list")
        with self._for(tensors[0], opts, None) as backend:
            return together([backend.allreduce(tensor, _operation(opts), True) for tensor in tensors])

    def broadcast(self, tensors: Any, opts: Any = 0, timeout: datetime.timedelta | None = None) -> Work:
        """Copy a tensor, or the one in a list, from a rank to all; `opts` may be that rank."""
        tensor = _only(tensors, "broadcast")
        with self._for(tensor, opts, timeout) as backend:
            return backend.broadcast(tensor, getattr(opts, "rootRank", opts), True)

    def reduce(
        self,
        tensors: Any,
        opts: Any = 0,
        op: Any = RedOpType.SUM,
        timeout: datetime.timedelta | None = None,
    ) -> Work:
        """Combine a tensor, or the one in a list, over the ranks, in place, on one rank; `opts` may be that rank."""
        tensor = _only(tensors, "reduce")
        with self._for(tensor, opts, timeout) as backend:
            return backend.reduce(tensor, getattr(opts, "rootRank", opts), _operation(opts, op), True)

    def allgather(
        self, output_tensors: Any, input_tensors: Any, opts: Any = None, timeout: datetime.timedelta | None = None
    ) -> Work:
        """Copy the ranks' tensors into a list of tensors, or the one list in a list."""
        tensor = _only(input_tensors, "allgather")
        with self._for(tensor, opts, timeout) as backend:
            return backend.allgather(_only_list(output_tensors, "allgather"), tensor, True)

    def allgather_coalesced(
        self, output_lists: Sequence[Sequence[Tensor]], input_list: Sequence[Tensor], opts: Any = None
    ) -> Work:
        """Copy the ranks' lists of tensors: `output_lists[rank]` becomes the `input_list` of the rank."""
        if not input_list:
            raise ValueError("ProcessGroup::allgather_coalesced: requires non-empty input tensor list")
        check_parts_of_ranks("ProcessGroupGloo::allgather_coalesced", output_lists, input_list, self.size())
        with self._for(input_list[0], opts, None) as backend:
            return together(
                [
                    backend.allgather([each[i] for each in output_lists], tensor, True)
                    for i, tensor in enumerate(input_list)
                ]
            )

    def _allgather_base(
        self, output: Tensor, input: Tensor, opts: Any = None, timeout: datetime.timedelta | None = None
    ) -> Work:
        """Put the ranks' tensors one after the other, along the first dimension."""
        with self._for(input, opts, timeout) as backend:
            return backend.allgather_into(output, input, True)

    all_gather_single = _allgather_base

    def allgather_into_tensor_coalesced(
        self, outputs: Sequence[Tensor], inputs: Sequence[Tensor], opts: Any = None
    ) -> Work:
        """`_allgather_base` of each of some tensors."""
        return together(
            [self._allgather_base(output, tensor, opts) for output, tensor in zip(outputs, inputs, strict=True)]
        )

    def gather(
        self,
        output_tensors: Any,
        input_tensors: Any,
        opts: Any = 0,
        timeout: datetime.timedelta | None = None,
    ) -> Work:
        """Copy the ranks' tensors into a list of tensors, or the one list in a list, on one rank; `opts` may be that rank."""
        tensor = _only(input_tensors, "gather")
        outputs = _only_list(output_tensors, "gather") if len(output_tensors) else None
        with self._for(tensor, opts, timeout) as backend:
            return backend.gather(tensor, outputs, getattr(opts, "rootRank", opts), True)

    def scatter(
        self,
        output_tensors: Any,
        input_tensors: Any,
        opts: Any = 0,
        timeout: datetime.timedelta | None = None,
    ) -> Work:
        """Give each rank its tensor of the list of one rank; `opts` may be that rank."""
        tensor = _only(output_tensors, "scatter")
        inputs = _only_list(input_tensors, "scatter") if len(input_tensors) else None
        with self._for(tensor, opts, timeout) as backend:
            return backend.scatter(tensor, inputs, getattr(opts, "rootRank", opts), True)

    def reduce_scatter(
        self,
        output_tensors: Any,
        input_tensors: Any,
        opts: Any = RedOpType.SUM,
        timeout: datetime.timedelta | None = None,
    ) -> Work:
        """Combine the ranks' lists of tensors, of which each rank gets its own; `opts` may be a `ReduceOp`."""
        tensor = _only(output_tensors, "reduce_scatter")
        with self._for(tensor, opts, timeout) as backend:
            inputs = _only_list(input_tensors, "reduce_scatter")
            return backend.reduce_scatter(tensor, inputs, _operation(opts), True)

    def _reduce_scatter_base(
        self,
        output: Tensor,
        input: Tensor,
        opts: Any = RedOpType.SUM,
        timeout: datetime.timedelta | None = None,
    ) -> Work:
        """Combine the ranks' tensors, of which each rank gets its part along the first dimension."""
        with self._for(output, opts, timeout) as backend:
            return backend.reduce_scatter_from(output, input, _operation(opts), True)

    reduce_scatter_single = _reduce_scatter_base

    def reduce_scatter_tensor_coalesced(
        self, outputs: Sequence[Tensor], inputs: Sequence[Tensor], opts: Any = RedOpType.SUM
    ) -> Work:
        """`_reduce_scatter_base` of each of some tensors."""
        return together(
            [self._reduce_scatter_base(output, tensor, opts) for output, tensor in zip(outputs, inputs, strict=True)]
        )

    def alltoall_base(
        self,
        output: Tensor,
        input: Tensor,
        output_split_sizes: Sequence[int],
        input_split_sizes: Sequence[int],
        opts: Any = None,
        timeout: datetime.timedelta | None = None,
    ) -> Work:
        """Send each rank its part of `input` along the first dimension; what came lies one after the other in `output`."""
        with self._for(input, opts, timeout) as backend:
            return backend.alltoall_single(output, input, output_split_sizes, input_split_sizes, True)

    def alltoall(
        self,
        output_tensors: Sequence[Tensor],
        input_tensors: Sequence[Tensor],
        opts: Any = None,
        timeout: datetime.timedelta | None = None,
    ) -> Work:
        """Send each rank its tensor of the list; what came is in the other list."""
        if not input_tensors:
            raise ValueError("ProcessGroup::alltoall: requires non-empty input tensor list")
        with self._for(input_tensors[0], opts, timeout) as backend:
            return backend.alltoall(output_tensors, input_tensors, True)

    def send(self, tensors: Sequence[Tensor], dst: int, tag: int) -> Work:
        """Send the tensor in a list to a rank of the group."""
        tensor = _only(tensors, "send")
        return self._get_backend(tensor.device).send(tensor, dst, tag)

    def recv(self, tensors: Sequence[Tensor], src: int, tag: int) -> Work:
        """Receive into the tensor in a list from a rank of the group."""
        tensor = _only(tensors, "recv")
        return self._get_backend(tensor.device).recv(tensor, src, tag)

    def recv_anysource(self, tensors: Sequence[Tensor], tag: int) -> Work:
        """Receive into the tensor in a list from any rank."""
        tensor = _only(tensors, "recv_anysource")
        return self._get_backend(tensor.device).recv(tensor, None, tag)

    def barrier(self, opts: Any = None, timeout: datetime.timedelta | None = None) -> Work:
        """Wait until all ranks are there."""
        kind = next(iter(self._backends))
        with self._for(_On(kind), opts, timeout) as backend:
            return backend.barrier(True)

    def monitored_barrier(self, timeout: datetime.timedelta | None = None, wait_all_ranks: bool = False) -> None:
        """Wait until all ranks are there; the first rank says who is missing: RuntimeError."""
        backend = next(iter(self._backends.values()))
        if not hasattr(backend, "monitored_barrier"):
            raise RuntimeError(f"ProcessGroup {backend.name} does not support monitoredBarrier")
        backend.monitored_barrier(timeout, wait_all_ranks)


class _On:
    """A device, which stands for a tensor where there is none."""

    def __init__(self, device: str) -> None:
        self.device = device


def _operation(opts, op=RedOpType.SUM) -> RedOpType:
    """How numbers are combined, by options, by an argument instead of them, or by a third one."""
    if isinstance(opts, _options._Options):
        return reduce_type(getattr(opts, "reduceOp", op))
    return reduce_type(op if isinstance(opts, int) else opts)


def _only(tensors, name):
    if not isinstance(tensors, (list, tuple)):
        return tensors
    if len(tensors) != 1:
        raise RuntimeError(f"ProcessGroup::{name}: requires a single-element tensor list, got {len(tensors)} elements")
    return tensors[0]


def _only_list(lists, name):
    """The list of tensors, or the one in a list."""
    if lists and isinstance(lists[0], (list, tuple)):
        if len(lists) != 1:
            raise RuntimeError(
                f"ProcessGroup::{name}: requires a single-element list of lists, got {len(lists)} elements"
            )
        return list(lists[0])
    return list(lists)
