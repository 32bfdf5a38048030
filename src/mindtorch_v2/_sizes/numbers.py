"""`SymInt`, `SymFloat`, `SymBool`: numbers that carry the expression that they are, and the value seen."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from mindtorch_v2._core.overridable import overridable
from mindtorch_v2._sizes import expressions
from mindtorch_v2._sizes.expressions import Condition, Expression, Junction, constant

__all__ = ["SymBool", "SymFloat", "SymInt", "SymNode", "plain"]


class SymNode:
    """The meaning of a symbolic number: its expression, the ShapeEnv that decides by it, and its class in Python.

    `values` has what it is for the sizes seen, then for the other sizes by which the ShapeEnv tells expressions apart.

    >>> from mindtorch_v2._subclasses.fake_tensor import FakeTensorMode
    >>> from mindtorch_v2.fx.experimental.symbolic_shapes import ShapeEnv
    >>> size = FakeTensorMode(shape_env=ShapeEnv()).from_tensor(torch.ones(4)).shape[0]
    >>> type(size.node).__name__, size.node.pytype, size.node.hint
    ('SymNode', <class 'int'>, 4)
    """

    __slots__ = ("expr", "pytype", "shape_env", "values")

    def __init__(self, expr: Any, shape_env: Any, pytype: type, values: tuple) -> None:
        self.expr, self.shape_env, self.pytype, self.values = expr, shape_env, pytype, values

    @property
    def hint(self) -> Any:
        """The value seen; None where no value was seen, as it depends on data."""
        return self.values[0] if self.has_hint() else None

    def has_hint(self) -> bool:
        """Whether a value was seen."""
        return not self.shape_env.is_unbacked(self.expr)

    def require_hint(self) -> Any:
        """The value seen; an error where there is none."""
        if not self.has_hint():
            raise self.shape_env.data_dependent(self.expr)
        return self.values[0]

    def is_symbolic(self) -> bool:
        return True

    def maybe_as_int(self) -> int | None:
        """The number, where it is fixed by now."""
        found = self.shape_env.simplify(self.expr).constant
        return None if found is None else int(found)

    def __str__(self) -> str:
        return str(self.shape_env.simplify(self.expr))

    __repr__ = __str__


def plain(value: Any) -> Any:
    """The number seen, for a symbolic one (an arbitrary one where none was seen); anything else as it is."""
    return value.node.values[0] if isinstance(value, (SymInt, SymFloat)) else value


class _Number:
    """The base of SymInt and SymFloat."""

    def __init__(self, node: Any) -> None:
        self.node = node

    # ---- decisions: the number is fixed ----

    def _fixed(self) -> Any:
        return self.node.shape_env.fix(self.node)

    def __int__(self) -> int:
        return int(self._fixed())

    def __float__(self) -> float:
        return float(self._fixed())

    def __bool__(self) -> bool:
        return bool(self != 0)  # type: ignore[comparison-overlap]  # (its comparison gives a symbolic truth value)

    def __hash__(self) -> int:
        raise TypeError(f"unhashable type: {'non-nested ' if isinstance(self, SymInt) else ''}{type(self).__name__}")

    def __str__(self) -> str:
        return str(self.node)

    __repr__ = __str__

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        return self

    # ---- arithmetic ----

    __mul__: Callable[[Any, Any], Any]

    def __neg__(self) -> Any:
        return self * -1

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return _compute(abs, "Abs", self)

    def __round__(self, ndigits: int | None = None) -> Any:
        return self if isinstance(self, SymInt) else _compute(round, "RoundToInt", self)

    def __floor__(self) -> Any:
        return self if isinstance(self, SymInt) else _compute(math.floor, "FloorToInt", self)

    def __ceil__(self) -> Any:
        return self if isinstance(self, SymInt) else _compute(math.ceil, "CeilToInt", self)

    def __trunc__(self) -> Any:
        return _to_int(self)


class SymInt(_Number):
    """An integer that stands for a size, which may be another in other runs.

    Arithmetic gives such numbers again, a comparison a SymBool. What needs the number itself (`int`, `range`, an index,
    a key) fixes it: the ShapeEnv notes a guard.

    >>> from mindtorch_v2._subclasses.fake_tensor import FakeTensorMode
    >>> from mindtorch_v2.fx.experimental.symbolic_shapes import ShapeEnv
    >>> size = FakeTensorMode(shape_env=ShapeEnv()).from_tensor(torch.ones(4)).shape[0]
    >>> type(size).__name__, type(size * 2).__name__
    ('SymInt', 'SymInt')
    """

    def __index__(self) -> int:
        return self._fixed()


class SymFloat(_Number):
    """A float that is computed of sizes.

    >>> from mindtorch_v2._subclasses.fake_tensor import FakeTensorMode
    >>> from mindtorch_v2.fx.experimental.symbolic_shapes import ShapeEnv
    >>> size = FakeTensorMode(shape_env=ShapeEnv()).from_tensor(torch.ones(4)).shape[0]
    >>> type(size / 2).__name__
    'SymFloat'
    """

    def is_integer(self) -> bool:
        """Whether it is a whole number, as `float.is_integer`; decided by the value seen."""
        return float(self).is_integer()


class SymBool:
    """A comparison of such numbers; `bool()` decides it, and the ShapeEnv notes a guard.

    >>> from mindtorch_v2._subclasses.fake_tensor import FakeTensorMode
    >>> from mindtorch_v2.fx.experimental.symbolic_shapes import ShapeEnv
    >>> size = FakeTensorMode(shape_env=ShapeEnv()).from_tensor(torch.ones(4)).shape[0]
    >>> type(size > 100).__name__
    'SymBool'
    """

    def __init__(self, node: Any) -> None:
        self.node = node

    def __bool__(self) -> bool:
        return self.node.shape_env.decide(self.node.expr, self.node.values)

    def __int__(self) -> int:
        return int(bool(self))

    def __and__(self, other: Any) -> Any:
        return _junction("&", self, other)

    def __or__(self, other: Any) -> Any:
        return _junction("|", self, other)

    __rand__, __ror__ = __and__, __or__

    def __invert__(self) -> Any:
        return sym_not(self)

    def __eq__(self, other: object) -> bool:
        return bool(self) == other

    def __hash__(self) -> int:
        raise TypeError("unhashable type: SymBool")

    def __str__(self) -> str:
        return str(self.node.expr)

    __repr__ = __str__


def _expression(value: Any) -> Expression:
    return value.node.expr if isinstance(value, _Number) else constant(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, _Number))


def _compute(function: Callable, name: str, *args: Any) -> Any:
    """`function` of numbers, of which some are symbolic; `name` is that of the expression."""
    env = next(each.node.shape_env for each in args if isinstance(each, _Number))
    columns = zip(*(each.node.values if isinstance(each, _Number) else (each,) * env.universes for each in args))
    seen = function(*next(columns))
    values = (seen, *(_result(function, column, seen) for column in columns))
    terms = [_expression(each) for each in args]
    if name == "add":
        expr = terms[0].plus(terms[1])
    elif name == "sub":
        expr = terms[0].minus(terms[1])
    elif name == "mul":
        expr = terms[0].times(terms[1])
    else:
        expr = expressions.apply(name, *terms)
    if expr.constant is not None:
        return expr.constant
    if isinstance(values[0], float):
        return SymFloat(SymNode(expr, env, float, values))
    return env.integer(expr, values)


def _result(function: Callable, args: tuple, otherwise: Any) -> Any:
    """`function` of numbers; `otherwise` where it has no value, as 1 // 0: the sizes seen are not those."""
    try:
        return function(*args)
    except (ArithmeticError, ValueError):
        return otherwise


