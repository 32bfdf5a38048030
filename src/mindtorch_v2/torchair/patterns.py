"""Replacement of patterns in traced graphs, which this package does not have."""

from __future__ import annotations

from typing import Any, NoReturn

__all__ = ["register_replacement"]


def register_replacement(search_fn: Any, replace_fn: Any, example_inputs: Any, *args: Any, **kwargs: Any) -> NoReturn:
    """NotImplementedError: patterns are not searched for here."""
    raise NotImplementedError(
        "torchair.register_replacement(): graphs are converted as they are traced, and no pattern is replaced; call the "
        "fused operator in the program, or rewrite the graph with torch.fx.replace_pattern before it is compiled"
    )
