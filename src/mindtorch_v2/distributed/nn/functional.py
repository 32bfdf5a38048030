"""Collectives through which gradients flow: each returns its result, and backward is the collective that goes the other way.

All ranks have to call backward, as its collectives need them all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch
from mindtorch_v2.autograd import Function
from mindtorch_v2.distributed import _groups as groups
from mindtorch_v2.distributed import _operations as collectives
from mindtorch_v2.distributed._reduce_op import ReduceOp

if TYPE_CHECKING:
    from mindtorch_v2.distributed._group import ProcessGroup


__all__ = [
    "all_gather",
    "all_reduce",
    "all_to_all",
    "all_to_all_single",
    "broadcast",
    "gather",
    "reduce",
    "reduce_scatter",
    "scatter",
]


class _AllReduce(Function):
    @staticmethod
    def forward(ctx: Any, op: Any, group: ProcessGroup | None, tensor: torch.Tensor) -> torch.Tensor:
        ctx.op, ctx.group = op, group
        result = tensor.clone(memory_format=torch.contiguous_format)
        collectives.all_reduce(result, op, group)
        return result

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple:
        return None, None, _AllReduce.apply(ctx.op, ctx.group, grad)


class _AllToAll(Function):
    """Exchange of what each rank has for each: both a gather and a scatter are one with parts that are not there."""

    @staticmethod
    def forward(
        ctx: Any, group: ProcessGroup | None, shapes: Sequence[Sequence[int]], *tensors: Any
    ) -> tuple[torch.Tensor, ...]:
        ctx.group, ctx.shapes = group, [tensor.shape for tensor in tensors]
        outputs = [torch.empty(shape, dtype=tensors[0].dtype, device=tensors[0].device) for shape in shapes]
        collectives.all_to_all(outputs, [tensor.contiguous() for tensor in tensors], group)
        return tuple(outputs)

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> tuple:
        return None, None, *_AllToAll.apply(ctx.group, ctx.shapes, *grads)


def _only_for(root, tensor, group) -> tuple:
    """The parts for all ranks: the tensor for the root, nothing for the others; and the shapes of what comes."""
    size, rank = groups.get_world_size(group), groups.get_rank(group)
    nothing = tensor.new_empty(0)
    parts = [tensor if other == root else nothing.clone() for other in range(size)]
    return parts, [tensor.shape if rank == root else (0,)] * size


def all_reduce(tensor: torch.Tensor, op: Any = ReduceOp.SUM, group: ProcessGroup | None = None) -> torch.Tensor:
    """`tensor` combined over all ranks. Its gradient is combined likewise, which is right for SUM and AVG.

    >>> import mindtorch_v2.distributed.nn.functional as differentiable
    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> (3 * differentiable.all_reduce(x)).sum().backward()
    >>> x.grad
    tensor([3., 3.])
    >>> dist.destroy_process_group()
    """
    return _AllReduce.apply(op, group, tensor)


def all_gather(tensor: torch.Tensor, group: ProcessGroup | None = None) -> tuple[torch.Tensor, ...]:
    """The `tensor` of each rank, as a tuple. Its gradient is the sum of what the ranks have for it.

    >>> import mindtorch_v2.distributed.nn.functional as differentiable
    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> (3 * differentiable.all_gather(x)[0]).sum().backward()
    >>> x.grad
    tensor([3., 3.])
    >>> dist.destroy_process_group()
    """
    size = groups.get_world_size(group)
    return _AllToAll.apply(group, [tensor.shape] * size, *([tensor] * size))


def all_to_all(
    output_tensor_list: list[torch.Tensor], input_tensor_list: list[torch.Tensor], group: ProcessGroup | None = None
) -> tuple[torch.Tensor, ...]:
    """The parts that each rank has for this one, as a tuple, in the shapes of `output_tensor_list`.

    >>> import mindtorch_v2.distributed.nn.functional as differentiable
    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> (3 * differentiable.all_to_all([torch.empty(2)], [x])[0]).sum().backward()
    >>> x.grad
    tensor([3., 3.])
    >>> dist.destroy_process_group()
    """
    return _AllToAll.apply(group, [tensor.shape for tensor in output_tensor_list], *input_tensor_list)


def all_to_all_single(
    output: torch.Tensor,
    input: torch.Tensor,
    output_split_sizes: list[int] | None = None,
    input_split_sizes: list[int] | None = None,
    group: ProcessGroup | None = None,
) -> torch.Tensor:
    """The ranks' parts of their `input` for this one, one after the other, along the first dimension.

    >>> import mindtorch_v2.distributed.nn.functional as differentiable
    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> (3 * differentiable.all_to_all_single(torch.empty(2), x)).sum().backward()
    >>> x.grad
    tensor([3., 3.])
    >>> dist.destroy_process_group()
    """
    size = groups.get_world_size(group)
    sends = input.split(input_split_sizes or input.shape[0] // size)
    shapes = [part.shape for part in output.split(output_split_sizes or output.shape[0] // size)]
    return torch.cat(_AllToAll.apply(group, shapes, *sends))


def reduce_scatter(
    output: torch.Tensor, input_list: list[torch.Tensor], op: Any = ReduceOp.SUM, group: ProcessGroup | None = None
) -> torch.Tensor:
    """The ranks' `input_list[rank]`, summed, for each rank. NotImplementedError for another `op` than SUM.

    >>> import mindtorch_v2.distributed.nn.functional as differentiable
    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> (3 * differentiable.reduce_scatter(torch.empty(2), [x])).sum().backward()
    >>> x.grad
    tensor([3., 3.])
    >>> dist.destroy_process_group()
    """
    if op != ReduceOp.SUM:
        raise NotImplementedError(f"torch.distributed.nn.functional.reduce_scatter: {op} has no gradient here")
    return torch.stack(_AllToAll.apply(group, [output.shape] * len(input_list), *input_list)).sum(0)


def broadcast(tensor: torch.Tensor, src: int, group: ProcessGroup | None = None) -> torch.Tensor:
    """The `tensor` of the rank `src` of the job. Its gradient is the sum of all ranks'.

    >>> import mindtorch_v2.distributed.nn.functional as differentiable
    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> (3 * differentiable.broadcast(x, src=0)).sum().backward()
    >>> x.grad
    tensor([3., 3.])
    >>> dist.destroy_process_group()
    """
    root = groups.get_group_rank(group, src)
    size = groups.get_world_size(group)
    parts = [tensor] * size if groups.get_rank(group) == root else [tensor.new_empty(0) for _ in range(size)]
    shapes = [tensor.shape if rank == root else (0,) for rank in range(size)]
    # A rank that sends nothing still has to take part in backward: its tensor hangs on by nothing.
    return _AllToAll.apply(group, shapes, *_attached(parts, tensor))[root]


def gather(tensor: torch.Tensor, dst: int = 0, group: ProcessGroup | None = None) -> tuple[torch.Tensor, ...]:
    """The `tensor` of each rank, as a tuple, on the rank `dst` of the job; zeros elsewhere.

    >>> import mindtorch_v2.distributed.nn.functional as differentiable
    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> (3 * differentiable.gather(x, dst=0)[0]).sum().backward()
    >>> x.grad
    tensor([3., 3.])
    >>> dist.destroy_process_group()
    """
    root = groups.get_group_rank(group, dst)
    parts, shapes = _only_for(root, tensor, group)
    found = _AllToAll.apply(group, shapes, *_attached(parts, tensor))
    if groups.get_rank(group) == root:
        return found
    return tuple(torch.zeros_like(tensor) + part.sum() for part in found)


def scatter(tensors: Any, src: int = 0, group: ProcessGroup | None = None) -> torch.Tensor:
    """The part for this rank of the list of the rank `src` of the job; the other ranks give lists of the same shapes.

    >>> import mindtorch_v2.distributed.nn.functional as differentiable
    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> (3 * differentiable.scatter([x], src=0)).sum().backward()
    >>> x.grad
    tensor([3., 3.])
    >>> dist.destroy_process_group()
    """
    root = groups.get_group_rank(group, src)
    own = groups.get_rank(group)
    parts = list(tensors) if own == root else [tensor.new_empty(0) for tensor in tensors]
    shapes = [tensors[own].shape if rank == root else (0,) for rank in range(len(tensors))]
    return _AllToAll.apply(group, shapes, *_attached(parts, tensors[own]))[root]


def reduce(tensor: torch.Tensor, dst: int, op: Any = ReduceOp.SUM, group: ProcessGroup | None = None) -> torch.Tensor:
    """`tensor` summed over all ranks on the rank `dst` of the job; zeros elsewhere. NotImplementedError for another `op`.

    >>> import mindtorch_v2.distributed.nn.functional as differentiable
    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> (3 * differentiable.reduce(x, dst=0)).sum().backward()
    >>> x.grad
    tensor([3., 3.])
    >>> dist.destroy_process_group()
    """
    if op != ReduceOp.SUM:
        raise NotImplementedError(f"torch.distributed.nn.functional.reduce: {op} has no gradient here")
    found = gather(tensor, dst, group)
    return torch.stack(found).sum(0) if groups.get_rank(group) == groups.get_group_rank(group, dst) else found[0]


def _attached(parts, tensor) -> list:
    """The parts, those that are empty as parts of the tensor: so that backward reaches this rank too."""
    return [part if part.numel() else tensor.reshape(-1)[:0] for part in parts]
