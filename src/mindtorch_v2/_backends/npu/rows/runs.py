"""Runs of rows that belong to a group each, one run behind the other, as a tensor says.

Where that tensor can be read, there is a run for each group. While a graph is made of the call it cannot: then each row is a run by
itself, whose group is a number on the device, and what is computed is the same.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ...._behaviours.functional import is_functional, value_of
from ...._core.dtype import DTYPES
from ...._operators.table import aten
from ...._subclasses.fake_tensor import is_fake

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
    """Whether a tensor's numbers cannot be read because a graph is made: of a fake tensor, or of its device's stream."""
    if is_fake(value_of(tensor) if is_functional(tensor) else tensor):
        return True
    if tensor.device.type != "npu":
        return False
    from ..graph import is_current_stream_capturing

    return is_current_stream_capturing()


def group_of_rows(group_list: Any, kind: int, rows: int) -> Any:
    """The number of each row's group, by cumulative ends (kind 0) or counts (1); that of no group behind the last run."""
    ends = group_list.to(_INT64)
    ends = aten.cumsum(ends, 0) if kind == 1 else ends
    return aten.searchsorted(ends, aten.arange(rows, device=ends.device), right=True)


def members(group_list: Any, kind: int, groups: int, rows: int) -> Any:
    """Which rows are in each group, (groups, rows), of a call that is recorded."""
    return group_of_rows(group_list, kind, rows) == aten.arange(groups, device=group_list.device).unsqueeze(1)


def recorded(group_list: Any, kind: int, groups: int, rows: int) -> tuple[list[Run], Any]:
    """A run for each row, by cumulative ends (kind 0) or counts (1), and which rows have a group at all."""
    group = group_of_rows(group_list, kind, rows)
    known = aten.clamp(group, max=groups - 1)
    return [Run(row, row + 1, known[row : row + 1]) for row in range(rows)], group < groups
