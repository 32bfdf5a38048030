"""Sizes that may differ: `ShapeEnv` gives them names, and notes what a program decided by them.

Tensors have the sizes seen; a symbolic number carries its value. So that a size of a result can be told to be, say, `2*s0`,
each call of a torch function is repeated with other sizes, of which nobody sees the results (`universes.py`).
"""

from __future__ import annotations

import enum
import itertools
import random
import sys
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from mindtorch_v2 import _C
from mindtorch_v2._sizes.expressions import Condition, Expression, constant, symbol
from mindtorch_v2._sizes.fitting import Fitting, evaluated
from mindtorch_v2._sizes.numbers import SymInt, SymNode

__all__ = [
    "ConstraintViolationError",
    "DimDynamic",
    "GuardOnDataDependentSymNode",
    "ShapeEnv",
    "ShapeGuard",
    "StatelessSymbolicContext",
    "SymbolicContext",
]

_PACKAGE = _C.__name__.rpartition(".")[0]


class GuardOnDataDependentSymNode(RuntimeError):  # PyTorch's name
    """Raised where a program decides by a number that is not known before the program runs; `cond` is the decision.

    >>> from mindtorch_v2.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode
    >>> from mindtorch_v2.fx.experimental.symbolic_shapes import ShapeEnv
    >>> count = ShapeEnv().create_unbacked_symint()
    >>> try:
    ...     bool(count > 3)
    ... except GuardOnDataDependentSymNode as error:
    ...     print(type(error).__name__)
    GuardOnDataDependentSymNode
    """

    def __init__(self, cond: Any, message: str) -> None:
        super().__init__(message)
        self.cond = cond


class ConstraintViolationError(RuntimeError):
    """Raised where a size that was said to differ is fixed by the program.

    >>> from mindtorch_v2.fx.experimental.symbolic_shapes import ConstraintViolationError
    >>> issubclass(ConstraintViolationError, RuntimeError)
    True
    """


class DimDynamic(enum.Enum):
    """The fate of a size: a symbol that equal sizes share, one of its own, or a number.

    >>> from mindtorch_v2.fx.experimental.symbolic_shapes import DimDynamic
    >>> [kind.name for kind in DimDynamic][:3]
    ['DYNAMIC', 'DUCK', 'STATIC']
    """

    DYNAMIC = 0
    DUCK = 1
    STATIC = 2
    UNBACKED = 3


class SymbolicContext:
    """How the sizes of a tensor are named.

    >>> from mindtorch_v2.fx.experimental.symbolic_shapes import StatelessSymbolicContext, SymbolicContext
    >>> issubclass(StatelessSymbolicContext, SymbolicContext)
    True
    """


class StatelessSymbolicContext(SymbolicContext):
    """A DimDynamic for each size.

    >>> from mindtorch_v2._subclasses.fake_tensor import FakeTensorMode
    >>> from mindtorch_v2.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv, StatelessSymbolicContext
    >>> context = StatelessSymbolicContext([DimDynamic.DYNAMIC, DimDynamic.STATIC])
    >>> mode = FakeTensorMode(shape_env=ShapeEnv())
    >>> [type(size).__name__ for size in mode.from_tensor(torch.ones(4, 5), symbolic_context=context).shape]
    ['SymInt', 'int']
    """

    def __init__(self, dynamic_sizes: Sequence[DimDynamic]) -> None:
        self.dynamic_sizes = list(dynamic_sizes)


class ShapeGuard(NamedTuple):
    """A decision of a program: `expr` holds; `sloc` is where, as "file:line".

    >>> from mindtorch_v2._subclasses.fake_tensor import FakeTensorMode
    >>> from mindtorch_v2.fx.experimental.symbolic_shapes import ShapeEnv
    >>> size = FakeTensorMode(shape_env=ShapeEnv()).from_tensor(torch.ones(4)).shape[0]
    >>> _ = bool(size > 2)
    >>> size.node.shape_env.guards[-1].expr
    s0 > 2
    """

    expr: Any
    sloc: str
    size_oblivious: bool = False


