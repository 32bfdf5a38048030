"""Placements: how a tensor lies along one dimension of a mesh of ranks.

Their public place is `torch.distributed.tensor.placement_types`; the rules of operators speak of them, and stand below.
"""

from __future__ import annotations

import dataclasses
from typing import Any

__all__ = ["NormPartial", "Partial", "Placement", "Replicate", "Shard", "StridedShard", "chunk_bounds"]

_PUBLIC = "mindtorch_v2.distributed.tensor.placement_types"


def chunk_bounds(size: int, parts: int, index: int) -> tuple[int, int]:
    """(start, length) of a part of a dimension, as `torch.chunk` cuts it; parts at the end may be shorter or empty."""
    step = -(-size // parts)
    start = min(size, step * index)
    return start, min(step, size - start)


def _lengthened(tensor: Any, dim: int, by: int) -> Any:
    """The tensor with zeros behind it along a dimension."""
    shape = list(tensor.shape)
    shape[dim] += by
    made = tensor.new_zeros(shape)
    made.narrow(dim, 0, tensor.shape[dim]).copy_(tensor)
    return made


class Placement:
    """How a tensor lies along one dimension of a mesh: `Shard`, `Replicate` or `Partial`.

    >>> from mindtorch_v2.distributed.tensor import Partial, Placement, Replicate, Shard
    >>> [isinstance(each, Placement) for each in (Shard(0), Replicate(), Partial())], Shard(0).is_shard(dim=1)
    ([True, True, True], False)
    """

    __module__ = _PUBLIC

    def is_shard(self, dim: int | None = None) -> bool:
        """Whether ranks hold pieces, cut along `dim` or, if it is None, along any dimension."""
        return isinstance(self, Shard) and (dim is None or self.dim == dim)

    def is_replicate(self) -> bool:
        """Whether all ranks hold the whole."""
        return isinstance(self, Replicate)

    def is_partial(self, reduce_op: str | None = None) -> bool:
        """Whether the ranks' tensors have to be combined (by `reduce_op`, if it is given) to be the whole."""
        return isinstance(self, Partial) and reduce_op in (None, self.reduce_op)


class Shard(Placement):
    """Each rank holds a piece, cut along the dimension `dim`. Pieces are those of `torch.chunk`: the last may be shorter.

    >>> from mindtorch_v2.distributed.tensor import Shard
    >>> Shard(1), Shard(1).dim, Shard(1) == Shard(0)
    (Shard(dim=1), 1, False)
    """

    __module__ = _PUBLIC

    def __init__(self, dim: int) -> None:
        self.dim = dim

    @staticmethod
    def local_shard_size_and_offset(curr_local_size: int, num_chunks: int, rank: int) -> tuple[int, int]:
        """(length, start) of a rank's piece of a dimension."""
        start, length = chunk_bounds(curr_local_size, num_chunks, rank)
        return length, start

    def _local_shard_size_and_offset(self, curr_local_size: int, num_chunks: int, rank: int) -> tuple[int, int]:
        return self.local_shard_size_and_offset(curr_local_size, num_chunks, rank)

    def _split_tensor(
        self, tensor: Any, num_chunks: int, *, with_padding: bool = True, contiguous: bool = True
    ) -> tuple[list[Any], list[int]]:
        """(pieces, by how much each was lengthened): with padding all pieces are as long as the first."""
        if not -tensor.dim() <= self.dim < tensor.dim():
            raise AssertionError(f"Sharding dim {self.dim} greater than tensor ndim {tensor.dim()}")
        size = tensor.shape[self.dim]
        bounds = [chunk_bounds(size, num_chunks, index) for index in range(num_chunks)]
        pieces = [tensor.narrow(self.dim, start, length) for start, length in bounds]
        lacking = []
        if with_padding:
            lacking = [bounds[0][1] - length for _, length in bounds]
            pieces = [
                _lengthened(piece, self.dim, by) if by else piece for piece, by in zip(pieces, lacking, strict=True)
            ]
        return [piece.contiguous() for piece in pieces] if contiguous else pieces, lacking

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash((type(self).__name__, *self.__dict__.values()))

    def __repr__(self) -> str:
        return f"Shard(dim={self.dim})"

    def __str__(self) -> str:
        return f"S({self.dim})"


class StridedShard(Shard):
    """A piece of what a later dimension of the mesh has cut before: `fully_shard` of a tensor that is sharded already.

    `split_factor` is the number of pieces of the earlier cut.
    """

    __module__ = _PUBLIC

    def __init__(self, dim: int, *, split_factor: int) -> None:
        super().__init__(dim)
        self.split_factor = split_factor

    def __repr__(self) -> str:
        return f"_StridedShard(dim={self.dim}, sf={self.split_factor})"

    def __str__(self) -> str:
        return f"_S({self.dim}, {self.split_factor})"

    __hash__ = Shard.__hash__


StridedShard.__name__ = StridedShard.__qualname__ = "_StridedShard"


@dataclasses.dataclass(frozen=True)
class Replicate(Placement):
    """Each rank holds the whole tensor.

    >>> from mindtorch_v2.distributed.tensor import Replicate
    >>> Replicate(), Replicate() == Replicate(), Replicate().is_replicate()
    (Replicate(), True, True)
    """

    def __repr__(self) -> str:
        return "Replicate()"

    def __str__(self) -> str:
        return "R"


Replicate.__module__ = _PUBLIC


@dataclasses.dataclass(frozen=True)
class Partial(Placement):
    """Each rank holds a tensor of the whole's size; combined by `reduce_op` ("sum", "avg", "max", ...) they are the whole.

    >>> from mindtorch_v2.distributed.tensor import DTensor, Partial
    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> mesh = dist.init_device_mesh("cpu", (1,))
    >>> x = DTensor.from_local(torch.tensor([1.0, 2.0]), mesh, [Partial("sum")])
    >>> x.full_tensor()
    tensor([1., 2.])
    >>> dist.destroy_process_group()
    """

    reduce_op: str = "sum"

    def __repr__(self) -> str:
        return f"Partial({self.reduce_op})"

    def __str__(self) -> str:
        return f"P({self.reduce_op})"

    @property
    def linear(self) -> bool:
        """Whether linear operators may be applied before the ranks' tensors are combined."""
        return self.reduce_op in ("sum", "avg")

    def before(self, local: Any) -> Any:
        """The part of a rank's tensor that is combined."""
        return local

    def after(self, combined: Any) -> Any:
        """The whole, of what was combined."""
        return combined


Partial.__module__ = _PUBLIC


@dataclasses.dataclass(frozen=True, repr=False)
class NormPartial(Partial):
    """Norms of pieces, of which the norm of the whole is made: sums of powers are combined, or extremes."""

    norm_type: float = 2.0

    def __repr__(self) -> str:
        return f"_NormPartial(reduce_op={self.reduce_op}, norm_type={self.norm_type})"

    @property
    def linear(self) -> bool:
        return False

    def before(self, local: Any) -> Any:
        return local**self.norm_type if self.reduce_op == "sum" and self.norm_type != 0 else local

    def after(self, combined: Any) -> Any:
        return combined ** (1.0 / self.norm_type) if self.reduce_op == "sum" and self.norm_type != 0 else combined


NormPartial.__module__ = _PUBLIC
NormPartial.__name__ = NormPartial.__qualname__ = "_NormPartial"
