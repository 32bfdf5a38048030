"""The store of compiled types that PyTorch's scripting keeps. What `torch.jit.script` gives here is Python: nothing is stored."""

from __future__ import annotations

from typing import Any

__all__ = ["ConcreteTypeStore", "concrete_type_store"]


class ConcreteTypeStore:
    """Types of scripted modules by their Python classes: none."""

    def __init__(self) -> None:
        self.type_store: dict[type, list[Any]] = {}
        self.methods_compiled: set[Any] = set()


concrete_type_store = ConcreteTypeStore()
