"""Questions about symbolic numbers that a program asks without, or with, deciding by them."""

from __future__ import annotations

from typing import Any

from mindtorch_v2 import _C
from mindtorch_v2._sizes.numbers import SymBool, SymFloat, SymInt

__all__ = [
    "free_symbols",
    "guard_bool",
    "guard_float",
    "guard_int",
    "guard_or_false",
    "guard_or_true",
    "guard_scalar",
    "guard_size_oblivious",
    "has_free_symbols",
    "has_static_value",
    "has_symbolic_sizes_strides",
    "is_concrete_bool",
    "is_concrete_float",
    "is_concrete_int",
    "is_symbolic",
    "optimization_hint",
    "statically_known_false",
    "statically_known_true",
    "sym_and",
    "sym_eq",
    "sym_or",
]


def _decision(a: Any, otherwise: bool | None) -> Any:
    """`a` where it is decided for all sizes, else `otherwise`."""
    if not isinstance(a, SymBool):
        return bool(a)
    env = a.node.shape_env
    known = env.simplify(a.node.expr).known(env._least)
    return otherwise if known is None else known


def statically_known_true(x: Any) -> bool:
    """Whether a condition holds for all sizes; nothing is noted.

    >>> statically_known_true(True)
    True
    """
    return _decision(x, False)


def statically_known_false(x: Any) -> bool:
    """Whether a condition holds for no sizes; nothing is noted."""
    return not _decision(x, True)


def _or_else(a: Any, otherwise: bool) -> bool:
    if isinstance(a, SymBool) and a.node.shape_env.is_unbacked(a.node.expr):
        return _decision(a, otherwise)
    return bool(a)


def guard_or_true(a: Any) -> bool:
    """`bool(a)`; True where it depends on data."""
    return _or_else(a, True)


def guard_or_false(a: Any) -> bool:
    """`bool(a)`; False where it depends on data."""
    return _or_else(a, False)


def guard_bool(a: Any) -> bool:
    """`bool(a)`, noted as a guard."""
    return bool(a)


guard_size_oblivious = guard_bool


def guard_int(a: Any) -> int:
    """The number seen; it is fixed."""
    return int(a)


def guard_float(a: Any) -> float:
    """The number seen; it is fixed."""
    return float(a)


def guard_scalar(a: Any) -> Any:
    """The number or truth value seen; it is fixed."""
    if isinstance(a, (SymBool, bool)):
        return bool(a)
    return int(a) if isinstance(a, (SymInt, int)) else float(a)


def optimization_hint(a: Any, fallback: int | None = None) -> Any:
    """The number seen, `fallback` where none was; nothing is noted."""
    if not isinstance(a, (SymInt, SymFloat)):
        return a
    return a.node.hint if a.node.has_hint() or fallback is None else fallback


def is_symbolic(val: Any) -> bool:
    """Whether a number is symbolic, and not fixed by now."""
    return isinstance(val, (SymInt, SymFloat, SymBool)) and (
        isinstance(val, SymBool) or val.node.shape_env.simplify(val.node.expr).constant is None
    )


def is_concrete_int(a: Any) -> bool:
    """Whether a number is an int, or a SymInt that is fixed."""
    return isinstance(a, (int, SymInt)) and not is_symbolic(a)


def is_concrete_float(a: Any) -> bool:
    """Whether a number is a float, or a SymFloat that is fixed."""
    return isinstance(a, (float, SymFloat)) and not is_symbolic(a)


def is_concrete_bool(a: Any) -> bool:
    """Whether a truth value is decided for all sizes."""
    return isinstance(a, bool) or isinstance(a, SymBool) and _decision(a, None) is not None


def has_static_value(a: Any) -> bool:
    """Whether a number or truth value is the same for all sizes."""
    return _decision(a, None) is not None if isinstance(a, SymBool) else not is_symbolic(a)


def free_symbols(val: Any) -> set[str]:
    """The names of the symbols in a number, a tensor's sizes, strides and offset, or a sequence of them."""
    if isinstance(val, (SymInt, SymFloat, SymBool)):
        return val.node.shape_env.simplify(val.node.expr).free_symbols
    if isinstance(val, _C.TensorBase):
        return free_symbols([*val.shape, *val.stride(), val.storage_offset()])
    if isinstance(val, (list, tuple)):
        return set().union(*map(free_symbols, val)) if val else set()
    return set()


def has_free_symbols(val: Any) -> bool:
    """Whether a number or tensor depends on a symbol."""
    return bool(free_symbols(val))


def has_symbolic_sizes_strides(elem: Any) -> bool:
    """Whether a tensor has a size or stride that may differ."""
    return has_free_symbols(elem)


def sym_and(x: Any, *others: Any) -> Any:
    """The conjunction of truth values, of which none is decided by."""
    for other in others:
        x = x & other
    return x


def sym_or(x: Any, *others: Any) -> Any:
    """The disjunction of truth values, of which none is decided by."""
    for other in others:
        x = x | other
    return x


def sym_eq(x: Any, y: Any) -> Any:
    """Whether numbers, or sequences of numbers, are equal; not decided.

    >>> sym_eq((1, 2), (1, 2))
    True
    """
    if isinstance(x, (list, tuple)) and isinstance(y, (list, tuple)):
        return len(x) == len(y) and sym_and(True, *(sym_eq(a, b) for a, b in zip(x, y)))
    return x == y
