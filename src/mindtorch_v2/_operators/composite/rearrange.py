"""Orders, repetitions and diagonals that are made of native operators."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..._core.dimensions import wrap_dim
from ..table import S, T, aten, composite

if TYPE_CHECKING:
    from ..._tensor import Tensor


@composite(
    "combinations(Tensor self, int r=2, bool with_replacement=False) -> Tensor",
    "Choices of `r` elements, one row each.",
    bind="function",
    samples=[S(4), S(T(3), 2, True)],
)
def combinations(self: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    if self.dim() != 1:
        raise RuntimeError(f"Expect a 1D vector, but got shape {list(self.shape)}")
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}")
    if r == 0:
        return self.new_empty([0])
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    n = self.numel()
    count = math.comb(n + r - 1 if with_replacement and n else n, r)
    if count >= 1 << 63:
        raise RuntimeError(f"combinations: there is no memory for {count} rows")
    index = aten.full([count, r], 0, dtype=aten.arange(1).dtype, device=self.device)
    rows = list(choose(range(n), r)) if count else []
    for k, row in enumerate(rows):
        for j, value in enumerate(row):
            index[k, j] = value
    return self.index_select(0, index.reshape(-1)).reshape(len(rows), r)


@composite(
    "diag(Tensor self, int diagonal=0) -> Tensor",
    "The diagonal of a matrix, or the matrix with this diagonal.",
    bind="function method out",
    out_dtype="exact",
    samples=[S(3, 4), S(T(3), 1)],
    dtypes="all",
)
def diag(self: Tensor, diagonal: int = 0) -> Tensor:
    if self.dim() not in (1, 2):
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {self.dim()}D")
    return aten.diag_embed(self, diagonal) if self.dim() == 1 else aten.diagonal_copy(self, diagonal)


@composite(
    "diagflat(Tensor self, int offset=0) -> Tensor",
    "The matrix with the elements on its diagonal.",
    bind="function method",
    samples=[S(2, 2)],
)
def diagflat(self: Tensor, offset: int = 0) -> Tensor:
    return aten.diag_embed(self.reshape(-1), offset)


@composite("fliplr(Tensor self) -> Tensor", "Columns in reverse.", bind="function method", samples=[S(3, 4)])
def fliplr(self: Tensor) -> Tensor:
    if self.dim() < 2:
        raise RuntimeError("Input must be >= 2-d.")
    return self.flip(1)


@composite("flipud(Tensor self) -> Tensor", "Rows in reverse.", bind="function method", samples=[S(3, 4)])
def flipud(self: Tensor) -> Tensor:
    if self.dim() < 1:
        raise RuntimeError("Input must be >= 1-d.")
    return self.flip(0)


@composite(
    "repeat_interleave.self_Tensor(Tensor self, Tensor repeats, int? dim=None, *, SymInt? output_size=None) -> Tensor",
    "Each position of a dimension, as often as `repeats` says.",
    bind="function method",
    samples=[S(T(3, 2), T(3, dtype="int64", low=0, high=3), 0)],
)
def repeat_interleave_tensor(
    self: Tensor, repeats: Tensor, dim: int | None = None, *, output_size: int | None = None
) -> Tensor:
    if dim is None:
        self, dim = self.reshape(-1), 0
    if repeats.dim() == 0 or (repeats.dim() == 1 and repeats.numel() == 1):
        repeats = repeats.reshape(1).expand(self.size(dim))
    elif repeats.dim() != 1:
        raise RuntimeError("repeats must be 0-dim or 1-dim tensor")
    elif repeats.numel() != self.size(dim):
        raise RuntimeError(
            f"repeats must have the same size as input along dim, but got repeats.size(0) = {repeats.numel()} and input.size({dim}) = {self.size(dim)}"
        )
    return self.index_select(dim, aten.repeat_interleave(repeats, output_size=output_size))


@composite(
    "repeat_interleave.self_int(Tensor self, SymInt repeats, int? dim=None, *, SymInt? output_size=None) -> Tensor",
    "Each position of a dimension `repeats` times.",
    bind="function method",
    samples=[S(T(3, 2), 2), S(T(3, 2), 2, 1)],
)
def repeat_interleave_int(
    self: Tensor, repeats: int, dim: int | None = None, *, output_size: int | None = None
) -> Tensor:
    if repeats < 0:
        raise RuntimeError("Repeats must be non-negative")
    if dim is None:
        self, dim = self.reshape(-1), 0
    if self.dim() == 0:
        self = self.unsqueeze(0)
    dim %= self.dim()
    wide = self.unsqueeze(dim + 1).expand([*self.shape[: dim + 1], repeats, *self.shape[dim + 1 :]])
    return wide.clone().flatten(dim, dim + 1)


@composite(
    "rot90(Tensor self, int k=1, int[] dims=[0, 1]) -> Tensor",
    "A quarter turn, k times, in the plane of two dimensions.",
    bind="function method generated_out",
    samples=[S(3, 4), S(T(3, 4), 2), S(T(2, 3, 4), -1, [1, 2])],
    node="Rot90Backward0",
)
def rot90(self: Tensor, k: int = 1, dims: Sequence[int] = (0, 1)) -> Tensor:
    if len(dims) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if self.dim() < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {self.dim()}")
    a, b = dims
    if wrap_dim(a, self.dim()) == wrap_dim(b, self.dim()):
        raise RuntimeError(f"expected rotation dims to be different, but got dim0 = {a} and dim1 = {b}")
    k %= 4
    if k == 1:
        return self.flip(b).transpose(a, b)
    if k == 2:
        return self.flip([a, b])
    if k == 3:
        return self.flip(a).transpose(a, b)
    return self.clone()


@composite(
    "tile(Tensor self, SymInt[] dims) -> Tensor",
    "`repeat` that adds leading dimensions to the counts where they are missing.",
    bind="function method",
    samples=[S(T(3, 4), [2]), S(T(3), [2, 2])],
)
def tile(self: Tensor, dims: Sequence[int]) -> Tensor:
    missing = self.dim() - len(dims)
    return self.repeat([1] * missing + list(dims))
