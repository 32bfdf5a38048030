"""Shape rules, named from the rows; the rules themselves are native (csrc/core/shape_rules.cpp)."""

from __future__ import annotations

from typing import NamedTuple

_BROADCAST = frozenset(("div_mode", "loss", "masked_fill", "where"))


class Rule(NamedTuple):
    """A native shape rule and the arguments that it reads."""

    name: str
    params: tuple[str | int, ...]

    @property
    def broadcasts(self) -> bool:
        """Whether the sizes are those that the arguments have in common."""
        return self.name.startswith("pointwise") or self.name in _BROADCAST


def rule(name: str, *params: str | int) -> Rule:
    """The native shape rule ``name``; ``params`` are the argument names that it reads, and numbers of its own."""
    return Rule(name, params)


def like(*params: str) -> Rule:
    """Output i has the sizes, dtype and dense strides of the i-th named argument."""
    return Rule("like", params)


def pointwise(*params: str, to: str = "default") -> Rule:
    """Broadcast of the named tensor or scalar arguments with PyTorch's type promotion.

    ``to``: "default" (common dtype), "float" (integers become the default float), "bool", or "noop" (dtype of the first).
    """
    return Rule("pointwise" if to == "default" else f"pointwise_{to}", params)


def reduce(*params: str, to: str = "default") -> Rule:
    """A reduction: ``reduce("self", "dim", "keepdim", "dtype")``; see csrc/core for the variants of ``to``."""
    return Rule("reduce" if to == "default" else f"reduce_{to}", params)
