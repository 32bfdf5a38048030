"""Runs of rows that belong to a group each, one run behind the other, as a tensor says.

Where that tensor can be read, there is a run for each group. While a stream is recorded it cannot: then each row is a run by
itself, whose group is a number on the device, and what is computed is the same.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ...._core.dtype import DTYPES
from ...._operators.table import aten

_INT64 = DTYPES["int64"]


class Run(NamedTuple):
    """Rows from `first` to before `last`, and the number of their group: an int, or a tensor of one."""

    first: int
    last: int
    group: Any

    @property
    def rows(self) -> slice:
        """These rows of a tensor."""
        return slice(self.first, self.last)

    def of(self, values: Any) -> Any:
        """The group's own of a tensor with one for each group along its first dimension, or of a list of tensors."""
        if isinstance(self.group, int):
            return values[self.group]
        whole = aten.stack(list(values)) if isinstance(values, (list, tuple)) else values
        return aten.index_select(whole, 0, self.group).squeeze(0)


def is_recorded(tensor: Any) -> bool:
    """Whether a tensor's numbers cannot be read because its device's stream is being recorded."""
    if tensor.device.type != "npu":
        return False
    from ..graph import is_current_stream_capturing

    return is_current_stream_capturing()


def recorded(group_list: Any, kind: int, groups: int, rows: int) -> tuple[list[Run], Any]:
    """A run for each row, by cumulative ends (kind 0) or counts (1), and which rows have a group at all."""
    ends = group_list.to(_INT64)
    ends = aten.cumsum(ends, 0) if kind == 1 else ends
    group = aten.searchsorted(ends, aten.arange(rows, device=ends.device), right=True)
    known = aten.clamp(group, max=groups - 1)
    return [Run(row, row + 1, known[row : row + 1]) for row in range(rows)], group < groups
