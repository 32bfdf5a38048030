"""How modules within a graph are prepared and converted by themselves: methods that `quantize_fx`, which stands above, gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["METHODS"]

METHODS: dict[str, Callable[..., Any]] = {}