def _is_float(*args: Any) -> bool:
    return any(isinstance(each, (float, SymFloat)) for each in args)


def _as_floats(args: tuple) -> tuple:
    return tuple(_to_float(each) if isinstance(each, SymInt) else each for each in args)


# The names of the expressions that are no polynomials: of integers, and with a float among the numbers.
_NAMES = {
    "truediv": ("IntTrueDiv", "FloatTrueDiv"),
    "floordiv": ("FloorDiv", None),
    "mod": ("Mod", "Mod"),
    "pow": ("PowByNatural", "FloatPow"),
}


def _arithmetic(name: str, function: Callable) -> Callable:
    of_ints, of_floats = _NAMES.get(name, (name, name))

    def run(a: Any, b: Any) -> Any:
        if _is_float(a, b):
            if of_floats is None:
                raise TypeError("// of a symbolic number and a float is not supported")
            return _compute(function, of_floats, *_as_floats((a, b)))
        if name == "pow" and isinstance(b, int) and b >= 0:
            return math.prod([a] * b)
        return _compute(function, of_ints, a, b)

    return run


def _binary(name: str) -> None:
    run = _arithmetic(name, getattr(operator, name))

    def forward(self: Any, other: Any) -> Any:
        return run(self, other) if _is_number(other) else NotImplemented

    def reflected(self: Any, other: Any) -> Any:
        return run(other, self) if _is_number(other) else NotImplemented

    setattr(_Number, f"__{name}__", forward)
    setattr(_Number, f"__r{name}__", reflected)


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow"):
    _binary(_name)


