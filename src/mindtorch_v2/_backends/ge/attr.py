"""Attributes of GE operators, with their types: `attr.Int(3)`, `attr.ListFloat([0.5])`."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

from .proto import Message
from .types import DataType as _DataType


class Attr:
    """A value with GE's type for it. TypeError for a value of another type."""

    accepts: tuple[type, ...] = ()

    def __init__(self, value: Any) -> None:
        self.value = self.checked(value)

    def checked(self, value: Any) -> Any:
        is_flag = isinstance(value, bool) and bool not in self.accepts
        if is_flag or not isinstance(value, self.accepts):
            raise TypeError(f"ge.attr.{type(self).__name__} takes {self.accepts[0].__name__}, got {value!r}")
        return value

    def message(self) -> Message:
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.value!r})"


class Int(Attr):
    accepts = (int,)

    def message(self) -> Message:
        return Message("AttrDef", i=self.value)


class Float(Attr):
    accepts = (float, int)

    def message(self) -> Message:
        return Message("AttrDef", f=float(self.value))


class Bool(Attr):
    accepts = (bool,)

    def message(self) -> Message:
        return Message("AttrDef", b=self.value)


class Str(Attr):
    accepts = (str,)

    def message(self) -> Message:
        return Message("AttrDef", s=self.value.encode())


class DataType(Attr):
    accepts = (_DataType,)

    def message(self) -> Message:
        return Message("AttrDef", dt=int(self.value))


class _List(Attr):
    item: type[Attr]
    field, kind = "", 0

    def checked(self, value: Any) -> Any:
        if isinstance(value, (str, bytes)) or not isinstance(value, Sequence):
            raise TypeError(f"ge.attr.{type(self).__name__} takes a list, got {value!r}")
        return [self.item(each).value for each in value]

    def message(self) -> Message:
        made = Message("ListValue", val_type=self.kind)
        setattr(made, self.field, [self._stored(each) for each in self.value])
        return Message("AttrDef", list=made)

    def _stored(self, each: Any) -> Any:
        return each.encode() if isinstance(each, str) else int(each) if self.field == "dt" else each


class ListInt(_List):
    item, field, kind = Int, "i", 2


class ListFloat(_List):
    item, field, kind = Float, "f", 3


class ListBool(_List):
    item, field, kind = Bool, "b", 4


class ListStr(_List):
    item, field, kind = Str, "s", 1


class ListDataType(_List):
    item, field, kind = DataType, "dt", 10


class _Lists(Attr):
    item: type[_List]

    def checked(self, value: Any) -> Any:
        return [self.item(each).value for each in value]


class ListListInt(_Lists):
    item = ListInt

    def message(self) -> Message:
        rows = [Message("ListInt", list_i=list(row)) for row in self.value]
        return Message("AttrDef", list_list_int=Message("ListListInt", list_list_i=rows))


class ListListFloat(_Lists):
    item = ListFloat

    def message(self) -> Message:
        rows = [Message("ListFloat", list_f=[float(x) for x in row]) for row in self.value]
        return Message("AttrDef", list_list_float=Message("ListListFloat", list_list_f=rows))


class Tensor(Attr):
    """Constant data: what `Const` holds."""

    def __init__(self, values: Sequence, dtype: _DataType, shape: Sequence[int]) -> None:
        self.value = (list(values), dtype, list(shape))

    def message(self) -> Message:
        values, dtype, shape = self.value
        desc = descriptor("", dtype, shape)
        return Message("AttrDef", t=Message("TensorDef", desc=desc, data=packed(values, dtype)))


_CODES = {
    "DT_FLOAT": "f",
    "DT_FLOAT16": "e",
    "DT_DOUBLE": "d",
    "DT_INT8": "b",
    "DT_INT16": "h",
    "DT_INT32": "i",
    "DT_INT64": "q",
    "DT_UINT8": "B",
    "DT_UINT16": "H",
    "DT_UINT32": "I",
    "DT_UINT64": "Q",
    "DT_BOOL": "?",
}


def packed(values: Sequence, dtype: _DataType) -> bytes:
    """Numbers as the bytes of a constant of that type. TypeError for a type that constants do not have here."""
    if dtype == _DataType.DT_BF16:
        return b"".join(struct.pack("<H", _brain(float(value))) for value in values)
    code = _CODES.get(dtype.name)
    if code is None:
        raise TypeError(f"ge.Const: constants of {dtype.name} are not supported")
    whole = code not in "efd?"
    return struct.pack(f"<{len(values)}{code}", *(int(v) if whole else v for v in values))


def _brain(value: float) -> int:
    bits = struct.unpack("<I", struct.pack("<f", value))[0]
    return 0x7FC0 if value != value else (bits + 0x7FFF + (bits >> 16 & 1)) >> 16 & 0xFFFF


def descriptor(name: str, dtype: _DataType, shape: Sequence[int] | None, layout: str = "ND") -> Message:
    """A TensorDescriptor; without a shape it says -2, GE's word for an unknown rank."""
    dims = [-2] if shape is None else list(shape)
    return Message("TensorDescriptor", name=name, dtype=dtype.proto, shape=Message("ShapeDef", dim=dims), layout=layout)


def of_type(type_name: str, value: Any) -> Attr:
    """A plain value as an attribute of the type that a prototype states."""
    if isinstance(value, Attr):
        return value
    kinds: dict[str, type[Attr]] = {
        "Int": Int,
        "Float": Float,
        "Bool": Bool,
        "String": Str,
        "Type": DataType,
        "ListInt": ListInt,
    }
    if type_name == "Int" and isinstance(value, _DataType):
        value = int(value)
    return kinds[type_name](value)
