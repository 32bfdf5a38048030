"""Views, their gradients, and operators that put tensors together or apart, in terms of simpler ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2._decomp._registry import register_decomposition

aten = torch.ops.aten

__all__: list[str] = []


@register_decomposition(aten.transpose.int)
def transpose(self: torch.Tensor, dim0: int, dim1: int) -> torch.Tensor:
    if self.dim() == 0:
        return aten.alias.default(self)
    order = list(range(self.dim()))
    order[dim0], order[dim1] = order[dim1], order[dim0]
    return torch.permute(self, order)


@register_decomposition(aten.t.default)
def t(self: torch.Tensor) -> torch.Tensor:
    return torch.permute(self, list(reversed(range(self.dim()))))


@register_decomposition(aten.squeeze.default)
def squeeze(self: torch.Tensor) -> torch.Tensor:
    return aten.squeeze.dims(self, [dim for dim, size in enumerate(self.shape) if size == 1])


@register_decomposition([aten._unsafe_view.default])
def unsafe_view(self: torch.Tensor, size: Sequence[int]) -> torch.Tensor:
    return aten.view.default(self, size)


@register_decomposition(aten._reshape_alias.default)
def reshape_alias(self: torch.Tensor, size: Sequence[int], stride: Sequence[int]) -> torch.Tensor:
    return aten.view.default(self, size)


@register_decomposition(aten.stack.default)
def stack(tensors: Sequence[torch.Tensor], dim: int = 0) -> torch.Tensor:
    return torch.cat([torch.unsqueeze(each, dim) for each in tensors], dim)


@register_decomposition(aten.unbind.int)
def unbind(self: torch.Tensor, dim: int = 0) -> list[torch.Tensor]:
    return [torch.select(self, dim, place) for place in range(self.shape[dim])]


def _pieces(self: torch.Tensor, sizes: Sequence[int], dim: int) -> list[torch.Tensor]:
    pieces, start = [], 0
    for size in sizes:
        pieces.append(aten.slice.Tensor(self, dim, start, start + size))
        start += size
    return pieces


def _equal_parts(length: int, split_size: int) -> list[int]:
    count = max((length + split_size - 1) // split_size, 1) if split_size else 1
    return [split_size] * (count - 1) + [length - split_size * (count - 1)]


@register_decomposition(aten.split.Tensor)
def split(self: torch.Tensor, split_size: int, dim: int = 0) -> Sequence[torch.Tensor]:
    return aten.split_with_sizes.default(self, _equal_parts(self.shape[dim], split_size), dim)


@register_decomposition(aten.unsafe_split.Tensor)
def unsafe_split(self: torch.Tensor, split_size: int, dim: int = 0) -> list[torch.Tensor]:
    return _pieces(self, _equal_parts(self.shape[dim], split_size), dim)


@register_decomposition(aten.unsafe_split_with_sizes.default)
def unsafe_split_with_sizes(self: torch.Tensor, split_sizes: Sequence[int], dim: int = 0) -> list[torch.Tensor]:
    return _pieces(self, split_sizes, dim)


@register_decomposition(aten.roll.default)
def roll(self: torch.Tensor, shifts: Sequence[int] | int, dims: Sequence[int] | int = ()) -> torch.Tensor:
    shifts = [shifts] if isinstance(shifts, int) else list(shifts)
    dims = [dims] if isinstance(dims, int) else list(dims)
    if not dims:
        return roll(self.reshape(-1), shifts, [0]).reshape(self.shape)
    if self.numel() == 0:
        return self.clone()
    for shift, dim in zip(shifts, dims, strict=True):
        start = -shift % self.shape[dim]
        rest = self.shape[dim] - start
        self = torch.cat([torch.narrow(self, dim, start, rest), torch.narrow(self, dim, 0, start)], dim)
    return self


def _distances(self: torch.Tensor) -> torch.Tensor:
    """How far each place of a matrix lies to the right of its diagonal."""
    rows, columns = (torch.arange(size, device=self.device) for size in self.shape[-2:])
    return columns - rows.unsqueeze(-1)


@register_decomposition(aten.tril.default)
def tril(self: torch.Tensor, diagonal: int = 0) -> torch.Tensor:
    return torch.where(_distances(self) <= diagonal, self, torch.zeros((), dtype=self.dtype, device=self.device))


@register_decomposition(aten.triu.default)
def triu(self: torch.Tensor, diagonal: int = 0) -> torch.Tensor:
    return torch.where(_distances(self) >= diagonal, self, torch.zeros((), dtype=self.dtype, device=self.device))


@register_decomposition(aten.diag_embed.default)
def diag_embed(self: torch.Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> torch.Tensor:
    rank = self.dim() + 1
    dim1, dim2 = dim1 % rank, dim2 % rank
    if dim1 > dim2:
        dim1, dim2, offset = dim2, dim1, -offset
    length = self.shape[-1] + abs(offset)
    pad = list(self.shape[:-1]) + [abs(offset)]
    empty = torch.zeros(pad, dtype=self.dtype, device=self.device)
    line = torch.cat([empty, self] if offset >= 0 else [self, empty], -1)
    line = line.unsqueeze(dim1).movedim(-1, dim2)
    at = torch.arange(length, device=self.device)
    shape = [1] * rank
    shape[dim2] = length
    below = at.reshape(shape)
    shape[dim2], shape[dim1] = 1, length
    above = at.reshape(shape) + offset
    return torch.where(below == above, line, torch.zeros((), dtype=self.dtype, device=self.device))


# ---- gradients ----


@register_decomposition(aten.select_backward.default)
def select_backward(grad_output: torch.Tensor, input_sizes: Sequence[int], dim: int, index: int) -> torch.Tensor:
    return aten.select_scatter.default(grad_output.new_zeros(input_sizes), grad_output, dim, index)


@register_decomposition(aten.slice_backward.default)
def slice_backward(
    grad_output: torch.Tensor, input_sizes: Sequence[int], dim: int, start: int, end: int, step: int
) -> torch.Tensor:
    return aten.slice_scatter.default(grad_output.new_zeros(input_sizes), grad_output, dim, start, end, step)


@register_decomposition(aten.diagonal_backward.default)
def diagonal_backward(
    grad_output: torch.Tensor, input_sizes: Sequence[int], offset: int, dim1: int, dim2: int
) -> torch.Tensor:
    return torch.diagonal_scatter(grad_output.new_zeros(input_sizes), grad_output, offset, dim1, dim2)


@register_decomposition(aten.unfold_backward.default)
def unfold_backward(grad_in: torch.Tensor, input_sizes: Sequence[int], dim: int, size: int, step: int) -> torch.Tensor:
    if not input_sizes:
        return torch.squeeze(grad_in, 0)
    dim = dim % len(input_sizes)
    places = torch.arange(input_sizes[dim], device=grad_in.device).unfold(0, size, step).reshape(-1)
    rows = grad_in.movedim(-1, dim + 1).flatten(dim, dim + 1)
    index: list[Any] = [None] * dim + [places]
    return torch.index_put(grad_in.new_zeros(input_sizes), index, rows, accumulate=True)


@register_decomposition(aten._unsafe_index.Tensor)
def unsafe_index(self: torch.Tensor, indices: Sequence[torch.Tensor | None]) -> torch.Tensor:
    return aten.index.Tensor(self, indices)


@register_decomposition(aten._unsafe_index_put.default)
def unsafe_index_put(
    self: torch.Tensor, indices: Sequence[torch.Tensor | None], values: torch.Tensor, accumulate: bool = False
) -> torch.Tensor:
    return aten.index_put.default(self, indices, values, accumulate)
