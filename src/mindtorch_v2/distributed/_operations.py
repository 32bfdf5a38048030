"""The collectives as programs call them: tensors checked, ranks resolved, then handed to the group's back end.

With `async_op=True` each returns a `Work`; else it returns None when its results can be used. In a process that is not in the
group it warns and returns None.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import mindtorch_v2 as torch
from mindtorch_v2._core.overridable import overridable
from mindtorch_v2.distributed._arguments import check_same_dtype, check_tensor, check_tensor_list
from mindtorch_v2.distributed._coalescing import note
from mindtorch_v2.distributed._groups import get_global_rank, get_rank, outside, resolve, root_in, warn_outside
from mindtorch_v2.distributed._options import AllreduceCoalescedOptions
from mindtorch_v2.distributed._reduce_op import ReduceOp, reduce_type

if TYPE_CHECKING:
    from mindtorch_v2._tensor import Tensor
    from mindtorch_v2.distributed._group import ProcessGroup
    from mindtorch_v2.distributed._work import Work

_F = TypeVar("_F", bound=Callable[..., Any])

__all__ = [
    "P2POp",
    "all_gather",
    "all_gather_coalesced",
    "all_gather_into_tensor",
    "all_gather_single",
    "all_reduce",
    "all_reduce_coalesced",
    "all_to_all",
    "all_to_all_single",
    "barrier",
    "batch_isend_irecv",
    "broadcast",
    "gather",
    "irecv",
    "isend",
    "monitored_barrier",
    "recv",
    "reduce",
    "reduce_scatter",
    "reduce_scatter_single",
    "reduce_scatter_tensor",
    "scatter",
    "send",
]


def _public(function: _F) -> _F:
    """The function under the module that programs know it by, of which classes and modes may take calls over."""
    function.__module__ = "mindtorch_v2.distributed.distributed_c10d"
    return overridable(function)


def _backend(group, tensor):
    return resolve(group)._get_backend(tensor.device)


def _finish(work, async_op):
    """The work itself, or nothing once it is done."""
    if async_op:
        note(work)
        return work
    work.wait()
    return None


@_public
def all_reduce(
    tensor: Tensor, op: Any = ReduceOp.SUM, group: ProcessGroup | None = None, async_op: bool = False
) -> Any:
    """Combine `tensor` over all ranks, in place: every rank gets the same.

    Args:
        tensor: of the same shape and dtype on every rank.
        op: a `ReduceOp`.

    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> x = torch.tensor([1.0, 2.0])
    >>> dist.all_reduce(x)
    >>> x
    tensor([1., 2.])
    >>> dist.destroy_process_group()
    """
    check_tensor(tensor, "tensor")
    if outside(group):
        return warn_outside("all_reduce")
    return _finish(_backend(group, tensor).allreduce(tensor, reduce_type(op), async_op), async_op)


@_public
def all_reduce_coalesced(
    tensors: list[Tensor], op: Any = ReduceOp.SUM, group: ProcessGroup | None = None, async_op: bool = False
) -> Any:
    """Combine each of some tensors of one dtype over all ranks, in place.

    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> tensors = [torch.tensor([1.0]), torch.tensor([2.0, 3.0])]
    >>> dist.all_reduce_coalesced(tensors)
    >>> tensors
    [tensor([1.]), tensor([2., 3.])]
    >>> dist.destroy_process_group()
    """
    tensors = [tensors] if isinstance(tensors, torch.Tensor) else tensors
    check_tensor_list(tensors, "tensor")
    check_same_dtype(tensors)
    if outside(group):
        return warn_outside("all_reduce_coalesced")
    options = AllreduceCoalescedOptions()
    options.reduceOp = reduce_type(op)
    return _finish(resolve(group).allreduce_coalesced(tensors, options), async_op)


@_public
def all_gather_coalesced(
    output_tensor_lists: list[list[Tensor]],
    input_tensor_list: list[Tensor],
    group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Any:
    """Copy the `input_tensor_list` of each rank into `output_tensor_lists[rank]`, everywhere.

    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> lists = [[torch.zeros(2), torch.zeros(1)]]
    >>> dist.all_gather_coalesced(lists, [torch.tensor([1.0, 2.0]), torch.tensor([3.0])])
    >>> lists
    [[tensor([1., 2.]), tensor([3.])]]
    >>> dist.destroy_process_group()
    """
    check_tensor_list(input_tensor_list, "tensor_list")
    check_same_dtype(input_tensor_list)
    if not isinstance(output_tensor_lists, list):
        raise TypeError("Invalid function argument: output_tensor_lists should be a list")
    for each in output_tensor_lists:
        check_tensor_list(each, "output_tensor_lists")
        check_same_dtype(each)
    if outside(group):
        return warn_outside("all_gather_coalesced")
    return _finish(resolve(group).allgather_coalesced(output_tensor_lists, input_tensor_list), async_op)


@_public
def broadcast(
    tensor: Tensor,
    src: int | None = None,
    group: ProcessGroup | None = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Any:
    """Copy `tensor` of one rank to all, in place.

    Args:
        src: its rank in the job; or
        group_src: its rank in the group.

    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> x = torch.tensor([1.0, 2.0])
    >>> dist.broadcast(x, src=0)
    >>> x
    tensor([1., 2.])
    >>> dist.destroy_process_group()
    """
    check_tensor(tensor, "tensor")
    if outside(group):
        return warn_outside("broadcast")
    root = root_in(group, src, group_src)
    return _finish(_backend(group, tensor).broadcast(tensor, root, async_op), async_op)


@_public
def reduce(
    tensor: Tensor,
    dst: int | None = None,
    op: Any = ReduceOp.SUM,
    group: ProcessGroup | None = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Any:
    """Combine `tensor` over all ranks, in place, on the rank `dst` (of the job) or `group_dst` (of the group) only.

    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> x = torch.tensor([1.0, 2.0])
    >>> dist.reduce(x, dst=0)
    >>> x
    tensor([1., 2.])
    >>> dist.destroy_process_group()
    """
    check_tensor(tensor, "tensor")
    if outside(group):
        return warn_outside("reduce")
    root = root_in(group, dst, group_dst)
    return _finish(_backend(group, tensor).reduce(tensor, root, reduce_type(op), async_op), async_op)


@_public
def all_gather(
    tensor_list: list[Tensor], tensor: Tensor, group: ProcessGroup | None = None, async_op: bool = False
) -> Any:
    """Copy the `tensor` of each rank into `tensor_list[rank]`, everywhere.

    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> parts = [torch.zeros(2)]
    >>> dist.all_gather(parts, torch.tensor([1.0, 2.0]))
    >>> parts
    [tensor([1., 2.])]
    >>> dist.destroy_process_group()
    """
    check_tensor_list(tensor_list, "tensor_list")
    check_tensor(tensor, "tensor")
    check_same_dtype(tensor_list, tensor)
    if outside(group):
        return warn_outside("all_gather")
    return _finish(_backend(group, tensor).allgather(tensor_list, tensor, async_op), async_op)


def all_gather_into_tensor(
    output_tensor: Tensor, input_tensor: Tensor, group: ProcessGroup | None = None, async_op: bool = False
) -> Any:
    """Put the ranks' tensors one after the other, along the first dimension, into `output_tensor`.

    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> whole = torch.zeros(2)
    >>> dist.all_gather_into_tensor(whole, torch.tensor([1.0, 2.0]))
    >>> whole
    tensor([1., 2.])
    >>> dist.destroy_process_group()
    """
    check_tensor(input_tensor, "input_tensor")
    check_tensor(output_tensor, "output_tensor")
    if outside(group):
        return warn_outside("all_gather_into_tensor")
    backend = _backend(group, input_tensor)
    return _finish(backend.allgather_into(output_tensor, input_tensor, async_op), async_op)


all_gather_single = all_gather_into_tensor


@_public
def gather(
    tensor: Tensor,
    gather_list: list[Tensor] | None = None,
    dst: int | None = None,
    group: ProcessGroup | None = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Any:
    """Copy the `tensor` of each rank into `gather_list[rank]` of one rank: 0, `dst` (of the job) or `group_dst`.

    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> parts = [torch.zeros(2)]
    >>> dist.gather(torch.tensor([1.0, 2.0]), parts, dst=0)
    >>> parts
    [tensor([1., 2.])]
    >>> dist.destroy_process_group()
    """
    check_tensor(tensor, "tensor")
    gather_list = gather_list or []
    check_tensor_list(gather_list, "gather_list")
    check_same_dtype(tensor, gather_list)
    if outside(group):
        return warn_outside("gather")
    root = root_in(group, dst, group_dst, default=0)
    outputs = only_on(root, gather_list, "gather_list", "destination", group)
    return _finish(_backend(group, tensor).gather(tensor, outputs, root, async_op), async_op)


@_public
def scatter(
    tensor: Tensor,
    scatter_list: list[Tensor] | None = None,
    src: int | None = None,
    group: ProcessGroup | None = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Any:
    """Copy `scatter_list[rank]` of one rank (0, `src` of the job, or `group_src`) into the `tensor` of each.

    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> mine = torch.zeros(2)
    >>> dist.scatter(mine, [torch.tensor([1.0, 2.0])], src=0)
    >>> mine
    tensor([1., 2.])
    >>> dist.destroy_process_group()
    """
    check_tensor(tensor, "tensor")
    scatter_list = scatter_list or []
    check_tensor_list(scatter_list, "scatter_list")
    check_same_dtype(tensor, scatter_list)
    if outside(group):
        return warn_outside("scatter")
    root = root_in(group, src, group_src, default=0)
    inputs = only_on(root, scatter_list, "scatter_list", "source", group)
    return _finish(_backend(group, tensor).scatter(tensor, inputs, root, async_op), async_op)


def only_on(root: Any, values: Sequence[Tensor | None] | None, name: str, role: str, group: ProcessGroup | None) -> Any:
    """A list that is given on the root, and nowhere else (ValueError); None there."""
    if get_rank(group) != root:
        if values:
            raise ValueError(f"Argument ``{name}`` must NOT be specified on non-{role} ranks.")
        return None
    if not values:
        raise ValueError(f"Argument ``{name}`` must be specified on {role} rank.")
    return values


@_public
def reduce_scatter(
    output: Tensor,
    input_list: list[Tensor],
    op: Any = ReduceOp.SUM,
    group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Any:
    """Combine the ranks' `input_list[rank]` into the `output` of each rank.

    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> mine = torch.zeros(2)
    >>> dist.reduce_scatter(mine, [torch.tensor([1.0, 2.0])])
    >>> mine
    tensor([1., 2.])
    >>> dist.destroy_process_group()
    """
    check_tensor(output, "output")
    check_tensor_list(input_list, "input_list")
    check_same_dtype(output, input_list)
    if outside(group):
        return warn_outside("reduce_scatter")
    return _finish(_backend(group, output).reduce_scatter(output, input_list, reduce_type(op), async_op), async_op)


def reduce_scatter_tensor(
    output: Tensor, input: Tensor, op: Any = ReduceOp.SUM, group: ProcessGroup | None = None, async_op: bool = False
) -> Any:
    """Combine the ranks' `input`, of which each rank gets its part along the first dimension as `output`.

    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> mine = torch.zeros(2)
    >>> dist.distributed_c10d.reduce_scatter_single(mine, torch.tensor([1.0, 2.0]))
    >>> mine
    tensor([1., 2.])
    >>> dist.destroy_process_group()
    """
    check_tensor(output, "output")
    check_tensor(input, "input")
    if outside(group):
        return warn_outside("reduce_scatter_tensor")
    backend = _backend(group, output)
    return _finish(backend.reduce_scatter_from(output, input, reduce_type(op), async_op), async_op)


reduce_scatter_single = reduce_scatter_tensor


@_public
def all_to_all(
    output_tensor_list: list[Tensor],
    input_tensor_list: list[Tensor],
    group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Any:
    """Copy `input_tensor_list[other]` of each rank into `output_tensor_list[rank]` of the other.

    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> received = [torch.zeros(2)]
    >>> dist.all_to_all(received, [torch.tensor([1.0, 2.0])])
    >>> received
    [tensor([1., 2.])]
    >>> dist.destroy_process_group()
    """
    check_tensor_list(output_tensor_list, "output_tensor_list")
    check_tensor_list(input_tensor_list, "input_tensor_list")
    check_same_dtype(output_tensor_list, input_tensor_list)
    if outside(group):
        return warn_outside("all_to_all")
    if not input_tensor_list:
        raise RuntimeError("all_to_all: input_tensor_list is empty")
    backend = _backend(group, input_tensor_list[0])
    return _finish(backend.alltoall(output_tensor_list, input_tensor_list, async_op), async_op)


@_public
def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: list[int] | None = None,
    input_split_sizes: list[int] | None = None,
    group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Any:
    """Send each rank its part of `input` along the first dimension, equally large ones without `input_split_sizes`.

    What came from the ranks lies one after the other in `output`, `output_split_sizes` rows each.

    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> received = torch.zeros(2)
    >>> dist.all_to_all_single(received, torch.tensor([1.0, 2.0]))
    >>> received
    tensor([1., 2.])
    >>> dist.destroy_process_group()
    """
    check_tensor(output, "output")
    check_tensor(input, "input")
    check_same_dtype(output, input)
    if outside(group):
        return warn_outside("all_to_all_single")
    backend = _backend(group, input)
    return _finish(backend.alltoall_single(output, input, output_split_sizes, input_split_sizes, async_op), async_op)


def barrier(group: ProcessGroup | None = None, async_op: bool = False, device_ids: Any = None) -> Any:
    """Wait until all ranks are there. `device_ids` is accepted as in PyTorch.

    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> dist.barrier()
    >>> dist.get_world_size()
    1
    >>> dist.destroy_process_group()
    """
    if outside(group):
        return warn_outside("barrier")
    backend = next(iter(resolve(group)._backends.values()))
    return _finish(backend.barrier(async_op), async_op)


def monitored_barrier(group: ProcessGroup | None = None, timeout: Any = None, wait_all_ranks: bool = False) -> None:
    """Wait until all ranks are there; the rank 0 raises RuntimeError that names a rank that is not (or all of them).

    Args:
        timeout: how long to wait, a `datetime.timedelta`; as long as a collective may take if None.

    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> dist.monitored_barrier()
    >>> dist.get_world_size()
    1
    >>> dist.destroy_process_group()
    """
    if outside(group):
        return warn_outside("monitored_barrier")
    backend = next(iter(resolve(group)._backends.values()))
    if backend.name != "gloo":
        raise ValueError("monitored_barrier is only implemented for GLOO backend.")
    return backend.monitored_barrier(timeout, wait_all_ranks)


# ---- point to point ----


def _send(tensor, dst, group, tag, group_dst):
    check_tensor(tensor, "tensor")
    if outside(group):
        return warn_outside("isend")
    rank = root_in(group, dst, group_dst)
    if rank == get_rank(group):
        raise ValueError(
            "Invalid destination rank: destination rank should not be the same as the rank of the current process."
        )
    _check_tag(tag)
    return _backend(group, tensor).send(tensor, rank, tag)


def _receive(tensor, src, group, tag, group_src):
    check_tensor(tensor, "tensor")
    if outside(group):
        return warn_outside("irecv")
    rank = None if src is None and group_src is None else root_in(group, src, group_src)
    if rank == get_rank(group):
        raise ValueError("Invalid source rank: source rank should not be the same as the rank of the current process.")
    _check_tag(tag)
    return _backend(group, tensor).recv(tensor, rank, tag)


def _check_tag(tag) -> None:
    if tag < 0:
        raise RuntimeError("Tag must be nonnegative")


@_public
def isend(
    tensor: Tensor,
    dst: int | None = None,
    group: ProcessGroup | None = None,
    tag: int = 0,
    group_dst: int | None = None,
) -> Any:
    """Begin to send `tensor` to a rank; a `Work`. The tensor must not change until it is done."""
    return _send(tensor, dst, group, tag, group_dst)


@_public
def irecv(
    tensor: Tensor,
    src: int | None = None,
    group: ProcessGroup | None = None,
    tag: int = 0,
    group_src: int | None = None,
) -> Any:
    """Begin to receive into `tensor` from a rank, from any without `src`; a `Work`."""
    return _receive(tensor, src, group, tag, group_src)


@_public
def send(
    tensor: Tensor,
    dst: int | None = None,
    group: ProcessGroup | None = None,
    tag: int = 0,
    group_dst: int | None = None,
) -> None:
    """Send `tensor` to the rank `dst` of the job, or `group_dst` of the group, which receives it under the same `tag`."""
    work = _send(tensor, dst, group, tag, group_dst)
    if work is not None:
        work.wait()


@_public
def recv(
    tensor: Tensor,
    src: int | None = None,
    group: ProcessGroup | None = None,
    tag: int = 0,
    group_src: int | None = None,
) -> int:
    """Receive into `tensor` from a rank, from any without `src`. Returns the sender's rank in the job; -1 outside the group."""
    work = _receive(tensor, src, group, tag, group_src)
    if work is None:
        return -1
    work.wait()
    return resolve(group)._ranks[work.source_rank()]


