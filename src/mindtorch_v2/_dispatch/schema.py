"""Schemas of operators as frozen objects: `torch._C.FunctionSchema`, its arguments, their types and alias sets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mindtorch_v2 import _C

__all__ = ["AliasInfo", "Argument", "FunctionSchema", "Type", "parse_schema", "schema_of"]


@dataclass(frozen=True, repr=False)
class Type:
    """A type of the schema language.

    `annotation_str` is PyTorch's Python-like spelling ("Optional[List[int]]"), `schema_str` that of schemas ("int[]?").
    """

    _kind: str
    schema_str: str
    annotation_str: str
    _items: tuple[Type, ...] = ()

    def __str__(self) -> str:
        return self.annotation_str

    __repr__ = __str__

    def kind(self) -> str:
        """The name of PyTorch's class for it, as in "OptionalType"."""
        return self._kind

    def str(self) -> str:
        """The spelling of schemas."""
        return self.schema_str

    def containedTypes(self) -> list[Type]:
        """Types that it holds: the item of a list or optional, key and value of a Dict, the members of a tuple or Union."""
        return list(self._items)

    def getElementType(self) -> Type:
        """The item of a list, optional, Future, Await or RRef; RuntimeError for other types."""
        if len(self._items) != 1 or self._kind in ("TupleType", "UnionType"):
            raise RuntimeError(f"{self.annotation_str} has no element type")
        return self._items[0]

    def elements(self) -> list[Type]:
        """The members of a tuple."""
        return list(self._items)

    def getKeyType(self) -> Type:
        """The keys of a Dict."""
        return self._items[0]

    def getValueType(self) -> Type:
        """The values of a Dict."""
        return self._items[1]

    def isSubtypeOf(self, other: Type) -> bool:
        """Whether every value of this type is one of `other`.

        >>> int_type, optional = IntType.get(), OptionalType(IntType.get())
        >>> int_type.isSubtypeOf(optional), optional.isSubtypeOf(int_type)
        (True, False)
        """
        if self == other or other._kind == "AnyType":
            return True
        if self._kind == "UnionType":
            return all(member.isSubtypeOf(other) for member in self._items)
        if other._kind == "NumberType":
            return self._kind in ("IntType", "FloatType", "ComplexType", "SymIntType")
        if self._kind == "OptionalType":
            inner = other._kind == "OptionalType" and self._items[0].isSubtypeOf(other._items[0])
            return inner or (other._kind == "UnionType" and all(m.isSubtypeOf(other) for m in (self._items[0], _NONE)))
        if other._kind == "OptionalType":
            return self._kind == "NoneType" or self.isSubtypeOf(other._items[0])
        if other._kind == "UnionType":
            return any(self.isSubtypeOf(member) for member in other._items)
        if self._kind == other._kind == "TupleType":
            pairs = zip(self._items, other._items, strict=False)
            return len(self._items) == len(other._items) and all(mine.isSubtypeOf(theirs) for mine, theirs in pairs)
        return False


class _Class(type):
    """A class of types by kind, for isinstance: every Type of that kind is an instance."""

    _kind: str

    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, Type) and value._kind == cls._kind


def _simple(name: str, text: str, annotation: str | None = None) -> type:
    made = Type(name, text, annotation or text)
    doc = (
        f"The type `{text}` of arguments and results in schemas; `get()` gives it.\n\n"
        f">>> print(torch._C.{name}.get())\n{text}\n"
    )
    return _Class(
        name, (), {"_kind": name, "get": staticmethod(lambda: made), "__module__": "torch._C", "__doc__": doc}
    )


_NONE = Type("NoneType", "NoneType", "NoneType")


def _holder(name: str, prefix: str, schema: str) -> type:
    def make(cls: type, item: Type) -> Type:
        return Type(name, schema.format(item.schema_str), f"{prefix}[{item}]", (item,))

    return _Class(name, (), {"_kind": name, "__new__": make, "__module__": "torch._C"})


AnyType = _simple("AnyType", "Any")
BoolType = _simple("BoolType", "bool")
ComplexType = _simple("ComplexType", "complex")
DeviceObjType = _simple("DeviceObjType", "Device")
FloatType = _simple("FloatType", "float")
IntType = _simple("IntType", "int")
NoneType = _simple("NoneType", "NoneType")
NumberType = _simple("NumberType", "Scalar", "number")
StreamObjType = _simple("StreamObjType", "Stream")
StringType = _simple("StringType", "str")
SymBoolType = _simple("SymBoolType", "SymBool", "bool")
SymIntType = _simple("SymIntType", "SymInt", "int")
TensorType = _simple("TensorType", "Tensor")
_GeneratorType = _simple("GeneratorType", "Generator")
AwaitType = _holder("AwaitType", "Await", "Await({})")
FutureType = _holder("FutureType", "Future", "Future({})")
ListType = _holder("ListType", "List", "{}[]")
OptionalType = _holder("OptionalType", "Optional", "{}?")
RRefType = _holder("RRefType", "RRef", "RRef({})")


