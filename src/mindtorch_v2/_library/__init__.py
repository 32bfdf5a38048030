"""The parts of `torch.library`: schemas from annotations, libraries, operators made of functions, their checks."""

from __future__ import annotations

import importlib
from typing import Any

_ON_DEMAND = ("simple_registry", "utils")  # PyTorch's names of what few programs ask for


def __getattr__(name: str) -> Any:
    if name in _ON_DEMAND:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
