"""Groups of processes by the names that operators take them by: fused communication is asked for with a string.

A group's name is given when a program asks its back end for it (`get_hccl_comm_name`); the back ends are those of
`torch.distributed`, which stands above and hands them down here.
"""

from __future__ import annotations

import itertools
import weakref
from typing import Any

_groups: weakref.WeakValueDictionary[str, Any] = weakref.WeakValueDictionary()
_numbers = itertools.count()


def name_of(group: Any) -> str:
    """The name of a back end of a group, the same at each call."""
    for name, known in _groups.items():
        if known is group:
            return name
    name = f"{group.name}_group_{next(_numbers)}"
    _groups[name] = group
    return name


def find(operator: str, argument: str, name: str) -> Any:
    """The back end of that name. RuntimeError for a name that none has."""
    group = _groups.get(name)
    if group is None:
        known = ", ".join(repr(each) for each in _groups) or "none"
        raise RuntimeError(
            f"{operator}(): {argument} must be the name of a group, from "
            "`group._get_backend(torch.device('npu')).get_hccl_comm_name(rank)`, but it is "
            f"{name!r}; known here are {known}"
        )
    return group
