"""The elements that a mask chooses: the launches of `kernels/compact.cuh`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..._core.dtype import DTYPES
from ..._operators.table import aten
from .table import WORDS, Source, blocks, element, pack

if TYPE_CHECKING:
    from ..._tensor import Tensor

_COMPACT = Source("compact.cuh", "compact")


def found(mask: Tensor) -> Tensor:
    """For each element in row-major order, how many up to it are not zero."""
    flat = mask.reshape(-1)
    return aten.cumsum(flat if flat.dtype == DTYPES["bool"] else flat != 0, 0)


def compact(self: Tensor, places: Tensor, columns: Tensor, limit: int, step: int) -> None:
    """Write the coordinates of elements that are not zero, at most `limit`, a row of `step` for each dimension."""
    if not self.numel() or not self.dim() or not limit:
        return
    flags = self.contiguous()
    words = (("FLAG", element(self.dtype)), ("DIMS", str(self.dim())))
    arguments = pack(self.numel(), limit, step, flags, places, columns, list(self.shape))
    _COMPACT.launch(self.device.index, words, (blocks(self.numel(), 256),), (256,), arguments)


def chosen(source: Tensor, mask: Tensor, places: Tensor, out: Tensor, *, scatter: bool) -> None:
    """Move the elements that a mask chooses to a list, or with `scatter` a list's to where the mask is true.

    All tensors are contiguous.
    """
    if not mask.numel():
        return
    words = (
        ("FLAG", "b8"), ("DIMS", "1"), ("WORD", WORDS[source.dtype.itemsize]), ("SCATTER", str(int(scatter))),
    )  # fmt: skip
    arguments = pack(mask.numel(), source.numel(), 0, mask, places, source, out)
    _COMPACT.launch(mask.device.index, words, (blocks(mask.numel(), 256),), (256,), arguments)
