"""Products of matrices."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any

import mindtorch_v2 as torch

__all__ = ["ScalingType", "SwizzleType", "grouped_mm", "scaled_grouped_mm", "scaled_mm"]


class ScalingType(enum.IntEnum):
    """Blocks of a matrix that share a scale, in the calls of `scaled_mm`.

    >>> torch.nn.functional.ScalingType.TensorWise.value, torch.nn.functional.ScalingType.RowWise.value
    (0, 1)
    """

    TensorWise = 0
    RowWise = 1
    BlockWise1x16 = 2
    BlockWise1x32 = 3
    BlockWise1x128 = 4
    BlockWise128x128 = 5


class SwizzleType(enum.IntEnum):
    """Orders in which scales lie in memory, in the calls of `scaled_mm`.

    >>> torch.nn.functional.SwizzleType.NO_SWIZZLE.value
    0
    """

    NO_SWIZZLE = 0
    SWIZZLE_32_4_4 = 1


def grouped_mm(
    mat_a: torch.Tensor,
    mat_b: torch.Tensor,
    *,
    offs: torch.Tensor | None = None,
    bias: torch.Tensor | None = None,
    out_dtype: torch.dtype | None = None,
) -> torch.Tensor:
    """Matrix products of groups: rows of `mat_a` between the ends in `offs`, each by its own matrix of `mat_b`.

    >>> rows = torch.ones(3, 16, dtype=torch.bfloat16)
    >>> matrices = torch.stack([torch.full((16, 8), 1.0), torch.full((16, 8), 2.0)]).to(torch.bfloat16)
    >>> torch.nn.functional.grouped_mm(rows, matrices, offs=torch.tensor([1, 3], dtype=torch.int32))[:, 0]
    tensor([16., 32., 32.], dtype=torch.bfloat16)
    """
    return torch._grouped_mm(mat_a, mat_b, offs=offs, bias=bias, out_dtype=out_dtype)


def scaled_mm(
    mat_a: torch.Tensor,
    mat_b: torch.Tensor,
    scale_a: torch.Tensor | list[torch.Tensor],
    scale_recipe_a: Any,
    scale_b: torch.Tensor | list[torch.Tensor],
    scale_recipe_b: Any,
    swizzle_a: Any = None,
    swizzle_b: Any = None,
    bias: torch.Tensor | None = None,
    output_dtype: torch.dtype | None = torch.bfloat16,
    contraction_dim: Sequence[int] = (),
    use_fast_accum: bool = False,
) -> torch.Tensor:
    """Not implemented: products of scaled 8-bit floating-point matrices."""
    raise NotImplementedError("nn.functional.scaled_mm is not implemented")


def scaled_grouped_mm(
    mat_a: torch.Tensor,
    mat_b: torch.Tensor,
    scale_a: torch.Tensor | list[torch.Tensor],
    scale_recipe_a: Any,
    scale_b: torch.Tensor | list[torch.Tensor],
    scale_recipe_b: Any,
    swizzle_a: Any = None,
    swizzle_b: Any = None,
    bias: torch.Tensor | None = None,
    offs: torch.Tensor | None = None,
    output_dtype: torch.dtype | None = torch.bfloat16,
    contraction_dim: Sequence[int] = (),
    use_fast_accum: bool = False,
) -> torch.Tensor:
    """Not implemented: products of groups of scaled 8-bit floating-point matrices."""
    raise NotImplementedError("nn.functional.scaled_grouped_mm is not implemented")
