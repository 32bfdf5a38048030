"""Messages of GE's graphs: what is one, is written as bytes that are read as the same one."""

from __future__ import annotations

from collections.abc import Iterator

from mindtorch_v2._backends.ge.proto import Message

MODULES = ("mindtorch_v2._backends.ge.proto",)
TYPES = ("ModelDef", "GraphDef", "OpDef", "AttrDef", "TensorDef", "TensorDescriptor")


def one(data: bytes) -> None:
    """Read a message of the type that the first byte chooses."""
    kind = TYPES[data[0] % len(TYPES)] if data else TYPES[0]
    try:
        message = Message.parse(kind, data[1:])
    except ValueError as error:
        if isinstance(error, UnicodeError):
            raise
        return
    message.text()
    written = message.serialize()
    if Message.parse(kind, written).serialize() != written:
        raise AssertionError(f"{kind}: what is read of {written!r} is written as something else")


def seeds() -> Iterator[bytes]:
    """A small graph, and an operator."""
    op = Message("OpDef", name="a", type="Add", input=["x:0", "y:0"])
    op.attr["k"] = Message("AttrDef", i=3)
    yield b"\x02" + op.serialize()
    yield b"\x01" + Message("GraphDef", name="g", op=[op], input=["x"]).serialize()
    yield b"\x00" + Message("ModelDef", name="m", graph=[Message("GraphDef", name="g", op=[op])]).serialize()
