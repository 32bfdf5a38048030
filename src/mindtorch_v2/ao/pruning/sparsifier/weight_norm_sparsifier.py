"""The sparsifier of blocks with small weights."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2.ao.pruning.sparsifier.base_sparsifier import BaseSparsifier
from mindtorch_v2.nn import functional as F

__all__ = ["WeightNormSparsifier"]


class WeightNormSparsifier(BaseSparsifier):
    """Zeros in the blocks of a matrix whose norms are the least.

    Args:
        sparsity_level: the share of blocks with zeros.
        sparse_block_shape: a block's rows and columns.
        zeros_per_block: how many zeros, the smallest elements, such a block gets; by default all.
        norm: 1, 2, or a function of a tensor that gives what counts of each element.

    >>> model = torch.nn.Sequential(torch.nn.Linear(4, 1))
    >>> _ = torch.nn.init.constant_(model[0].weight, 3.0)
    >>> with torch.no_grad():
    ...     model[0].weight[0, 2:] = 1.0
    >>> sparsifier = torch.ao.pruning.WeightNormSparsifier(sparsity_level=0.5, sparse_block_shape=(1, 2))
    >>> sparsifier.prepare(model, config=None)
    >>> sparsifier.step()
    >>> model[0].weight.detach()
    tensor([[3., 3., 0., 0.]])
    """

    def __init__(
        self,
        sparsity_level: float = 0.5,
        sparse_block_shape: tuple[int, int] = (1, 4),
        zeros_per_block: int | None = None,
        norm: Callable[[Any], Any] | int | None = None,
    ) -> None:
        size = math.prod(sparse_block_shape)
        if callable(norm):
            self.norm_fn: Callable[[Any], Any] = norm
        elif norm == 1:
            self.norm_fn = torch.abs
        elif norm in (None, 2):
            self.norm_fn = torch.square
        else:
            raise NotImplementedError(f"L-{norm} is not yet implemented.")
        super().__init__(
            defaults={
                "sparsity_level": sparsity_level,
                "sparse_block_shape": sparse_block_shape,
                "zeros_per_block": size if zeros_per_block is None else zeros_per_block,
            }
        )

    def _make_tensor_mask(
        self,
        data: torch.Tensor,
        input_shape: Any,
        sparsity_level: float,
        sparse_block_shape: tuple[int, int],
        mask: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Zeros in the share of blocks whose means are the least."""
        height, width = data.shape[-2:]
        rows, columns = (
            math.ceil(size / block) * block for size, block in zip((height, width), sparse_block_shape, strict=True)
        )
        if mask is None:
            mask = torch.ones(rows, columns, device=data.device)
        if sparsity_level >= 1.0 or sparsity_level <= 0.0:
            mask.data = torch.zeros_like(mask) if sparsity_level >= 1.0 else torch.ones_like(mask)
            return mask
        size = math.prod(sparse_block_shape)
        if size > 1:
            data = F.avg_pool2d(data[None, None, :], sparse_block_shape, sparse_block_shape, ceil_mode=True)
        means = data.flatten()
        count = max(0, min(len(means) - 1, round(sparsity_level * len(means))))
        _, places = torch.topk(means.repeat(1, size, 1), k=count, dim=2, largest=False)
        kept = torch.ones(1, size, len(means), dtype=mask.dtype, device=mask.device).scatter_(2, places, 0)
        folded = F.fold(kept, (rows, columns), sparse_block_shape, stride=sparse_block_shape)
        mask.data = folded.reshape(rows, columns)[:height, :width].contiguous()
        return mask

    def _make_block_mask(
        self,
        data: torch.Tensor,
        sparse_block_shape: tuple[int, int],
        zeros_per_block: int,
        mask: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Zeros in place of the smallest elements of each block."""
        height, width = data.shape[-2:]
        rows, columns = (
            math.ceil(size / block) * block for size, block in zip((height, width), sparse_block_shape, strict=True)
        )
        if mask is None:
            mask = torch.ones((rows, columns), device=data.device)
        if math.prod(sparse_block_shape) == zeros_per_block:
            mask.data = torch.zeros_like(mask)
            return mask
        padded = torch.full((rows, columns), torch.nan, dtype=data.dtype, device=data.device)
        padded[:height, :width] = data
        blocks = F.unfold(padded[None, None, :], sparse_block_shape, stride=sparse_block_shape)
        _, places = torch.topk(blocks, k=zeros_per_block, dim=1, largest=False)
        kept = torch.ones(blocks.shape, dtype=mask.dtype, device=mask.device).scatter_(1, places, 0)
        folded = F.fold(kept, (rows, columns), sparse_block_shape, stride=sparse_block_shape)
        mask.data = folded.reshape(rows, columns).contiguous()
        return mask

    def update_mask(  # type: ignore[override]  # (settings are named)
        self,
        module: Any,
        tensor_name: str,
        sparsity_level: float,
        sparse_block_shape: tuple[int, int],
        zeros_per_block: int,
        **kwargs: Any,
    ) -> None:
        """Mask a matrix; ValueError for more zeros in a block than it has elements."""
        size = math.prod(sparse_block_shape)
        if zeros_per_block > size:
            raise ValueError(
                "Number of zeros per block cannot be more than the total number of elements in that block."
            )
        if zeros_per_block < 0:
            raise ValueError("Number of zeros per block should be positive.")
        mask = getattr(module.parametrizations, tensor_name)[0].mask
        if sparsity_level <= 0 or zeros_per_block == 0:
            mask.data = torch.ones_like(mask)
        elif sparsity_level >= 1.0 and zeros_per_block == size:
            mask.data = torch.zeros_like(mask)
        else:
            counted = self.norm_fn(getattr(module, tensor_name))
            made = self._make_tensor_mask(counted, counted.shape, sparsity_level, sparse_block_shape)
            if size != zeros_per_block:
                block = self._make_block_mask(counted, sparse_block_shape, zeros_per_block)
                made = torch.logical_or(made, block)
            mask.data = made
