"""`_ge_concrete_graph` by the name that it had first."""

from . import fx2ge_converter, ge_apis, ge_graph

__all__ = ["fx2ge_converter", "ge_apis", "ge_graph"]
