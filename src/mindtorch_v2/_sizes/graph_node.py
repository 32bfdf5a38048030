"""The class of the nodes of graphs that are compared here."""

__all__ = ["GraphNode"]


class GraphNode:
    """The base of `torch.fx.Node`; what is read of it here are `name`, `op`, `target`, `args`, `kwargs` and `meta`."""

    __slots__ = ()
    name: str
