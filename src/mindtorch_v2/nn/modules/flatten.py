"""Layers that join dimensions into one or split one into several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .module import Module

if TYPE_CHECKING:
    from ..._tensor import Tensor


__all__ = ["Flatten", "Unflatten"]


class Flatten(Module):
    """Join the dimensions `start_dim` to `end_dim` into one.

    >>> import mindtorch_v2 as torch
    >>> torch.nn.Flatten()(torch.zeros(2, 3, 4)).shape
    torch.Size([2, 12])
    """

    __constants__ = ["start_dim", "end_dim"]

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim = start_dim
        self.end_dim = end_dim

    def forward(self, input: Tensor) -> Tensor:
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """Split dimension `dim` into `unflattened_size`, a tuple of ints of which one may be -1.

    >>> torch.nn.Unflatten(1, (2, 3))(torch.ones(4, 6)).shape
    torch.Size([4, 2, 3])
    """

    __constants__ = ["dim", "unflattened_size"]

    def __init__(self, dim: int, unflattened_size: Sequence[int]) -> None:
        super().__init__()
        if isinstance(dim, int):
            self._require_tuple_int(unflattened_size)
        elif isinstance(dim, str):
            raise NotImplementedError("Unflatten: named dimensions are not implemented; give 'dim' as an int")
        else:
            raise TypeError("invalid argument type for dim parameter")
        self.dim = dim
        self.unflattened_size = unflattened_size

    def _require_tuple_int(self, input) -> None:
        if not isinstance(input, (tuple, list)):
            raise TypeError(f"unflattened_size must be a tuple of ints, but found type {type(input).__name__}")
        for idx, elem in enumerate(input):
            if not isinstance(elem, int):
                raise TypeError(
                    f"unflattened_size must be tuple of ints, but found element of type {type(elem).__name__} "
                    f"at pos {idx}"
                )

    def forward(self, input: Tensor) -> Tensor:
        return input.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"
