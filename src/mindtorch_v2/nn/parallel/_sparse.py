"""Sums of sparse tensors over ranks: each sends its entries, of which the ranks have different numbers."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch

__all__ = ["all_reduce_sparse"]


def all_reduce_sparse(tensor: torch.Tensor, group: Any) -> torch.Tensor:
    """The sum over the ranks of a group, coalesced; `tensor` stays as it is.

    RuntimeError for ranks whose tensors have different sizes, or different numbers of sparse dimensions.
    """
    dist = torch.distributed
    tensor = tensor.detach().coalesce()
    size, indices, values = dist.get_world_size(group), tensor.indices(), tensor.values()
    own = torch.tensor([tensor.sparse_dim(), indices.shape[1], *tensor.shape])
    kinds = [torch.empty_like(own) for _ in range(size)]
    dist.all_gather(kinds, own, group)
    for rank, kind in enumerate(kinds):
        if kind[0] != own[0] or not torch.equal(kind[2:], own[2:]):
            raise RuntimeError(
                f"all_reduce of sparse tensors: this rank's has the size {tuple(tensor.shape)}, of which {tensor.sparse_dim()} are sparse, "
                f"that of rank {rank} has {tuple(kind[2:].tolist())}, of which {int(kind[0])} are"
            )
    counts = [int(kind[1]) for kind in kinds]
    most = max(counts)
    if not most:
        return tensor
    return torch.sparse_coo_tensor(
        torch.cat(
            [part[:, :count] for part, count in zip(_gathered(indices, 1, most, size, group), counts, strict=True)], 1
        ),
        torch.cat([part[:count] for part, count in zip(_gathered(values, 0, most, size, group), counts, strict=True)]),
        tensor.shape,
    ).coalesce()


def _gathered(tensor, dim, count, size, group) -> list[torch.Tensor]:
    """The tensors of all ranks, filled up to `count` entries of a dimension."""
    shape = list(tensor.shape)
    shape[dim] = count
    padded = tensor.new_zeros(shape)
    padded.narrow(dim, 0, tensor.shape[dim]).copy_(tensor)
    parts = [torch.empty_like(padded) for _ in range(size)]
    torch.distributed.all_gather(parts, padded, group)
    return parts
