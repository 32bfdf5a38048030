"""GE's protobuf messages (package `ge.proto`): reading, writing and printing, from a table of field numbers.

Seven scalar types and eighteen messages are all that the format has, so that a codec of its own is shorter than what a
dependency would ask for. Field numbers and names are those of the public `ge_ir.proto`.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

# message: field:type=number; [] repeated, <> a map from strings
_TABLE = """
ModelDef: name:string=1 version:uint32=2 custom_version:string=3 graph:GraphDef[]=7 attr:AttrDef<>=11
GraphDef: name:string=1 input:string[]=4 output:string[]=5 op:OpDef[]=6 attr:AttrDef<>=11
OpDef: name:string=1 type:string=2 input:string[]=5 attr:AttrDef<>=10 has_out_attr:bool=20 id:int64=21 stream_id:int64=22
OpDef: input_name:string[]=23 src_name:string[]=24 src_index:int64[]=25 dst_name:string[]=26 dst_index:int64[]=27
OpDef: input_i:int64[]=28 output_i:int64[]=29 workspace:int64[]=30 workspace_bytes:int64[]=31 is_input_const:bool[]=32
OpDef: input_desc:TensorDescriptor[]=33 output_desc:TensorDescriptor[]=34 subgraph_name:string[]=35
TensorDescriptor: name:string=1 dtype:DataType=2 shape:ShapeDef=3 layout:string=4 attr:AttrDef<>=5 has_out_attr:bool=9
TensorDescriptor: size:int64=10 weight_size:int64=11 reuse_input:bool=12 output_tensor:bool=13 device_type:string=14
TensorDescriptor: input_tensor:bool=15 real_dim_cnt:int64=16 reuse_input_index:int64=17 data_offset:int64=18
TensorDescriptor: cmps_size:int64=19 cmps_tab:string=20 cmps_tab_offset:int64=21
ShapeDef: dim:int64[]=1
TensorDef: desc:TensorDescriptor=1 data:bytes=2
AttrDef: list:ListValue=1 s:bytes=2 i:int64=3 f:float=4 b:bool=5 bt:bytes=7 func:NamedAttrs=10 td:TensorDescriptor=11
AttrDef: t:TensorDef=12 g:GraphDef=13 list_list_int:ListListInt=14 dt:int64=15 list_list_float:ListListFloat=16
AttrDef: expression:bytes=17
ListValue: s:bytes[]=2 i:int64[]=3 f:float[]=4 b:bool[]=5 bt:bytes[]=7 td:TensorDescriptor[]=8 t:TensorDef[]=9
ListValue: g:GraphDef[]=10 na:NamedAttrs[]=11 dt:int64[]=12 val_type:ListValueType=20
ListListInt: list_list_i:ListInt[]=1
ListInt: list_i:int64[]=1
ListListFloat: list_list_f:ListFloat[]=1
ListFloat: list_f:float[]=1
NamedAttrs: name:string=1 attr:AttrDef<>=2
"""
ENUMS = {
    "DataType": {
        "DT_UNDEFINED": 0,
        "DT_FLOAT": 1,
        "DT_FLOAT16": 2,
        "DT_INT8": 3,
        "DT_UINT8": 4,
        "DT_INT16": 5,
        "DT_UINT16": 6,
        "DT_INT32": 7,
        "DT_INT64": 8,
        "DT_UINT32": 9,
        "DT_UINT64": 10,
        "DT_BOOL": 11,
        "DT_DOUBLE": 12,
        "DT_STRING": 13,
        "DT_COMPLEX64": 16,
        "DT_COMPLEX128": 17,
        "DT_BF16": 27,
    },
    "ListValueType": {
        "VT_LIST_NONE": 0,
        "VT_LIST_STRING": 1,
        "VT_LIST_INT": 2,
        "VT_LIST_FLOAT": 3,
        "VT_LIST_BOOL": 4,
        "VT_LIST_BYTES": 5,
        "VT_LIST_TENSOR_DESC": 6,
        "VT_LIST_TENSOR": 7,
        "VT_LIST_GRAPH": 8,
        "VT_LIST_NAMED_ATTRS": 9,
        "VT_LIST_DATA_TYPE": 10,
    },
}
_VARINTS = {"int64", "uint32", "bool", *ENUMS}
_VARINT, _FIXED64, _LENGTH, _FIXED32 = 0, 1, 2, 5
_DEEPEST = 100  # messages within each other, as protobuf's own readers have it


class Field:
    """One field of a message: its name, type, number, and whether it is "one", "many" or a "map"."""

    __slots__ = ("count", "name", "number", "type")

    def __init__(self, text: str) -> None:
        self.name, _, rest = text.partition(":")
        kind, _, number = rest.partition("=")
        self.number = int(number)
        self.count = "many" if kind.endswith("[]") else "map" if kind.endswith("<>") else "one"
        self.type = kind.rstrip("[]<>")

    @property
    def default(self) -> Any:
        if self.count != "one":
            return [] if self.count == "many" else {}
        return {"string": "", "bytes": b"", "float": 0.0, "bool": False}.get(self.type, 0)


def _messages() -> dict[str, dict[str, Field]]:
    made: dict[str, dict[str, Field]] = {}
    for line in _TABLE.strip().splitlines():
        name, _, fields = line.partition(": ")
        made.setdefault(name, {}).update((f.name, f) for f in map(Field, fields.split()))
    return {name: dict(sorted(fields.items(), key=lambda item: item[1].number)) for name, fields in made.items()}


MESSAGES = _messages()


class Message:
    """A message of a type of the table; its fields are attributes.

    >>> op = Message("OpDef", name="a", type="Add", input=["x:0", "y:0"])
    >>> Message.parse("OpDef", op.serialize()).input
    ['x:0', 'y:0']
    """

    __slots__ = ("_set", "_type")
    _set: dict[str, Any]
    _type: str

    def __init__(self, type: str, /, **fields: Any) -> None:
        object.__setattr__(self, "_type", type)
        object.__setattr__(self, "_set", {})
        for name, value in fields.items():
            setattr(self, name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in MESSAGES[self._type]:
            raise AttributeError(f"{self._type} has no field '{name}'")
        self._set[name] = value

    def __getattr__(self, name: str) -> Any:
        if name not in MESSAGES[self._type]:
            raise AttributeError(f"{self._type} has no field '{name}'")
        field = MESSAGES[self._type][name]
        if name not in self._set:
            if field.count == "one" and field.type not in MESSAGES:
                return field.default
            self._set[name] = Message(field.type) if field.count == "one" else field.default
        return self._set[name]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Message) and self._type == other._type and self.serialize() == other.serialize()

    __hash__ = None  # type: ignore[assignment]  # (it compares by value and changes)

    def has(self, name: str) -> bool:
        """Whether the field was set."""
        return name in self._set

    def _present(self) -> Iterator[tuple[Field, Any]]:
        for name, field in MESSAGES[self._type].items():
            if name not in self._set:
                continue
            value = self._set[name]
            # Zero is not written, but for attributes, whose field says of what type they are.
            if value or (field.count == "one" and (self._type == "AttrDef" or isinstance(value, Message))):
                yield field, value

    def serialize(self) -> bytes:
        """The message as bytes; maps in the order of their keys."""
        out = bytearray()
        for field, value in self._present():
            if field.count == "map":
                for key in sorted(value):
                    entry = _tagged(1, "string", key) + _tagged(2, field.type, value[key])
                    out += _varint(field.number << 3 | _LENGTH) + _varint(len(entry)) + entry
            elif field.count == "one":
                out += _tagged(field.number, field.type, value)
            elif field.type in _VARINTS or field.type == "float":
                packed = b"".join(_scalar(field.type, each) for each in value)
                out += _varint(field.number << 3 | _LENGTH) + _varint(len(packed)) + packed
            else:
                for each in value:
                    out += _tagged(field.number, field.type, each)
        return bytes(out)

    @classmethod
    def parse(cls, type: str, data: bytes) -> Message:
        """Read a message; ValueError for bytes that are none. Unknown fields are left out."""
        return cls._parse(type, data, 0)

    @classmethod
    def _parse(cls, type: str, data: bytes, depth: int) -> Message:
        if depth > _DEEPEST:
            raise ValueError(f"the protobuf data has more than {_DEEPEST} messages within each other")
        made = cls(type)
        numbers = {field.number: field for field in MESSAGES[type].values()}
        for number, wire, raw in _fields(data):
            field = numbers.get(number)
            if field is None:
                continue
            packed = field.count == "many" and wire == _LENGTH and (field.type in _VARINTS or field.type == "float")
            if wire != _wire(field) and not packed:
                raise ValueError(f"the protobuf data has the field '{field.name}' of {type} as wire type {wire}")
            if field.count == "map":
                key, value = "", cls(field.type)
                for place, inner_wire, part in _fields(raw):
                    if place in (1, 2) and inner_wire != _LENGTH:
                        raise ValueError(f"the protobuf data has an entry of '{field.name}' as wire type {inner_wire}")
                    if place == 1:
                        key = _text(part)
                    elif place == 2:
                        value = cls._parse(field.type, part, depth + 1)
                getattr(made, field.name)[key] = value
            elif packed and field.type == "float":
                if len(raw) % 4:
                    raise ValueError(f"the protobuf data ends within a number of '{field.name}'")
                getattr(made, field.name).extend(struct.unpack(f"<{len(raw) // 4}f", raw))
            elif packed:
                inner = 0
                while inner < len(raw):
                    integer, inner = _read_varint(raw, inner)
                    getattr(made, field.name).append(_value(field.type, integer, depth))
            elif field.count == "many":
                getattr(made, field.name).append(_value(field.type, raw, depth))
            else:
                setattr(made, field.name, _value(field.type, raw, depth))
        return made

    def text(self, indent: int = 0) -> str:
        """The message in protobuf's text format."""
        lines: list[str] = []
        pad = "  " * indent
        for field, value in self._present():
            if field.count == "map":
                for key in sorted(value):
                    inner = value[key].text(indent + 2)
                    lines.append(f"{pad}{field.name} {{\n{pad}  key: {_quoted(key.encode())}\n{pad}  value {{")
                    lines.append(f"{inner}{pad}  }}\n{pad}}}")
                continue
            for each in value if field.count == "many" else [value]:
                if isinstance(each, Message):
                    lines.append(f"{pad}{field.name} {{\n{each.text(indent + 1)}{pad}}}")
                else:
                    lines.append(f"{pad}{field.name}: {_shown(field.type, each)}")
        return "".join(line + "\n" for line in lines)


