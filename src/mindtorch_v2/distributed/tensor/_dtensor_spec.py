"""A distributed tensor without its elements: mesh, placements, size, strides and dtype of the whole."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import NamedTuple

import mindtorch_v2 as torch
from mindtorch_v2._behaviours.sharded import Placement, Replicate, Shard, StridedShard, chunk_bounds
from mindtorch_v2.distributed.device_mesh import DeviceMesh

__all__ = ["DTensorSpec", "TensorMeta"]


class TensorMeta(NamedTuple):
    """Size, strides and dtype of a whole tensor."""

    shape: torch.Size
    stride: tuple[int, ...]
    dtype: torch.dtype


@dataclasses.dataclass(frozen=True)
class DTensorSpec:
    """Where the pieces of a tensor are.

    mesh: the ranks.
    placements: one for each dimension of the mesh.
    tensor_meta: what the whole tensor is like.
    """

    mesh: DeviceMesh
    placements: tuple[Placement, ...]
    tensor_meta: TensorMeta

    @property
    def device_mesh(self) -> DeviceMesh:
        """The mesh."""
        return self.mesh

    @property
    def shape(self) -> torch.Size:
        """The size of the whole tensor."""
        return self.tensor_meta.shape

    @property
    def stride(self) -> tuple[int, ...]:
        """The strides of the whole tensor."""
        return self.tensor_meta.stride

    @property
    def ndim(self) -> int:
        """How many dimensions the tensor has."""
        return len(self.tensor_meta.shape)

    @property
    def num_shards(self) -> int:
        """Into how many pieces the tensor is cut."""
        return math.prod(self.mesh.size(dim) for dim, each in enumerate(self.placements) if isinstance(each, Shard))

    @property
    def dim_map(self) -> list[int]:
        """For each dimension of the tensor the dimension of the mesh that cuts it, or -1."""
        found = [-1] * self.ndim
        for dim, each in enumerate(self.placements):
            if isinstance(each, Shard):
                found[each.dim] = dim
        return found

    @property
    def sums(self) -> list[int]:
        """The dimensions of the mesh over which the tensor has yet to be combined."""
        return [dim for dim, each in enumerate(self.placements) if each.is_partial()]

    def is_replicated(self) -> bool:
        """Whether every rank holds the whole."""
        return all(isinstance(each, Replicate) for each in self.placements)

    def is_sharded(self) -> bool:
        """Whether the tensor is cut."""
        return any(isinstance(each, Shard) for each in self.placements)

    def piece(self, coordinate: Sequence[int] | None = None) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """(size, offsets) of the piece of the rank at that place in the mesh; this rank's by default.

        A rank that is not in the mesh has nothing.
        """
        place = self.mesh.get_coordinate() if coordinate is None else coordinate
        size, offset = list(self.shape), [0] * self.ndim
        if place is None:
            return (0,), (0,)
        for dim in nested(self.placements):
            cut: Shard = self.placements[dim]  # type: ignore[assignment]  # (as PyTorch has it)
            start, length = chunk_bounds(size[cut.dim], self.mesh.size(dim), place[dim])
            size[cut.dim] = length
            offset[cut.dim] += start
        return tuple(size), tuple(offset)

    def with_placements(self, placements: Sequence[Placement]) -> DTensorSpec:
        """The same tensor, lying otherwise."""
        return DTensorSpec(self.mesh, tuple(placements), self.tensor_meta)


DTensorSpec.__module__ = "mindtorch_v2.distributed.tensor._dtensor_spec"


def nested(placements: Sequence[Placement]) -> list[int]:
    """The dimensions of a mesh that cut the tensor, outermost cuts first: strided ones cut what the others left."""
    cuts = [dim for dim, each in enumerate(placements) if isinstance(each, Shard)]
    return sorted(cuts, key=lambda dim: (isinstance(placements[dim], StridedShard), dim))


def meta_of(tensor: torch.Tensor) -> TensorMeta:
    """Size, strides and dtype of a tensor."""
    return TensorMeta(tensor.shape, tuple(tensor.stride()), tensor.dtype)


def contiguous_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """The strides of a tensor whose last dimension is densest."""
    strides = [1] * len(shape)
    for dim in range(len(shape) - 2, -1, -1):
        strides[dim] = strides[dim + 1] * max(1, shape[dim + 1])
    return tuple(strides)
