"""The sparsifier of all but a matrix's middle."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2.ao.pruning.sparsifier.base_sparsifier import BaseSparsifier

__all__ = ["NearlyDiagonalSparsifier"]


class NearlyDiagonalSparsifier(BaseSparsifier):
    """Keep the diagonal of a matrix, and as many beside it as make `nearliness`, an odd number.

    >>> model = torch.nn.Sequential(torch.nn.Linear(3, 3))
    >>> sparsifier = torch.ao.pruning.NearlyDiagonalSparsifier(nearliness=1)
    >>> sparsifier.prepare(model, config=None)
    >>> sparsifier.step()
    >>> model[0].parametrizations.weight[0].mask
    tensor([[1., 0., 0.],
            [0., 1., 0.],
            [0., 0., 1.]])
    """

    def __init__(self, nearliness: int = 1) -> None:
        super().__init__(defaults={"nearliness": nearliness})

    def update_mask(self, module: Any, tensor_name: str, nearliness: int, **kwargs: Any) -> None:  # type: ignore[override]  # (settings are named)
        """Mask a matrix; ValueError for an even width, or one beyond the matrix."""
        mask = getattr(module.parametrizations, tensor_name)[0].mask
        mask.data = torch.zeros_like(mask)
        if nearliness <= 0:
            return
        if nearliness % 2 == 0:
            raise ValueError("nearliness can only be an odd number")
        away = nearliness // 2
        if away >= min(getattr(module, tensor_name).shape):
            raise ValueError("nearliness cannot be larger than the dimensions of tensor.")
        rows, columns = (torch.arange(size, device=mask.device) for size in mask.shape)
        mask[(rows[:, None] - columns).abs() <= away] = 1