def _tuple_type(cls: type, items: list[Type]) -> Type:
    schema = ", ".join(item.schema_str for item in items)
    return Type("TupleType", f"({schema})", f"Tuple[{', '.join(map(str, items)) or '()'}]", tuple(items))


def _dict_type(cls: type, key: Type, value: Type) -> Type:
    return Type("DictType", f"Dict({key.schema_str}, {value.schema_str})", f"Dict[{key}, {value}]", (key, value))


TupleType = _Class("TupleType", (), {"_kind": "TupleType", "__new__": _tuple_type, "__module__": "torch._C"})
DictType = _Class("DictType", (), {"_kind": "DictType", "__new__": _dict_type, "__module__": "torch._C"})


@dataclass(frozen=True)
class AliasInfo:
    """An alias annotation: the sets that the value may belong to before and after the call, and whether it is written.

    `items` are the annotations of the items of a list, as in "Tensor(a!)[]".
    """

    before_set: frozenset[str]
    after_set: frozenset[str]
    is_write: bool
    items: tuple[AliasInfo, ...] = ()


@dataclass(frozen=True)
class Argument:
    """An argument or result of an operator.

    `N` is the length of a list of stated length; `real_type` tells SymInt, ScalarType, Layout and MemoryFormat from int.
    """

    name: str
    real_type: Type
    N: int | None
    default_value: Any
    alias_info: AliasInfo | None
    kwarg_only: bool
    _has_default: bool

    @property
    def type(self) -> Type:
        return _value_type(self.real_type)

    @property
    def is_write(self) -> bool:
        return self.alias_info is not None and self.alias_info.is_write

    @property
    def is_out(self) -> bool:
        return self.kwarg_only and self.is_write

    def has_default_value(self) -> bool:
        """Whether a call may leave it out."""
        return self._has_default

    def _same_place(self, other: Argument) -> bool:
        return (self.name, self.N, self.alias_info) == (other.name, other.N, other.alias_info)

    def _like(self, other: Argument) -> bool:
        """Whether a caller of `other` may call this one in the same place."""
        if not self._same_place(other) or self.kwarg_only and not other.kwarg_only:
            return False
        if not other.type.isSubtypeOf(self.type):
            return False
        return not other._has_default or (self._has_default and self.default_value == other.default_value)

    def _serves(self, older: Argument) -> bool:
        """Whether what is made for this one may be given to an older one."""
        if not self._same_place(older) or self.kwarg_only != older.kwarg_only or not self.type.isSubtypeOf(older.type):
            return False
        return self._has_default == older._has_default and self.default_value == older.default_value


