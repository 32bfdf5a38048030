"""The results, without data, of operators whose sizes the values decide, for a size that stands for what they will be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mindtorch_v2 as torch

__all__ = ["SIZED_BY_DATA"]


def _nonzero(size: int, self: torch.Tensor) -> Any:
    return self.new_empty((size, self.dim()), dtype=torch.int64)


def _masked_select(size: int, self: torch.Tensor, mask: torch.Tensor) -> Any:
    return self.new_empty((size,))


def _index(size: int, self: torch.Tensor, indices: Any) -> Any:
    """A mask selects as so many tensors of positions as it has dimensions."""
    places: list[Any] = []
    for index in indices:
        if index is None or index.dtype not in (torch.bool, torch.uint8):
            places.append(index)
        else:
            places += [index.new_empty((size,), dtype=torch.int64) for _ in range(index.dim())]
    return torch.ops.aten.index.Tensor(self, places)


def _unique(
    size: int,
    self: torch.Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    shape, positions = [size], tuple(self.shape)
    if dim is not None:
        shape, positions = list(self.shape), (self.shape[dim],)
        shape[dim] = size
    inverse = self.new_empty(positions if return_inverse else (0,), dtype=torch.int64)
    counts = self.new_empty((size if return_counts else 0,), dtype=torch.int64)
    return self.new_empty(shape), inverse, counts


def _unique_pair(size: int, self: torch.Tensor, sorted: bool = True, return_inverse: bool = False) -> Any:
    return _unique(size, self, sorted, return_inverse)[:2]


def _bincount(size: int, self: torch.Tensor, weights: torch.Tensor | None = None, minlength: int = 0) -> Any:
    dtype = torch.int64 if weights is None else torch.float32 if weights.dtype is torch.float32 else torch.float64
    return self.new_empty((size,), dtype=dtype)


def _repeat_interleave(size: int, repeats: torch.Tensor, output_size: int | None = None) -> Any:
    return repeats.new_empty((size,), dtype=torch.int64)


SIZED_BY_DATA: dict[str, Callable[..., Any]] = {
    "aten::nonzero": _nonzero,
    "aten::masked_select": _masked_select,
    "aten::index": _index,
    "aten::_unique2": _unique,
    "aten::_unique": _unique_pair,
    "aten::unique_dim": _unique,
    "aten::unique_consecutive": _unique,
    "aten::bincount": _bincount,
    "aten::repeat_interleave": _repeat_interleave,
}
