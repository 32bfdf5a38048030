"""Types of values, said in the program."""

from __future__ import annotations

from typing import Any

from mindtorch_v2.fx.proxy import Proxy

from ._compatibility import compatibility

__all__ = ["annotate"]


@compatibility(is_backward_compatible=False)
def annotate(val: Any, type: Any) -> Any:
    """Give the node of a proxy a type; `val` itself. Outside of a tracing it does nothing. RuntimeError if the node has a type.

    >>> traced = torch.fx.symbolic_trace(lambda x: torch.fx.annotate.annotate(x + 1, torch.Tensor))
    >>> list(traced.graph.nodes)[1].type is torch.Tensor
    True
    """
    if isinstance(val, Proxy):
        if val.node.type:
            raise RuntimeError(
                f"Tried to annotate a value that already had a type on it! Existing type is {val.node.type} and new type is "
                f"{type}. Use the type slot on the function signature for a parameter, and call annotate once for a value"
            )
        val.node.type = type
    return val
