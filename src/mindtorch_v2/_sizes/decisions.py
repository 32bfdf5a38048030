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
    """Whether a condition holds for no sizes; nothing is noted.

    >>> from mindtorch_v2.fx.experimental.symbolic_shapes import statically_known_false
    >>> from mindtorch_v2._subclasses.fake_tensor import FakeTensorMode
    >>> from mindtorch_v2.fx.experimental.symbolic_shapes import ShapeEnv
    >>> size = FakeTensorMode(shape_env=ShapeEnv()).from_tensor(torch.ones(4)).shape[0]
    >>> statically_known_false(size < 0), statically_known_false(size < 3)
    (True, False)
    """
    return not _decision(x, True)


def _or_else(a: Any, otherwise: bool) -> bool:
    if isinstance(a, SymBool) and a.node.shape_env.is_unbacked(a.node.expr):
        return _decision(a, otherwise)
    return bool(a)


def guard_or_true(a: Any) -> bool:
    """`bool(a)`; True where it depends on data.

    >>> from mindtorch_v2.fx.experimental.symbolic_shapes import guard_or_true
    >>> from mindtorch_v2.fx.experimental.symbolic_shapes import ShapeEnv
    >>> count = ShapeEnv().create_unbacked_symint()
    >>> guard_or_true(count > 3)
    True
    """
    return _or_else(a, True)


def guard_or_false(a: Any) -> bool:
    """`bool(a)`; False where it depends on data.

    >>> from mindtorch_v2.fx.experimental.symbolic_shapes import guard_or_false
    >>> from mindtorch_v2.fx.experimental.symbolic_shapes import ShapeEnv
    >>> count = ShapeEnv().create_unbacked_symint()
    >>> guard_or_false(count > 3)
    False
    """
    return _or_else(a, False)


def guard_bool(a: Any) -> bool:
    """`bool(a)`, noted as a guard.

    >>> from mindtorch_v2.fx.experimental.symbolic_shapes import guard_bool
    >>> from mindtorch_v2._subclasses.fake_tensor import FakeTensorMode
    >>> from mindtorch_v2.fx.experimental.symbolic_shapes import ShapeEnv
    >>> size = FakeTensorMode(shape_env=ShapeEnv()).from_tensor(torch.ones(4)).shape[0]
    >>> guard_bool(size > 3)
    True
    """
    return bool(a)


guard_size_oblivious = guard_bool


def guard_int(a: Any) -> int:
    """The number seen; it is fixed.

    >>> from mindtorch_v2.fx.experimental.symbolic_shapes import guard_int, is_symbolic
    >>> from mindtorch_v2._subclasses.fake_tensor import FakeTensorMode
    >>> from mindtorch_v2.fx.experimental.symbolic_shapes import ShapeEnv
    >>> size = FakeTensorMode(shape_env=ShapeEnv()).from_tensor(torch.ones(4)).shape[0]
    >>> is_symbolic(size), guard_int(size)
    (True, 4)
    """
    return int(a)


def guard_float(a: Any) -> float:
    """The number seen; it is fixed.

    >>> from mindtorch_v2.fx.experimental.symbolic_shapes import guard_float
    >>> from mindtorch_v2._subclasses.fake_tensor import FakeTensorMode
    >>> from mindtorch_v2.fx.experimental.symbolic_shapes import ShapeEnv
    >>> size = FakeTensorMode(shape_env=ShapeEnv()).from_tensor(torch.ones(4)).shape[0]
    >>> guard_float(size / 2)
    2.0
    """
    return float(a)


def guard_scalar(a: Any) -> Any:
    """The number or truth value seen; it is fixed.

    >>> from mindtorch_v2.fx.experimental.symbolic_shapes import guard_scalar
    >>> from mindtorch_v2._subclasses.fake_tensor import FakeTensorMode
    >>> from mindtorch_v2.fx.experimental.symbolic_shapes import ShapeEnv
    >>> size = FakeTensorMode(shape_env=ShapeEnv()).from_tensor(torch.ones(4)).shape[0]
    >>> guard_scalar(size), guard_scalar(size > 9)
    (4, False)
    """
    if isinstance(a, (SymBool, bool)):
        return bool(a)
    return int(a) if isinstance(a, (SymInt, int)) else float(a)


