"""Operators that write to their first argument, in terms of those that give a new tensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2._decomp._registry import decomposition_table
from mindtorch_v2._dispatch.tags import Tag
from mindtorch_v2._operators.table import ROWS

__all__: list[str] = []


def _written_back(functional: Any) -> Callable[..., Any]:
    def rule(self: Any, *args: Any, **kwargs: Any) -> Any:
        return self.copy_(functional(self, *args, **kwargs))

    return rule


def _overload(handle: Any) -> Any:
    return getattr(getattr(torch.ops.aten, handle.name), handle.overload or "default")


for _row in list(ROWS.values()):
    # Views that are changed in place write no elements.
    if _row.inplace is None or _row.inplace.namespace != "aten":
        continue
    _written = _overload(_row.inplace)
    if Tag.inplace_view not in _written.tags:
        decomposition_table.setdefault(_written, _written_back(_overload(_row.handle)))
