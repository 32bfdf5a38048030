"""Names from the inside of torchair: its logger, and how it tells values of graphs apart."""

from . import _concrete_graph, utils

__all__ = ["_concrete_graph", "utils"]
