"""Ahead-of-time autograd: a program's forward and backward as graphs of operators, for back ends to compile."""

from __future__ import annotations

import importlib
from typing import Any


def __getattr__(name: str) -> Any:
    if name == "config":  # which PyTorch's package has loaded, too
        return importlib.import_module(f"{__name__}.config")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