def optimization_hint(a: Any, fallback: int | None = None) -> Any:
    """The number seen, `fallback` where none was; nothing is noted.

    >>> from mindtorch_v2.fx.experimental.symbolic_shapes import optimization_hint
    >>> from mindtorch_v2._subclasses.fake_tensor import FakeTensorMode
    >>> from mindtorch_v2.fx.experimental.symbolic_shapes import ShapeEnv
    >>> size = FakeTensorMode(shape_env=ShapeEnv()).from_tensor(torch.ones(4)).shape[0]
    >>> optimization_hint(size * 2)
    8
    """
    if not isinstance(a, (SymInt, SymFloat)):
        return a
    return a.node.hint if a.node.has_hint() or fallback is None else fallback


def is_symbolic(val: Any) -> bool:
    """Whether a number is symbolic, and not fixed by now.

    >>> from mindtorch_v2.fx.experimental.symbolic_shapes import is_symbolic
    >>> from mindtorch_v2._subclasses.fake_tensor import FakeTensorMode
    >>> from mindtorch_v2.fx.experimental.symbolic_shapes import ShapeEnv
    >>> size = FakeTensorMode(shape_env=ShapeEnv()).from_tensor(torch.ones(4)).shape[0]
    >>> is_symbolic(size), is_symbolic(4)
    (True, False)
    """
    return isinstance(val, (SymInt, SymFloat, SymBool)) and (
        isinstance(val, SymBool) or val.node.shape_env.simplify(val.node.expr).constant is None
    )


def is_concrete_int(a: Any) -> bool:
    """Whether a number is an int, or a SymInt that is fixed.

    >>> from mindtorch_v2.fx.experimental.symbolic_shapes import is_concrete_int
    >>> from mindtorch_v2._subclasses.fake_tensor import FakeTensorMode
    >>> from mindtorch_v2.fx.experimental.symbolic_shapes import ShapeEnv
    >>> size = FakeTensorMode(shape_env=ShapeEnv()).from_tensor(torch.ones(4)).shape[0]
    >>> is_concrete_int(size), is_concrete_int(4)
    (False, True)
    """
    return isinstance(a, (int, SymInt)) and not is_symbolic(a)


def is_concrete_float(a: Any) -> bool:
    """Whether a number is a float, or a SymFloat that is fixed.

    >>> from mindtorch_v2.fx.experimental.symbolic_shapes import is_concrete_float
    >>> from mindtorch_v2._subclasses.fake_tensor import FakeTensorMode
    >>> from mindtorch_v2.fx.experimental.symbolic_shapes import ShapeEnv
    >>> size = FakeTensorMode(shape_env=ShapeEnv()).from_tensor(torch.ones(4)).shape[0]
    >>> is_concrete_float(size / 2), is_concrete_float(0.5)
    (False, True)
    """
    return isinstance(a, (float, SymFloat)) and not is_symbolic(a)


def is_concrete_bool(a: Any) -> bool:
    """Whether a truth value is decided for all sizes.

    >>> from mindtorch_v2.fx.experimental.symbolic_shapes import is_concrete_bool
    >>> from mindtorch_v2._subclasses.fake_tensor import FakeTensorMode
    >>> from mindtorch_v2.fx.experimental.symbolic_shapes import ShapeEnv
    >>> size = FakeTensorMode(shape_env=ShapeEnv()).from_tensor(torch.ones(4)).shape[0]
    >>> is_concrete_bool(size > 3), is_concrete_bool(True)
    (False, True)
    """
    return isinstance(a, bool) or isinstance(a, SymBool) and _decision(a, None) is not None


