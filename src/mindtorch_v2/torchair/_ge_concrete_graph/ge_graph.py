"""Values and types of GE graphs, by the names of earlier versions."""

from __future__ import annotations

from mindtorch_v2 import Tensor as TensorSpec
from mindtorch_v2._backends.ge import attr
from mindtorch_v2._backends.ge.graph import Graph, Tensor, current
from mindtorch_v2._backends.ge.proto import Message
from mindtorch_v2._backends.ge.types import DataType, Format

__all__ = [
    "DataType",
    "Format",
    "Tensor",
    "TensorSpec",
    "compat_as_bytes",
    "get_default_ge_graph",
    "get_invalid_desc",
    "next_unique_name",
]


def get_default_ge_graph() -> Graph:
    """The graph that is being built. RuntimeError outside of a conversion."""
    return current()


def next_unique_name(op: str) -> str:
    """A name for an operator that no other of the graph that is being built has."""
    return current().unique(op)


def compat_as_bytes(bytes_or_text: bytes | str, encoding: str = "utf-8") -> bytes:
    """Text as bytes; TypeError for what is neither.

    >>> compat_as_bytes("sum")
    b'sum'
    """
    if isinstance(bytes_or_text, bytes):
        return bytes_or_text
    if not isinstance(bytes_or_text, str):
        raise TypeError(f"compat_as_bytes(): Expected binary or unicode string, got {bytes_or_text!r}")
    return bytes_or_text.encode(encoding)


def get_invalid_desc() -> Message:
    """The descriptor of an optional input that is left out."""
    made = attr.descriptor("", DataType.DT_UNDEFINED, [])
    made.attr["_is_unfed_optional"] = Message("AttrDef", b=True)
    return made
