"""The types that PyTorch's graphs would give to Python's values: `torch._C._jit_try_infer_type`."""

from __future__ import annotations

from typing import Any, NoReturn

from mindtorch_v2 import _C

from .schema import Type, parse_schema

__all__ = ["InferredType", "try_infer_type"]


class InferredType:
    """A type, or the reason why a value has none."""

    def __init__(self, found: Type | str) -> None:
        self._found = found

    def success(self) -> bool:
        """Whether the value has a type."""
        return not isinstance(self._found, str)

    def type(self) -> Type:
        """The type; RuntimeError with the reason if there is none."""
        if isinstance(self._found, str):
            raise RuntimeError(f"Tried to get type from InferredType but the type is null. Reason: {self._found}")
        return self._found

    def reason(self) -> str:
        """Why the value has no type; "" if it has one."""
        return self._found if isinstance(self._found, str) else ""


class _Untyped(Exception):
    pass


_PLAIN = {bool: "bool", int: "int", float: "float", complex: "complex", str: "str", type(None): "NoneType"}


def try_infer_type(value: Any) -> InferredType:
    """The type of `value`: of a tensor, number, text, device or dtype, or of lists, tuples and dictionaries of such.

    >>> infer = torch._C._jit_try_infer_type
    >>> infer([1, None]).type().annotation_str, infer({"a": (1.0, "b")}).type().annotation_str
    ('List[Optional[int]]', 'Dict[str, Tuple[float, str]]')
    >>> infer([]).reason()
    'List trace inputs must have elements'
    """
    try:
        written = _written(value)
    except _Untyped as no:
        return InferredType(str(no))
    return InferredType(parse_schema(f"f({written} value) -> ()").arguments[0].type)


def _written(value: Any) -> str:
    """The type as schemas write it."""
    if isinstance(value, _C.TensorBase):
        return "Tensor"
    for kind, name in _PLAIN.items():
        if type(value) is kind or (kind is not type(None) and isinstance(value, kind)):
            return name
    if isinstance(value, (_C.dtype, _C.layout)):
        return "int"
    if isinstance(value, _C.device):
        return "Device"
    if isinstance(value, tuple):
        return f"({', '.join(map(_written, value))})"
    if isinstance(value, list):
        if not value:
            raise _Untyped("List trace inputs must have elements")
        return f"{_one(value, 'List inputs to traced functions must have consistent element type.')}[]"
    if isinstance(value, dict):
        if not value:
            raise _Untyped("Dictionary inputs must have entries")
        key = _one(list(value), "Dictionary inputs to traced functions must have consistent type.")
        return f"Dict({key}, {_one(list(value.values()), 'Dictionary inputs to traced functions must have consistent type.')})"
    _no_type(value)


def _one(values: list[Any], complaint: str) -> str:
    """The type of all of them, optional where some are None."""
    found = list(dict.fromkeys(map(_written, values)))
    known = [each for each in found if each != "NoneType"]
    if len(known) > 1:
        first, second = (parse_schema(f"f({each} value) -> ()").arguments[0].type.annotation_str for each in known[:2])
        raise _Untyped(f"{complaint} Found {first} and {second}")
    if len(known) == len(found):
        return known[0]
    return f"{known[0]}?" if known else "NoneType"


def _no_type(value: Any) -> NoReturn:
    raise _Untyped(
        "Only tensors and (possibly nested) tuples of tensors, lists, or dicts are supported as inputs or outputs of traced "
        f"functions, but instead got value of type {type(value).__name__}."
    )
