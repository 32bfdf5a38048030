"""Arithmetic as modules, so that what comes of it can be observed."""

from __future__ import annotations

from typing import NoReturn

import mindtorch_v2 as torch
from mindtorch_v2 import nn

__all__ = ["FXFloatFunctional", "FloatFunctional"]


class _Arithmetic(nn.Module):
    """A method for each operation."""

    def forward(self, x: torch.Tensor) -> NoReturn:
        """RuntimeError: there is a method for each operation."""
        raise RuntimeError("FloatFunctional is not intended to use the 'forward'. Please use the underlying operation")

    def _seen(self, result: torch.Tensor) -> torch.Tensor:
        return result

    def add(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """`x + y`."""
        return self._seen(torch.add(x, y))

    def add_scalar(self, x: torch.Tensor, y: float) -> torch.Tensor:
        """`x + y` of a number."""
        return torch.add(x, y)

    def mul(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """`x * y`."""
        return self._seen(torch.mul(x, y))

    def mul_scalar(self, x: torch.Tensor, y: float) -> torch.Tensor:
        """`x * y` of a number."""
        return torch.mul(x, y)

    def cat(self, x: list[torch.Tensor], dim: int = 0) -> torch.Tensor:
        """The tensors one after another."""
        return self._seen(torch.cat(x, dim=dim))

    def add_relu(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """`max(0, x + y)`."""
        return self._seen(torch.relu(torch.add(x, y)))

    def matmul(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """The matrix product."""
        return self._seen(torch.matmul(x, y))


class FXFloatFunctional(_Arithmetic):
    """Arithmetic of floating point tensors by methods, as a quantised model would have it.

    >>> torch.ao.nn.quantized.FXFloatFunctional().add(torch.ones(2), torch.ones(2))
    tensor([2., 2.])
    """


class FloatFunctional(_Arithmetic):
    """Arithmetic of floating point tensors by methods; each result but those with numbers goes through `activation_post_process`, where an observer may stand.

    >>> arithmetic = torch.ao.nn.quantized.FloatFunctional()
    >>> arithmetic
    FloatFunctional(
      (activation_post_process): Identity()
    )
    >>> arithmetic.mul(torch.ones(2), torch.tensor([2.0, 3.0]))
    tensor([2., 3.])
    """

    def __init__(self) -> None:
        super().__init__()
        self.activation_post_process = nn.Identity()

    def _seen(self, result: torch.Tensor) -> torch.Tensor:
        seen: torch.Tensor = self.activation_post_process(result)
        return seen
