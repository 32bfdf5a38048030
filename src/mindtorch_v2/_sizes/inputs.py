"""The sizes of an exported program that may differ: symbols, what is known of each, and fake inputs with such sizes."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch
from mindtorch_v2._core.errors import UserError
from mindtorch_v2._sizes import universes as _universes
from mindtorch_v2._sizes.dims import Dim
from mindtorch_v2._sizes.environment import DimDynamic, ShapeEnv
from mindtorch_v2._sizes.expressions import Condition, constant, symbol
from mindtorch_v2._sizes.numbers import SymInt
from mindtorch_v2._subclasses.fake_tensor import FakeTensorMode

if TYPE_CHECKING:
    pass


__all__ = ["Inputs", "ValueRanges", "check_named", "inputs_like", "range_constraints"]


@dataclasses.dataclass(frozen=True)
class ValueRanges:
    """The values that a size may have, `lower` and `upper` included."""

    lower: int
    upper: float

    def __str__(self) -> str:
        return f"VR[{self.lower}, {'int_oo' if self.upper is math.inf else self.upper}]"

    __repr__ = __str__


@dataclasses.dataclass
class _Symbol:
    """A size that may differ: the SymInt, its bounds as stated, and the Dim or hint that says so at the place `where`."""

    size: SymInt
    lower: int
    upper: float
    said: object
    where: str


class Inputs:
    """Fake tensors for the inputs of a program, with symbols where `sizes` (of each input) has a Dim or a hint.

    `shared` are groups of places, `(input, dimension)`, that have the same size though each has a hint of its own.
    """

    def __init__(
        self,
        values: Sequence[int | torch.Tensor],
        sizes: Sequence[Sequence[Any] | None],
        names: Sequence[str],
        shared: Sequence[Sequence[Sequence[int]]] = (),
    ) -> None:
        self.env: Any = ShapeEnv(assume_static_by_default=True)
        self.mode = FakeTensorMode(shape_env=self.env, allow_non_fake_inputs=True)
        self.symbols: list[Any] = []
        self.places: dict[Any, Any] = {}  # text of an expression -> the places that have this size
        self._known: dict[Any, Any] = {}
        self._shared = {place: group[0] for group in shared for place in group}
        # Tensors of which no size is named -> the fake one: tied parameters stay one tensor.
        self._lifted: dict[Any, Any] = {}
        self.leaves = [self._leaf(n, *each) for n, each in enumerate(zip(values, sizes, names))]
        env: Any = self.env
        self.stated = len(env.guards)

    def _leaf(self, number, value, sizes, name):
        if not isinstance(value, torch.Tensor):
            return value
        if sizes is None and id(value) in self._lifted:
            return self._lifted[id(value)]
        # Views become tensors of their own; whatever an input is, the program is to hold for others.
        with torch.no_grad(), _universes.below():
            shape = tuple(value.shape)
            if value.layout is torch.strided:
                elem = torch.empty_strided(shape, value.stride(), dtype=value.dtype, device="meta")
            else:
                elem = value.detach().to("meta")
        fake = self.mode.wrap(elem, value.device)
        kinds = []
        for dim, (said, size) in enumerate(zip(sizes or [None] * len(shape), shape)):
            made = DimDynamic.STATIC
            if said is not None:
                made = self._size(said, size, (number, dim), f"L['{name}'].size()[{dim}]")
            if isinstance(made, SymInt):
                self.places.setdefault(str(made.node.expr), []).append((number, dim))
            kinds.append(made)
        _universes.name_sizes(fake, name, kinds)
        if sizes is None:
            self._lifted[id(value)] = fake
        return fake.requires_grad_() if value.requires_grad else fake

    def _size(self, said, size, place, where):
        """The SymInt of a size, or DimDynamic.STATIC."""
        key = said.root.__name__ if isinstance(said, Dim) else self._shared.get(place, place)
        factor, start = (said._factor, said._start) if isinstance(said, Dim) else (1, 0)
        hint, rest = divmod(size - start, factor)
        if rest:
            raise UserError(f"Constraints violated ({said.__name__})! The size {size} of {where} is not {said!r}")
        if key not in self._known:
            self._known[key] = self._symbol(said.root if isinstance(said, Dim) else said, hint, where)
        root = self._known[key]
        if not isinstance(root, SymInt):
            return DimDynamic.STATIC
        if root.node.hint != hint:
            raise UserError(
                f"Constraints violated ({said.root.__name__})! The sizes of {said.root.__name__} are {root.node.hint} and {hint}"
            )
        return root * factor + start

    def _symbol(self, said, hint, where):
        lower, upper = said.min, said.max
        if lower is None:
            lower = 2
        if upper is None:
            upper = math.inf
        if not min(lower, 2) <= hint <= upper and hint > 1:
            raise UserError(f"Constraints violated ({_name_of(said, where)})! The size {hint} of {where} is not in "
                            f"{ValueRanges(lower, upper)}")  # fmt: skip
        made = self.env.create_symbol(hint, where, DimDynamic.DYNAMIC)
        if not isinstance(made, SymInt):
            if said is not Dim.AUTO:
                raise _specialized(said, where, hint)
            return made
        for bound, relation in ((lower if lower > 2 else None, ">="), (None if upper is math.inf else upper, "<=")):
            if bound is not None:
                self.env.decide(Condition(relation, made.node.expr, constant(bound)), (True,))
        self.symbols.append(_Symbol(made, lower, upper, said, where))
        return made

    def fixed(self) -> dict[int, list[_Symbol]]:
        """The places of sizes that the program has fixed, by the value, and the symbol of each."""
        found: dict[Any, Any] = {}
        for each in self.symbols:
            if str(each.size.node.expr) in self.env.replacements:
                found.setdefault(each.size.node.hint, []).append(each)
        return found


def inputs_like(values: Sequence[int | torch.Tensor], names: Sequence[str], ranges: Any) -> Inputs:
    """Inputs of which `values`, fake tensors with symbolic sizes and other values, are the examples."""
    dims = {str(name): Dim(str(name), min=bounds.lower, max=bounds.upper) for name, bounds in ranges.items()}

    def said(size: int) -> Dim | None:
        if not isinstance(size, SymInt):
            return None
        made = None
        start = 0
        for monomial, factor in size.node.expr.terms.items():
            if monomial:
                made = dims[str(monomial[0])] * factor if factor != 1 else dims[str(monomial[0])]
            else:
                start = factor
        return made + start if start else made

    sizes = [[*map(said, value.shape)] if isinstance(value, torch.Tensor) else None for value in values]
    return Inputs(values, sizes, names)


def _name_of(said, where):
    return said.__name__ if isinstance(said, Dim) else where


def _violated(name, lines, fixes=()):
    text = f'Constraints violated ({name})! For more information, run with TORCH_LOGS="+dynamic".\n'
    text += "\n".join(f"  - {line}" for line in lines)
    if fixes:
        text += "\nSuggested fixes:\n" + "\n".join(f"  {line}" for line in fixes)
    return UserError(text)


def _specialized(said, where, value):
    name = _name_of(said, where)
    return _violated(
        name,
        [
            f"You marked {name} as dynamic but your code specialized it to be a constant ({value}). If you're using "
            "mark_dynamic, either remove it or use maybe_mark_dynamic. If you're using Dim.DYNAMIC, replace it with either "
            "Dim.STATIC or Dim.AUTO."
        ],
        [f"{name} = {value}"] if isinstance(said, Dim) else (),
    )


def _is_range(condition):
    """Whether a condition bounds one symbol."""
    return (
        isinstance(condition, Condition)
        and condition.right.constant is not None
        and len(condition.free_symbols) == 1
        and str(condition.left) in condition.free_symbols
    )


def _bounds(name, guards) -> tuple:
    lower, upper = 0, math.inf
    for guard in guards:
        if not _is_range(guard.expr) or str(guard.expr.left) != name:
            continue
        value, relation = guard.expr.right.constant, guard.expr.relation
        if relation in (">", ">="):
            lower = max(lower, math.floor(value) + 1 if relation == ">" else math.ceil(value))
        elif relation in ("<", "<="):
            upper = min(upper, math.ceil(value) - 1 if relation == "<" else math.floor(value))
        elif relation == "!=" and value in (0, 1):
            lower = max(lower, int(value) + 1)
    return lower, upper


def check_named(inputs: Any, equal: Any = ()) -> None:
    """UserError where the program does not hold for all sizes that a Dim or `Dim.DYNAMIC` says it does.

    `equal` are groups of symbols with names that the program needs to be equal.
    """
    for group in equal:
        first, *others = sorted(group, key=lambda each: each.said.__name__, reverse=True)[::-1]
        for each in others:
            raise _violated(
                first.said.__name__,
                [
                    f"The values of {first.said.__name__} = {first.where} and {each.said.__name__} = {each.where} must always "
                    "be equal."
                ],
                [f"{first.said.__name__} = {each.said.__name__}"],
            )
    added = inputs.env.guards[inputs.stated :]
    for each in inputs.symbols:
        name = str(each.size.node.expr)
        if name in inputs.env.replacements:
            if each.said != Dim.AUTO and not (not isinstance(each.said, Dim) and each.said.type == "AUTO"):
                raise _specialized(each.said, each.where, inputs.env.replacements[name])
            continue
        if not isinstance(each.said, Dim):
            continue
        shown = each.said.__name__
        lower, upper = _bounds(name, added)
        if lower > max(each.lower, 2) or upper < each.upper:
            low, high = max(lower, each.lower), min(upper, each.upper)
            fix = [f"min={low}"] if low > 2 else []
            fix += [f"max={high}"] if high is not math.inf else []
            most = "IntInfinity()" if upper is math.inf else upper
            raise _violated(
                shown,
                [
                    f"Not all values of {shown} = {each.where} in the specified range satisfy the generated guard "
                    f"{lower} <= {each.where} and {each.where} <= {most}"
                ],
                [f"{shown} = Dim({shown!r}, {', '.join(fix)})"],
            )
    for guard in added:
        named = [s for s in inputs.symbols if str(s.size.node.expr) in guard.expr.free_symbols]
        named = [s for s in named if isinstance(s.said, Dim)]
        if not _is_range(guard.expr) and named and not guard.expr.free_symbols & set(inputs.env.replacements):
            raise _violated(
                ", ".join(s.said.__name__ for s in named),
                [
                    f"Not all values of {', '.join(f'{s.said.__name__} = {s.where}' for s in named)} in the specified range "
                    f"satisfy the generated guard {guard.expr}"
                ],
            )


def range_constraints(inputs: Any) -> tuple:
    """For each symbol that is left, the values that it may have; and the guards that are no ranges."""
    ranges = {}
    for each in inputs.symbols:
        name = str(each.size.node.expr)
        if name not in inputs.env.replacements:
            lower, upper = _bounds(name, inputs.env.guards)
            ranges[symbol(name)] = ValueRanges(max(lower, each.lower), min(upper, each.upper))
    others = [
        guard.expr.substituted(inputs.env.replacements)
        for guard in inputs.env.guards
        if not _is_range(guard.expr) and not guard.expr.free_symbols <= set(inputs.env.replacements)
    ]
    return ranges, others
