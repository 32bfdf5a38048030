"""Images of other sizes."""

from __future__ import annotations

from typing import Any

from ... import _C
from ..._core.dtype import DTYPES
from ..._operators.table import ROWS
from .table import KEY, on_numbers, per_tensor, through_floats, with_whole

on_numbers("upsample_bilinear2d")
through_floats("grid_sampler_2d")


def _nearest(row: str) -> None:
    """Bytes are moved: their sign does not matter."""
    handle = ROWS[row].handle

    def moved(self: Any, *args: Any) -> Any:
        quantizer, whole = per_tensor(self), _C._whole(self)
        return with_whole(self, handle(whole.view(DTYPES["uint8"]), *args).view(whole.dtype), quantizer)

    handle.impl(KEY, moved)


for _row in ("upsample_nearest2d", "upsample_nearest3d"):
    _nearest(_row)
