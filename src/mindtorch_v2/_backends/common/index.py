"""The meaning of an indexing by tensors, for back ends whose device reads and writes at places: masks and the result's sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..._core.dtype import DTYPES
from ..._operators.table import aten

if TYPE_CHECKING:
    from ..._tensor import Tensor


def as_places(self: Tensor, indices: Sequence[Tensor | None]) -> list[Any]:
    """Indices as places on the tensor's device; a mask gives one for each of its dimensions, which waits for the device.

    Raises:
        IndexError: a mask of other sizes than the tensor's, or more indices than dimensions.
    """
    places: list[Any] = []
    for index in indices:
        if index is None:
            places.append(None)
        elif index.dtype in (DTYPES["bool"], DTYPES["uint8"]):
            at = len(places)
            if tuple(index.shape) != tuple(self.shape[at : at + index.dim()]):
                raise IndexError(
                    f"The shape of the mask {list(index.shape)} at index 0 does not match the shape of the indexed tensor "
                    f"{list(self.shape)} at index {at}"
                )
            places.extend(aten.unbind(aten.nonzero(index.to(self.device)), 1))
        else:
            places.append(index.to(self.device))
    if len(places) > self.dim():
        raise IndexError(f"too many indices for tensor of dimension {self.dim()} (got {len(places)})")
    return places


def result_layout(dims: int, places: Sequence[Tensor | None]) -> tuple[list[int], list[int], list[int]]:
    """(dimensions before, indexed dimensions, dimensions behind) of an indexed tensor: where those of the indices go.

    Indices that are not next to each other put theirs first, as in NumPy.
    """
    indexed = [d for d, place in enumerate(places) if place is not None]
    whole = [d for d in range(dims) if d not in indexed]
    if indexed[-1] - indexed[0] + 1 != len(indexed):
        return [], indexed, whole
    return [d for d in whole if d < indexed[0]], indexed, [d for d in whole if d > indexed[0]]


def result_sizes(self: Tensor, places: Sequence[Tensor | None]) -> list[int]:
    """Sizes of the result of an indexing."""
    common = aten.broadcast_tensors([place for place in places if place is not None])[0].shape
    before, _, after = result_layout(self.dim(), places)
    return [*(self.shape[d] for d in before), *common, *(self.shape[d] for d in after)]
