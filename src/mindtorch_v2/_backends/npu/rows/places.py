"""Places in a cache that rows are written to, of which negative ones stand for rows that are not.

Nothing is read on the host, so that a stream which is recorded, and a graph that is traced, hold the write.
"""

from __future__ import annotations

from typing import Any

from ...._core.dtype import DTYPES
from ...._operators.table import aten

_INT64 = DTYPES["int64"]


def of_each(places: Any, rows: Any, there: Any) -> tuple:
    """Places (n) and rows (n, ...) to be written as they are: those of a negative place repeat the first that has another.

    `there` is what stands at place 0 before; it is written there again where all places are negative.
    """
    places = places.to(_INT64)
    if places.shape[0] == 0:
        return places, rows
    goes = places >= 0
    first = aten.argmax(goes.to(_INT64), 0, True)
    some = aten.index_select(goes, 0, first)
    other = aten.where(some, aten.index_select(places, 0, first), 0)
    ones = [1] * (rows.dim() - 1)
    instead = aten.where(some.reshape(-1, *ones), aten.index_select(rows, 0, first), there.unsqueeze(0))
    return aten.where(goes, places, other), aten.where(goes.reshape(-1, *ones), rows, instead)