@dataclass(frozen=True, eq=False)
class FunctionSchema:
    """The arguments and results of an operator. `str()` is its canonical text, which parses to an equal schema.

    >>> schema = parse_schema("ns::scale_(Tensor(a!) x, float[2] by=[1, 2.5], *, str? how=None) -> Tensor(a!)")
    >>> schema.is_mutable, [argument.name for argument in schema.arguments], schema.arguments[1].type
    (True, ['x', 'by', 'how'], List[float])
    >>> str(schema)
    'ns::scale_(Tensor(a!) x, float[2] by=[1., 2.5], *, str? how=None) -> Tensor(a!)'
    """

    name: str
    overload_name: str
    _arguments: tuple[Argument, ...]
    _returns: tuple[Argument, ...]
    is_vararg: bool
    is_varret: bool
    _text: str

    def __str__(self) -> str:
        return self._text

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FunctionSchema):
            return NotImplemented
        mine = (self.name, self.overload_name, self._arguments, self._returns, self.is_vararg, self.is_varret)
        return mine == (
            other.name,
            other.overload_name,
            other._arguments,
            other._returns,
            other.is_vararg,
            other.is_varret,
        )

    def __hash__(self) -> int:
        return hash(self._text)

    @property
    def arguments(self) -> list[Argument]:
        return list(self._arguments)

    @property
    def returns(self) -> list[Argument]:
        return list(self._returns)

    @property
    def is_mutable(self) -> bool:
        """Whether a call writes to one of its arguments."""
        return any(argument.is_write for argument in self._arguments)

    def _is_view_op(self) -> bool:
        """Whether a result shares memory with an argument and nothing is written."""
        return not self.is_mutable and any(result.alias_info is not None for result in self._returns)

    def is_backward_compatible_with(self, old: FunctionSchema) -> bool:
        """Whether every call that fits `old` fits this schema and means the same.

        >>> new = parse_schema("f(Tensor x, int k=1) -> Tensor")
        >>> old = parse_schema("f(Tensor x) -> Tensor")
        >>> new.is_backward_compatible_with(old), old.is_backward_compatible_with(new)
        (True, False)
        """
        if (self.name, self.overload_name, self.is_vararg, self.is_varret) != (
            old.name,
            old.overload_name,
            old.is_vararg,
            old.is_varret,
        ):
            return False
        if len(self._returns) != len(old._returns) or len(self._arguments) < len(old._arguments):
            return False
        for new_result, old_result in zip(self._returns, old._returns, strict=True):
            if not new_result._same_place(old_result) or not new_result.type.isSubtypeOf(old_result.type):
                return False
        mine = [argument for argument in self._arguments if not argument.is_out]
        theirs = [argument for argument in old._arguments if not argument.is_out]
        outs = [argument for argument in self._arguments if argument.is_out]
        if len(mine) < len(theirs) or not all(new._like(past) for new, past in zip(mine, theirs, strict=False)):
            return False
        if not all(argument._has_default for argument in mine[len(theirs) :]):
            return False
        past_outs = [argument for argument in old._arguments if argument.is_out]
        return len(outs) >= len(past_outs) and all(new._like(past) for new, past in zip(outs, past_outs, strict=False))

    def check_forward_compatible_with(self, old: FunctionSchema) -> tuple[bool, str]:
        """Whether a program made for this schema runs where only `old` is known, as far as it leaves new arguments out; and why not.

        >>> old = parse_schema("f(Tensor x) -> Tensor")
        >>> parse_schema("f(Tensor x, int k=1) -> Tensor").check_forward_compatible_with(old)
        (True, '')
        """
        for what in ("name", "overload_name", "is_vararg", "is_varret"):
            if getattr(self, what) != getattr(old, what):
                return False, f"Function schemas have different values of {what}"
        if len(self._returns) != len(old._returns):
            return False, "Function schema should have the same number of returns"
        mine, theirs = ([each for each in schema._arguments if not each.is_out] for schema in (self, old))
        outs, past_outs = ([each for each in schema._arguments if each.is_out] for schema in (self, old))
        if len(outs) != len(past_outs):
            return False, "Function schema should have the same number of out arguments"
        for new, past in [*zip(mine, theirs, strict=False), *zip(outs, past_outs, strict=True)]:
            if not new._serves(past):
                return False, f"'{new.name}' is not forward compatible with the older version of the schema"
        for new in mine[len(theirs) :]:
            start = f"Function schema is not forward compatible since the new argument '{new.name}' of type {new.type.str()}"
            if not new._has_default:
                return False, f"{start} did not provide a default value."
            if new.type._kind in ("ListType", "DictType", "TupleType"):
                return False, f"{start} has a container type as its default value."
        for past in theirs[len(mine) :]:
            if not past._has_default:
                return (
                    False,
                    f"Function schema is not forward compatible since '{past.name}' is missing, and has no default",
                )
        return True, ""


_AS_INT = {"ScalarTypeType", "LayoutType", "MemoryFormatType", "SymIntType"}


def _value_type(kind: Type) -> Type:
    """The type of the values: ScalarType, Layout, MemoryFormat and SymInt are int, in lists and optionals too."""
    if kind._kind in _AS_INT:
        integer: Type = IntType.get()  # type: ignore[attr-defined]  # (the class of C++ has it)
        return integer
    if kind._kind in ("ListType", "OptionalType"):
        item = _value_type(kind._items[0])
        return kind if item is kind._items[0] else (ListType if kind._kind == "ListType" else OptionalType)(item)
    return kind


def _type(parts: tuple[Any, ...]) -> Type:
    kind, text, annotation, items = parts
    return Type(kind, text, annotation, tuple(_type(item) for item in items))


def _alias(parts: tuple[Any, ...] | None) -> AliasInfo | None:
    if parts is None:
        return None
    before, after, items, writes = parts
    return AliasInfo(
        frozenset(before),
        frozenset(after),
        writes,
        tuple(alias for item in items if (alias := _alias(item)) is not None),
    )


def _argument(parts: tuple[Any, ...]) -> Argument:
    name, kind, size, default, alias, has_default, keyword_only = parts
    if has_default and kind[0] == "DeviceObjType":
        default = _C.device(default)
    return Argument(name, _type(kind), size, default, _alias(alias), keyword_only, has_default)


def _schema(parts: tuple[Any, ...]) -> FunctionSchema:
    name, overload, arguments, returns, vararg, varret, text = parts
    return FunctionSchema(
        name, overload, tuple(map(_argument, arguments)), tuple(map(_argument, returns)), vararg, varret, text
    )


def parse_schema(schema: str, allow_typevars: bool = True) -> FunctionSchema:
    """The schema that a text says, "ns::name.overload(Tensor x, int k=1) -> Tensor".

    Lower-case names that are no types are type variables if `allow_typevars`. RuntimeError for what is no schema,
    with a caret under the place.
    """
    return _schema(_C._parse_schema(schema, allow_typevars))


def schema_of(handle: Any) -> FunctionSchema:
    """The schema of a registered operator."""
    made: FunctionSchema | None = handle.__dict__.get("function_schema")
    if made is None:
        made = handle.__dict__["function_schema"] = _schema(handle.schema_parts)
    return made


for _class in (Type, AliasInfo, Argument, FunctionSchema):
    _class.__module__ = "torch._C"