class _Known(NamedTuple):
    values: tuple
    source: str
    unbacked: bool = False
    derived: bool = False  # a size of a result that is no expression


def _place() -> str:
    """The innermost frame outside of the package."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(_PACKAGE):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


class ShapeEnv:
    """Names for sizes, and the conditions on them that a program relied on.

    Sizes of 0 and 1 stay numbers (`specialize_zero_one`), equal sizes share a symbol (`duck_shape`). `guards` has what was
    decided, in order; `format_guards()` is the text.

    >>> from mindtorch_v2._subclasses.fake_tensor import FakeTensorMode
    >>> from mindtorch_v2.fx.experimental.symbolic_shapes import ShapeEnv
    >>> mode = FakeTensorMode(shape_env=ShapeEnv())
    >>> x = mode.from_tensor(torch.ones(3, 4))
    >>> torch.cat([x, x]).flatten().shape
    torch.Size([2*s0*s1])
    >>> bool(x.shape[0] < 10)
    True
    >>> print(mode.shape_env.format_guards())
     - s0 < 10
    """

    universes = 5  # the sizes seen, and four others

    def __init__(
        self,
        *,
        duck_shape: bool = True,
        specialize_zero_one: bool = True,
        assume_static_by_default: bool = False,
        allow_scalar_outputs: bool = True,
        allow_dynamic_output_shape_ops: bool = True,
    ) -> None:
        self.duck_shape = duck_shape
        self.specialize_zero_one = specialize_zero_one
        self.assume_static_by_default = assume_static_by_default
        self.allow_scalar_outputs = allow_scalar_outputs
        self.allow_dynamic_output_shape_ops = allow_dynamic_output_shape_ops
        self.guards: list[ShapeGuard] = []
        self.deferred_runtime_asserts: list[ShapeGuard] = []
        self.replacements: dict[str, int] = {}  # symbols that a guard fixed
        self._symbols: dict[str, _Known] = {}
        self._of_value: dict[int, str] = {}
        self._least: dict[str, int] = {}
        self._fitting = Fitting()
        self._draw = random.Random(0)
        self._number = itertools.count()
        self._unbacked = itertools.count()
        self._derived = itertools.count()
        self.exact: Any = None  # of a trace: whether sizes give the same graph

    # ---- symbols ----

    def create_symbol(self, value: int, source: str, dynamic: DimDynamic | None = None) -> Any:
        """The SymInt for a size of this value, or the number where it stays one. `source` says what it is the size of."""
        if dynamic is None:
            static = self.assume_static_by_default
            dynamic = DimDynamic.STATIC if static else DimDynamic.DUCK if self.duck_shape else DimDynamic.DYNAMIC
        if dynamic is DimDynamic.UNBACKED:
            return self.create_unbacked_symint()
        if dynamic is DimDynamic.STATIC or self.specialize_zero_one and value in (0, 1):
            return value
        shared = self._of_value.get(value) if dynamic is DimDynamic.DUCK else None
        if shared is None:
            shared = f"s{next(self._number)}"
            self._add(shared, (value, *self._others(value, self.universes - 1)), source)
            self._of_value.setdefault(value, shared)
            self._least[shared] = 2 if self.specialize_zero_one else 0
        return self.integer(symbol(shared), self._symbols[shared].values)

    def create_unbacked_symint(self, least: int | None = None) -> SymInt:
        """A SymInt of which no value was seen, such as `x.item()`; of a size what it is at least is known."""
        name = f"u{next(self._unbacked)}"
        values = tuple(value + (least or 0) for value in self._others(12, self.universes))
        self._add(name, values, name, unbacked=True)
        if least is not None:
            self._least[name] = least
        return SymInt(SymNode(symbol(name), self, int, values))

    def _others(self, seen: int, count: int) -> list[int]:
        """Values of a symbol in other universes: near to what was seen, where the program is likely to be the same."""
        return [self._draw.randint(2, 4 * seen + 12) for _ in range(count)]

    def _add(self, name: str, values: tuple, source: str, **kind: bool) -> None:
        self._symbols[name] = _Known(values, source, **kind)
        self._fitting.learn_symbol(name, values)

    @property
    def backed_var_to_val(self) -> dict[str, int]:
        """The value seen of each symbol."""
        return {n: known.values[0] for n, known in self._symbols.items() if not (known.unbacked or known.derived)}

    var_to_val = backed_var_to_val

    def sources(self) -> dict[str, str]:
        """The source of each symbol, of which it is the size."""
        return {name: known.source for name, known in self._symbols.items()}

    def is_unbacked(self, expr: Any) -> bool:
        """Whether an expression depends on data."""
        return any(self._symbols[name].unbacked for name in expr.free_symbols)

    def data_dependent(self, expr: Any) -> GuardOnDataDependentSymNode:
        """The error of a decision by data."""
        like = [name for name in sorted(expr.free_symbols) if self._least.get(name) is not None]
        return GuardOnDataDependentSymNode(
            expr,
            f"Could not guard on data-dependent expression {expr} (unhinted: {expr}).  (Size-like symbols: "
            f"{', '.join(like) or 'none'})\n\nconsider using data-dependent friendly APIs such as guard_or_false, "
            f"guard_or_true and statically_known_true.\nCaused by: ({_place()})",
        )

    # ---- numbers ----

    def simplify(self, expr: Any) -> Any:
        """An expression, with the symbols that are fixed as numbers."""
        return expr.substituted(self.replacements)

    def integer(self, expr: Expression, values: tuple) -> Any:
        """The SymInt of an expression, or a number where it is fixed."""
        self._fitting.learn(expr, values)
        fixed = self.simplify(expr).constant
        return int(fixed) if fixed is not None else SymInt(SymNode(expr, self, int, values))

    def number(self, values: tuple) -> Any:
        """The number that has these values in the sizes seen and the others."""
        expr = self._fitting.express(values)
        if expr is None:  # as far as the expressions go, it is something of its own
            expr = self._add_derived(values)
        if expr.constant is not None:
            return values[0]
        return self.integer(expr, values)

    def derived(self, seen: int) -> tuple:
        """The values of a size of which only what was seen is known."""
        values = (seen, *self._others(seen, self.universes - 1))
        self._add_derived(values)
        return values

    def _add_derived(self, values: tuple) -> Expression:
        name = f"d{next(self._derived)}"
        self._add(name, values, "a size of a result", derived=True)
        return symbol(name)

    def derived_of(self, values: Sequence[int]) -> SymInt:
        """A SymInt for a size of a result that was `values[0]`, and is no expression that is known."""
        row = self.derived(values[0])
        return SymInt(SymNode(self._fitting.known(row), self, int, row))

    def expressions(self) -> list[Expression]:
        """The expressions that sizes were found to be, and those that the program computed."""
        return self._fitting.learnt()

    def universe(self, number: int) -> dict[str, int]:
        """The values of the symbols in one universe."""
        return {name: known.values[number] for name, known in self._symbols.items()}

    def only_of_arguments(self) -> None:
        """Leave out guards on sizes of results that are no expression: `exact` looks at them by running the program."""
        of_arguments = {name for name, known in self._symbols.items() if not known.derived}
        self.guards = [guard for guard in self.guards if guard.expr.free_symbols <= of_arguments]

    def apart_from(self, values: Mapping[str, int], draw: int = 0) -> None:
        """Let the values in the other universes, and of data, be none that a ShapeEnv with these values and `draw` has."""
        self._draw = random.Random(sum(values.values()) + 7919 * draw)

    def depends_on_data(self) -> bool:
        """Whether a value of a tensor became a number, or a size."""
        return any(known.unbacked for known in self._symbols.values())

    # ---- decisions ----

    def decide(self, condition: Any, values: tuple) -> bool:
        """Whether a condition holds for the sizes seen; noted as a guard, unless it holds for all."""
        condition = self.simplify(condition)
        known = condition.known(self._least)
        if known is not None:
            return known
        if self.is_unbacked(condition):
            raise self.data_dependent(condition)
        self._note(condition if values[0] else condition.negated(), self.guards)
        return bool(values[0])

    def expect(self, condition: Any, values: tuple) -> bool:
        """The same for `torch._check`: what depends on data is left to be asserted when it is known."""
        condition = self.simplify(condition)
        if condition.known(self._least) is None and self.is_unbacked(condition):
            self._note(condition, self.deferred_runtime_asserts)
            return True
        return self.decide(condition, values)

    def _note(self, condition: Any, where: list[ShapeGuard]) -> None:
        if all(str(each.expr) != str(condition) for each in where):
            where.append(ShapeGuard(condition, _place()))
        if not isinstance(condition, Condition) or len(condition.left.terms) != 1:
            return
        value, ((monomial, coefficient),) = condition.right.constant, condition.left.terms.items()
        if value is None or coefficient != 1 or len(monomial) != 1 or str(monomial[0]) not in self._symbols:
            return
        name = str(monomial[0])
        if condition.relation == "==":
            self.replacements[name] = int(value)
        elif condition.relation in (">", ">="):
            least = value + 1 if condition.relation == ">" else value
            self._least[name] = max(int(least), self._least.get(name, int(least)))

    def fix(self, node: SymNode) -> Any:
        """The number seen; from now on it is that number."""
        if self.is_unbacked(node.expr):
            raise self.data_dependent(node.expr)
        value = node.values[0]
        self.decide(Condition("==", node.expr, constant(value)), (True,))
        return value

    # ---- what is told of them ----

    def format_guards(self, verbose: bool = False) -> str:
        """The guards, a line each; with `verbose` also where they were decided."""
        return "\n".join(f" - {each.expr}" + (f"  # {each.sloc}" if verbose else "") for each in self.guards)

    def get_nontrivial_guards(self) -> list[Any]:
        """The conditions of the guards."""
        return [each.expr for each in self.guards]

    def bind_symbols(self, placeholders: Sequence[Any], args: Sequence[Any]) -> dict[str, int]:
        """The values of the symbols for arguments in the place of `placeholders`, fake tensors and SymInts."""
        found: dict[str, int] = {}
        for placeholder, arg in zip(placeholders, args):
            for size, given in _sizes(placeholder, arg):
                if isinstance(size, SymInt) and str(size.node.expr) in self._symbols:
                    found.setdefault(str(size.node.expr), given)
        return found

    def evaluate_guards_for_args(self, placeholders: Sequence[Any], args: Sequence[Any]) -> bool:
        """Whether what was traced with `placeholders` holds for `args`: all sizes fit, and all guards hold.

        Of a trace by `make_fx` the answer is exact: it is traced again with these sizes, and gives the same graph or not.
        """
        values = {**self.replacements, **self.bind_symbols(placeholders, args)}
        for placeholder, arg in zip(placeholders, args):
            for size, given in _sizes(placeholder, arg):
                expected = evaluated(size.node.expr, [values]) if isinstance(size, SymInt) else (size,)
                if expected != (given,):
                    return False
        if self.specialize_zero_one and any(value in (0, 1) for name, value in values.items() if name in self._least):
            return False
        if not all(self._holds(each.expr, values) for each in self.guards):
            return False
        return self.exact is None or self.exact(args)

    @staticmethod
    def _holds(condition: Any, values: Mapping[str, int]) -> bool:
        if not condition.free_symbols <= set(values):
            return True  # of sizes of results: they are looked at where the program is run again
        return evaluated(condition, [values]) == (True,)


def _sizes(placeholder: Any, arg: Any) -> list[tuple[Any, int]]:
    """The sizes of a placeholder, with those of what stands in its place."""
    if isinstance(placeholder, _C.TensorBase):
        if placeholder.dim() != arg.dim():
            return [(placeholder.dim(), arg.dim())]
        return list(zip(placeholder.shape, tuple(arg.shape)))
    return [(placeholder, arg)] if isinstance(placeholder, (int, SymInt)) else []
