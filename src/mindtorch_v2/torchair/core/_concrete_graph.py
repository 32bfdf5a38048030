"""Values of a traced graph beside those of the graph that is made of it."""

from __future__ import annotations

from typing import Any, NamedTuple

import mindtorch_v2 as torch

__all__ = ["ValuePack", "_is_symlist"]


class ValuePack(NamedTuple):
    """A value of the traced graph, `meta`, and the one that stands for it in the GE graph, `npu`."""

    meta: Any
    npu: Any = None


def _is_symlist(arg: Any) -> bool:
    """Whether a value is a list or tuple of sizes of which at least one is open."""
    return (
        isinstance(arg, (list, tuple))
        and all(isinstance(each, (int, torch.SymInt)) for each in arg)
        and any(isinstance(each, torch.SymInt) for each in arg)
    )