def _varint(number: int) -> bytes:
    number &= (1 << 64) - 1  # negative numbers take ten bytes
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def _scalar(type: str, value: Any) -> bytes:
    return struct.pack("<f", value) if type == "float" else _varint(int(value))


def _tagged(number: int, type: str, value: Any) -> bytes:
    if type == "float":
        return _varint(number << 3 | _FIXED32) + _scalar(type, value)
    if type in _VARINTS:
        return _varint(number << 3 | _VARINT) + _scalar(type, value)
    body = value.serialize() if isinstance(value, Message) else value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | _LENGTH) + _varint(len(body)) + body


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise ValueError("the protobuf data ends within a number, or a number is too long")
        byte = data[at]
        number |= (byte & 127) << shift
        shift, at = shift + 7, at + 1
        if byte < 128:
            return number, at


def _read(data: bytes, at: int, wire: int) -> tuple[Any, int]:
    if wire == _VARINT:
        return _read_varint(data, at)
    if wire == _LENGTH:
        length, at = _read_varint(data, at)
    elif wire in (_FIXED32, _FIXED64):
        length = 4 if wire == _FIXED32 else 8
    else:
        raise ValueError(f"no protobuf data: wire type {wire}")
    if at + length > len(data):
        raise ValueError("the protobuf data ends within a field")
    return data[at : at + length], at + length


