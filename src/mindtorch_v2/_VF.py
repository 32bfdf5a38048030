"""The operators as functions, under their own names: what functions of `functional` of the same name are made of."""

from __future__ import annotations

from typing import Any

from mindtorch_v2._operators.table import aten


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return getattr(aten, name)
