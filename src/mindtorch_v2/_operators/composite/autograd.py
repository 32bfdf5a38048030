"""Operators that the backward engine and autograd's users rely on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..table import S, T, aten, composite

if TYPE_CHECKING:
    from ..._tensor import Tensor


@composite(
    "sum_to_size(Tensor self, SymInt[] size) -> Tensor",
    "Sum over broadcast dimensions so that the result has `size`.",
    bind="method",
    samples=[S(T(3, 4), (1, 4)), S(T(2, 3, 4), (4,))],
)
def sum_to_size(self: Tensor, size: Sequence[int]) -> Tensor:
    size = tuple(size)
    if not size:
        return aten.sum(self)
    extra = self.dim() - len(size)
    if extra < 0 or any(n not in (1, m) for n, m in zip(size, self.shape[extra:], strict=True)):
        raise RuntimeError(f"size {{{list(size)}}} is not expandable to size {{{list(self.shape)}}}.")
    dims = [*range(extra), *(i for i in range(extra, self.dim()) if size[i - extra] == 1 and self.shape[i] != 1)]
    result = aten.sum(self, dims, keepdim=True) if dims else self
    return aten.view(result, size) if extra else result


@composite(
    "_is_all_true(Tensor self) -> Tensor",
    "Whether every element of a boolean tensor is true, as a 0-dim tensor.",
    bind="function method",
    samples=[S(T(3, dtype="bool"))],
    dtypes="bool",
)
def _is_all_true(self):
    return aten.all(self)


@composite(
    "_is_any_true(Tensor self) -> Tensor",
    "Whether any element of a boolean tensor is true, as a 0-dim tensor.",
    bind="function method",
    samples=[S(T(3, dtype="bool"))],
    dtypes="bool",
)
def _is_any_true(self):
    return aten.any(self)
