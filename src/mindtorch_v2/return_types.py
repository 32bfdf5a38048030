"""The classes of named results, as `torch.return_types.max`: they are made with the operators that return them."""

from __future__ import annotations

from typing import Any

from mindtorch_v2._operators.table.returns import RETURN_TYPES


def __getattr__(name: str) -> Any:
    for (made, _), kind in RETURN_TYPES.items():
        if made == name:
            return kind
    raise AttributeError(f"module 'mindtorch_v2.return_types' has no attribute {name!r}")
