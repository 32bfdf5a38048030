"""`torch.fx.Node` by its name."""

from mindtorch_v2._unavailable import unavailable_class, unavailable_function

__all__ = ["Node", "has_side_effect", "map_aggregate", "map_arg"]

Node = unavailable_class("torch.fx.Node")
map_aggregate = unavailable_function("torch.fx.node.map_aggregate")
map_arg = unavailable_function("torch.fx.map_arg")


def has_side_effect(fn):
    """Mark a function whose calls a graph must keep even if their results are unused; returns it."""
    return fn
