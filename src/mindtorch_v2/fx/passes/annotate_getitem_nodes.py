"""Types of choices out of tuples and lists, from the types of those."""

from __future__ import annotations

import operator
import typing
from typing import Any

from mindtorch_v2.fx.graph import Graph


def _element(kind: Any, place: Any) -> Any:
    """The type of an element of something of a type; None if it cannot be told."""
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin is list and inner:
        return inner[0]
    if origin is tuple and inner:
        if len(inner) == 2 and inner[1] is Ellipsis:
            return inner[0]
        return inner[place] if isinstance(place, int) and -len(inner) <= place < len(inner) else None
    if hasattr(kind, "_fields") and hasattr(kind, "__annotations__"):
        name = kind._fields[place] if isinstance(place, int) and place < len(kind._fields) else place
        return kind.__annotations__.get(name)
    return None


def annotate_getitem_nodes(graph: Graph) -> None:
    """Give each node that takes an element of a typed list, tuple or named tuple, by place or by name, the element's type.

    >>> import mindtorch_v2 as torch
    >>> def first(pair: tuple[int, str]):
    ...     return pair[0]
    >>> graph = torch.fx.symbolic_trace(first).graph
    >>> annotate_getitem_nodes(graph)
    >>> list(graph.nodes)[1].type
    <class 'int'>
    """
    for node in graph.nodes:
        if node.op == "call_function" and node.target in (operator.getitem, getattr) and len(node.args) > 1:
            source, place = node.args[:2]
            kind = _element(getattr(source, "type", None), place)
            if kind is not None:
                node.type = kind
