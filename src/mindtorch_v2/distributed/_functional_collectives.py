"""`torch.distributed._functional_collectives`: collectives that return new tensors, which have gradients.

A group is given as a `ProcessGroup`, its name, a `DeviceMesh` of one dimension, `(mesh, dimension)`, or the list of its ranks. Each
collective is done when it returns: there is no tensor here whose value is still on its way.
"""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2._core.unavailable import unavailable_names
from mindtorch_v2.distributed import _functional_operators  # noqa: F401  (registers what is called here)
from mindtorch_v2.distributed._groups import ProcessGroup, group_of_ranks, resolve_name
from mindtorch_v2.distributed.device_mesh import DeviceMesh

__all__ = [
    "AsyncCollectiveTensor",
    "all_gather_into_tensor_coalesced",
    "all_gather_single",
    "all_gather_single_autograd",
    "all_gather_tensor",
    "all_gather_tensor_autograd",
    "all_reduce",
    "all_reduce_coalesced",
    "all_to_all_single",
    "all_to_all_single_autograd",
    "broadcast",
    "permute_tensor",
    "reduce_scatter_single",
    "reduce_scatter_single_autograd",
    "reduce_scatter_tensor",
    "reduce_scatter_tensor_autograd",
    "reduce_scatter_tensor_coalesced",
    "wait_tensor",
]

AsyncCollectiveTensor = unavailable_names(
    "torch.distributed._functional_collectives",
    classes="AsyncCollectiveTensor",
    remedy="collectives return tensors whose value is there",
)["AsyncCollectiveTensor"]
_ops = torch.ops._c10d_functional


def _resolve(group: Any) -> ProcessGroup:
    if isinstance(group, ProcessGroup):
        return group
    if isinstance(group, str):
        return resolve_name(group)
    if isinstance(group, DeviceMesh):
        if group.ndim != 1:
            raise AssertionError("Only 1D mesh is supported, pass in (DeviceMesh, int) together if mesh > 1D")
        return group.get_group()
    if isinstance(group, tuple):
        if len(group) != 2 or not isinstance(group[0], DeviceMesh) or not isinstance(group[1], int):
            raise ValueError(
                f"Invalid tuple for group must be (DeviceMesh, int). Instead got {tuple(type(each) for each in group)}"
            )
        return group[0].get_group(group[1])
    if isinstance(group, list):
        return group_of_ranks(group)
    raise ValueError(f"Unsupported group type: {type(group)}, {group}")


def wait_tensor(tensor: torch.Tensor) -> torch.Tensor:
    """The result of a collective, which is there: the tensor itself."""
    return _ops.wait_tensor(tensor)


def all_reduce(self: torch.Tensor, reduceOp: str, group: Any, tag: str = "") -> torch.Tensor:
    """The tensors of all ranks combined: "sum", "avg", "product", "min", "max", "band", "bor" or "bxor"."""
    return _ops.all_reduce(self, reduceOp.lower(), _resolve(group).group_name)


def broadcast(self: torch.Tensor, src: int, group: Any, tag: str = "") -> torch.Tensor:
    """The tensor of the rank `src` of the group."""
    return _ops.broadcast(self, src, _resolve(group).group_name)


def all_gather_single(self: torch.Tensor, gather_dim: int, group: Any, tag: str = "") -> torch.Tensor:
    """The tensors of all ranks, one after the other along `gather_dim`."""
    group = _resolve(group)
    gathered = _ops.all_gather_into_tensor(self, group.size(), group.group_name)
    return gathered if gather_dim == 0 else torch.cat(gathered.chunk(group.size()), gather_dim)


def reduce_scatter_single(
    self: torch.Tensor, reduceOp: str, scatter_dim: int, group: Any, tag: str = ""
) -> torch.Tensor:
    """This rank's part, along `scatter_dim`, of the tensors of all ranks combined."""
    group = _resolve(group)
    if self.size(scatter_dim) % group.size():
        raise AssertionError(
            f"input dimension {scatter_dim} ({self.size(scatter_dim)}) must be a multiple of group_size {group.size()}"
        )
    if scatter_dim:
        self = torch.cat(self.chunk(group.size(), scatter_dim))
    return _ops.reduce_scatter_tensor(self, reduceOp.lower(), group.size(), group.group_name)


def all_reduce_coalesced(self: list[torch.Tensor], reduceOp: str, group: Any, tag: str = "") -> list[torch.Tensor]:
    """`all_reduce` of each of some tensors."""
    return _ops.all_reduce_coalesced(self, reduceOp.lower(), _resolve(group).group_name)


def all_gather_into_tensor_coalesced(self: list[torch.Tensor], group: Any, tag: str = "") -> list[torch.Tensor]:
    """`all_gather_single` of each of some tensors, along the first dimension."""
    group = _resolve(group)
    return _ops.all_gather_into_tensor_coalesced(self, group.size(), group.group_name)


def reduce_scatter_tensor_coalesced(
    inputs: list[torch.Tensor], reduceOp: str, scatter_dim: list[int], group: Any, tag: str = ""
) -> list[torch.Tensor]:
    """`reduce_scatter_single` of each of some tensors, each along its own dimension of `scatter_dim`."""
    if len(scatter_dim) != len(inputs):
        raise AssertionError(f"Length of scatter_dim ({len(scatter_dim)}) must equal length of inputs ({len(inputs)})")
    group = _resolve(group)
    for each, dim in zip(inputs, scatter_dim, strict=True):
        if each.size(dim) % group.size():
            raise AssertionError(
                f"input dimension {dim} ({each.size(dim)}) must be a multiple of group_size {group.size()}"
            )
    rows = [
        torch.cat(each.chunk(group.size(), dim)) if dim else each for each, dim in zip(inputs, scatter_dim, strict=True)
    ]
    return _ops.reduce_scatter_tensor_coalesced(rows, reduceOp.lower(), group.size(), group.group_name)


def all_to_all_single(
    self: torch.Tensor,
    output_split_sizes: list[int] | None,
    input_split_sizes: list[int] | None,
    group: Any,
    tag: str = "",
) -> torch.Tensor:
    """The parts that the ranks send to this one, one after the other; without sizes equally large ones go around."""
    group = _resolve(group)
    if (output_split_sizes is None) != (input_split_sizes is None):
        raise AssertionError(
            "output_split_sizes and input_split_sizes must either be specified together or both set to None"
        )
    if output_split_sizes is None:
        output_split_sizes = input_split_sizes = [self.shape[0] // group.size()] * group.size()
    return _ops.all_to_all_single(self, output_split_sizes, input_split_sizes, group.group_name)


def permute_tensor(self: torch.Tensor, src_dst: list[int], group: Any, tag: str = "") -> torch.Tensor:
    """The tensor of the rank whose `src_dst` names this one: rank `r` sends its own to rank `src_dst[r]`."""
    resolved = _resolve(group)
    sent, received = [0] * resolved.size(), [0] * resolved.size()
    for source, destination in enumerate(src_dst):
        if source == resolved.rank():
            sent[destination] = self.numel()
        if destination == resolved.rank():
            received[source] = self.numel()
    return all_to_all_single(self, received, sent, resolved, tag)


# PyTorch's older names, and those from before these had gradients.
all_gather_tensor = all_gather_tensor_autograd = all_gather_single_autograd = all_gather_single
reduce_scatter_tensor = reduce_scatter_tensor_autograd = reduce_scatter_single_autograd = reduce_scatter_single
all_to_all_single_autograd = all_to_all_single
