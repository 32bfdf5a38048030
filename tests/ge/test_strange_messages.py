"""Bytes that are no messages of GE's, as a fuzzer made them: ValueError, whatever is wrong."""

import pytest

from mindtorch_v2._backends.ge.proto import _LENGTH, Message, _tagged, _varint


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (_tagged(1, "bytes", b"A\x9f\x9b"), "not UTF-8"),
        (_varint(1 << 3) + b"\x05", "wire type"),
        (_tagged(1, "bytes", b"ab")[:-1], "ends within a field"),
        (b"\x80", "ends within a number"),
        (b"\x03", "wire type 3"),
    ],
)
def test_operators(data, said):
    with pytest.raises(ValueError, match=said) as raised:
        Message.parse("OpDef", data)
    assert not isinstance(raised.value, UnicodeError)


def test_map_entries_and_floats():
    op = Message("OpDef", name="a")
    op.attr["k"] = Message("AttrDef", i=3)
    assert Message.parse("OpDef", op.serialize()).attr["k"].i == 3
    place = next(number for number, wire in [(tag >> 3, tag & 7) for tag in (op.serialize()[3],)] if wire == _LENGTH)
    for entry in (b"\x08\x05", b"\x0a\x01\xff", b"\x12\x02\x18"):
        with pytest.raises(ValueError, match="protobuf"):
            Message.parse("OpDef", _varint(place << 3 | _LENGTH) + _varint(len(entry)) + entry)


def test_negative_numbers_of_too_many_bits():
    data = _varint(3 << 3) + b"\xff" * 9 + b"\x7f"  # ten bytes carry 70 bits: protobuf takes the lower 64
    assert Message.parse("AttrDef", data).i == -1


def test_messages_within_messages():
    """More than protobuf's own readers take is refused before the interpreter's stack ends."""
    inner = Message("AttrDef", i=1).serialize()
    for _ in range(5000):
        entry = _tagged(2, "bytes", inner)
        inner = _tagged(10, "bytes", _tagged(2, "bytes", entry))  # AttrDef.func, NamedAttrs.attr
    with pytest.raises(ValueError, match="within each other"):
        Message.parse("AttrDef", inner)
