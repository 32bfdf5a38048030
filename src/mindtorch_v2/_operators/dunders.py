"""Python's operators on tensors: which operator each of them is."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from .. import _C
from .._core.torch_function import ANNOUNCED
from .table import aten

# number slot of the tensor type -> operator
_SLOTS = {
    "add": "add",
    "sub": "sub",
    "mul": "mul",
    "matmul": "matmul",
    "truediv": "div",
    "floordiv": "floor_divide",
    "mod": "remainder",
    "pow": "pow",
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
    "lshift": "bitwise_left_shift",
    "rshift": "bitwise_right_shift",
    "rsub": "rsub",
    "iadd": "add_",
    "isub": "sub_",
    "imul": "mul_",
    "itruediv": "div_",
    "ifloordiv": "floor_divide_",
    "imod": "remainder_",
    "ipow": "pow_",
    "iand": "bitwise_and_",
    "ior": "bitwise_or_",
    "ixor": "bitwise_xor_",
    "ilshift": "bitwise_left_shift_",
    "irshift": "bitwise_right_shift_",
    "neg": "neg",
    "pos": "positive",
    "abs": "abs",
    "invert": "bitwise_not",
    "lt": "lt",
    "le": "le",
    "eq": "eq",
    "ne": "ne",
    "gt": "gt",
    "ge": "ge",
}


# The others are announced to `__torch_function__` by the operator's name.
_SAID_AS_WRITTEN = frozenset("floordiv and or xor lshift rshift iand ior ixor ilshift irshift rsub".split())


# Reflected forms: the tensor is the first argument, Python's left operand the second.
def _rtruediv(self: Any, other: Any) -> Any:
    return self.reciprocal() * other  # NumPy's arrays take part through the operator


def _eq_array(self: Any, other: Any) -> Any:
    """`self == other` of what `eq` refuses: an array of NumPy is compared element by element."""
    numpy = sys.modules.get("numpy")
    if numpy is None or not isinstance(other, numpy.ndarray):
        return NotImplemented
    return aten.eq(self, _C.from_numpy(other))


def _rfloordiv(self: Any, other: Any) -> Any:
    return aten.floor_divide(aten.full_like(self, other) if not isinstance(other, _C.TensorBase) else other, self)


def _rmod(self: Any, other: Any) -> Any:
    return aten.remainder(other, self)


def _rpow(self: Any, other: Any) -> Any:
    return aten.pow(other, self)


def _rmatmul(self: Any, other: Any) -> Any:
    return aten.matmul(other, self)


def _rlshift(self: Any, other: Any) -> Any:
    return aten.bitwise_left_shift(other, self)


def _rrshift(self: Any, other: Any) -> Any:
    return aten.bitwise_right_shift(other, self)


_REFLECTED = {
    "rtruediv": _rtruediv,
    "rfloordiv": _rfloordiv,
    "rmod": _rmod,
    "rpow": _rpow,
    "rmatmul": _rmatmul,
    "rlshift": _rlshift,
    "rrshift": _rrshift,
}
# Dunder names that exist as attributes beside the slots (x.__and__(y), operator overload lookups by name).
_ATTRIBUTES = {"__div__": "div", "__rdiv__": None, "__idiv__": "div_"}


def _as_method(operator: Callable) -> Callable:
    def method(self: Any, other: Any) -> Any:
        try:
            return operator(self, other)
        except TypeError:
            return NotImplemented  # Python asks the other object then

    return method


def attach(tensor: type) -> None:
    """Hand the operators to the native number slots and set the dunder attributes that have no slot."""
    for slot, name in _SLOTS.items():
        if hasattr(aten, name):
            function = getattr(aten, name)
            _C._set_number_slot(slot, function)
            # What a class or a mode is told that was called.
            ANNOUNCED[id(function)] = getattr(tensor, f"__{slot}__" if slot in _SAID_AS_WRITTEN else name)
    _C._set_number_slot("eq_array", _eq_array)
    for slot, function in _REFLECTED.items():
        _C._set_number_slot(slot, function)
    for attribute, called in _ATTRIBUTES.items():
        if called is None:
            setattr(tensor, attribute, _as_method(_rtruediv))
        elif hasattr(aten, called):
            setattr(tensor, attribute, _as_method(getattr(aten, called)))