def has_static_value(a: Any) -> bool:
    """Whether a number or truth value is the same for all sizes.

    >>> from mindtorch_v2.fx.experimental.symbolic_shapes import has_static_value
    >>> from mindtorch_v2._subclasses.fake_tensor import FakeTensorMode
    >>> from mindtorch_v2.fx.experimental.symbolic_shapes import ShapeEnv
    >>> size = FakeTensorMode(shape_env=ShapeEnv()).from_tensor(torch.ones(4)).shape[0]
    >>> has_static_value(size), has_static_value(size - size)
    (False, True)
    """
    return _decision(a, None) is not None if isinstance(a, SymBool) else not is_symbolic(a)


def free_symbols(val: Any) -> set[str]:
    """The names of the symbols in a number, a tensor's sizes, strides and offset, or a sequence of them.

    >>> from mindtorch_v2.fx.experimental.symbolic_shapes import free_symbols
    >>> from mindtorch_v2._subclasses.fake_tensor import FakeTensorMode
    >>> from mindtorch_v2.fx.experimental.symbolic_shapes import ShapeEnv
    >>> size = FakeTensorMode(shape_env=ShapeEnv()).from_tensor(torch.ones(4)).shape[0]
    >>> len(free_symbols(size)), len(free_symbols(3))
    (1, 0)
    """
    if isinstance(val, (SymInt, SymFloat, SymBool)):
        return val.node.shape_env.simplify(val.node.expr).free_symbols
    if isinstance(val, _C.TensorBase):
        if val.layout is not _C.strided:
            return free_symbols([*val.shape])
        return free_symbols([*val.shape, *val.stride(), val.storage_offset()])
    if isinstance(val, (list, tuple)):
        return set().union(*map(free_symbols, val)) if val else set()
    return set()


def has_free_symbols(val: Any) -> bool:
    """Whether a number or tensor depends on a symbol.

    >>> from mindtorch_v2.fx.experimental.symbolic_shapes import has_free_symbols
    >>> from mindtorch_v2._subclasses.fake_tensor import FakeTensorMode
    >>> from mindtorch_v2.fx.experimental.symbolic_shapes import ShapeEnv
    >>> size = FakeTensorMode(shape_env=ShapeEnv()).from_tensor(torch.ones(4)).shape[0]
    >>> has_free_symbols(size + 1), has_free_symbols(3)
    (True, False)
    """
    return bool(free_symbols(val))


def has_symbolic_sizes_strides(elem: Any) -> bool:
    """Whether a tensor has a size or stride that may differ.

    >>> from mindtorch_v2._subclasses.fake_tensor import FakeTensorMode
    >>> from mindtorch_v2.fx.experimental.symbolic_shapes import ShapeEnv, has_symbolic_sizes_strides
    >>> fake = FakeTensorMode(shape_env=ShapeEnv()).from_tensor(torch.ones(4))
    >>> has_symbolic_sizes_strides(fake), has_symbolic_sizes_strides(torch.ones(4))
    (True, False)
    """
    return has_free_symbols(elem)


def sym_and(x: Any, *others: Any) -> Any:
    """The conjunction of truth values, of which none is decided by.

    >>> from mindtorch_v2.fx.experimental.symbolic_shapes import sym_and
    >>> from mindtorch_v2._subclasses.fake_tensor import FakeTensorMode
    >>> from mindtorch_v2.fx.experimental.symbolic_shapes import ShapeEnv
    >>> size = FakeTensorMode(shape_env=ShapeEnv()).from_tensor(torch.ones(4)).shape[0]
    >>> both = sym_and(size > 2, size < 9)
    >>> type(both).__name__, bool(both)
    ('SymBool', True)
    """
    for other in others:
        x = x & other
    return x


def sym_or(x: Any, *others: Any) -> Any:
    """The disjunction of truth values, of which none is decided by.

    >>> from mindtorch_v2.fx.experimental.symbolic_shapes import sym_or
    >>> from mindtorch_v2._subclasses.fake_tensor import FakeTensorMode
    >>> from mindtorch_v2.fx.experimental.symbolic_shapes import ShapeEnv
    >>> size = FakeTensorMode(shape_env=ShapeEnv()).from_tensor(torch.ones(4)).shape[0]
    >>> either = sym_or(size > 8, size < 3)
    >>> type(either).__name__, bool(either)
    ('SymBool', False)
    """
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
