"""The schema of an operator, held against the memory of the arguments of one call."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from mindtorch_v2 import _C

from .schema import Argument, FunctionSchema, parse_schema

__all__ = ["SchemaArgType", "SchemaArgument", "SchemaInfo", "is_alias_of", "overlaps"]


class SchemaArgType(enum.Enum):
    """Whether a place of a schema is an argument or a result."""

    input = 0
    output = 1


@dataclass(frozen=True)
class SchemaArgument:
    """A place of a schema: the argument or the result of that number."""

    type: SchemaArgType
    index: int


# Operators whose statistics are written only while they train, which a schema cannot say: the argument that tells.
_TRAINING = {
    "aten::batch_norm": "training",
    "aten::_batch_norm_impl_index": "training",
    "aten::cudnn_batch_norm": "training",
    "aten::miopen_batch_norm": "training",
    "aten::native_batch_norm": "training",
    "aten::instance_norm": "use_input_stats",
}
_STATISTICS = ("running_mean", "running_var")


class SchemaInfo:
    """A schema together with the values of a call: arguments that share memory are aliases of each other.

    >>> info = SchemaInfo(torch.ops.aten.add_.Tensor._schema)
    >>> x = torch.ones(2)
    >>> info.is_mutable("other"), info.add_argument_values({"self": x, "other": x}), info.is_mutable("other")
    (False, None, True)
    """

    def __init__(self, schema: FunctionSchema | str) -> None:
        self.schema = parse_schema(schema) if isinstance(schema, str) else schema
        self._values: dict[str, Any] = {}

    def add_argument_value(self, name: str, value: Any) -> None:
        """Say what an argument is in this call. `input` is another name of `self`. RuntimeError for an unknown name."""
        self._values[self._argument(name).name] = value

    def add_argument_values(self, values: dict[str, Any]) -> None:
        """Say what several arguments are; of names that the schema lacks nothing is taken."""
        for name, value in values.items():
            if self.has_argument(name):
                self.add_argument_value(name, value)

    def has_argument(self, name: str) -> bool:
        """Whether the schema has an argument of this name."""
        return any(argument.name in (name, "self" if name == "input" else name) for argument in self.schema.arguments)

    def is_mutable(self, place: SchemaArgument | str | None = None) -> bool:
        """Whether the call may write to an argument, by itself or by memory that it shares; of any, where none is named."""
        if place is None:
            return any(self._writes(argument) for argument in self.schema.arguments)
        argument = self._argument(place) if isinstance(place, str) else self._at(place)
        if self._writes(argument):
            return True
        value = self._values.get(argument.name)
        written = (self._values.get(each.name) for each in self.schema.arguments if self._writes(each))
        return any(is_alias_of(value, other) for other in written)

    def is_nondeterministic(self) -> bool:
        """Whether the operator draws random numbers; dropout does only where it trains."""
        handle = _C._find_operator(self.schema.name, self.schema.overload_name)
        if self.schema.name == "aten::dropout" and self._values.get("train") is False:
            return False
        return handle is not None and bool(handle.random)

    def may_alias(self, first: SchemaArgument, second: SchemaArgument) -> bool:
        """Whether two places may share memory: the schema says so, or the values of the call do."""
        if first == second:
            return True
        one, other = self._sets(first), self._sets(second)
        if one & other or ("*" in one and other) or ("*" in other and one):
            return True
        if first.type is second.type is SchemaArgType.input:
            return is_alias_of(self._value(first), self._value(second))
        if first.type is second.type is SchemaArgType.output:
            return any(
                self.may_alias(place, first) and self.may_alias(place, second)
                for place in self._inputs()
                if self._sets(place)
            )
        given, result = (first, second) if first.type is SchemaArgType.input else (second, first)
        return any(
            is_alias_of(self._value(given), self._value(place))
            for place in self._inputs()
            if place != given and self._sets(place) & self._sets(result)
        )

    may_contain_alias = may_alias

    def _writes(self, argument: Argument) -> bool:
        decides = _TRAINING.get(self.schema.name)
        if decides is not None and argument.name in _STATISTICS:
            return bool(self._values.get(decides))
        return argument.is_write

    def _argument(self, name: str) -> Argument:
        for argument in self.schema.arguments:
            if argument.name in (name, "self" if name == "input" else name):
                return argument
        raise RuntimeError(f"Schema has no argument named {name}: {self.schema}")

    def _at(self, place: SchemaArgument) -> Argument:
        places = self.schema.arguments if place.type is SchemaArgType.input else self.schema.returns
        if place.index >= len(places):
            raise RuntimeError(
                f"Invalid index {place.index} for schema {self.schema}: it has {len(places)} such places"
            )
        return places[place.index]

    def _inputs(self) -> Iterator[SchemaArgument]:
        return (SchemaArgument(SchemaArgType.input, number) for number in range(len(self.schema.arguments)))

    def _value(self, place: SchemaArgument) -> Any:
        return self._values.get(self._at(place).name)

    def _sets(self, place: SchemaArgument) -> frozenset[str]:
        info = self._at(place).alias_info
        if info is None:
            return frozenset()
        return info.before_set.union(info.after_set, *(item.before_set | item.after_set for item in info.items))


def _tensors(value: Any) -> list[Any]:
    if isinstance(value, _C.TensorBase):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [tensor for item in value for tensor in _tensors(item)] if isinstance(value, (list, tuple)) else []


def _memory(tensor: Any) -> tuple[int, int, int] | None:
    """The storage of a tensor and the first and last byte that it reads; None without any."""
    if tensor.layout is not _C.strided or tensor.numel() == 0:
        return None
    first = tensor.storage_offset()
    last = first + sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True))
    width = tensor.element_size()
    return tensor.untyped_storage()._cdata, first * width, (last + 1) * width


def is_alias_of(first: Any, second: Any) -> bool:
    """Whether a tensor in the first value has the storage of one in the second; lists are looked into."""
    one, other = ({m[0] for t in _tensors(value) if (m := _memory(t)) is not None} for value in (first, second))
    return bool(one & other)


def overlaps(first: Any, second: Any) -> bool:
    """Whether the bytes between first and last element of a tensor in one value meet those of one in the other."""
    one, other = ([m for t in _tensors(value) if (m := _memory(t)) is not None] for value in (first, second))
    return any(a[0] == b[0] and a[1] < b[2] and b[1] < a[2] for a in one for b in other)