class P2POp:
    """A send or receive for `batch_isend_irecv`.

    Args:
        op: `isend` or `irecv`.
        tensor: what is sent, or received into.
        peer: the other rank in the job; or
        group_peer: its rank in the group.

    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> x = torch.ones(2)
    >>> operation = dist.P2POp(dist.isend, x, group_peer=0)
    >>> operation.tensor is x, operation.peer
    (True, 0)
    >>> dist.destroy_process_group()
    """

    def __init__(
        self,
        op: Any,
        tensor: Tensor,
        peer: int | None = None,
        group: ProcessGroup | None = None,
        tag: int = 0,
        group_peer: int | None = None,
    ) -> None:
        if op not in (isend, irecv):
            raise ValueError(
                "Invalid ``op``. Expected ``op`` to be of type ``torch.distributed.isend`` or ``torch.distributed.irecv``."
            )
        check_tensor(tensor, "tensor")
        self.op, self.tensor, self.group, self.tag = op, tensor, resolve(group), tag
        self.group_peer = root_in(group, peer, group_peer)
        self.peer = get_global_rank(self.group, self.group_peer)

    def __repr__(self) -> str:
        return f"P2POp({self.op.__name__}, peer={self.peer}, {list(self.tensor.shape)} {self.tensor.dtype})"


def batch_isend_irecv(p2p_op_list: list[P2POp]) -> list[Work]:
    """Begin all of a list of `P2POp`, in whatever order they can be done; a list of `Work`."""
    if not isinstance(p2p_op_list, list) or not all(isinstance(each, P2POp) for each in p2p_op_list):
        raise ValueError("Invalid ``p2p_op_list``. Each op is expected to to be of type ``torch.distributed.P2POp``.")
    if any(each.group is not p2p_op_list[0].group for each in p2p_op_list):
        raise ValueError("All ops need to use the same group.")
    if not p2p_op_list:
        raise IndexError("list index out of range")
    backends = [each.group._get_backend(each.tensor.device) for each in p2p_op_list]
    if any(backend is not backends[0] for backend in backends):
        raise ValueError(
            "batch_isend_irecv: the tensors are of several back ends: begin those of each in a call of its own"
        )
    return backends[0].batch([(each.op is isend, each.tensor, each.group_peer, each.tag) for each in p2p_op_list])
