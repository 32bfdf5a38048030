"""Comparisons that are made of other operators."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..table import S, T, aten, composite

if TYPE_CHECKING:
    from ..._tensor import Tensor


@composite(
    "allclose(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False) -> bool",
    "Whether all elements are close; see `isclose`.",
    bind="function method",
    tags="data_dependent_output",
    samples=[S(T(3, 4, grad=False), T(3, 4, grad=False))],
)
def allclose(self: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    return bool(aten.all(aten.isclose(self, other, rtol, atol, equal_nan)).item())


@composite(
    "is_nonzero(Tensor self) -> bool",
    "Whether the one element of the tensor is not 0.",
    bind="function method",
    gives_value=True,
    samples=[S(T(1, grad=False))],
)
def is_nonzero(self: Tensor) -> bool:
    n = self.numel()
    if n == 0:
        raise RuntimeError("Boolean value of Tensor with no values is ambiguous")
    if n > 1:
        raise RuntimeError("Boolean value of Tensor with more than one value is ambiguous")
    return bool(self.item() != 0)


@composite(
    "isreal(Tensor self) -> Tensor",
    "True where the imaginary part is 0.",
    bind="function method",
    samples=[S(T(3, 4, grad=False))],
    dtypes="all",
)
def isreal(self: Tensor) -> Tensor:
    if self.is_complex():
        return aten.imag(self) == 0
    return aten.ones_like(self, dtype=aten.eq(self, self).dtype)
