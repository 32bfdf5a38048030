"""Products of sparse matrices; their other operators are made of those on their parts (`_behaviours/sparse`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...._operators.table import aten
from ..table import Source, blocks, element, kernel, pack

if TYPE_CHECKING:
    from ...._tensor import Tensor

_SUMS = Source("sparse.cuh", "weighted_row_sums")
_MOST_COLUMNS = 65535 * 32  # of a launch


@kernel("_weighted_row_sums")
def weighted_row_sums(starts: Tensor, columns: Tensor, values: Tensor, mat: Tensor) -> Tensor:
    rows, wide = starts.shape[0] - 1, mat.shape[1]
    if wide > _MOST_COLUMNS:
        parts = mat.split(_MOST_COLUMNS, 1)
        return aten.cat([weighted_row_sums(starts, columns, values, part.contiguous()) for part in parts], 1)
    out = aten.empty([rows, wide], dtype=values.dtype, device=values.device)
    if out.numel():
        index = starts.dtype
        held = [starts.contiguous(), columns.to(index).contiguous(), values.contiguous(), mat.contiguous()]
        words = (("T", element(values.dtype)), ("INDEX", element(index)))
        grid = (min(blocks(rows, 8), 1 << 20), blocks(wide, 32))
        arguments = pack(rows, wide, mat.shape[0], values.numel(), *held, out)
        _SUMS.launch(values.device.index, words, grid, (32, 8), arguments)
    return out
