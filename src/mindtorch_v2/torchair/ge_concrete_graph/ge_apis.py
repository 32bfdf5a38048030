"""The operators of GE, as functions."""

from .._ge_concrete_graph.ge_apis import Cast, Clone, Const, attr, custom_op
from .._ge_concrete_graph.ge_apis import __getattr__ as __getattr__  # every other operator

__all__ = ["Cast", "Clone", "Const", "attr", "custom_op"]