def _comparison(relation: str, function: Callable) -> Callable:
    def compare(self: Any, other: Any) -> Any:
        if not _is_number(other):
            return NotImplemented
        env = self.node.shape_env
        condition = Condition(relation, _expression(self), _expression(other))
        others = other.node.values if isinstance(other, _Number) else (other,) * env.universes
        return SymBool(SymNode(condition, env, bool, tuple(map(function, self.node.values, others))))

    return compare


for _name, _relation in (("lt", "<"), ("le", "<="), ("gt", ">"), ("ge", ">="), ("eq", "=="), ("ne", "!=")):
    setattr(_Number, f"__{_name}__", _comparison(_relation, getattr(operator, _name)))


def _junction(relation: str, first: Any, second: Any) -> Any:
    if isinstance(second, SymBool):
        values = zip(first.node.values, second.node.values)
        joined = tuple((a and b) if relation == "&" else (a or b) for a, b in values)
        return SymBool(
            SymNode(Junction(relation, first.node.expr, second.node.expr), first.node.shape_env, bool, joined)
        )
    if isinstance(second, bool):
        return (first if second else False) if relation == "&" else (True if second else first)
    return NotImplemented


# ---- functions ----


def _to_int(a: Any) -> Any:
    if isinstance(a, SymInt):
        return a
    return _compute(int, "TruncToInt", a) if isinstance(a, SymFloat) else int(a)


def _to_float(a: Any) -> Any:
    if isinstance(a, SymFloat):
        return a
    return _compute(float, "ToFloat", a) if isinstance(a, SymInt) else float(a)


@overridable
def sym_int(a: Any) -> Any:
    """``int(a)``; a symbolic number stays symbolic.

    >>> torch.sym_int(3.7)
    3
    """
    return _to_int(a)


@overridable
def sym_float(a: Any) -> Any:
    """``float(a)``; a symbolic number stays symbolic.

    >>> torch.sym_float(3)
    3.0
    """
    return _to_float(a)


@overridable
def sym_not(a: Any) -> Any:
    """``not a``; of a SymBool another one.

    >>> torch.sym_not(True)
    False
    """
    if isinstance(a, SymBool):
        return SymBool(SymNode(a.node.expr.negated(), a.node.shape_env, bool, tuple(not v for v in a.node.values)))
    return not a


def _extreme(function: Callable, name: str, a: Any, b: Any) -> Any:
    if not (isinstance(a, _Number) or isinstance(b, _Number)):
        return function(a, b)
    return _compute(function, name, *(_as_floats((a, b)) if _is_float(a, b) else (a, b)))


@overridable
def sym_max(a: Any, b: Any) -> Any:
    """The greater of two numbers, of which none is decided by.

    >>> torch.sym_max(2, 3)
    3
    """
    return _extreme(max, "Max", a, b)


@overridable
def sym_min(a: Any, b: Any) -> Any:
    """The smaller of two numbers, of which none is decided by.

    >>> torch.sym_min(2, 3)
    2
    """
    return _extreme(min, "Min", a, b)


@overridable
def sym_sum(args: Any) -> Any:
    """The sum of numbers.

    >>> torch.sym_sum([1, 2, 3])
    6
    """
    total: Any = 0
    for each in args:
        total = total + each
    return total


@overridable
def sym_ite(b: Any, t: Any, f: Any) -> Any:
    """``t if b else f``, decided by the value seen.

    >>> torch.sym_ite(True, 1, 2)
    1
    """
    if type(t) is not type(f):
        raise AssertionError(f"type mismatch: {type(t)} vs {type(f)}")
    return t if b else f


def _of_numbers(name: str) -> Any:
    function = getattr(math, name)

    def apply(a: Any) -> Any:
        return _compute(function, name, _to_float(a)) if isinstance(a, _Number) else function(a)

    apply.__name__ = apply.__qualname__ = f"_sym_{name}"
    apply.__doc__ = f"`math.{name}(a)`; of a symbolic number another one."
    return overridable(apply)


FUNCTIONS = {
    f"_sym_{name}": _of_numbers(name) for name in "acos asin atan cos cosh log2 sin sinh sqrt tan tanh".split()
}
"""`torch._sym_sqrt` and its like, by their names."""
NUMBER_FUNCTIONS = frozenset((sym_float, sym_int, sym_ite, sym_max, sym_min, sym_not, sym_sum, *FUNCTIONS.values()))
"""The functions of this file that programs call, of which classes and modes may take calls over."""