def _fields(data: bytes) -> Iterator[tuple[int, int, Any]]:
    """Number, wire type and contents of each field."""
    at = 0
    while at < len(data):
        tag, at = _read_varint(data, at)
        raw, at = _read(data, at, tag & 7)
        yield tag >> 3, tag & 7, raw


def _wire(field: Field) -> int:
    if field.count == "map":
        return _LENGTH
    return _VARINT if field.type in _VARINTS else _FIXED32 if field.type == "float" else _LENGTH


def _text(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        raise ValueError(f"the protobuf data has a word that is not UTF-8: {error}") from None


def _value(type: str, raw: Any, depth: int) -> Any:
    if type in MESSAGES:
        return Message._parse(type, raw, depth + 1)
    if type == "string":
        return _text(raw)
    if type == "float":
        return struct.unpack("<f", raw)[0]
    if type == "bool":
        return bool(raw)
    if type == "int64":
        return (raw & (1 << 64) - 1) - (1 << 64) if raw >> 63 & 1 else raw & (1 << 64) - 1
    return raw


def _quoted(data: bytes) -> str:
    escapes = {10: "\\n", 13: "\\r", 9: "\\t", 34: '\\"', 39: "\\'", 92: "\\\\"}
    return '"' + "".join(escapes.get(b) or (chr(b) if 32 <= b < 127 else f"\\{b:03o}") for b in data) + '"'


def _shown(type: str, value: Any) -> str:
    if type in ("string", "bytes"):
        return _quoted(value.encode() if isinstance(value, str) else value)
    if type == "bool":
        return "true" if value else "false"
    if type in ENUMS:
        return next((name for name, number in ENUMS[type].items() if number == value), str(value))
    return repr(value)
