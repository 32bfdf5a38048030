"""The means by which converters of PyTorch's operators are stated; one line where a line does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .... import _C
from ...._core.dtype import DTYPES
from .. import apis, registry
from ..graph import Tensor
from ..types import DataType


def handles(name: str) -> list[Any]:
    """The operators of a name with an overload ("add.Tensor"), or all without writes ("add"). KeyError if there is none."""
    base, _, overload = name.partition(".")
    if overload:
        found = _C._find_operator(f"aten::{base}", "" if overload == "default" else overload)
        if found is None:
            raise KeyError(f"aten.{name} is no operator")
        return [found]
    made = [op for op in _C._all_operators() if op.namespace == "aten" and op.name == base and not op.mutates]
    if not made:
        raise KeyError(f"aten.{name} is no operator")
    return made


def converts(*names: str) -> Callable[[Callable], Callable]:
    """State the function below as the converter of operators. It has the operator's parameters, and perhaps `meta_outputs`."""

    def register(function: Callable) -> Callable:
        for name in names:
            for handle in handles(name):
                wants = registry.check(function, handle)
                registry.CONVERTERS[handle] = registry.Converter(function, "registered", wants)
        return function

    return register


def kind(meta: Any) -> DataType:
    """GE's type of a result."""
    return DataType.of(meta.dtype)


def operand(value: Any, as_type: DataType) -> Tensor:
    """A tensor or a number as a value of a type."""
    if isinstance(value, Tensor):
        return apis.Cast(value, dst_type=as_type)
    return apis.Const(value, as_type)


def promoted(*values: Any) -> DataType:
    """The type that PyTorch computes with for these operands."""
    first, *rest = [v.meta if isinstance(v, Tensor) else v for v in values]
    from .... import result_type  # the namespace is assembled later

    made = first
    for each in rest:
        made = result_type(first, each)
    return DataType.of(made if not hasattr(made, "dtype") else made.dtype)


def reshape(x: Tensor, shape: Any) -> Tensor:
    """The same elements in another shape."""
    shape = list(shape)
    return x if x.shape == shape else apis.function("Reshape")(x, shape)


def unary(name: str, ge_name: str) -> None:
    """An operator of one tensor that GE has under a name; integers are computed as floats where PyTorch does so."""

    @converts(name)
    def convert(self: Any, *, meta_outputs: Any = None) -> Any:
        return apis.function(ge_name)(operand(self, kind(meta_outputs)))


def binary(name: str, ge_name: str) -> None:
    """An operator of two operands, tensors or numbers, that are promoted to the result's type."""

    @converts(f"{name}.Tensor", *([f"{name}.Scalar"] if has(f"{name}.Scalar") else []))
    def convert(self: Any, other: Any, *, meta_outputs: Any = None) -> Any:
        made = kind(meta_outputs)
        return apis.function(ge_name)(operand(self, made), operand(other, made))


def comparison(name: str, ge_name: str) -> None:
    """A comparison: operands are promoted to their common type."""

    @converts(f"{name}.Tensor", f"{name}.Scalar")
    def convert(self: Any, other: Any) -> Any:
        common = promoted(self, other)
        return apis.function(ge_name)(operand(self, common), operand(other, common))


def has(name: str) -> bool:
    """Whether there is an operator with this overload."""
    base, _, overload = name.partition(".")
    return _C._find_operator(f"aten::{base}", "" if overload == "default" else overload) is not None


__all__ = [
    "DTYPES",
    "DataType",
    "Tensor",
    "apis",
    "binary",
    "comparison",
    "converts",
    "has",
    "kind",
    "operand",
    "promoted",
    "reshape",
    "unary",
]
